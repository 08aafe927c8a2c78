/* SPDX-License-Identifier: MIT */
/* The calls of the table over HTTP, with arguments in the path, the query or a JSON body. */
#pragma once

#include "service/http/exchange.h"

void ofs_v1_call(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
