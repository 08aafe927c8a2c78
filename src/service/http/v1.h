/* SPDX-License-Identifier: MIT */
/* The calls of the table over HTTP: arguments in the path, the query or a body of JSON. */
#pragma once

#include "service/http/exchange.h"

void ofs_v1_call(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
