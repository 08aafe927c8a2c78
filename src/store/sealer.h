/* SPDX-License-Identifier: MIT */
/* The background thread: when to seal, to write a checkpoint, to repack and to scrub. */
#ifndef OFS_STORE_SEALER_H
#define OFS_STORE_SEALER_H

#include <pthread.h>
#include <stdbool.h>

struct ofs_store;
struct ofs_inode;

struct ofs_seal_when;

struct ofs_sealer {
	pthread_t thread;
	bool runs;
	pthread_cond_t wake;
	bool stop; /* the store's `lock` */
};

/* One cycle: seal what is due, checkpoint, reclaim. */
int ofs_store_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool always_checkpoint);

void ofs_sealer_stop(struct ofs_store *s);

#endif
