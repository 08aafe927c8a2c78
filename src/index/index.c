/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "index/index_state.h"
#include "index/rules.h"
#include "index/vfs.h"
#include "io/failpoint.h"

/*
 * The exclusive lock is requested before the first read of the file, so that the WAL's index is
 * kept in memory and a second opener fails at its first read.
 */
static const char index_guard[] = "PRAGMA locking_mode = EXCLUSIVE;"
				  "PRAGMA cache_size = -8000;"
				  "PRAGMA temp_store = MEMORY;"
				  "PRAGMA trusted_schema = OFF;"
				  "PRAGMA cell_size_check = ON;"
				  "PRAGMA secure_delete = FAST;"
				  "PRAGMA synchronous = FULL;";

static const char index_wal[] = "PRAGMA wal_autocheckpoint = 1000;"
				"PRAGMA journal_size_limit = 1048576;";

static void index_cleanup(struct ofs_index **ix)
{
	ofs_index_close(*ix);
}

static int index_failed(struct ofs_index *ix, int r, struct ofs_error *err)
{
	const char *path = ix->db.path;
	sqlite3 *conn = ix->db.conn;

	if (r == -EBUSY)
		return ofs_error_set(err, EBUSY, "the index '%s' is in use by another process",
				     path);
	if (r == -EUCLEAN && sqlite3_errcode(conn) == SQLITE_NOTADB)
		return ofs_error_set(err, EINVAL, "'%s' is not an offloadfs index", path);
	if (r == -EUCLEAN)
		return ofs_error_set(err, EUCLEAN, "the index '%s' is damaged: %s", path,
				     sqlite3_extended_errcode(conn) == SQLITE_IOERR_DATA
					     ? "the checksum of a page does not match"
					     : sqlite3_errmsg(conn));
	return ofs_error_set(err, -r, "cannot open the index '%s': %s", path,
			     conn && sqlite3_errcode(conn) != SQLITE_OK ? sqlite3_errmsg(conn)
									: strerror(-r));
}

static int index_connect(struct ofs_index *ix, struct ofs_error *err)
{
	int r = ofs_db_connect(&ix->db);

	if (r == -EINVAL && !ix->db.conn)
		return ofs_error_set(err, EINVAL, "the index '%s' is not a regular file",
				     ix->db.path);
	if (r == 0)
		r = ofs_db_errno(&ix->db, ofs_rules_add_functions(ix->db.conn));
	if (r < 0)
		return index_failed(ix, r, err);
	/* Closing the file must not change it until it is known to be an index of ours. */
	sqlite3_db_config(ix->db.conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	r = ofs_db_exec(&ix->db, index_guard);
	return r < 0 ? index_failed(ix, r, err) : 0;
}

/* Refuses a database that is not an index or has an unknown format. 1: it is empty. */
static int index_examine(struct ofs_index *ix, struct ofs_error *err, int64_t *ret_format)
{
	int64_t format = -1;
	int r = ofs_db_examine(&ix->db, OFS_INDEX_APPLICATION, &format);

	if (r == -EUCLEAN && format >= 0)
		return ofs_error_set(err, EINVAL,
				     "'%s' is not an offloadfs index but another database",
				     ix->db.path);
	if (r < 0)
		return index_failed(ix, r, err);
	if (r == 0 && (format < OFS_INDEX_FORMAT_OLD || format > OFS_INDEX_FORMAT))
		return ofs_error_set(
			err, EINVAL,
			"the index '%s' has format %lld, this program understands %d to %d",
			ix->db.path, (long long)format, OFS_INDEX_FORMAT_OLD, OFS_INDEX_FORMAT);
	*ret_format = format;
	return r;
}

static int index_enter_wal(struct ofs_index *ix)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(ix->db.conn, "PRAGMA journal_mode = WAL", -1, &st, NULL);
	bool wal = false;

	if (rc != SQLITE_OK)
		return ofs_db_errno(&ix->db, rc);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		wal = sqlite3_stricmp((const char *)sqlite3_column_text(st, 0), "wal") == 0;
	sqlite3_finalize(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -EIO : ofs_db_errno(&ix->db, rc);
	return wal ? ofs_db_exec(&ix->db, index_wal) : -EIO;
}

static int index_create(struct ofs_index *ix, const struct ofs_index_meta *fresh)
{
	int r = ofs_index_begin(ix);

	if (r < 0)
		return r;
	r = ofs_db_exec(&ix->db, ofs_schema_create);
	if (r == 0)
		r = ofs_index_put_meta(ix, fresh);
	return ofs_index_end(ix, r);
}

static int index_upgrade(struct ofs_index *ix, int64_t format)
{
	int r = ofs_index_begin(ix);

	if (r < 0)
		return r;
	if (format == 2)
		r = ofs_db_exec(&ix->db, ofs_schema_from_2);
	if (r == 0 && format <= 3)
		r = ofs_db_exec(&ix->db, ofs_schema_from_3);
	if (r == 0 && format <= 4)
		r = ofs_db_exec(&ix->db, ofs_schema_from_4);
	if (r == 0 && format <= 5)
		r = ofs_db_exec(&ix->db, ofs_schema_from_5);
	if (r == 0)
		r = ofs_db_exec(&ix->db, ofs_schema_from_6);
	return ofs_index_end(ix, r);
}

/* Completes opening a database that is not empty. */
static int index_enter(struct ofs_index *ix, int64_t format, struct ofs_error *err)
{
	int r;

	if (ix->db.fixed && format != OFS_INDEX_FORMAT)
		return ofs_error_set(err, EINVAL,
				     "the index '%s' has format %lld; only format %d can be read",
				     ix->db.path, (long long)format, OFS_INDEX_FORMAT);
	r = ix->db.fixed ? 0 : index_enter_wal(ix);
	if (r == 0 && format != OFS_INDEX_FORMAT)
		r = index_upgrade(ix, format);
	return r < 0 ? index_failed(ix, r, err) : 0;
}

static int index_open(const char *path, const struct ofs_index_meta *fresh, bool fixed,
		      struct ofs_error *err, struct ofs_index **ret)
{
	OFS_CLEANUP(index_cleanup) struct ofs_index *ix = ofs_alloc(sizeof(*ix));
	int64_t format = 0;
	bool empty;
	int r;

	ofs_db_init(&ix->db, path, OFS_INDEX_VFS, ofs_schema_sql, OFS_STMT_COUNT);
	ix->db.fixed = fixed;
	r = fresh ? ofs_db_create_file(&ix->db) : 0;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot create the index '%s': %s", ix->db.path,
				     strerror(-r));
	r = index_connect(ix, err);
	if (r == 0)
		r = index_examine(ix, err, &format);
	if (r < 0)
		return r;
	empty = r == 1;
	if (empty && !fresh)
		return ofs_error_set(err, ENOENT, "the index '%s' is empty", ix->db.path);
	if (!empty) {
		r = index_enter(ix, format, err);
	} else {
		r = ofs_db_exec(&ix->db, ofs_schema_layout);
		if (r == 0)
			r = index_enter_wal(ix);
		if (r == 0)
			r = index_create(ix, fresh);
		if (r < 0)
			index_failed(ix, r, err);
	}
	if (r < 0)
		return r;
	sqlite3_db_config(ix->db.conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	*ret = ofs_steal(ix);
	return 0;
}

int ofs_index_open(const char *path, const struct ofs_index_meta *fresh, struct ofs_error *err,
		   struct ofs_index **ret)
{
	int r;

	ofs_index_vfs_opening = true;
	r = index_open(path, fresh, false, err, ret);
	ofs_index_vfs_opening = false;
	return r;
}

int ofs_index_open_fixed(const char *path, struct ofs_error *err, struct ofs_index **ret)
{
	int r;

	ofs_index_vfs_opening = true;
	r = index_open(path, NULL, true, err, ret);
	ofs_index_vfs_opening = false;
	return r;
}

void ofs_index_swap(struct ofs_index *ix, struct ofs_index *other)
{
	OFS_DB_LOCKED(&ix->db);
	sqlite3 *conn = ix->db.conn;
	sqlite3_stmt **stmt = ix->db.stmt;

	ix->db.conn = other->db.conn;
	ix->db.stmt = other->db.stmt;
	other->db.conn = conn;
	other->db.stmt = stmt;
}

void ofs_index_close(struct ofs_index *ix)
{
	int saved = errno;

	if (!ix)
		return;
	ofs_db_finish(&ix->db);
	ofs_u64_list_finish(&ix->heirs);
	ofs_u64_list_finish(&ix->dropped);
	ofs_bits_finish(&ix->pages);
	free(ix);
	errno = saved;
}

/* ---- transactions */

int ofs_index_begin(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);
	int r;

	if (ix->db.writing)
		return -EINVAL;
	r = ofs_db_begin(&ix->db);
	if (r < 0)
		return r;
	ix->db.writing = true;
	ix->db.failure = 0;
	ix->changes = sqlite3_total_changes(ix->db.conn);
	ix->heirs_kept = ix->heirs.n;
	ix->dropped.n = 0;
	return 0;
}

/* Under the lock. */
static int index_end(struct ofs_index *ix, int r)
{
	r = ofs_db_end(&ix->db, r);
	ix->db.writing = false;
	if (r < 0)
		ix->heirs.n = ix->heirs_kept;
	return r;
}

int ofs_index_commit(struct ofs_index *ix)
{
	int fault, r;

	ofs_index_delete_dropped(ix);
	OFS_DB_LOCKED(&ix->db);
	if (!ix->db.writing)
		return -EINVAL;
	fault = ofs_failpoint("index.commit");
	r = index_end(ix, fault < 0 ? fault : ix->db.failure);
	if (r < 0)
		return r;
	ofs_failpoint_after(fault);
	/* The row of the meta alone is no reason to compact the database. */
	ix->changed = ix->changed || sqlite3_total_changes(ix->db.conn) - ix->changes > 1;
	return 0;
}

void ofs_index_rollback(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);

	if (ix->db.writing)
		index_end(ix, -ECANCELED);
}

int ofs_index_end(struct ofs_index *ix, int r)
{
	if (r == 0)
		return ofs_index_commit(ix);
	ofs_index_rollback(ix);
	return r;
}

/* ---- size on disk */

#define INCREMENTAL 2 /* the value of PRAGMA auto_vacuum */

/*
 * Returns free pages to the filesystem once they are a quarter of the file. The mode FULL does so
 * with the commit that sets it, in linear time; incremental_vacuum would search the list of free
 * pages for each page that it moves or drops. A crash may leave the mode FULL behind.
 */
static int index_shrink(struct ofs_index *ix)
{
	int64_t pages, unused, mode;
	int r = ofs_db_number(&ix->db, "PRAGMA page_count", &pages);

	if (r == 0)
		r = ofs_db_number(&ix->db, "PRAGMA freelist_count", &unused);
	if (r == 0)
		r = ofs_db_number(&ix->db, "PRAGMA auto_vacuum", &mode);
	if (r < 0 || (unused < pages / 4 && mode == INCREMENTAL))
		return r;
	return ofs_db_exec(&ix->db, "PRAGMA auto_vacuum = FULL; PRAGMA auto_vacuum = INCREMENTAL");
}

int ofs_index_checkpoint(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);
	int r;

	if (ix->db.writing)
		return -EINVAL;
	r = index_shrink(ix);
	/* Shrinking takes room in the WAL, which a full disk may only have once that is emptied. */
	return r < 0 && r != -ENOSPC && r != -EDQUOT ? r : ofs_db_checkpoint(&ix->db);
}

/* Rewriting this many pages takes a few milliseconds. */
#define COMPACT_PAGES 4096

int ofs_index_settle(struct ofs_index *ix)
{
	int64_t pages;
	int r;

	{
		OFS_DB_LOCKED(&ix->db);

		if (ix->db.writing)
			return -EINVAL;
		r = ofs_db_number(&ix->db, "PRAGMA page_count", &pages);
		if (r == 0 && pages <= COMPACT_PAGES && ix->changed)
			r = ofs_db_exec(&ix->db, "VACUUM");
		ix->changed = ix->changed && r < 0;
	}
	return r < 0 ? r : ofs_index_checkpoint(ix);
}

int ofs_index_disk_usage(struct ofs_index *ix, uint64_t *ret)
{
	return ofs_db_disk_usage(&ix->db, ret);
}

/* ---- the meta */

int ofs_index_get_meta(struct ofs_index *ix, struct ofs_index_meta *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	struct ofs_index_meta meta;
	int r = ofs_db_first(&ix->db, OFS_STMT_META_GET, OFS_NO_ARGS, &st);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	r = ofs_column_bytes(st, 0, meta.uuid, sizeof(meta.uuid));
	if (r < 0)
		return r;
	meta.checkpoint = ofs_column_u64(st, 1);
	meta.next_ino = ofs_column_u64(st, 2);
	meta.next_chunk = ofs_column_u64(st, 3);
	meta.pack = ofs_column_u32(st, 4);
	meta.pack_size = ofs_column_u64(st, 5);
	meta.unused_from = ofs_column_u64(st, 6);
	meta.scrubbed = ofs_column_u64(st, 7);
	meta.counts.files = ofs_column_u64(st, 8);
	meta.counts.dirs = ofs_column_u64(st, 9);
	meta.counts.others = ofs_column_u64(st, 10);
	meta.counts.bytes = ofs_column_u64(st, 11);
	meta.counts.tombstones = ofs_column_u64(st, 12);
	meta.age = sqlite3_column_int64(st, 13);
	meta.age_wall = sqlite3_column_int64(st, 14);
	meta.wall_high = sqlite3_column_int64(st, 15);
	meta.ref_seed = sqlite3_column_int64(st, 16);
	*ret = meta;
	return 0;
}

int ofs_index_put_meta(struct ofs_index *ix, const struct ofs_index_meta *meta)
{
	return ofs_db_write(&ix->db, OFS_STMT_META_PUT,
			    OFS_ARGS(meta->checkpoint, meta->next_ino, meta->next_chunk, meta->pack,
				     meta->pack_size, meta->unused_from, meta->scrubbed,
				     meta->counts.files, meta->counts.dirs, meta->counts.others,
				     meta->counts.bytes, meta->counts.tombstones, meta->age,
				     meta->age_wall, meta->wall_high, meta->ref_seed),
			    meta->uuid, sizeof(meta->uuid));
}

int ofs_index_recount(struct ofs_index *ix)
{
	return ofs_db_write(&ix->db, OFS_STMT_META_COUNT, OFS_NO_ARGS, NULL, 0);
}
