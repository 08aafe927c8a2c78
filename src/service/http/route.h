/* SPDX-License-Identifier: MIT */
/* The table of routes. */
#pragma once

#include "service/http/exchange.h"

extern const struct ofs_http_route ofs_http_routes[]; /* ended by one without a method */

/*
 * Returns the route of a request, and sets *ret_id to its {id}, borrowed from `target`. If there is
 * none, returns NULL and sets *ret_allowed to the methods of that path, allocated, or to NULL if
 * there is no such path.
 */
const struct ofs_http_route *ofs_http_route_find(const struct ofs_http_route *routes,
						 const char *method,
						 const struct ofs_http_target *target,
						 const char **ret_id, char **ret_allowed);
