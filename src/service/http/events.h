/* SPDX-License-Identifier: MIT */
/*
 * What becomes of files, as server-sent events: the lines of the log of a tree, each with its
 * position in it, from which a client goes on after a break. One thread looks for new lines, for all
 * clients.
 */
#pragma once

#include "service/http/exchange.h"

/* `target` and its strings are borrowed. At most `max` clients at once. */
int ofs_events_create(const struct ofs_target_options *target, unsigned int max,
		      struct ofs_events **ret);

/* Ends all streams, and takes no more. */
void ofs_events_end(struct ofs_events *e);

/* After the end of all streams; what waits for a tree that does not answer is left behind. NULL is
 * allowed. */
void ofs_events_destroy(struct ofs_events *e);

/* The clients there are. */
unsigned int ofs_events_count(struct ofs_events *e);

void ofs_events_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
