/* SPDX-License-Identifier: MIT */
#include "index/db.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "index/vfs.h"
#include "io/file.h"

void ofs_db_init(struct ofs_db *db, const char *path, const char *vfs, const char *const *sql,
		 size_t nsql)
{
	/* Keeps SQLite from taking the name for a URI or for ":memory:". */
	db->path = ofs_format("%s%s", path[0] == '/' ? "" : "./", path);
	db->vfs = vfs;
	db->sql = sql;
	db->nsql = nsql;
	db->stmt = ofs_alloc(nsql * sizeof(sqlite3_stmt *));
	pthread_mutex_init(&db->gate, NULL);
	pthread_mutex_init(&db->lock, NULL);
}

void ofs_db_finish(struct ofs_db *db)
{
	ofs_db_disconnect(db);
	pthread_mutex_destroy(&db->lock);
	pthread_mutex_destroy(&db->gate);
	free(db->stmt);
	free(db->path);
}

/* Adds the disk usage of a file. A missing file uses nothing. */
static int add_usage(const struct ofs_db *db, const char *suffix, uint64_t *sum)
{
	OFS_FREE char *name = ofs_format("%s%s", db->path, suffix);
	struct stat st;

	if (stat(name, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	*sum += (uint64_t)st.st_blocks * 512;
	return 0;
}

int ofs_db_disk_usage(const struct ofs_db *db, uint64_t *ret)
{
	uint64_t sum = 0;
	int r = add_usage(db, "", &sum);

	if (r == 0)
		r = add_usage(db, "-wal", &sum);
	if (r == 0)
		*ret = sum;
	return r;
}

/* Does not open an existing file: closing it would drop SQLite's locks. */
int ofs_db_create_file(struct ofs_db *db)
{
	int fd = ofs_io_open(AT_FDCWD, db->path, O_RDWR | O_CREAT | O_EXCL, 0600);

	if (fd < 0 && fd != -EEXIST)
		return fd;
	ofs_io_close(&fd);
	return 0;
}

int ofs_db_connect(struct ofs_db *db)
{
	int check = OFS_INDEX_PAGE_CHECK;
	int rc, r = ofs_index_vfs_register();
	struct stat st;

	if (r < 0)
		return r;
	/* SQLite follows a link, which could lead it to change a file elsewhere. */
	if (lstat(db->path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	rc = sqlite3_open_v2(db->path, &db->conn,
			     (db->fixed ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
				     SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			     db->vfs);
	if (rc == SQLITE_OK)
		rc = sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_RESERVE_BYTES, &check);
	return ofs_db_errno(db, rc);
}

void ofs_db_disconnect(struct ofs_db *db)
{
	for (size_t i = 0; i < db->nsql; i++) {
		sqlite3_finalize(db->stmt[i]);
		db->stmt[i] = NULL;
	}
	sqlite3_close(db->conn);
	db->conn = NULL;
}

int ofs_db_examine(struct ofs_db *db, int64_t application, int64_t *ret_format)
{
	int64_t app, format, objects;
	int r = ofs_db_number(db, "PRAGMA application_id", &app);

	if (r == 0)
		r = ofs_db_number(db, "PRAGMA user_version", &format);
	if (r == 0)
		r = ofs_db_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
	if (r < 0)
		return r;
	*ret_format = format;
	if (app == 0 && format == 0 && objects == 0)
		return 1;
	return app == application ? 0 : -EUCLEAN;
}

int ofs_db_errno(const struct ofs_db *db, int rc)
{
	int sys;

	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_CONSTRAINT:
		return -EEXIST;
	case SQLITE_IOERR:
		if (rc == SQLITE_IOERR_NOMEM)
			return -ENOMEM;
		if (rc == SQLITE_IOERR_DATA)
			return -EUCLEAN;
		sys = sqlite3_system_errno(db->conn);
		return sys == ENOSPC || sys == EDQUOT ? -sys : -EIO;
	default:
		return -EIO;
	}
}

int ofs_db_exec(struct ofs_db *db, const char *sql)
{
	if (!db->conn)
		return -EIO;
	return ofs_db_errno(db, sqlite3_exec(db->conn, sql, NULL, NULL, NULL));
}

int ofs_db_number(struct ofs_db *db, const char *sql, int64_t *ret)
{
	sqlite3_stmt *st = NULL;
	int r = ofs_db_errno(db, sqlite3_prepare_v2(db->conn, sql, -1, &st, NULL));

	if (r == 0)
		r = ofs_db_step(db, st);
	if (r > 0)
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return r > 0 ? 0 : r < 0 ? r : -EUCLEAN;
}

int ofs_db_checkpoint(struct ofs_db *db)
{
	return ofs_db_errno(db, sqlite3_wal_checkpoint_v2(db->conn, NULL,
							  SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}

void ofs_stmt_reset(sqlite3_stmt **st)
{
	if (!*st)
		return;
	sqlite3_reset(*st);
	sqlite3_clear_bindings(*st);
	*st = NULL;
}

int ofs_db_start(struct ofs_db *db, int id, const int64_t *args, size_t n, sqlite3_stmt **ret)
{
	sqlite3_stmt *st = db->stmt[id];
	int rc;

	if (!db->conn)
		return -EIO;
	if (!st) {
		rc = sqlite3_prepare_v3(db->conn, db->sql[id], -1, SQLITE_PREPARE_PERSISTENT, &st,
					NULL);
		if (rc != SQLITE_OK)
			return ofs_db_errno(db, rc);
		db->stmt[id] = st;
	}
	for (size_t i = 0; i < n; i++) {
		rc = sqlite3_bind_int64(st, (int)i + 1, args[i]);
		if (rc != SQLITE_OK)
			return ofs_db_errno(db, rc);
	}
	*ret = st;
	return 0;
}

int ofs_db_step(struct ofs_db *db, sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	return rc == SQLITE_ROW ? 1 : ofs_db_errno(db, rc);
}

int ofs_db_first(struct ofs_db *db, int id, const int64_t *args, size_t n, sqlite3_stmt **ret)
{
	int r = ofs_db_start(db, id, args, n, ret);

	if (r == 0)
		r = ofs_db_step(db, *ret);
	if (r < 0)
		return r;
	return r == 0 ? -ENOENT : 0;
}

int ofs_db_run_blob(struct ofs_db *db, int id, const int64_t *args, size_t n, const void *data,
		    size_t len)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(db, id, args, n, &st);

	/* An unbound parameter is NULL. */
	if (r == 0 && data)
		r = ofs_db_bind_blob(db, st, (int)n + 1, data, len);
	return r < 0 ? r : ofs_db_step(db, st);
}

int ofs_db_get_number(struct ofs_db *db, int id, const int64_t *args, size_t n, uint64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(db, id, args, n, &st);

	if (r == 0)
		*ret = ofs_column_u64(st, 0);
	return r;
}

int ofs_db_run(struct ofs_db *db, int id, const int64_t *args, size_t n)
{
	return ofs_db_run_blob(db, id, args, n, NULL, 0);
}

int ofs_db_bind_blob(struct ofs_db *db, sqlite3_stmt *st, int param, const void *data, size_t len)
{
	return ofs_db_errno(db, sqlite3_bind_blob64(st, param, data, len, SQLITE_STATIC));
}

int ofs_db_bind_text(struct ofs_db *db, sqlite3_stmt *st, int param, const void *text, size_t len)
{
	return ofs_db_errno(db, sqlite3_bind_text64(st, param, len ? text : "", len, SQLITE_STATIC,
						    SQLITE_UTF8));
}

int ofs_column_bytes(sqlite3_stmt *st, int column, void *ret, size_t len)
{
	const void *data;

	if (sqlite3_column_type(st, column) != SQLITE_BLOB)
		return -EUCLEAN;
	data = sqlite3_column_blob(st, column);
	if (!data || (size_t)sqlite3_column_bytes(st, column) != len)
		return -EUCLEAN;
	memcpy(ret, data, len);
	return 0;
}

int ofs_db_begin(struct ofs_db *db)
{
	return ofs_db_exec(db, "BEGIN IMMEDIATE");
}

int ofs_db_end(struct ofs_db *db, int r)
{
	if (r == 0)
		r = ofs_db_exec(db, "COMMIT");
	/* After some errors SQLite has already rolled back. */
	if (r < 0 && db->conn && !sqlite3_get_autocommit(db->conn))
		ofs_db_exec(db, "ROLLBACK");
	return r;
}

int ofs_db_writable(const struct ofs_db *db)
{
	if (!db->writing || db->failure)
		return db->writing ? db->failure : -EINVAL;
	/* After an error, even of a read, SQLite may have rolled back on its own. */
	return !db->conn || sqlite3_get_autocommit(db->conn) ? -EIO : 0;
}

int ofs_db_written(struct ofs_db *db, int r)
{
	if (r < 0 && db->failure == 0)
		db->failure = r;
	return r;
}

int ofs_db_write(struct ofs_db *db, int id, const int64_t *args, size_t n, const void *data,
		 size_t len)
{
	OFS_DB_LOCKED(db);
	int r = ofs_db_writable(db);

	return r < 0 ? r : ofs_db_written(db, ofs_db_run_blob(db, id, args, n, data, len));
}

int ofs_db_list_numbers(struct ofs_db *db, int id, const int64_t *args, size_t n,
			int (*fn)(void *arg, uint64_t number), void *arg)
{
	OFS_DB_LOCKED(db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(db, id, args, n, &st);

	while (r == 0 && (r = ofs_db_step(db, st)) > 0)
		r = fn(arg, ofs_column_u64(st, 0));
	return r;
}
