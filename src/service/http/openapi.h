/* SPDX-License-Identifier: MIT */
/* The OpenAPI description of all routes, made from their table and the schemas of the calls. */
#pragma once

#include "service/http/exchange.h"

void ofs_openapi_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
