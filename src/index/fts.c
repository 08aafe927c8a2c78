/* SPDX-License-Identifier: MIT */
/* The search index as a database: opening it, beginning it anew, batches, counts. */
#include "index/fts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "index/fts_internal.h"
#include "index/fts_schema.h"
#include "index/vfs.h"
#include "io/file.h"

#define WASTEFUL_FROM 1000 /* documents */
#define MERGE_FROM 16 /* documents that came since the last time */
#define MERGE_PAGES 256 /* at once: some milliseconds */
#define VACUUM_PAGES "256"

static const char fts_guard[] = "PRAGMA locking_mode = EXCLUSIVE;"
				"PRAGMA cache_size = -4096;"
				"PRAGMA temp_store = MEMORY;"
				"PRAGMA trusted_schema = OFF;"
				"PRAGMA cell_size_check = ON;"
				"PRAGMA secure_delete = FAST;"
				"PRAGMA synchronous = NORMAL;";

static const char fts_wal[] = "PRAGMA wal_autocheckpoint = 500;"
			      "PRAGMA journal_size_limit = 1048576;";

/* ---- the connection */

static void fts_disconnect(struct ofs_fts *fts)
{
	for (size_t i = 0; i < OFS_FTS_STMTS; i++) {
		sqlite3_finalize(fts->stmt[i]);
		fts->stmt[i] = NULL;
	}
	sqlite3_close(fts->db);
	fts->db = NULL;
}

/* The first column of the first row. */
static int fts_number(struct ofs_fts *fts, const char *sql, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(fts->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return ofs_sqlite_errno(fts->db, rc);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? -EUCLEAN : ofs_sqlite_errno(fts->db, rc);
}

static int fts_count(struct ofs_fts *fts, enum ofs_fts_stmt id, uint64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_fts_first(fts, id, OFS_NO_ARGS, &st);

	if (r > 0)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
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
		r = ofs_fts_first(fts, OFS_FTS_META_GET, OFS_NO_ARGS, &st);
	if (r > 0)
		fts->merged = (uint64_t)sqlite3_column_int64(st, 1);
	return r < 0 ? r : r ? 0 : -EUCLEAN;
}

/* Opens what is there, private from its first moment; an empty file is an empty database. */
static int fts_connect(struct ofs_fts *fts)
{
	int fd = ofs_io_open(AT_FDCWD, fts->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	int check = OFS_INDEX_PAGE_CHECK, rc, r;

	if (fd < 0 && fd != -EEXIST)
		return fd;
	ofs_io_close(&fd);
	r = ofs_index_vfs_register();
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(fts->path, &fts->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     OFS_FTS_VFS);
	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(fts->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &check);
	if (rc != SQLITE_OK)
		return ofs_sqlite_errno(fts->db, rc);
	return ofs_fts_exec(fts, fts_guard);
}

/* -EUCLEAN: it is none of ours. Says whether it is empty. */
static int fts_examine(struct ofs_fts *fts, bool *ret_empty)
{
	int64_t app, format, objects;
	int r = fts_number(fts, "PRAGMA application_id", &app);

	if (r == 0)
		r = fts_number(fts, "PRAGMA user_version", &format);
	if (r == 0)
		r = fts_number(fts, "SELECT count(*) FROM sqlite_schema", &objects);
	if (r < 0)
		return r;
	*ret_empty = app == 0 && format == 0 && objects == 0;
	if (*ret_empty || (app == OFS_FTS_APPLICATION && format == OFS_FTS_FORMAT))
		return 0;
	return -EUCLEAN;
}

static int fts_begin(struct ofs_fts *fts)
{
	return ofs_fts_run(fts, OFS_FTS_BEGIN, OFS_NO_ARGS);
}

/* Ends a transaction of this file's own: commits when r is 0. */
static int fts_end(struct ofs_fts *fts, int r)
{
	if (r == 0)
		r = ofs_fts_run(fts, OFS_FTS_COMMIT, OFS_NO_ARGS);
	if (r < 0 && fts->db && !sqlite3_get_autocommit(fts->db))
		ofs_fts_run(fts, OFS_FTS_ROLLBACK, OFS_NO_ARGS);
	return r;
}

static int fts_open(struct ofs_fts *fts)
{
	bool empty = false;
	int r = fts_connect(fts);

	if (r == 0)
		r = fts_examine(fts, &empty);
	if (r == 0 && empty)
		r = ofs_fts_exec(fts, ofs_fts_layout);
	if (r == 0)
		r = ofs_fts_exec(fts, "PRAGMA journal_mode = WAL");
	if (r == 0)
		r = ofs_fts_exec(fts, fts_wal);
	if (r == 0 && empty) {
		r = fts_begin(fts);
		if (r == 0)
			r = fts_end(fts, ofs_fts_exec(fts, ofs_fts_create));
	}
	if (r == 0)
		r = fts_recount(fts);
	return r;
}

/* The connection is closed. */
static int fts_remove(const struct ofs_fts *fts)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
	int r = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(suffixes) && r == 0; i++) {
		OFS_FREE char *name = NULL;

		if (asprintf(&name, "%s%s", fts->path, suffixes[i]) < 0)
			return -ENOMEM;
		r = ofs_io_unlink(AT_FDCWD, name);
	}
	return r;
}

static int fts_begin_anew(struct ofs_fts *fts)
{
	int r;

	if (fts->db)
		sqlite3_db_config(fts->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	fts_disconnect(fts);
	fts->files = fts->documents = fts->alive = fts->merged = 0;
	fts->merging = false;
	atomic_fetch_add(&fts->generation, 1);
	r = fts_remove(fts);
	if (r == 0)
		r = fts_open(fts);
	if (r < 0) {
		fts_disconnect(fts);
		ofs_log(LOG_ERR, "cannot begin the search index '%s' anew: %s", fts->path,
			strerror(-r));
	}
	return r;
}

int ofs_fts_done(struct ofs_fts *fts, int r)
{
	if (r == -EUCLEAN && fts->db) {
		ofs_log(LOG_WARNING, "the search index '%s' is damaged (%s): it is built anew",
			fts->path, sqlite3_errmsg(fts->db));
		fts_begin_anew(fts);
	}
	return r;
}

int ofs_fts_written(struct ofs_fts *fts, int r)
{
	if (r < 0 && fts->failure == 0)
		fts->failure = r;
	return ofs_fts_done(fts, r);
}

static void fts_cleanup(struct ofs_fts **fts)
{
	ofs_fts_close(*fts);
}

int ofs_fts_open(const char *path, struct ofs_error *err, struct ofs_fts **ret)
{
	OFS_CLEANUP(fts_cleanup) struct ofs_fts *fts = ofs_alloc(sizeof(*fts));
	int r;

	pthread_mutex_init(&fts->gate, NULL);
	pthread_mutex_init(&fts->lock, NULL);
	atomic_init(&fts->generation, 1);
	/* A name that SQLite cannot take for a URI or for ":memory:". */
	if (asprintf(&fts->path, "%s%s", path[0] == '/' ? "" : "./", path) < 0) {
		fts->path = NULL;
		return ofs_error_set(err, ENOMEM, "out of memory");
	}
	ofs_index_vfs_opening = true;
	r = fts_open(fts);
	ofs_index_vfs_opening = false;
	if (r == -EUCLEAN) {
		ofs_log(LOG_WARNING,
			"the search index '%s' is damaged or of another format: it is built anew",
			fts->path);
		r = fts_begin_anew(fts);
	}
	if (r == -EBUSY)
		return ofs_error_set(err, EBUSY,
				     "the search index '%s' is in use by another process",
				     fts->path);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot open the search index '%s': %s", fts->path,
				     strerror(-r));
	*ret = ofs_steal(fts);
	return 0;
}

void ofs_fts_close(struct ofs_fts *fts)
{
	int saved = errno;

	if (!fts)
		return;
	fts_disconnect(fts);
	pthread_mutex_destroy(&fts->lock);
	pthread_mutex_destroy(&fts->gate);
	free(fts->path);
	free(fts);
	errno = saved;
}

uint64_t ofs_fts_generation(struct ofs_fts *fts)
{
	return atomic_load(&fts->generation);
}

/* ---- batches */

int ofs_fts_writable(const struct ofs_fts *fts)
{
	if (!fts->writing || fts->failure)
		return fts->writing ? fts->failure : -EINVAL;
	/* After some errors, also of a search, SQLite has rolled back. */
	return sqlite3_get_autocommit(fts->db) ? -EIO : 0;
}

int ofs_fts_begin(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);
	int r = 0;

	if (fts->writing)
		return -EINVAL;
	if (!fts->db)
		r = fts_begin_anew(fts);
	if (r == 0)
		r = ofs_fts_done(fts, fts_begin(fts));
	fts->writing = r == 0;
	fts->failure = 0;
	return r;
}

int ofs_fts_commit(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);
	int r;

	if (!fts->writing)
		return -EINVAL;
	fts->writing = false;
	fts->changed = true;
	r = fts_end(fts, fts->failure);
	if (r < 0 && r != -EUCLEAN)
		fts_recount(fts);
	/* What a statement found damaged has been dealt with. */
	return fts->failure ? r : ofs_fts_done(fts, r);
}

void ofs_fts_rollback(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);

	if (!fts->writing)
		return;
	fts->writing = false;
	fts_end(fts, -ECANCELED);
	if (fts->db)
		ofs_fts_done(fts, fts_recount(fts));
}

/* ---- the whole */

int ofs_fts_set_complete(struct ofs_fts *fts, bool complete)
{
	OFS_FTS_LOCKED(fts);
	int r;

	if (fts->writing)
		return -EINVAL;
	if (!fts->db)
		return -EIO;
	r = ofs_fts_exec(fts, "PRAGMA synchronous = FULL");
	if (r == 0)
		r = ofs_fts_run(fts, OFS_FTS_META_COMPLETE, OFS_ARGS(complete));
	ofs_fts_exec(fts, "PRAGMA synchronous = NORMAL");
	return ofs_fts_done(fts, r);
}

static int fts_is_complete(struct ofs_fts *fts)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_fts_first(fts, OFS_FTS_META_GET, OFS_NO_ARGS, &st);

	return r > 0 ? sqlite3_column_int64(st, 0) == 1 : r;
}

int ofs_fts_is_complete(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);

	return ofs_fts_done(fts, fts_is_complete(fts));
}

bool ofs_fts_is_wasteful(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);

	return fts->documents >= WASTEFUL_FROM && fts->alive < fts->documents - fts->alive;
}

int ofs_fts_rebuild(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);
	int r;

	if (fts->writing)
		return -EINVAL;
	r = fts_begin(fts);
	if (r == 0)
		r = fts_end(fts, ofs_fts_exec(fts, ofs_fts_clear));
	if (r == 0)
		r = fts_recount(fts);
	fts->merging = false;
	fts->changed = true;
	return ofs_fts_done(fts, r);
}

/* A step of merging in both tables; 1. */
static int fts_merge(struct ofs_fts *fts)
{
	int64_t pages = fts->merging ? MERGE_PAGES : -MERGE_PAGES;
	int64_t before = sqlite3_total_changes64(fts->db), moved;
	int r = ofs_fts_run(fts, OFS_FTS_WORD_MERGE, OFS_ARGS(pages));

	if (r == 0)
		r = ofs_fts_run(fts, OFS_FTS_GRAM_MERGE, OFS_ARGS(pages));
	if (r < 0)
		return r;
	/* Of each statement that has nothing to merge the row "inserted" counts, and no more. */
	moved = sqlite3_total_changes64(fts->db) - before - 2;
	fts->merging = moved > 0;
	fts->changed = true;
	if (!fts->merging) {
		fts->merged = fts->documents;
		r = ofs_fts_run(fts, OFS_FTS_META_MERGED, OFS_ARGS((int64_t)fts->merged));
	}
	return r < 0 ? r : 1;
}

/* Gives free pages back, and at last the write-ahead log; 1: there is more to do. */
static int fts_shrink(struct ofs_fts *fts)
{
	int64_t pages, unused;
	int r;

	if (!fts->changed)
		return 0;
	r = fts_number(fts, "PRAGMA page_count", &pages);
	if (r == 0)
		r = fts_number(fts, "PRAGMA freelist_count", &unused);
	if (r == 0 && unused > pages / 8) {
		r = ofs_fts_exec(fts, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")");
		return r < 0 ? r : 1;
	}
	if (r == 0)
		r = ofs_sqlite_errno(fts->db, sqlite3_wal_checkpoint_v2(fts->db, NULL,
									SQLITE_CHECKPOINT_TRUNCATE,
									NULL, NULL));
	fts->changed = r < 0;
	return r;
}

int ofs_fts_tidy(struct ofs_fts *fts)
{
	OFS_FTS_LOCKED(fts);
	uint64_t added = fts->documents - OFS_MIN(fts->merged, fts->documents);
	int r;

	if (fts->writing)
		return -EINVAL;
	if (!fts->db)
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
	int r = ofs_index_file_usage(fts->path, "", &c.bytes);

	if (r == 0)
		r = ofs_index_file_usage(fts->path, "-wal", &c.bytes);
	if (r < 0)
		return r;
	OFS_FTS_LOCKED(fts);
	c.files = fts->files;
	c.documents = fts->documents;
	c.dead = fts->documents - fts->alive;
	*ret = c;
	return 0;
}
