/* SPDX-License-Identifier: MIT */
/*
 * The lines of the log of a tree as server-sent events. The id of each is a position in the log,
 * from which a client can continue after a break. One thread looks for new lines for all clients.
 */
#pragma once

#include "service/http/exchange.h"

/* Starts the thread. Borrows the strings of `target`. Allows `max` clients at once. 0 or -errno. */
int ofs_events_create(const struct ofs_target_options *target, unsigned int max,
		      struct ofs_events **ret);

/* Ends all streams and accepts no more. */
void ofs_events_end(struct ofs_events *e);

/*
 * Frees `e` (or NULL) after ofs_events_end(). Returns false if it is left behind, since its thread
 * still waits for a tree that does not answer, and uses the strings of `target`.
 */
bool ofs_events_destroy(struct ofs_events *e);

/* Returns the number of clients. */
unsigned int ofs_events_count(struct ofs_events *e);

void ofs_events_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
