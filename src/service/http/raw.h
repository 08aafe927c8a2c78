/* SPDX-License-Identifier: MIT */
/* Serves the bytes of a file, all or a range. */
#pragma once

#include "service/http/exchange.h"

void ofs_raw_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
