/* SPDX-License-Identifier: MIT */
/* Undoing what was done to a list of messages: it comes back byte for byte. */
#pragma once

#include "context/json/span.h"
#include "context/manage/shelf.h"

struct ofs_restored {
	struct ofs_buf list; /* with its brackets */
	struct ofs_buf system; /* what stands beside the list; no data: nothing */
	size_t snapshots, results; /* how many were undone */
};

/*
 * Puts back the messages that a snapshot stands for, and the results that pointers stand for, until
 * there is none left; what was fetched in advance goes. -EINVAL: `list` is no list of messages;
 * -EILSEQ: what is stored does not fit to the messages; -EKEYEXPIRED; with the reason in `err`.
 */
int ofs_restore(struct ofs_span list, struct ofs_span system, struct ofs_shelf *shelf,
		struct ofs_error *err, struct ofs_restored *ret);
void ofs_restored_finish(struct ofs_restored *r);
