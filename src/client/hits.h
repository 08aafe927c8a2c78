/* SPDX-License-Identifier: MIT */
/* Searches by search/QUERY: the path of the answer, and its lines. */
#pragma once

#include <jansson.h>

#include "base/util.h"

/*
 * Sets *ret to the path of the answer to a query, allocated. `why` adds a line for each hit that
 * explains its rank. Returns true if the query exceeds the length of a name and was cut.
 */
bool ofs_hits_path(const char *query, bool why, char **ret);

/* Returns a line of the answer as {"path", "from", "to", "snippet"}. Modifies `line`. */
json_t *ofs_hit_parse(char *line);
