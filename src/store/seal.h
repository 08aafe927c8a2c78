/* SPDX-License-Identifier: MIT */
/* Turning drafts into chunks; `cycle` held. */
#ifndef OFS_STORE_SEAL_H
#define OFS_STORE_SEAL_H

#include <stdbool.h>
#include <stdint.h>

struct ofs_store;
struct ofs_inode;

/* Chunks and inodes that a cycle has sealed, to be committed by its checkpoint. */
struct ofs_seal_batch;

/* Which drafts a batch is for. */
struct ofs_seal_when {
	int64_t now; /* monotonic; what was written later waits */
	int64_t delay; /* how long before that a file is to have been quiet; 0: seal it for good */
	bool pressed; /* the journal is too long: quiet or not */
};

/* Whether there is a file to be sealed or hashed; `lock` held. */
bool ofs_seal_is_due(struct ofs_store *s, const struct ofs_seal_when *when);

/*
 * Seals what is due, up to some amount, and commits the new chunks to the index. Returns how many
 * files that brought further, or -errno.
 */
int ofs_seal_collect(struct ofs_store *s, const struct ofs_seal_when *when,
		     struct ofs_seal_batch **ret);
void ofs_seal_batch_destroy(struct ofs_seal_batch *b);

/*
 * Puts the sealed blocks in the place of the drafts, where the content is still the same; `lock`
 * held.
 */
void ofs_seal_install(struct ofs_seal_batch *b);

#endif
