/* SPDX-License-Identifier: MIT */
/*
 * The SQLite VFS of the index and of the search index: it leaves all work to SQLite's default VFS,
 * checks each page of the database, and puts failpoints in front of the writes. The idea is that of
 * https://sqlite.org/cksumvfs.html; the format is not the same.
 *
 * The last OFS_INDEX_PAGE_CHECK bytes of a page, which SQLite keeps free on request ("reserved
 * space", https://sqlite.org/fileformat.html 1.3.4), hold the little-endian XXH3-64 of the bytes
 * before them, seeded with the number of the page. So SQLite never gets a damaged page, nor one
 * from another place: the read fails with SQLITE_IOERR_DATA and a line in the log. Page 1 of a file
 * that does not look like an index at all is SQLITE_NOTADB. Not detected: an older version of the
 * same page, and, until the next checkpoint sets the size of the file, a page cut off its end.
 *
 * The index has pages of OFS_INDEX_PAGE_SIZE bytes, the search index of OFS_FTS_PAGE_SIZE; each has
 * a VFS with a name of its own. Byte 20 of page 1 says how much is reserved; unless that is
 * OFS_INDEX_PAGE_CHECK, the page is neither read nor written. WAL and rollback journal carry
 * SQLite's own checksums and are passed on unchanged.
 *
 * Shared memory and memory maps are not offered: WAL needs locking_mode = EXCLUSIVE, and every page
 * goes through a read.
 *
 * A database that is opened with SQLITE_OPEN_READONLY counts as one that nobody changes.
 *
 * Failpoints: index.pwrite, index.sync, index.truncate, for database, WAL and journal alike; for
 * the search index search.pwrite and so on.
 */
#pragma once

#include "base/bits.h"

#define OFS_INDEX_VFS "offloadfs"
#define OFS_FTS_VFS "offloadfs-text"
#define OFS_FTS_PAGE_SIZE 1024
#define OFS_FTS_APPLICATION 0x4f464654 /* "OFFT" */
#define OFS_INDEX_PAGE_CHECK 8

/* Set while the calling thread opens an index: damage is then reported by the error, not logged. */
extern _Thread_local bool ofs_index_vfs_opening;

/*
 * The pages that were written to the database since the last call. `file` is SQLite's own, of
 * SQLITE_FCNTL_FILE_POINTER; under the lock of its connection. The caller finishes the set.
 */
struct sqlite3_file;
struct ofs_bits ofs_index_vfs_take_written(struct sqlite3_file *file);

/*
 * Registers the VFS with SQLite, not as the default. After opening a database with it, reserve
 * OFS_INDEX_PAGE_CHECK bytes (SQLITE_FCNTL_RESERVE_BYTES) before the first write. 0 or -errno.
 */
int ofs_index_vfs_register(void);
