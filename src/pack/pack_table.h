/* SPDX-License-Identifier: MIT */
/*
 * Pack files that are open: a bounded number, shared by those who use them, closed when the last
 * user lets go of one that the table no longer holds. Any thread may call; nothing is opened or
 * read under the table's lock.
 */
#ifndef OFS_PACK_PACK_TABLE_H
#define OFS_PACK_PACK_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFS_PACK_OPEN_MAX 32
#define OFS_PACK_NAME_MAX 32

struct ofs_pack {
	uint32_t number; /* constant */
	int fd; /* constant while referenced */
	unsigned int refs; /* guarded by the table's lock; one is the table's while it is listed */
	uint64_t used; /* the table's clock at the last use; guarded likewise */
};

struct ofs_pack_table {
	int dirfd; /* constant, borrowed */
	uint8_t uuid[16]; /* constant */
	pthread_mutex_t lock; /* guards what follows */
	struct ofs_pack *slot[OFS_PACK_OPEN_MAX];
	uint64_t clock;
	uint64_t forgets; /* counts ofs_pack_table_forget() */
};

void ofs_pack_table_init(struct ofs_pack_table *t, int dirfd, const uint8_t uuid[16]);

/* Nobody uses a pack any more. */
void ofs_pack_table_finish(struct ofs_pack_table *t);

/* The file name of a pack, and back: 0 when `name` is not one. */
void ofs_pack_name(char ret[OFS_PACK_NAME_MAX], uint32_t number);
uint32_t ofs_pack_number(const char *name);

/*
 * Opens a pack, or finds it open. A damaged file header is logged and no obstacle, since every
 * frame proves where it belongs.
 * -ENOENT; -EINVAL: it belongs to another store, bears another number or has another format.
 */
int ofs_pack_get(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret);

/* Creates a pack with its header; nothing is left behind on an error. */
int ofs_pack_create(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret);

/* Lets go; NULL is allowed. */
void ofs_pack_put(struct ofs_pack_table *t, struct ofs_pack *p);

/*
 * The table lets go of packs numbered `from` to `to`; the caller is about to unlink them, or has.
 */
void ofs_pack_table_forget(struct ofs_pack_table *t, uint32_t from, uint32_t to);

#endif
