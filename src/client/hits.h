/* SPDX-License-Identifier: MIT */
/* A search, as a tree answers it: search/QUERY. */
#pragma once

#include <jansson.h>

#include "base/util.h"

/*
 * Allocated: the path of the answer to a query; `why`: with a line on how each hit came to its
 * place. True: the query is longer than a name may be and was cut.
 */
bool ofs_hits_path(const char *query, bool why, char **ret);

/* A line of the answer, which is cut up, as {"path", "from", "to", "snippet"}. */
json_t *ofs_hit_parse(char *line);
