/* SPDX-License-Identifier: MIT */
/* The Model Context Protocol over HTTP: a message to a request, the answer as its reply. */
#pragma once

#include "service/http/exchange.h"

void ofs_rpc_post(struct ofs_http_exchange *x, struct ofs_http_reply *ret);

/* For a request that the tree does not answer in time. */
void ofs_rpc_late(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
