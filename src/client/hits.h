/* SPDX-License-Identifier: MIT */
/* Helpers for searches, which a tree answers as search/QUERY. */
#pragma once

#include <jansson.h>

#include "base/util.h"

/*
 * Sets *ret to the path of the answer to a query, allocated. With `why`, the answer explains the
 * rank of each hit. Returns true if the query exceeds the length of a name and was cut.
 */
bool ofs_hits_path(const char *query, bool why, char **ret);

/* Returns a line of the answer as {"path", "from", "to", "snippet"}. Modifies `line`. */
json_t *ofs_hit_parse(char *line);
