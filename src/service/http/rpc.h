/* SPDX-License-Identifier: MIT */
/* The Model Context Protocol over HTTP: one message a request, with the answer as the reply. */
#pragma once

#include "service/http/exchange.h"

void ofs_rpc_post(struct ofs_http_exchange *x, struct ofs_http_reply *ret);

/* Makes the reply if the tree does not answer in time. */
void ofs_rpc_late(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
