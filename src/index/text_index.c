/* SPDX-License-Identifier: MIT */
/* The text index as a database: opening it, beginning it anew, batches, counts. */
#include "index/text_index.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "index/text_internal.h"
#include "index/text_schema.h"
#include "index/vfs.h"
#include "io/file.h"

#define WASTEFUL_FROM 1000 /* documents */
#define MERGE_FROM 16 /* documents that came since the last time */
#define MERGE_PAGES 256 /* at once: some milliseconds */
#define VACUUM_PAGES "256"

static const char text_guard[] = "PRAGMA locking_mode = EXCLUSIVE;"
				 "PRAGMA cache_size = -4096;"
				 "PRAGMA temp_store = MEMORY;"
				 "PRAGMA trusted_schema = OFF;"
				 "PRAGMA cell_size_check = ON;"
				 "PRAGMA secure_delete = FAST;"
				 "PRAGMA synchronous = NORMAL;";

static const char text_wal[] = "PRAGMA wal_autocheckpoint = 500;"
			       "PRAGMA journal_size_limit = 1048576;";

/* ---- the connection */

static void text_disconnect(struct ofs_text_index *ti)
{
	for (size_t i = 0; i < OFS_TEXT_STMTS; i++) {
		sqlite3_finalize(ti->stmt[i]);
		ti->stmt[i] = NULL;
	}
	sqlite3_close(ti->db);
	ti->db = NULL;
}

/* The first column of the first row. */
static int text_number(struct ofs_text_index *ti, const char *sql, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(ti->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return ofs_sqlite_errno(ti->db, rc);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? -EUCLEAN : ofs_sqlite_errno(ti->db, rc);
}

static int text_count(struct ofs_text_index *ti, enum ofs_text_stmt id, uint64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_text_first(ti, id, OFS_NO_ARGS, &st);

	if (r > 0)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return r < 0 ? r : 0;
}

static int text_recount(struct ofs_text_index *ti)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = text_count(ti, OFS_TEXT_COUNT_FILES, &ti->files);

	if (r == 0)
		r = text_count(ti, OFS_TEXT_COUNT_DOCS, &ti->documents);
	if (r == 0)
		r = text_count(ti, OFS_TEXT_COUNT_ALIVE, &ti->alive);
	if (r == 0)
		r = ofs_text_first(ti, OFS_TEXT_META_GET, OFS_NO_ARGS, &st);
	if (r > 0)
		ti->merged = (uint64_t)sqlite3_column_int64(st, 1);
	return r < 0 ? r : r ? 0 : -EUCLEAN;
}

/* Opens what is there, private from its first moment; an empty file is an empty database. */
static int text_connect(struct ofs_text_index *ti)
{
	int fd = ofs_io_open(AT_FDCWD, ti->path, O_RDWR | O_CREAT | O_EXCL, 0600);
	int check = OFS_INDEX_PAGE_CHECK, rc, r;

	if (fd < 0 && fd != -EEXIST)
		return fd;
	ofs_io_close(&fd);
	r = ofs_index_vfs_register();
	if (r < 0)
		return r;
	rc = sqlite3_open_v2(ti->path, &ti->db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     OFS_TEXT_VFS);
	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(ti->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &check);
	if (rc != SQLITE_OK)
		return ofs_sqlite_errno(ti->db, rc);
	return ofs_text_exec(ti, text_guard);
}

/* -EUCLEAN: it is none of ours. Says whether it is empty. */
static int text_examine(struct ofs_text_index *ti, bool *ret_empty)
{
	int64_t app, format, objects;
	int r = text_number(ti, "PRAGMA application_id", &app);

	if (r == 0)
		r = text_number(ti, "PRAGMA user_version", &format);
	if (r == 0)
		r = text_number(ti, "SELECT count(*) FROM sqlite_schema", &objects);
	if (r < 0)
		return r;
	*ret_empty = app == 0 && format == 0 && objects == 0;
	if (*ret_empty || (app == OFS_TEXT_APPLICATION && format == OFS_TEXT_FORMAT))
		return 0;
	return -EUCLEAN;
}

static int text_begin(struct ofs_text_index *ti)
{
	return ofs_text_run(ti, OFS_TEXT_BEGIN, OFS_NO_ARGS);
}

/* Ends a transaction of this file's own: commits when r is 0. */
static int text_end(struct ofs_text_index *ti, int r)
{
	if (r == 0)
		r = ofs_text_run(ti, OFS_TEXT_COMMIT, OFS_NO_ARGS);
	if (r < 0 && ti->db && !sqlite3_get_autocommit(ti->db))
		ofs_text_run(ti, OFS_TEXT_ROLLBACK, OFS_NO_ARGS);
	return r;
}

static int text_open(struct ofs_text_index *ti)
{
	bool empty = false;
	int r = text_connect(ti);

	if (r == 0)
		r = text_examine(ti, &empty);
	if (r == 0 && empty)
		r = ofs_text_exec(ti, ofs_text_layout);
	if (r == 0)
		r = ofs_text_exec(ti, "PRAGMA journal_mode = WAL");
	if (r == 0)
		r = ofs_text_exec(ti, text_wal);
	if (r == 0 && empty) {
		r = text_begin(ti);
		if (r == 0)
			r = text_end(ti, ofs_text_exec(ti, ofs_text_create));
	}
	if (r == 0)
		r = text_recount(ti);
	return r;
}

/* The connection is closed. */
static int text_remove(const struct ofs_text_index *ti)
{
	static const char *const suffixes[] = { "-wal", "-shm", "-journal", "" };
	int r = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(suffixes) && r == 0; i++) {
		OFS_FREE char *name = NULL;

		if (asprintf(&name, "%s%s", ti->path, suffixes[i]) < 0)
			return -ENOMEM;
		r = ofs_io_unlink(AT_FDCWD, name);
	}
	return r;
}

static int text_begin_anew(struct ofs_text_index *ti)
{
	int r;

	if (ti->db)
		sqlite3_db_config(ti->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	text_disconnect(ti);
	ti->files = ti->documents = ti->alive = ti->merged = 0;
	ti->merging = false;
	atomic_fetch_add(&ti->generation, 1);
	r = text_remove(ti);
	if (r == 0)
		r = text_open(ti);
	if (r < 0) {
		text_disconnect(ti);
		ofs_log(LOG_ERR, "cannot begin the text index '%s' anew: %s", ti->path,
			strerror(-r));
	}
	return r;
}

int ofs_text_done(struct ofs_text_index *ti, int r)
{
	if (r == -EUCLEAN && ti->db) {
		ofs_log(LOG_WARNING, "the text index '%s' is damaged (%s): it is built anew",
			ti->path, sqlite3_errmsg(ti->db));
		text_begin_anew(ti);
	}
	return r;
}

int ofs_text_written(struct ofs_text_index *ti, int r)
{
	if (r < 0 && ti->failure == 0)
		ti->failure = r;
	return ofs_text_done(ti, r);
}

static void text_cleanup(struct ofs_text_index **ti)
{
	ofs_text_index_close(*ti);
}

int ofs_text_index_open(const char *path, struct ofs_error *err, struct ofs_text_index **ret)
{
	OFS_CLEANUP(text_cleanup) struct ofs_text_index *ti = ofs_alloc(sizeof(*ti));
	int r;

	pthread_mutex_init(&ti->gate, NULL);
	pthread_mutex_init(&ti->lock, NULL);
	atomic_init(&ti->generation, 1);
	/* A name that SQLite cannot take for a URI or for ":memory:". */
	if (asprintf(&ti->path, "%s%s", path[0] == '/' ? "" : "./", path) < 0) {
		ti->path = NULL;
		return ofs_error_set(err, ENOMEM, "out of memory");
	}
	ofs_index_vfs_opening = true;
	r = text_open(ti);
	ofs_index_vfs_opening = false;
	if (r == -EUCLEAN) {
		ofs_log(LOG_WARNING,
			"the text index '%s' is damaged or of another format: it is built anew",
			ti->path);
		r = text_begin_anew(ti);
	}
	if (r == -EBUSY)
		return ofs_error_set(err, EBUSY, "the text index '%s' is in use by another process",
				     ti->path);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot open the text index '%s': %s", ti->path,
				     strerror(-r));
	*ret = ofs_steal(ti);
	return 0;
}

void ofs_text_index_close(struct ofs_text_index *ti)
{
	int saved = errno;

	if (!ti)
		return;
	text_disconnect(ti);
	pthread_mutex_destroy(&ti->lock);
	pthread_mutex_destroy(&ti->gate);
	free(ti->path);
	free(ti);
	errno = saved;
}

uint64_t ofs_text_index_generation(struct ofs_text_index *ti)
{
	return atomic_load(&ti->generation);
}

/* ---- batches */

int ofs_text_writable(const struct ofs_text_index *ti)
{
	if (!ti->writing || ti->failure)
		return ti->writing ? ti->failure : -EINVAL;
	/* After some errors, also of a search, SQLite has rolled back. */
	return sqlite3_get_autocommit(ti->db) ? -EIO : 0;
}

int ofs_text_index_begin(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);
	int r = 0;

	if (ti->writing)
		return -EINVAL;
	if (!ti->db)
		r = text_begin_anew(ti);
	if (r == 0)
		r = ofs_text_done(ti, text_begin(ti));
	ti->writing = r == 0;
	ti->failure = 0;
	return r;
}

int ofs_text_index_commit(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);
	int r;

	if (!ti->writing)
		return -EINVAL;
	ti->writing = false;
	ti->changed = true;
	r = text_end(ti, ti->failure);
	if (r < 0 && r != -EUCLEAN)
		text_recount(ti);
	/* What a statement found damaged has been dealt with. */
	return ti->failure ? r : ofs_text_done(ti, r);
}

void ofs_text_index_rollback(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);

	if (!ti->writing)
		return;
	ti->writing = false;
	text_end(ti, -ECANCELED);
	if (ti->db)
		ofs_text_done(ti, text_recount(ti));
}

/* ---- the whole */

int ofs_text_index_set_complete(struct ofs_text_index *ti, bool complete)
{
	OFS_TEXT_LOCKED(ti);
	int r;

	if (ti->writing)
		return -EINVAL;
	if (!ti->db)
		return -EIO;
	r = ofs_text_exec(ti, "PRAGMA synchronous = FULL");
	if (r == 0)
		r = ofs_text_run(ti, OFS_TEXT_META_COMPLETE, OFS_ARGS(complete));
	ofs_text_exec(ti, "PRAGMA synchronous = NORMAL");
	return ofs_text_done(ti, r);
}

static int text_is_complete(struct ofs_text_index *ti)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_text_first(ti, OFS_TEXT_META_GET, OFS_NO_ARGS, &st);

	return r > 0 ? sqlite3_column_int64(st, 0) == 1 : r;
}

int ofs_text_index_is_complete(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);

	return ofs_text_done(ti, text_is_complete(ti));
}

bool ofs_text_index_is_wasteful(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);

	return ti->documents >= WASTEFUL_FROM && ti->alive < ti->documents - ti->alive;
}

int ofs_text_index_rebuild(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);
	int r;

	if (ti->writing)
		return -EINVAL;
	r = text_begin(ti);
	if (r == 0)
		r = text_end(ti, ofs_text_exec(ti, ofs_text_clear));
	if (r == 0)
		r = text_recount(ti);
	ti->merging = false;
	ti->changed = true;
	return ofs_text_done(ti, r);
}

/* A step of merging in both tables; 1. */
static int text_merge(struct ofs_text_index *ti)
{
	int64_t pages = ti->merging ? MERGE_PAGES : -MERGE_PAGES;
	int64_t before = sqlite3_total_changes64(ti->db), moved;
	int r = ofs_text_run(ti, OFS_TEXT_WORD_MERGE, OFS_ARGS(pages));

	if (r == 0)
		r = ofs_text_run(ti, OFS_TEXT_GRAM_MERGE, OFS_ARGS(pages));
	if (r < 0)
		return r;
	/* Of each statement that has nothing to merge the row "inserted" counts, and no more. */
	moved = sqlite3_total_changes64(ti->db) - before - 2;
	ti->merging = moved > 0;
	ti->changed = true;
	if (!ti->merging) {
		ti->merged = ti->documents;
		r = ofs_text_run(ti, OFS_TEXT_META_MERGED, OFS_ARGS((int64_t)ti->merged));
	}
	return r < 0 ? r : 1;
}

/* Gives free pages back, and at last the write-ahead log; 1: there is more to do. */
static int text_shrink(struct ofs_text_index *ti)
{
	int64_t pages, unused;
	int r;

	if (!ti->changed)
		return 0;
	r = text_number(ti, "PRAGMA page_count", &pages);
	if (r == 0)
		r = text_number(ti, "PRAGMA freelist_count", &unused);
	if (r == 0 && unused > pages / 8) {
		r = ofs_text_exec(ti, "PRAGMA incremental_vacuum(" VACUUM_PAGES ")");
		return r < 0 ? r : 1;
	}
	if (r == 0)
		r = ofs_sqlite_errno(ti->db, sqlite3_wal_checkpoint_v2(ti->db, NULL,
								       SQLITE_CHECKPOINT_TRUNCATE,
								       NULL, NULL));
	ti->changed = r < 0;
	return r;
}

int ofs_text_index_tidy(struct ofs_text_index *ti)
{
	OFS_TEXT_LOCKED(ti);
	uint64_t added = ti->documents - OFS_MIN(ti->merged, ti->documents);
	int r;

	if (ti->writing)
		return -EINVAL;
	if (!ti->db)
		return 0;
	if (ti->merging || (added >= MERGE_FROM && added > ti->merged / 4))
		r = text_merge(ti);
	else
		r = text_shrink(ti);
	return ofs_text_done(ti, r);
}

int ofs_text_index_counts(struct ofs_text_index *ti, struct ofs_text_counts *ret)
{
	struct ofs_text_counts c = { 0 };
	int r = ofs_index_file_usage(ti->path, "", &c.bytes);

	if (r == 0)
		r = ofs_index_file_usage(ti->path, "-wal", &c.bytes);
	if (r < 0)
		return r;
	OFS_TEXT_LOCKED(ti);
	c.files = ti->files;
	c.documents = ti->documents;
	c.dead = ti->documents - ti->alive;
	*ret = c;
	return 0;
}
