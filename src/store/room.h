/* SPDX-License-Identifier: MIT */
/* How those who write and those who make room wait for each other. */
#ifndef OFS_STORE_ROOM_H
#define OFS_STORE_ROOM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ofs_store;
struct ofs_inode;

/* All guarded by the store's `lock`. */
struct ofs_room {
	pthread_cond_t made; /* a cycle or a checkpoint has ended */
	uint64_t cycles; /* how many have ended */
	int error; /* of the last one */
	/* For a full disk. */
	bool wanted; /* a writer waits for room to be made */
	uint64_t rounds; /* how often room was made */
	uint64_t changes; /* how many there were when it was made last */
};

/*
 * For writers, before they take any lock: waits while the journal is too long. -ENOSPC or another
 * error when the sealer cannot make it shorter.
 */
int ofs_store_wait_for_room(struct ofs_store *s);

/*
 * For writers that found the disk full, before they take any lock: gives back what can be given
 * back. Whether that is worth another try.
 */
bool ofs_store_make_room(struct ofs_store *s);

#endif
