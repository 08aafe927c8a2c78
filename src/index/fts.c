/* SPDX-License-Identifier: MIT */
/* The search index as a database: opening it, starting it anew, batches, counts. */
#include "index/fts.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/log.h"
#include "index/fts_schema.h"
#include "index/vfs.h"
#include "io/file.h"

#define WASTEFUL_FROM 1000 /* documents */
#define MERGE_FROM 16 /* documents added since the last merge */
#define MERGE_PAGES 256 /* per step; takes some milliseconds */
#define VACUUM_PAGES "1024"
#define COMPACT_PAGES 4096 /* rewriting this many takes some milliseconds */

static const char fts_guard[] = "PRAGMA locking_mode = EXCLUSIVE;"
				"PRAGMA cache_size = -4096;"
				"PRAGMA temp_store = MEMORY;"
				"PRAGMA trusted_schema = OFF;"
				"PRAGMA cell_size_check = ON;"
				"PRAGMA secure_delete = FAST;"
				"PRAGMA synchronous = NORMAL;";

static const char fts_wal[] = "PRAGMA wal_autocheckpoint = 2000;"
			      "PRAGMA journal_size_limit = 1048576;";

/* ---- the connection */

static int fts_count(struct ofs_fts *fts, enum ofs_fts_stmt id, uint64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&fts->db, id, OFS_NO_ARGS, &st);

	if (r == 0)
		*ret = ofs_column_u64(st, 0);
	return r;
}

static int fts_recount(struct ofs_fts *fts)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = fts_count(fts, OFS_FTS_COUNT_FILES, &fts->files);

	if (r == 0)
		r = fts_count(fts, OFS_FTS_COUNT_DOCS, &fts->documents);
	if (r == 0)
		r = fts_count(fts, OFS_FTS_COUNT_ALIVE, &fts->alive);
	if (r == 0)
		r = ofs_db_first(&fts->db, OFS_FTS_META_GET, OFS_NO_ARGS, &st);
	if (r == 0)
		fts->merged = ofs_column_u64(st, 1);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int fts_create(struct ofs_fts *fts)
{
	int r = ofs_db_begin(&fts->db);

	return r < 0 ? r : ofs_db_end(&fts->db, ofs_db_exec(&fts->db, ofs_fts_create));
}

static int fts_open(struct ofs_fts *fts)
{
	struct ofs_db *db = &fts->db;
	int64_t format = 0;
	bool empty;
	int r = ofs_db_create_file(db);

	if (r == 0)
		r = ofs_db_connect(db);
	if (r == 0)
		r = ofs_db_exec(db, fts_guard);
	if (r == 0)
		r = ofs_db_examine(db, OFS_FTS_APPLICATION, &format);
	if (r == 0 && format != OFS_FTS_FORMAT)
		r = -EUCLEAN;
	empty = r == 1;
	if (empty)
		r = ofs_db_exec(db, ofs_fts_layout);
	if (r == 0)
		r = ofs_db_exec(db, "PRAGMA journal_mode = WAL");
	if (r == 0)
		r = ofs_db_exec(db, fts_wal);
	if (r == 0 && empty)
		r = fts_create(fts);
	return r < 0 ? r : fts_recount(fts);
}

/* The connection must be closed. */
static int fts_remove(const struct ofs_fts *fts)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
	int r = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(suffixes) && r == 0; i++) {
		OFS_FREE char *name = ofs_format("%s%s", fts->db.path, suffixes[i]);

		r = ofs_io_unlink(AT_FDCWD, name);
	}
	return r;
}

static int fts_start_anew(struct ofs_fts *fts)
{
	int r;

	if (fts->db.conn)
		sqlite3_db_config(fts->db.conn, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	ofs_db_disconnect(&fts->db);
	fts->files = fts->documents = fts->alive = fts->merged = 0;
	fts->merging = false;
	atomic_fetch_add(&fts->generation, 1);
	atomic_fetch_add(&fts->numbering, 1);
	r = fts_remove(fts);
	if (r == 0)
		r = fts_open(fts);
	if (r < 0) {
		ofs_db_disconnect(&fts->db);
		ofs_log(LOG_ERR, "cannot recreate the search index '%s': %s", fts->db.path,
			strerror(-r));
	}
	return r;
}

int ofs_fts_done(struct ofs_fts *fts, int r)
{
	if (r == -EUCLEAN && fts->db.conn) {
		ofs_log(LOG_WARNING, "the search index '%s' is damaged (%s) and will be rebuilt",
			fts->db.path, sqlite3_errmsg(fts->db.conn));
		fts_start_anew(fts);
	}
	return r;
}

int ofs_fts_written(struct ofs_fts *fts, int r)
{
	return ofs_fts_done(fts, ofs_db_written(&fts->db, r));
}

static void fts_cleanup(struct ofs_fts **fts)
{
	ofs_fts_close(*fts);
}

int ofs_fts_open(const char *path, struct ofs_error *err, struct ofs_fts **ret)
{
	OFS_CLEANUP(fts_cleanup) struct ofs_fts *fts = ofs_alloc(sizeof(*fts));
	int r;

	ofs_db_init(&fts->db, path, OFS_FTS_VFS, ofs_fts_sql, OFS_FTS_STMTS);
	atomic_init(&fts->generation, 1);
	atomic_init(&fts->numbering, 1);
	ofs_index_vfs_opening = true;
	r = fts_open(fts);
	ofs_index_vfs_opening = false;
	if (r == -EUCLEAN) {
		ofs_log(LOG_WARNING,
			"the search index '%s' is damaged or of another format and will be rebuilt",
			fts->db.path);
		r = fts_start_anew(fts);
	}
	if (r == -EBUSY)
		return ofs_error_set(err, EBUSY,
				     "the search index '%s' is in use by another process",
				     fts->db.path);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot open the search index '%s': %s", fts->db.path,
				     strerror(-r));
	*ret = ofs_steal(fts);
	return 0;
}

void ofs_fts_close(struct ofs_fts *fts)
{
	int saved = errno;

	if (!fts)
		return;
	ofs_db_finish(&fts->db);
	free(fts);
	errno = saved;
}

uint64_t ofs_fts_generation(struct ofs_fts *fts)
{
	return atomic_load(&fts->generation);
}

uint64_t ofs_fts_numbering(struct ofs_fts *fts)
{
	return atomic_load(&fts->numbering);
}

/* ---- batches */

int ofs_fts_begin(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);
	int r = 0;

	if (fts->db.writing)
		return -EINVAL;
	if (!fts->db.conn)
		r = fts_start_anew(fts);
	if (r == 0)
		r = ofs_fts_done(fts, ofs_db_begin(&fts->db));
	fts->db.writing = r == 0;
	fts->db.failure = 0;
	return r;
}

int ofs_fts_commit(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);
	int r;

	if (!fts->db.writing)
		return -EINVAL;
	fts->db.writing = false;
	fts->changed = true;
	r = ofs_db_end(&fts->db, fts->db.failure);
	if (r < 0 && r != -EUCLEAN)
		fts_recount(fts);
	/* Damage found by a statement has been handled already. */
	return fts->db.failure ? r : ofs_fts_done(fts, r);
}

/* ---- the database as a whole */

int ofs_fts_set_complete(struct ofs_fts *fts, bool complete)
{
	OFS_DB_LOCKED(&fts->db);
	int r;

	if (fts->db.writing)
		return -EINVAL;
	if (!fts->db.conn)
		return -EIO;
	r = ofs_db_exec(&fts->db, "PRAGMA synchronous = FULL");
	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_META_COMPLETE, OFS_ARGS(complete));
	ofs_db_exec(&fts->db, "PRAGMA synchronous = NORMAL");
	return ofs_fts_done(fts, r);
}

static int fts_is_complete(struct ofs_fts *fts)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&fts->db, OFS_FTS_META_GET, OFS_NO_ARGS, &st);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return sqlite3_column_int64(st, 0) == 1;
}

int ofs_fts_is_complete(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, fts_is_complete(fts));
}

bool ofs_fts_is_wasteful(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);

	return fts->documents >= WASTEFUL_FROM && fts->alive < fts->documents - fts->alive;
}

int ofs_fts_rebuild(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);
	int r;

	if (fts->db.writing)
		return -EINVAL;
	r = ofs_db_begin(&fts->db);
	if (r == 0)
		r = ofs_db_end(&fts->db, ofs_db_exec(&fts->db, ofs_fts_clear));
	if (r == 0)
		r = fts_recount(fts);
	fts->merging = false;
	fts->changed = true;
	atomic_fetch_add(&fts->numbering, 1);
	return ofs_fts_done(fts, r);
}

/* Merges some segments of both tables. Returns 1 or -errno. */
static int fts_merge(struct ofs_fts *fts)
{
	int64_t pages = fts->merging ? MERGE_PAGES : -MERGE_PAGES;
	int64_t before = sqlite3_total_changes64(fts->db.conn), moved;
	int r = ofs_db_run(&fts->db, OFS_FTS_WORD_MERGE, OFS_ARGS(pages));

	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_LABEL_MERGE, OFS_ARGS(pages));
	if (r < 0)
		return r;
	/* A statement with nothing to merge counts as one change, the row "inserted". */
	moved = sqlite3_total_changes64(fts->db.conn) - before - 2;
	fts->merging = moved > 0;
	fts->changed = true;
	if (!fts->merging) {
		fts->merged = fts->documents;
		fts->scattered = true;
		r = ofs_db_run(&fts->db, OFS_FTS_META_MERGED, OFS_ARGS((int64_t)fts->merged));
	}
	return r < 0 ? r : 1;
}

/* Compacts a small database. Does nothing to a large one, whose free pages are returned later. */
static int fts_compact(struct ofs_fts *fts, int64_t pages)
{
	fts->scattered = false;
	return pages <= COMPACT_PAGES ? ofs_db_exec(&fts->db, "VACUUM") : 0;
}

/* Returns free pages to the filesystem, and finally empties the WAL. 1: there is more to do. */
static int fts_shrink(struct ofs_fts *fts)
{
	int64_t pages, unused;
	int r;

	if (!fts->changed)
		return 0;
	r = ofs_db_number(&fts->db, "PRAGMA page_count", &pages);
	if (r == 0 && fts->scattered)
		r = fts_compact(fts, pages);
	if (r == 0)
		r = ofs_db_number(&fts->db, "PRAGMA freelist_count", &unused);
	if (r == 0 && unused > pages / 8) {
		r = ofs_db_exec(&fts->db, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")");
		return r < 0 ? r : 1;
	}
	if (r == 0)
		r = ofs_db_checkpoint(&fts->db);
	fts->changed = r < 0;
	return r;
}

int ofs_fts_tidy(struct ofs_fts *fts)
{
	OFS_DB_LOCKED(&fts->db);
	uint64_t added = fts->documents - OFS_MIN(fts->merged, fts->documents);
	int r;

	if (fts->db.writing)
		return -EINVAL;
	if (!fts->db.conn)
		return 0;
	if (fts->merging || (added >= MERGE_FROM && added > fts->merged / 4))
		r = fts_merge(fts);
	else
		r = fts_shrink(fts);
	return ofs_fts_done(fts, r);
}

int ofs_fts_counts(struct ofs_fts *fts, struct ofs_fts_counts *ret)
{
	struct ofs_fts_counts c = { 0 };
	int r = ofs_db_disk_usage(&fts->db, &c.bytes);

	if (r < 0)
		return r;
	OFS_DB_LOCKED(&fts->db);
	c.files = fts->files;
	c.documents = fts->documents;
	c.dead = fts->documents - fts->alive;
	*ret = c;
	return 0;
}
