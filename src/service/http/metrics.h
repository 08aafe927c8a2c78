/* SPDX-License-Identifier: MIT */
/* The health of the server, and the metrics of tree and server. */
#pragma once

#include "service/http/exchange.h"

void ofs_metrics_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_health_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
