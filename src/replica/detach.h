/* SPDX-License-Identifier: MIT */
/* Ends the replication of a store that is not open. */
#pragma once

#include "replica/bucket.h"

/*
 * Returns where the store was last replicated to, in the form of ofs_location_text(), or NULL if it
 * was not or this is unknown. The caller frees it.
 */
char *ofs_detach_location(const char *store);

/*
 * Fetches content that is only in the remote, and forgets how far the remote has got. `progress` is
 * called now and then with the bytes examined so far and in total. After an error the store is as
 * before, with more of its content on this disk.
 */
int ofs_detach(const char *store, const struct ofs_remote_access *remote,
	       void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
	       struct ofs_error *err);
