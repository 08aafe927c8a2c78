/* SPDX-License-Identifier: MIT */
/* Ending the replication of a store that is not open. */
#pragma once

#include "replica/bucket.h"

/*
 * Allocated: where the store was replicated last, as ofs_location_text() has it; NULL: nowhere, or
 * that is not known.
 */
char *ofs_detach_location(const char *store);

/*
 * Fetches what is in the remote alone, and forgets where the remote had got to. `progress` is called
 * now and then with how many bytes of how many were looked at. After an error the store is as it
 * was, with more of its content here.
 */
int ofs_detach(const char *store, const struct ofs_remote_access *remote,
	       void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
	       struct ofs_error *err);
