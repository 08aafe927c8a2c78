/* SPDX-License-Identifier: MIT */
#include "index/index.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "index/internal.h"
#include "index/rules.h"
#include "index/schema.h"
#include "index/vfs.h"
#include "io/failpoint.h"
#include "io/file.h"

/*
 * The exclusive lock is asked for before the first look at the file, so that the WAL's index lives
 * in memory and a second opener is turned away at its first read.
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

/* Runs SQL that takes no parameters and whose rows do not matter. */
static int index_exec(struct ofs_index *ix, const char *sql)
{
	return ofs_index_errno(ix, sqlite3_exec(ix->db, sql, NULL, NULL, NULL));
}

/* The first column of the first row: of a pragma, or of a count. */
static int index_number(struct ofs_index *ix, const char *sql, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(ix->db, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return ofs_index_errno(ix, rc);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? -EUCLEAN : ofs_index_errno(ix, rc);
}

static int index_failed(struct ofs_index *ix, int r, struct ofs_error *err)
{
	if (r == -EBUSY)
		return ofs_error_set(err, EBUSY, "the index '%s' is in use by another process",
				     ix->path);
	if (r == -EUCLEAN && sqlite3_errcode(ix->db) == SQLITE_NOTADB)
		return ofs_error_set(err, EINVAL, "'%s' is not an offloadfs index", ix->path);
	if (r == -EUCLEAN)
		return ofs_error_set(err, EUCLEAN, "the index '%s' is damaged: %s", ix->path,
				     sqlite3_extended_errcode(ix->db) == SQLITE_IOERR_DATA
					     ? "a page's checksum does not fit"
					     : sqlite3_errmsg(ix->db));
	return ofs_error_set(err, -r, "cannot open the index '%s': %s", ix->path,
			     ix->db && sqlite3_errcode(ix->db) != SQLITE_OK ? sqlite3_errmsg(ix->db)
									    : strerror(-r));
}

/*
 * Makes the file, private from its first moment. SQLite takes an empty one for an empty database,
 * so nothing is lost when the process ends right here. An existing file is not opened: closing it
 * would drop SQLite's locks.
 */
static int index_make_file(struct ofs_index *ix, struct ofs_error *err)
{
	int fd = ofs_io_open(AT_FDCWD, ix->path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && fd != -EEXIST)
		return ofs_error_set(err, -fd, "cannot create the index '%s': %s", ix->path,
				     strerror(-fd));
	ofs_io_close(&fd);
	return 0;
}

static int index_connect(struct ofs_index *ix, struct ofs_error *err)
{
	int check = OFS_INDEX_PAGE_CHECK;
	struct stat st;
	int r;

	if (stat(ix->path, &st) < 0) {
		r = -errno;
		return ofs_error_set(err, -r, "cannot open the index '%s': %s", ix->path,
				     strerror(-r));
	}
	r = ofs_index_vfs_register();
	if (r < 0)
		return ofs_error_set(err, -r, "SQLite has no VFS");
	r = sqlite3_open_v2(ix->path, &ix->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			    OFS_INDEX_VFS);
	if (r == SQLITE_OK)
		r = sqlite3_file_control(ix->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &check);
	if (r == SQLITE_OK)
		r = ofs_rules_add_functions(ix->db);
	r = ofs_index_errno(ix, r);
	if (r < 0)
		return index_failed(ix, r, err);
	/* Until it is known to be ours, closing it must not change it. */
	sqlite3_db_config(ix->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	r = index_exec(ix, index_guard);
	return r < 0 ? index_failed(ix, r, err) : 0;
}

/*
 * Refuses what is not an index of a format that is understood; says which it has, 0 for an empty
 * database.
 */
static int index_examine(struct ofs_index *ix, struct ofs_error *err, int64_t *ret_format)
{
	int64_t app, format, objects;
	int r = index_number(ix, "PRAGMA application_id", &app);

	if (r == 0)
		r = index_number(ix, "PRAGMA user_version", &format);
	if (r == 0)
		r = index_number(ix, "SELECT count(*) FROM sqlite_schema", &objects);
	if (r < 0)
		return index_failed(ix, r, err);
	*ret_format = format;
	if (app == 0 && format == 0 && objects == 0)
		return 0;
	if (app != OFS_INDEX_APPLICATION)
		return ofs_error_set(err, EINVAL,
				     "'%s' is not an offloadfs index but some other database",
				     ix->path);
	if (format < OFS_INDEX_FORMAT_OLD || format > OFS_INDEX_FORMAT)
		return ofs_error_set(
			err, EINVAL,
			"the index '%s' has format %lld, this program understands %d to %d",
			ix->path, (long long)format, OFS_INDEX_FORMAT_OLD, OFS_INDEX_FORMAT);
	return 0;
}

static int index_enter_wal(struct ofs_index *ix)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(ix->db, "PRAGMA journal_mode = WAL", -1, &st, NULL);
	bool wal = false;

	if (rc != SQLITE_OK)
		return ofs_index_errno(ix, rc);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		wal = sqlite3_stricmp((const char *)sqlite3_column_text(st, 0), "wal") == 0;
	sqlite3_finalize(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -EIO : ofs_index_errno(ix, rc);
	return wal ? index_exec(ix, index_wal) : -EIO;
}

static int index_create(struct ofs_index *ix, const struct ofs_index_meta *fresh)
{
	int r = ofs_index_begin(ix);

	if (r < 0)
		return r;
	r = index_exec(ix, ofs_schema_create);
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
		r = index_exec(ix, ofs_schema_from_2);
	if (r == 0)
		r = index_exec(ix, ofs_schema_from_3);
	return ofs_index_end(ix, r);
}

/* A name that SQLite cannot take for a URI or for ":memory:". */
static char *index_plain_path(const char *path)
{
	char *plain;

	if (asprintf(&plain, "%s%s", path[0] == '/' ? "" : "./", path) < 0)
		return NULL;
	return plain;
}

static int index_open(const char *path, const struct ofs_index_meta *fresh, struct ofs_error *err,
		      struct ofs_index **ret)
{
	OFS_CLEANUP(index_cleanup) struct ofs_index *ix = calloc(1, sizeof(*ix));
	int64_t format = 0;
	bool empty;
	int r;

	if (!ix)
		return ofs_error_set(err, ENOMEM, "out of memory");
	pthread_mutex_init(&ix->gate, NULL);
	pthread_mutex_init(&ix->lock, NULL);
	ix->path = index_plain_path(path);
	if (!ix->path)
		return ofs_error_set(err, ENOMEM, "out of memory");
	r = fresh ? index_make_file(ix, err) : 0;
	if (r == 0)
		r = index_connect(ix, err);
	if (r == 0)
		r = index_examine(ix, err, &format);
	if (r < 0)
		return r;
	empty = format == 0;
	if (empty && !fresh)
		return ofs_error_set(err, ENOENT, "the index '%s' is empty", ix->path);
	r = empty ? index_exec(ix, ofs_schema_layout) : 0;
	if (r == 0)
		r = index_enter_wal(ix);
	if (r == 0 && empty)
		r = index_create(ix, fresh);
	else if (r == 0 && format != OFS_INDEX_FORMAT)
		r = index_upgrade(ix, format);
	if (r < 0)
		return index_failed(ix, r, err);
	sqlite3_db_config(ix->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	*ret = ofs_steal(ix);
	return 0;
}

int ofs_index_open(const char *path, const struct ofs_index_meta *fresh, struct ofs_error *err,
		   struct ofs_index **ret)
{
	int r;

	ofs_index_vfs_opening = true;
	r = index_open(path, fresh, err, ret);
	ofs_index_vfs_opening = false;
	return r;
}

void ofs_index_close(struct ofs_index *ix)
{
	int saved = errno;

	if (!ix)
		return;
	for (size_t i = 0; i < OFS_STMT_COUNT; i++)
		sqlite3_finalize(ix->stmt[i]);
	sqlite3_close(ix->db);
	pthread_mutex_destroy(&ix->lock);
	pthread_mutex_destroy(&ix->gate);
	ofs_u64_list_finish(&ix->heirs);
	ofs_u64_list_finish(&ix->dropped);
	free(ix->path);
	free(ix);
	errno = saved;
}

int ofs_index_writable(const struct ofs_index *ix)
{
	return ix->writing ? ix->failure : -EINVAL;
}

int ofs_index_written(struct ofs_index *ix, int r)
{
	if (r < 0 && ix->failure == 0)
		ix->failure = r;
	return r;
}

int ofs_index_begin(struct ofs_index *ix)
{
	OFS_INDEX_LOCKED(ix);
	int r;

	if (ix->writing)
		return -EINVAL;
	r = ofs_stmt_run(ix, OFS_STMT_BEGIN, OFS_NO_ARGS);
	if (r < 0)
		return r;
	ix->writing = true;
	ix->failure = 0;
	ix->changes = sqlite3_total_changes(ix->db);
	ix->heirs_kept = ix->heirs.n;
	ix->dropped.n = 0;
	return 0;
}

/* SQLite itself has rolled back after some errors. Under the lock. */
static void index_roll_back(struct ofs_index *ix)
{
	if (!sqlite3_get_autocommit(ix->db))
		ofs_stmt_run(ix, OFS_STMT_ROLLBACK, OFS_NO_ARGS);
	ix->writing = false;
	ix->heirs.n = ix->heirs_kept;
}

int ofs_index_commit(struct ofs_index *ix)
{
	int fault, r;

	ofs_index_delete_dropped(ix);
	OFS_INDEX_LOCKED(ix);
	if (!ix->writing)
		return -EINVAL;
	fault = ofs_failpoint("index.commit");
	r = fault < 0 ? fault : ix->failure;
	if (r == 0)
		r = ofs_stmt_run(ix, OFS_STMT_COMMIT, OFS_NO_ARGS);
	if (r < 0)
		index_roll_back(ix);
	else
		ofs_failpoint_after(fault);
	/* The row of the meta alone is no reason to rewrite the rest. */
	ix->changed = ix->changed || (r == 0 && sqlite3_total_changes(ix->db) - ix->changes > 1);
	ix->writing = false;
	return r;
}

void ofs_index_rollback(struct ofs_index *ix)
{
	OFS_INDEX_LOCKED(ix);

	if (ix->writing)
		index_roll_back(ix);
}

int ofs_index_end(struct ofs_index *ix, int r)
{
	if (r == 0)
		return ofs_index_commit(ix);
	ofs_index_rollback(ix);
	return r;
}

/* Pages that deletions left free go back to the filesystem once they are a quarter of the file. */
static int index_shrink(struct ofs_index *ix)
{
	int64_t pages, unused;
	int r = index_number(ix, "PRAGMA page_count", &pages);

	if (r == 0)
		r = index_number(ix, "PRAGMA freelist_count", &unused);
	if (r < 0 || unused < pages / 4)
		return r;
	return index_exec(ix, "PRAGMA incremental_vacuum");
}

int ofs_index_checkpoint(struct ofs_index *ix)
{
	OFS_INDEX_LOCKED(ix);
	int r;

	if (ix->writing)
		return -EINVAL;
	r = index_shrink(ix);
	if (r < 0)
		return r;
	return ofs_index_errno(ix, sqlite3_wal_checkpoint_v2(
					   ix->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}

/* Rewriting this many pages takes a few milliseconds. */
#define COMPACT_PAGES 4096

int ofs_index_settle(struct ofs_index *ix)
{
	int64_t pages;
	int r;

	{
		OFS_INDEX_LOCKED(ix);

		if (ix->writing)
			return -EINVAL;
		r = index_number(ix, "PRAGMA page_count", &pages);
		if (r == 0 && pages <= COMPACT_PAGES && ix->changed)
			r = index_exec(ix, "VACUUM");
		ix->changed = ix->changed && r < 0;
	}
	return r < 0 ? r : ofs_index_checkpoint(ix);
}

int ofs_index_file_usage(const char *path, const char *suffix, uint64_t *sum)
{
	OFS_FREE char *name = NULL;
	struct stat st;

	if (asprintf(&name, "%s%s", path, suffix) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	if (stat(name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	*sum += (uint64_t)st.st_blocks * 512;
	return 0;
}

int ofs_index_disk_usage(struct ofs_index *ix, uint64_t *ret)
{
	uint64_t sum = 0;
	int r = ofs_index_file_usage(ix->path, "", &sum);

	if (r == 0)
		r = ofs_index_file_usage(ix->path, "-wal", &sum);
	if (r == 0)
		*ret = sum;
	return r;
}
