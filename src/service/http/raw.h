/* SPDX-License-Identifier: MIT */
/* The bytes of a content, whole or a range of them. */
#pragma once

#include "service/http/exchange.h"

void ofs_raw_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
