/* SPDX-License-Identifier: MIT */
/*
 * The tables of the index, format 4.
 *
 * The file header of the database says what it is: application_id is OFS_INDEX_APPLICATION,
 * user_version is OFS_INDEX_FORMAT. Numbers are SQLite integers (unsigned 64-bit ones in two's
 * complement); names, hashes and link targets are BLOBs. Every byte here counts against the storage
 * ratio, hence:
 *
 *   meta    `age` is the age clock of the store at the last checkpoint, `age_wall` the wall clock
 *           then, `wall_high` its highest value. NULL from an upgrade to the first checkpoint.
 *   inode   atime and ctime are differences from mtime, btime from atime. `used` is in seconds from
 *           ctime; NULL, as after an upgrade, is 0. `sha` is NULL while the hash of the content is
 *           unknown, the integer 0 when it equals that of the chunk in block 0 (so in every file of
 *           one block), else the hash.
 *   chunk   `frame` is its frame, `off` its place in the expanded frame. `bearer` is the inode that
 *           is charged for it, 0 while no block refers to it. Its hash is indexed by the first four
 *           bytes, and only while it is alive, so a dead chunk never conflicts with a new one of
 *           the same content. The transaction that takes its last reference deletes it; the next
 *           checkpoint deletes one that never had any (meta.unused_from).
 *   block   The content of block `block` of file `ino`; a hole has no row. Block 0, the only one of
 *           most files, is inode.chunk instead. Exactly one of the blocks that share a chunk
 *           is its bearer: that file is charged for the chunk. The others are guests (guest = 1;
 *           inode.chunk is the negative id), found through indices of guests only, when the bearer
 *           goes and another must follow.
 *   frame   Its place in a pack; `live` counts its live chunks, `held` their bytes. `class` says
 *           how long its content is expected to live; `bad` that it cannot be read. Frames worth
 *           rewriting are found through an index of those alone.
 *   xattr   The extended attributes of an inode, encoded as in base/xattr.h; no row without any.
 *   tombstone  The record of a removed inode, and when it was removed, in seconds. Its number is
 *           never reused.
 *   mark    Inodes that were moved to where content lives longer or shorter.
 *   draft   Content that is still in the journal.
 *
 * A chunk's share of its frame's bytes is stored*(off+len)/raw - stored*off/raw (each quotient
 * rounded down), so the shares of a frame add up to it exactly. inode.stored is the sum over the
 * chunks that it bears.
 */
#pragma once

#define OFS_INDEX_APPLICATION 0x4f46464c /* "OFFL" */
#define OFS_INDEX_PAGE_SIZE 1024

/* Settings for the life of a database; run on an empty one, before anything is written. */
extern const char ofs_schema_layout[];

/* The frames worth rewriting, as SQL: a query must use the same words as the index on frames. */
#define OFS_SCHEMA_STR_(x) #x
#define OFS_SCHEMA_STR(x) OFS_SCHEMA_STR_(x)
/* clang-format off */
#define OFS_SCHEMA_DUE \
	"live > 0 AND bad = 0 AND (held < " OFS_SCHEMA_STR(OFS_FRAME_LOOSE) \
	" OR (dense = 1 AND held < " OFS_SCHEMA_STR(OFS_FRAME_LOOSE_DENSE) ")" \
	" OR (dense = 0 AND class >= " OFS_SCHEMA_STR(OFS_CLASS_DENSE) "))"
/* clang-format on */

/*
 * Counts the inodes that have a name, and tombstones. Sums of sizes wrap: sparse files can be huge,
 * so the two halves are added up apart.
 */
#define OFS_SCHEMA_COUNT                                                                       \
	"UPDATE meta SET files = n.files, dirs = n.dirs, others = n.names - n.files - n.dirs," \
	" bytes = (n.high << 32) + n.low, tombstones = (SELECT count(*) FROM tombstone)"       \
	" FROM (SELECT count(*) AS names,"                                                     \
	" coalesce(sum(mode & 61440 = 32768), 0) AS files,"                                    \
	" coalesce(sum(mode & 61440 = 16384), 0) AS dirs,"                                     \
	" coalesce(sum(iif(mode & 61440 = 32768, size >> 32, 0)), 0) AS high,"                 \
	" coalesce(sum(iif(mode & 61440 = 32768, size & 4294967295, 0)), 0) AS low"            \
	" FROM inode WHERE nlink > 0) n"

/* Creates the tables and signs the database; run inside a transaction. */
extern const char ofs_schema_create[];

/* Upgrade format 2 to 3, and 3 to this one; run inside one transaction. */
extern const char ofs_schema_from_2[];
extern const char ofs_schema_from_3[];

enum ofs_index_stmt {
	OFS_STMT_META_GET,
	OFS_STMT_META_PUT,
	OFS_STMT_META_COUNT,

	OFS_STMT_INODE_LIST,
	OFS_STMT_INODE_PUT,
	OFS_STMT_INODE_DELETE,
	OFS_STMT_INODE_STORED,
	OFS_STMT_INODE_CHARGE,
	OFS_STMT_INODE_SHA,
	OFS_STMT_INODE_SET_SHA,
	OFS_STMT_INODE_ORPHANS,
	OFS_STMT_INODE_COUNT,

	OFS_STMT_DIRENT_LIST,
	OFS_STMT_DIRENT_SCAN,
	OFS_STMT_DIRENT_PUT,
	OFS_STMT_DIRENT_DELETE,

	OFS_STMT_FIRST_GET,
	OFS_STMT_FIRST_PUT,
	OFS_STMT_FIRST_LIST,
	OFS_STMT_FIRST_SHA,

	OFS_STMT_BLOCK_LIST,
	OFS_STMT_BLOCK_GET,
	OFS_STMT_BLOCK_NEXT,
	OFS_STMT_BLOCK_PUT,
	OFS_STMT_BLOCK_DELETE,
	OFS_STMT_BLOCK_GUEST_OF,
	OFS_STMT_BLOCK_GUEST,

	OFS_STMT_BLOCK_HOLDERS,
	OFS_STMT_BLOCK_NEXT_LONG,
	OFS_STMT_TOTALS,

	OFS_STMT_CHUNK_FIND,
	OFS_STMT_CHUNK_GET,
	OFS_STMT_CHUNK_OF_FRAME,
	OFS_STMT_CHUNK_REFERENCE,
	OFS_STMT_CHUNK_PUT,
	OFS_STMT_CHUNK_BEARER,
	OFS_STMT_CHUNK_MOVE,
	OFS_STMT_CHUNK_DELETE,
	OFS_STMT_CHUNK_DELETE_UNUSED,

	OFS_STMT_FRAME_PUT,
	OFS_STMT_FRAME_GET,
	OFS_STMT_FRAME_NEXT,
	OFS_STMT_FRAME_DUE,
	OFS_STMT_FRAME_SET_BAD,
	OFS_STMT_FRAME_HOLD,
	OFS_STMT_FRAME_DEAD,
	OFS_STMT_FRAME_LIVE_BEFORE,
	OFS_STMT_FRAME_LIVE_AFTER,
	OFS_STMT_FRAME_END,
	OFS_STMT_FRAME_DELETE,

	OFS_STMT_DRAFT_LIST,
	OFS_STMT_DRAFT_PUT,
	OFS_STMT_DRAFT_DELETE,

	OFS_STMT_XATTR_GET,
	OFS_STMT_XATTR_PUT,
	OFS_STMT_XATTR_DELETE,
	OFS_STMT_XATTR_LABELLED,

	OFS_STMT_MARK_LIST,
	OFS_STMT_MARK_PUT,
	OFS_STMT_MARK_DELETE,

	OFS_STMT_TOMBSTONE_GET,
	OFS_STMT_TOMBSTONE_PUT,
	OFS_STMT_TOMBSTONE_PORTION,
	OFS_STMT_TOMBSTONE_DELETE,

	OFS_STMT_COUNT
};

/* The statements by enum ofs_index_stmt. */
extern const char *const ofs_schema_sql[];
