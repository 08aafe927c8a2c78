/* SPDX-License-Identifier: MIT */
/* The table of routes. */
#pragma once

#include "service/http/exchange.h"

extern const struct ofs_http_route ofs_http_routes[]; /* up to one without a method */

/*
 * The route of a request, whose {id} goes to *ret_id, borrowed from `target`; NULL: *ret_allowed are
 * the methods of that path, allocated, or NULL: there is no such path.
 */
const struct ofs_http_route *ofs_http_route_find(const struct ofs_http_route *routes,
						 const char *method,
						 const struct ofs_http_target *target,
						 const char **ret_id, char **ret_allowed);
