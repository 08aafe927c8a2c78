/* SPDX-License-Identifier: MIT */
/* The entries of directories. */
#include "index/index_state.h"

int ofs_index_get_dirent(struct ofs_index *ix, uint64_t dir, const char *name, uint64_t *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_DIRENT_GET, OFS_ARGS(dir), &st);

	if (r == 0)
		r = ofs_db_bind_blob(&ix->db, st, 2, name, strlen(name));
	if (r == 0)
		r = ofs_db_step(&ix->db, st);
	if (r > 0)
		*ret = ofs_column_u64(st, 0);
	return r < 0 ? r : r > 0 ? 0 : -ENOENT;
}

int ofs_index_list_dir(struct ofs_index *ix, uint64_t dir,
		       int (*fn)(void *arg, const struct ofs_index_dirent *e), void *arg)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&ix->db, OFS_STMT_DIRENT_LIST, OFS_ARGS(dir), &st);

	if (r < 0)
		return r;
	while ((r = ofs_db_step(&ix->db, st)) > 0) {
		struct ofs_index_dirent e = {
			.name = (const char *)sqlite3_column_text(st, 0),
			.ino = ofs_column_u64(st, 1),
			.type = (uint8_t)sqlite3_column_int(st, 2),
			.cookie = ofs_column_u64(st, 3),
		};

		if (!e.name)
			return -ENOMEM;
		r = fn(arg, &e);
		if (r)
			return r;
	}
	return r;
}

int ofs_index_put_dirent(struct ofs_index *ix, uint64_t dir, const struct ofs_index_dirent *e)
{
	return ofs_db_write(&ix->db, OFS_STMT_DIRENT_PUT, OFS_ARGS(dir, e->ino, e->type, e->cookie),
			    e->name, strlen(e->name));
}

int ofs_index_delete_dirent(struct ofs_index *ix, uint64_t dir, const char *name)
{
	return ofs_db_write(&ix->db, OFS_STMT_DIRENT_DELETE, OFS_ARGS(dir), name, strlen(name));
}

/* ---- the names of an inode, for which there is no index */

#define PORTION 1024 /* entries */
#define NAME_MAX_BYTES 255

/* The entry to continue after, and the names found so far. */
struct scan {
	uint64_t ino;
	uint64_t dir;
	size_t len;
	char name[NAME_MAX_BYTES];
	struct ofs_buf found; /* for each name the directory, and the name with its NUL */
	bool end;
};

static void scan_finish(struct scan *k)
{
	ofs_buf_finish(&k->found);
}

/* Under the lock. */
static int scan_entry(struct scan *k, sqlite3_stmt *st)
{
	const void *name = sqlite3_column_blob(st, 1);
	size_t len = (size_t)sqlite3_column_bytes(st, 1);

	if (!name || !len || len > sizeof(k->name))
		return -EUCLEAN;
	k->dir = ofs_column_u64(st, 0);
	k->len = len;
	memcpy(k->name, name, len);
	if (ofs_column_u64(st, 2) != k->ino)
		return 0;
	ofs_buf_append(&k->found, &k->dir, sizeof(k->dir));
	ofs_buf_append(&k->found, name, len);
	ofs_buf_append(&k->found, "", 1);
	return 0;
}

static int scan_portion(struct ofs_index *ix, struct scan *k)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	char after[NAME_MAX_BYTES];
	size_t n = 0;
	int r = ofs_db_start(&ix->db, OFS_STMT_DIRENT_SCAN, OFS_ARGS(k->dir, 0, PORTION), &st);

	memcpy(after, k->name, k->len);
	if (r == 0)
		r = ofs_db_bind_blob(&ix->db, st, 2, after, k->len);
	while (r == 0 && (r = ofs_db_step(&ix->db, st)) > 0) {
		r = scan_entry(k, st);
		n++;
	}
	k->end = n < PORTION;
	return r;
}

/* Passes the names found so far to `fn`, and empties the list. */
static int scan_tell(struct scan *k, int (*fn)(void *arg, uint64_t dir, const char *name),
		     void *arg)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < k->found.len) {
		const char *name = (const char *)k->found.data + at + sizeof(uint64_t);
		uint64_t dir;

		memcpy(&dir, k->found.data + at, sizeof(dir));
		r = fn(arg, dir, name);
		at += sizeof(dir) + strlen(name) + 1;
	}
	k->found.len = 0;
	return r;
}

int ofs_index_list_names(struct ofs_index *ix, uint64_t ino,
			 int (*fn)(void *arg, uint64_t dir, const char *name), void *arg)
{
	OFS_CLEANUP(scan_finish) struct scan k = { .ino = ino };
	int r = 0;

	while (r == 0 && !k.end) {
		r = scan_portion(ix, &k);
		if (r == 0)
			r = scan_tell(&k, fn, arg);
	}
	return r;
}
