/* SPDX-License-Identifier: MIT */
#include "index/vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/log.h"
#include "codec/hash.h"
#include "index/schema.h"
#include "io/failpoint.h"

#define PAGE_MAX OFS_FTS_PAGE_SIZE

/* Offsets in the database header, https://sqlite.org/fileformat.html 1.3. */
#define HEADER_SIZE 100
#define HEADER_RESERVED 20
#define HEADER_APPLICATION 68

/* A kind of database, with a VFS of its own. */
struct vfs_kind {
	const char *name; /* of the VFS */
	const char *what; /* the database, in messages */
	int page;
	uint32_t application;
	const char *pread, *pwrite, *truncate, *sync; /* failpoints */
};

static const struct vfs_kind vfs_kinds[] = {
	{ OFS_INDEX_VFS, "index", OFS_INDEX_PAGE_SIZE, OFS_INDEX_APPLICATION, "index.pread",
	  "index.pwrite", "index.truncate", "index.sync" },
	{ OFS_FTS_VFS, "search index", OFS_FTS_PAGE_SIZE, OFS_FTS_APPLICATION, "search.pread",
	  "search.pwrite", "search.truncate", "search.sync" },
};
#define KINDS OFS_ARRAY_SIZE(vfs_kinds)

/* The file of the default VFS follows it in memory. */
struct vfs_file {
	sqlite3_file sqlite; /* first: SQLite holds a pointer to it */
	const struct vfs_kind *kind;
	const char *name; /* SQLite keeps it while the file is open */
	bool paged; /* the database, whose pages are checked */
	bool fixed; /* nobody changes it, so locks and WAL are ignored */
	struct ofs_bits written; /* pages written since they were last taken */
};

_Thread_local bool ofs_index_vfs_opening;

static sqlite3_vfs *vfs_base;
static sqlite3_vfs vfs_shims[KINDS];
static int vfs_error = -EIO;
static pthread_once_t vfs_once = PTHREAD_ONCE_INIT;

static struct vfs_file *vfs_file(sqlite3_file *f)
{
	return (struct vfs_file *)f;
}

static sqlite3_file *vfs_inner(sqlite3_file *f)
{
	return (sqlite3_file *)(vfs_file(f) + 1);
}

static int page_size(sqlite3_file *f)
{
	return vfs_file(f)->kind->page;
}

static int page_content(sqlite3_file *f)
{
	return page_size(f) - OFS_INDEX_PAGE_CHECK;
}

static uint64_t page_sum(sqlite3_file *f, const uint8_t *page, sqlite3_int64 off)
{
	return ofs_checksum(page, (size_t)page_content(f), (uint64_t)(off / page_size(f)) + 1);
}

/*
 * True for page 1 of a foreign file, which lacks both marks. A page that lacks one of them is
 * damaged.
 */
static bool page_is_foreign(sqlite3_file *f, const uint8_t *page)
{
	uint32_t application;

	memcpy(&application, page + HEADER_APPLICATION, sizeof(application));
	return page[HEADER_RESERVED] != OFS_INDEX_PAGE_CHECK &&
	       be32toh(application) != vfs_file(f)->kind->application;
}

static int page_damaged(sqlite3_file *f, sqlite3_int64 off)
{
	if (!ofs_index_vfs_opening)
		ofs_log(LOG_ERR, "page %lld of the %s '%s' is damaged",
			(long long)(off / page_size(f) + 1), vfs_file(f)->kind->what,
			vfs_file(f)->name);
	return SQLITE_IOERR_DATA;
}

/*
 * SQLite reads a page beyond the end, and uses zeros for it, if the page is new to a transaction
 * and its first content was moved elsewhere. A partial page is damage.
 */
static int page_missing(sqlite3_file *f, sqlite3_int64 off)
{
	sqlite3_int64 size;
	int rc = vfs_inner(f)->pMethods->xFileSize(vfs_inner(f), &size);

	if (rc != SQLITE_OK)
		return rc;
	return off && off >= size ? SQLITE_IOERR_SHORT_READ : page_damaged(f, off);
}

static int page_read(sqlite3_file *f, uint8_t *page, sqlite3_int64 off)
{
	int rc = vfs_inner(f)->pMethods->xRead(vfs_inner(f), page, page_size(f), off);

	if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ)
		return rc;
	if (!off && page_is_foreign(f, page))
		return SQLITE_NOTADB;
	if (rc != SQLITE_OK)
		return page_missing(f, off);
	if (ofs_get_le64(page + page_content(f)) != page_sum(f, page, off) ||
	    (!off && page[HEADER_RESERVED] != OFS_INDEX_PAGE_CHECK))
		return page_damaged(f, off);
	return SQLITE_OK;
}

/* Reads any range through the pages that it touches. */
static int page_read_part(sqlite3_file *f, uint8_t *buf, int n, sqlite3_int64 off)
{
	uint8_t page[PAGE_MAX];

	while (n > 0) {
		int skip = (int)(off % page_size(f)), len = OFS_MIN(n, page_size(f) - skip);
		int rc = page_read(f, page, off - skip);

		if (rc != SQLITE_OK) {
			memset(buf, 0, (size_t)n);
			return rc;
		}
		memcpy(buf, page + skip, (size_t)len);
		buf += len;
		off += len;
		n -= len;
	}
	return SQLITE_OK;
}

static int vfs_fault(int fault, int rc)
{
	errno = -fault;
	return fault == -ENOSPC ? SQLITE_FULL : rc;
}

/*
 * SQLite reads the header first, without a lock, to learn the page size, and trusts no page before
 * it has read all of page 1. The header is not checked, because an interrupted checkpoint may have
 * left a torn page 1 whose sound version is in the WAL.
 */
static int vfs_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 off)
{
	int fault = ofs_failpoint(vfs_file(f)->kind->pread);
	int rc;

	if (fault < 0)
		return vfs_fault(fault, SQLITE_IOERR_READ);
	if (!vfs_file(f)->paged || off + n <= HEADER_SIZE)
		rc = vfs_inner(f)->pMethods->xRead(vfs_inner(f), buf, n, off);
	else if (n == page_size(f) && off % n == 0)
		rc = page_read(f, buf, off);
	else
		rc = page_read_part(f, buf, n, off);
	ofs_failpoint_after(fault);
	return rc;
}

/*
 * Reports a full disk as SQLITE_FULL everywhere: at a commit SQLite does not keep the errno of
 * another code for sqlite3_system_errno().
 */
static int vfs_done(sqlite3_file *f, int rc, int fault)
{
	int sys = 0;

	if (rc == SQLITE_OK) {
		ofs_failpoint_after(fault);
		return SQLITE_OK;
	}
	vfs_inner(f)->pMethods->xFileControl(vfs_inner(f), SQLITE_FCNTL_LAST_ERRNO, &sys);
	return sys == ENOSPC || sys == EDQUOT ? SQLITE_FULL : rc;
}

static int vfs_write_raw(sqlite3_file *f, const void *buf, int n, sqlite3_int64 off)
{
	int fault = ofs_failpoint(vfs_file(f)->kind->pwrite);
	int rc;

	if (fault < 0)
		return vfs_fault(fault, SQLITE_IOERR_WRITE);
	if (fault == OFS_FAULT_SHORT)
		n /= 2;
	rc = vfs_inner(f)->pMethods->xWrite(vfs_inner(f), buf, n, off);
	return vfs_done(f, rc, fault);
}

/* Refuses page 1 without reserved bytes, as the checksum would overwrite content. */
static int vfs_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 off)
{
	uint8_t page[PAGE_MAX];

	if (!vfs_file(f)->paged)
		return vfs_write_raw(f, buf, n, off);
	if (n != page_size(f) || off % n ||
	    (!off && ((const uint8_t *)buf)[HEADER_RESERVED] != OFS_INDEX_PAGE_CHECK)) {
		ofs_log(LOG_ERR, "a write of %d bytes at %lld of the %s '%s' is not a page", n,
			(long long)off, vfs_file(f)->kind->what, vfs_file(f)->name);
		return vfs_fault(-EINVAL, SQLITE_IOERR_WRITE);
	}
	memcpy(page, buf, (size_t)page_content(f));
	ofs_put_le64(page + page_content(f), page_sum(f, page, off));
	ofs_bits_add(&vfs_file(f)->written, (uint32_t)(off / n) + 1);
	return vfs_write_raw(f, page, n, off);
}

static int vfs_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int fault = ofs_failpoint(vfs_file(f)->kind->truncate);
	int rc;

	if (fault < 0)
		return vfs_fault(fault, SQLITE_IOERR_TRUNCATE);
	rc = vfs_inner(f)->pMethods->xTruncate(vfs_inner(f), size);
	return vfs_done(f, rc, fault);
}

static int vfs_sync(sqlite3_file *f, int flags)
{
	int fault = ofs_failpoint(vfs_file(f)->kind->sync);
	int rc;

	if (fault < 0)
		return vfs_fault(fault, SQLITE_IOERR_FSYNC);
	rc = vfs_inner(f)->pMethods->xSync(vfs_inner(f), flags);
	return vfs_done(f, rc, fault);
}

/* clang-format off */
/* Methods that only pass the call on to the default VFS's file. */
#define PASS_ON(name, method, parameters, arguments) \
	static int name parameters \
	{ \
		return vfs_inner(f)->pMethods->method arguments; \
	}

PASS_ON(vfs_size, xFileSize, (sqlite3_file *f, sqlite3_int64 *ret), (vfs_inner(f), ret))
PASS_ON(vfs_lock, xLock, (sqlite3_file *f, int level), (vfs_inner(f), level))
PASS_ON(vfs_unlock, xUnlock, (sqlite3_file *f, int level), (vfs_inner(f), level))
PASS_ON(vfs_is_reserved, xCheckReservedLock, (sqlite3_file *f, int *ret), (vfs_inner(f), ret))
PASS_ON(vfs_control, xFileControl, (sqlite3_file *f, int op, void *arg), (vfs_inner(f), op, arg))
PASS_ON(vfs_sector_size, xSectorSize, (sqlite3_file *f), (vfs_inner(f)))
/* clang-format on */

static int vfs_characteristics(sqlite3_file *f)
{
	return vfs_inner(f)->pMethods->xDeviceCharacteristics(vfs_inner(f)) |
	       (vfs_file(f)->fixed ? SQLITE_IOCAP_IMMUTABLE : 0);
}

static int vfs_close(sqlite3_file *f)
{
	ofs_bits_finish(&vfs_file(f)->written);
	return vfs_inner(f)->pMethods->xClose(vfs_inner(f));
}

struct ofs_bits ofs_index_vfs_take_written(sqlite3_file *f)
{
	return ofs_steal(vfs_file(f)->written);
}

static const sqlite3_io_methods vfs_methods = {
	.iVersion = 1,
	.xClose = vfs_close,
	.xRead = vfs_read,
	.xWrite = vfs_write,
	.xTruncate = vfs_truncate,
	.xSync = vfs_sync,
	.xFileSize = vfs_size,
	.xLock = vfs_lock,
	.xUnlock = vfs_unlock,
	.xCheckReservedLock = vfs_is_reserved,
	.xFileControl = vfs_control,
	.xSectorSize = vfs_sector_size,
	.xDeviceCharacteristics = vfs_characteristics,
};

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	sqlite3_file *inner = vfs_inner(f);
	struct stat st;
	int rc;

	/*
	 * No transaction of ours spans several databases. The journal of one that does names
	 * another file, which SQLite deletes when it is done: a store from elsewhere could name any
	 * file. Nor is any of our files a pipe, and opening one would wait for its other end.
	 */
	if ((flags & SQLITE_OPEN_SUPER_JOURNAL) ||
	    (name && lstat(name, &st) == 0 && !S_ISREG(st.st_mode))) {
		f->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	*vfs_file(f) = (struct vfs_file){ .kind = &vfs_kinds[vfs - vfs_shims],
					  .name = name,
					  .paged = flags & SQLITE_OPEN_MAIN_DB,
					  .fixed = (flags & SQLITE_OPEN_MAIN_DB) &&
						   (flags & SQLITE_OPEN_READONLY) };
	inner->pMethods = NULL;
	rc = vfs_base->xOpen(vfs_base, name, inner, flags, ret_flags);
	f->pMethods = inner->pMethods ? &vfs_methods : NULL;
	return rc;
}

/* The default VFS does everything but opening; it finds its data by pAppData. */
static void vfs_register(void)
{
	/*
	 * Counting SQLite's memory costs a lock at every allocation, of which each statement makes
	 * some. If something else in this process already uses SQLite, this is refused, which does
	 * no harm.
	 */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	vfs_base = sqlite3_vfs_find(NULL);
	if (!vfs_base)
		return;
	for (size_t i = 0; i < KINDS; i++) {
		sqlite3_vfs *shim = &vfs_shims[i];

		*shim = *vfs_base;
		shim->pNext = NULL;
		shim->zName = vfs_kinds[i].name;
		shim->szOsFile += (int)sizeof(struct vfs_file);
		shim->xOpen = vfs_open;
		if (sqlite3_vfs_register(shim, 0) != SQLITE_OK)
			return;
	}
	vfs_error = 0;
}

int ofs_index_vfs_register(void)
{
	pthread_once(&vfs_once, vfs_register);
	return vfs_error;
}
