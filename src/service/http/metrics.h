/* SPDX-License-Identifier: MIT */
/* Whether the server serves, and the metrics of the tree and the server. */
#pragma once

#include "service/http/exchange.h"

void ofs_metrics_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_health_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
