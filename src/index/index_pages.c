/* SPDX-License-Identifier: MIT */
/* Reads the database as pages, for a copy elsewhere. */
#include "index/index_state.h"
#include "index/vfs.h"

#define RUN_MAX 256u /* pages that are passed on together */

/* SQLite's file of the database. Under the lock. */
static sqlite3_file *database_file(struct ofs_index *ix)
{
	sqlite3_file *f = NULL;

	sqlite3_file_control(ix->db.conn, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	return f;
}

/* Empties the WAL, and adds the pages written since the last call to `pages`. Under the lock. */
static int collect(struct ofs_index *ix, uint32_t *ret_pages)
{
	OFS_CLEANUP(ofs_bits_finish) struct ofs_bits written = { 0 };
	int64_t pages;
	int r = ix->db.writing ? -EINVAL : ofs_db_checkpoint(&ix->db);

	if (r == 0)
		r = ofs_db_number(&ix->db, "PRAGMA page_count", &pages);
	if (r < 0)
		return r;
	written = ofs_index_vfs_take_written(database_file(ix));
	ofs_bits_join(&ix->pages, &written);
	*ret_pages = (uint32_t)pages;
	return 0;
}

static int read_run(struct ofs_index *ix, uint32_t first, uint32_t n, uint8_t *ret)
{
	OFS_DB_LOCKED(&ix->db);
	sqlite3_file *f = database_file(ix);
	int rc = SQLITE_OK;

	if (!f)
		return -EIO;
	for (uint32_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = f->pMethods->xRead(f, ret + (size_t)i * OFS_INDEX_PAGE_SIZE,
					OFS_INDEX_PAGE_SIZE,
					(sqlite3_int64)(first + i - 1) * OFS_INDEX_PAGE_SIZE);
	return ofs_db_errno(&ix->db, rc);
}

int ofs_index_copy_pages(struct ofs_index *ix, bool changed,
			 int (*fn)(void *arg, uint32_t first, uint32_t n, const uint8_t *pages),
			 void *arg, uint32_t *ret_pages)
{
	OFS_FREE uint8_t *run = ofs_alloc(RUN_MAX * OFS_INDEX_PAGE_SIZE);
	uint32_t first = 1, n;
	int r;

	{
		OFS_DB_LOCKED(&ix->db);

		r = collect(ix, ret_pages);
	}
	while (r == 0 && first <= *ret_pages) {
		for (n = 0; n < RUN_MAX && first + n <= *ret_pages; n++)
			if (changed && !ofs_bits_has(&ix->pages, first + n))
				break;
		r = n ? read_run(ix, first, n, run) : 0;
		if (r == 0 && n)
			r = fn(arg, first, n, run);
		first += OFS_MAX(n, 1u);
	}
	return r;
}

void ofs_index_pages_copied(struct ofs_index *ix)
{
	OFS_DB_LOCKED(&ix->db);

	/* The VFS has recorded the pages written since the copy. */
	ofs_bits_finish(&ix->pages);
}
