/* SPDX-License-Identifier: MIT */
/*
 * What lies between SQLite and the files of the index, and of the search index: a VFS that leaves
 * all work to SQLite's default one, checks each page of the database, and puts failpoints in front
 * of the writes. The idea is that of https://sqlite.org/cksumvfs.html; the format is not the same.
 *
 * The last OFS_INDEX_PAGE_CHECK bytes of a page, which SQLite keeps free on request ("reserved
 * space", https://sqlite.org/fileformat.html 1.3.4), hold the little-endian XXH3-64 of the bytes
 * before them, seeded with the page's number. So neither a damaged page nor one in the wrong place
 * is ever handed to SQLite: the read fails with SQLITE_IOERR_DATA and a line in the log. Page 1 of
 * what does not look like an index at all is SQLITE_NOTADB. What is not seen: an older version of
 * the same page, and, until the next checkpoint sets the file's size, a page cut off its end.
 *
 * The pages have OFS_INDEX_PAGE_SIZE bytes, those of the search index OFS_FTS_PAGE_SIZE; each has a
 * VFS of its own name. Page 1 says in byte 20 how much is reserved; one that does not say
 * OFS_INDEX_PAGE_CHECK is neither read nor written. WAL and rollback journal carry SQLite's own
 * checksums and are passed on as they are.
 *
 * Shared memory and memory maps are not offered: WAL needs locking_mode = EXCLUSIVE, and every page
 * comes through a read.
 *
 * Failpoints: index.pwrite, index.sync, index.truncate, for the database, WAL and journal alike; of
 * the search index search.pwrite and so on.
 */
#ifndef OFS_INDEX_VFS_H
#define OFS_INDEX_VFS_H

#include <stdbool.h>

#define OFS_INDEX_VFS "offloadfs"
#define OFS_FTS_VFS "offloadfs-text"
#define OFS_FTS_PAGE_SIZE 4096
#define OFS_FTS_APPLICATION 0x4f464654 /* "OFFT" */
#define OFS_INDEX_PAGE_CHECK 8

/*
 * Set while the calling thread opens an index: what is damaged then is told by the error of the
 * opening, else by the log.
 */
extern _Thread_local bool ofs_index_vfs_opening;

/*
 * Makes the VFS known to SQLite; not as the default. Who opens a database with it then asks for
 * OFS_INDEX_PAGE_CHECK bytes (SQLITE_FCNTL_RESERVE_BYTES), before the first write. 0 or -errno.
 */
int ofs_index_vfs_register(void);

#endif
