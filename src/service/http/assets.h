/* SPDX-License-Identifier: MIT */
/* The page that the server shows, and the files that it is made of. */
#pragma once

#include "service/http/exchange.h"

void ofs_assets_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
