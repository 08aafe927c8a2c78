/* SPDX-License-Identifier: MIT */
/* Restores a list of messages byte for byte. */
#pragma once

#include "context/json/span.h"
#include "context/manage/shelf.h"

struct ofs_restored {
	struct ofs_buf list; /* including its brackets */
	struct ofs_buf system; /* beside the list; no data: nothing */
	size_t snapshots, results; /* numbers of those undone */
};

/*
 * Puts back the messages replaced by snapshots and the results replaced by pointers, until none is
 * left, and removes prefetched slices. Returns 0, or -errno with the reason in `err`: -EINVAL if
 * `list` is not a list of messages, -EILSEQ if stored content does not match the messages,
 * -EKEYEXPIRED if it has expired.
 */
int ofs_restore(struct ofs_span list, struct ofs_span system, struct ofs_shelf *shelf,
		struct ofs_error *err, struct ofs_restored *ret);
void ofs_restored_finish(struct ofs_restored *r);
