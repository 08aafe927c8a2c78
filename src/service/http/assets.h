/* SPDX-License-Identifier: MIT */
/* Serves the page and the files that it consists of. */
#pragma once

#include "service/http/exchange.h"

void ofs_assets_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
