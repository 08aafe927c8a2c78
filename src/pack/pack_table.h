/* SPDX-License-Identifier: MIT */
/*
 * A bounded number of open pack files, shared by their users. A pack that has left the table is
 * closed by its last user. Any thread may call. Nothing is opened or read under the table's lock.
 */
#pragma once

#include <pthread.h>

#include "base/util.h"

#define OFS_PACK_OPEN_MAX 32
#define OFS_PACK_NAME_MAX 32

struct ofs_pack {
	uint32_t number; /* constant */
	int fd; /* constant while referenced */
	unsigned int refs; /* guarded by the table's lock; the table holds one */
	uint64_t used; /* the table's clock at the last use; guarded by its lock */
};

struct ofs_pack_table {
	int dirfd; /* constant, borrowed */
	uint8_t uuid[16]; /* constant */
	pthread_mutex_t lock; /* guards what follows */
	struct ofs_pack *slot[OFS_PACK_OPEN_MAX];
	uint64_t clock;
	uint64_t forgets; /* calls of ofs_pack_table_forget() */
};

void ofs_pack_table_init(struct ofs_pack_table *t, int dirfd, const uint8_t uuid[16]);

/* Called when no pack is in use any more. */
void ofs_pack_table_finish(struct ofs_pack_table *t);

/* The file name of a pack, and the number of a file name; 0: `name` is not that of a pack. */
void ofs_pack_name(char ret[OFS_PACK_NAME_MAX], uint32_t number);
uint32_t ofs_pack_number(const char *name);

/*
 * Opens a pack, or finds it open. A damaged file header is only logged, since every frame proves
 * where it belongs. -ENOENT; -EINVAL: the pack belongs to another store, or has another number or
 * format.
 */
int ofs_pack_get(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret);

/* Creates a pack with its header. After an error there is no file. -EEXIST. */
int ofs_pack_create(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret);

/* Releases a pack. NULL is allowed. */
void ofs_pack_put(struct ofs_pack_table *t, struct ofs_pack *p);

/* Drops the packs numbered `from` to `to`, which the caller has unlinked or is about to unlink. */
void ofs_pack_table_forget(struct ofs_pack_table *t, uint32_t from, uint32_t to);
