/* SPDX-License-Identifier: MIT */
/*
 * The SQLite VFS of the index and of the search index. It leaves all work to SQLite's default VFS,
 * checks each page of the database, and adds failpoints before the writes. The idea is that of
 * https://sqlite.org/cksumvfs.html; the format differs.
 *
 * The last OFS_INDEX_PAGE_CHECK bytes of a page, which SQLite leaves unused on request ("reserved
 * space", https://sqlite.org/fileformat.html 1.3.4), hold the little-endian XXH3-64 of the bytes
 * before them, seeded with the number of the page. So SQLite never gets a damaged page, nor one
 * from another place: the read fails with SQLITE_IOERR_DATA and a line in the log. Page 1 of a file
 * that does not look like an index at all is SQLITE_NOTADB. Two things are not detected: an older
 * version of the same page and, until the next checkpoint sets the size of the file, a page missing
 * at its end.
 *
 * The index has pages of OFS_INDEX_PAGE_SIZE bytes, the search index of OFS_FTS_PAGE_SIZE; each has
 * a VFS with a name of its own. Byte 20 of page 1 is the number of reserved bytes; if it is not
 * OFS_INDEX_PAGE_CHECK, the page is neither read nor written. WAL and rollback journal have
 * SQLite's own checksums and are passed on unchanged.
 *
 * Shared memory and memory maps are not offered: WAL needs locking_mode = EXCLUSIVE, and every page
 * is read through this VFS.
 *
 * A database opened with SQLITE_OPEN_READONLY is one that nobody changes.
 *
 * Failpoints: index.pread, index.pwrite, index.sync and index.truncate, for database, WAL and
 * journal alike; search.pread and so on for the search index.
 */
#pragma once

#include "base/bits.h"

#define OFS_INDEX_VFS "offloadfs"
#define OFS_FTS_VFS "offloadfs-text"
#define OFS_FTS_PAGE_SIZE 1024
#define OFS_FTS_APPLICATION 0x4f464654 /* "OFFT" */
#define OFS_INDEX_PAGE_CHECK 8

/* Set while the calling thread opens an index: then the error reports damage, not the log. */
extern _Thread_local bool ofs_index_vfs_opening;

/*
 * Returns the pages that were written to the database since the last call, a set that the caller
 * finishes. `file` is SQLite's own, from SQLITE_FCNTL_FILE_POINTER. Under the lock of its
 * connection.
 */
struct sqlite3_file;
struct ofs_bits ofs_index_vfs_take_written(struct sqlite3_file *file);

/*
 * Registers the VFSs with SQLite, not as the default. After opening a database with one, reserve
 * OFS_INDEX_PAGE_CHECK bytes (SQLITE_FCNTL_RESERVE_BYTES) before the first write. 0 or -errno.
 */
int ofs_index_vfs_register(void);
