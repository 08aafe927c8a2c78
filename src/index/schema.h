/* SPDX-License-Identifier: MIT */
/*
 * The tables of the index, format 7.
 *
 * The file header of the database identifies it: application_id is OFS_INDEX_APPLICATION, and
 * user_version is OFS_INDEX_FORMAT. Numbers are SQLite integers (unsigned 64-bit ones in two's
 * complement). Names, hashes and link targets are BLOBs. Every byte here counts against the storage
 * ratio, hence:
 *
 *   meta    `age` is the age clock of the store at the last checkpoint, `age_wall` the wall clock
 *           then, and `wall_high` the highest value of that. NULL from an upgrade to the first
 *           checkpoint. `ref_seed` scrambles refs; NULL or 0 in a store that is older than it.
 *   inode   atime and ctime are differences from mtime, btime from atime. `used` is in seconds from
 *           ctime; NULL, as after an upgrade, is 0. `tokens` is NULL until estimated. `sha` is NULL
 *           while the hash of the content is unknown, the integer 0 if it equals that of the chunk
 *           in block 0 (as in every file of one block), and otherwise the hash.
 *   chunk   `frame` is its frame, and `off` its position in the expanded frame. `bearer` is the
 *           inode that is charged for it, or 0 while no block refers to it. The first four bytes of
 *           its hash are indexed, and only while it is alive, so a dead chunk never conflicts with
 *           a new one of the same content. The transaction that removes its last reference deletes
 *           it. The next checkpoint deletes one that never had a reference (meta.unused_from).
 *   block   The content of block `block` of file `ino`; a hole has no row. Block 0, the only one of
 *           most files, is inode.chunk instead. Exactly one of the blocks that share a chunk is its
 *           bearer: that file is charged for the chunk. The others are guests (guest = 1; in
 *           inode.chunk, the negative id). Indices of guests alone find one that can take over when
 *           the bearer goes.
 *   frame   Its place in a pack. `live` counts its live chunks, `held` their bytes. `class` says
 *           how long its content is expected to live; `bad` says that it cannot be read. Frames
 *           worth rewriting are found through an index of those alone.
 *   xattr   The extended attributes of an inode, encoded as in base/xattr.h; no row without any.
 *   tombstone  The record of a removed inode, and the time of its removal in seconds. No other
 *           content gets its number.
 *   ledger  Sums of tokens by `day` since 1970 and `who`; `id` is a hash of both.
 *   mark    Inodes that were moved to where content lives longer or shorter.
 *   draft   Content that is still in the journal.
 *   object  An object of the remote (docs/REPLICATION.md) that holds `size` bytes of packs, under
 *           the name `number` of `epoch`.
 *   extent  `len` bytes of a pack from `off` on, which lie at `at` of an object.
 *
 * A chunk's share of its frame's bytes is stored*(off+len)/raw - stored*off/raw (each quotient
 * rounded down), so the shares of a frame add up to it exactly. inode.stored is the sum over the
 * chunks that it bears.
 */
#pragma once

#define OFS_INDEX_APPLICATION 0x4f46464c /* "OFFL" */
#define OFS_INDEX_PAGE_SIZE 1024

/* Permanent settings of a database. Run on an empty one, before anything is written. */
extern const char ofs_schema_layout[];

/*
 * The condition for frames worth rewriting. A query must repeat it literally to use the index on
 * them.
 */
#define OFS_SCHEMA_STR_(x) #x
#define OFS_SCHEMA_STR(x) OFS_SCHEMA_STR_(x)
/* clang-format off */
#define OFS_SCHEMA_DUE \
	"live > 0 AND bad = 0 AND (held < " OFS_SCHEMA_STR(OFS_FRAME_LOOSE) \
	" OR (dense = 1 AND held < " OFS_SCHEMA_STR(OFS_FRAME_LOOSE_DENSE) ")" \
	" OR (dense = 0 AND class >= " OFS_SCHEMA_STR(OFS_CLASS_DENSE) "))"
/* clang-format on */

/*
 * Counts the inodes that have a name, and the tombstones. The sum of the sizes may wrap, since
 * sparse files can be huge; so its two halves are summed separately.
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

/* Creates the tables and signs the database. Run inside a transaction. */
extern const char ofs_schema_create[];

/* Each upgrades that format to the next one. Run inside one transaction. */
extern const char ofs_schema_from_2[];
extern const char ofs_schema_from_3[];
extern const char ofs_schema_from_4[];
extern const char ofs_schema_from_5[];
extern const char ofs_schema_from_6[];

#define OFS_SCHEMA_CHUNK                                                                \
	"c.id, c.sha, f.pack, f.off, f.stored, f.raw, c.off, c.len, c.lines, c.bearer," \
	" f.class, f.dense, f.bad"
#define OFS_SCHEMA_FRAME "id, pack, off, stored, raw, live, held, class, dense, bad"

/* The statements: OFS_STMT_<name> and its text. */
/* clang-format off */
#define OFS_STMT_TABLE(X) \
	X(META_GET, "SELECT uuid, checkpoint, next_ino, next_chunk, pack, pack_size," \
	  " unused_from, scrubbed, files, dirs, others, bytes, tombstones, age, age_wall," \
	  " wall_high, ref_seed FROM meta WHERE id = 1") \
	X(META_PUT, "INSERT OR REPLACE INTO meta(id, checkpoint, next_ino, next_chunk, pack," \
	  " pack_size, unused_from, scrubbed, files, dirs, others, bytes, tombstones, age," \
	  " age_wall, wall_high, ref_seed, uuid)" \
	  " VALUES(1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16," \
	  " ?17)") \
	X(META_COUNT, OFS_SCHEMA_COUNT) \
	X(INODE_LIST, "SELECT ino, parent, mode, uid, gid, nlink, rdev, size, mtime, atime," \
	  " ctime, btime, stored, lines, used, target, sha, iif(typeof(sha) = 'integer'," \
	  " (SELECT c.sha FROM chunk c WHERE c.id = abs(i.chunk)), NULL), ifnull(tokens, -1)" \
	  " FROM inode i WHERE ino BETWEEN ?1 AND ?2 ORDER BY ino") \
	X(INODE_PUT, "INSERT INTO inode(ino, parent, mode, uid, gid, nlink, rdev, size, mtime," \
	  " atime, ctime, btime, stored, lines, used, tokens, sha, target, chunk) VALUES(?1, ?2," \
	  " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, nullif(?16, -1), ?17, ?18," \
	  " 0) ON CONFLICT(ino) DO UPDATE SET parent = ?2, mode = ?3, uid = ?4, gid = ?5, nlink =" \
	  " ?6, rdev = ?7, size = ?8, mtime = ?9, atime = ?10, ctime = ?11, btime = ?12, lines =" \
	  " ?14, used = ?15, tokens = nullif(?16, -1), sha = ?17, target = ?18") \
	X(INODE_DELETE, "DELETE FROM inode WHERE ino = ?1") \
	X(INODE_STORED, "SELECT stored FROM inode WHERE ino = ?1") \
	X(INODE_CHARGE, "UPDATE inode SET stored = stored + ?2 WHERE ino = ?1") \
	X(INODE_SHA, "SELECT sha FROM inode WHERE ino = ?1") \
	X(INODE_SET_SHA, "UPDATE inode SET sha = ?2 WHERE ino = ?1") \
	X(INODE_ORPHANS, "SELECT ino FROM inode WHERE nlink = 0") \
	X(INODE_FILES, \
	  "SELECT ino FROM inode WHERE ino < ?1 AND nlink > 0 AND mode & 0xf000 = 0x8000" \
	  " ORDER BY ino DESC") \
	X(INODE_COUNT, "SELECT count(*), sum(size >> 32), sum(size & 0xffffffff) FROM inode" \
	  " WHERE mode & 0xf000 = 0x8000") \
	X(DIRENT_GET, "SELECT ino FROM dirent WHERE parent = ?1 AND name = ?2") \
	X(DIRENT_LIST, "SELECT name, ino, type, cookie FROM dirent WHERE parent = ?1") \
	X(DIRENT_SCAN, "SELECT parent, name, ino FROM dirent WHERE (parent, name) > (?1, ?2)" \
	  " ORDER BY parent, name LIMIT ?3") \
	X(DIRENT_PUT, "INSERT OR REPLACE INTO dirent(parent, ino, type, cookie, name)" \
	  " VALUES(?1, ?2, ?3, ?4, ?5)") \
	X(DIRENT_DELETE, "DELETE FROM dirent WHERE parent = ?1 AND name = ?2") \
	X(FIRST_GET, "SELECT abs(chunk), chunk < 0 FROM inode WHERE ino = ?1 AND chunk <> 0") \
	X(FIRST_PUT, "UPDATE inode SET chunk = iif(?3, -?2, ?2) WHERE ino = ?1") \
	X(FIRST_LIST, "SELECT " OFS_SCHEMA_CHUNK ", i.ino, 0 FROM inode i" \
	  " LEFT JOIN chunk c ON c.id = abs(i.chunk) LEFT JOIN frame f ON f.id = c.frame" \
	  " WHERE i.ino BETWEEN ?1 AND ?2 AND i.chunk <> 0 ORDER BY i.ino") \
	X(FIRST_SHA, "SELECT c.sha FROM inode i CROSS JOIN chunk c ON c.id = abs(i.chunk)" \
	  " WHERE i.ino = ?1") \
	X(BLOCK_LIST, "SELECT " OFS_SCHEMA_CHUNK ", b.block FROM block b" \
	  " LEFT JOIN chunk c ON c.id = b.chunk LEFT JOIN frame f ON f.id = c.frame" \
	  " WHERE b.ino = ?1 ORDER BY b.block") \
	X(BLOCK_GET, "SELECT chunk, guest FROM block WHERE ino = ?1 AND block = ?2") \
	X(BLOCK_NEXT, "SELECT chunk, guest, block FROM block WHERE ino = ?1 AND block >= ?2" \
	  " ORDER BY block LIMIT 1") \
	X(BLOCK_PUT, "INSERT OR REPLACE INTO block(ino, block, chunk, guest)" \
	  " VALUES(?1, ?2, ?3, ?4)") \
	X(BLOCK_DELETE, "DELETE FROM block WHERE ino = ?1 AND block = ?2") \
	X(BLOCK_GUEST_OF, "SELECT ino, 0 FROM inode WHERE ino = ?2 AND chunk = -?1" \
	  " UNION ALL SELECT ino, block FROM block INDEXED BY block_guest" \
	  " WHERE guest = 1 AND chunk = ?1 AND ino = ?2 LIMIT 1") \
	X(BLOCK_GUEST, "SELECT ino, 0 FROM inode INDEXED BY inode_guest" \
	  " WHERE chunk < 0 AND chunk = -?1 UNION ALL SELECT ino, block" \
	  " FROM block INDEXED BY block_guest WHERE guest = 1 AND chunk = ?1 LIMIT 1") \
	X(BLOCK_HOLDERS, "SELECT bearer FROM chunk WHERE id = ?1 AND bearer > 0" \
	  " UNION ALL SELECT ino FROM inode INDEXED BY inode_guest" \
	  " WHERE chunk < 0 AND chunk = -?1 UNION ALL SELECT ino" \
	  " FROM block INDEXED BY block_guest WHERE guest = 1 AND chunk = ?1") \
	X(BLOCK_NEXT_LONG, "SELECT ino FROM block WHERE ino > ?1 ORDER BY ino LIMIT 1") \
	X(TOTALS, "SELECT (SELECT total(raw) FROM frame WHERE live > 0), (SELECT total(size)" \
	  " FROM inode WHERE size > ?1 AND mode & 0xf000 = 0x8000)") \
	X(CHUNK_FIND, "SELECT " OFS_SCHEMA_CHUNK " FROM chunk c INDEXED BY chunk_sha" \
	  " CROSS JOIN frame f ON f.id = c.frame" \
	  " WHERE c.bearer > 0 AND substr(c.sha, 1, 4) = substr(?1, 1, 4) AND c.sha = ?1" \
	  " LIMIT 1") \
	X(CHUNK_GET, "SELECT " OFS_SCHEMA_CHUNK " FROM chunk c" \
	  " CROSS JOIN frame f ON f.id = c.frame WHERE c.id = ?1") \
	X(CHUNK_OF_FRAME, "SELECT " OFS_SCHEMA_CHUNK " FROM chunk c" \
	  " CROSS JOIN frame f ON f.id = c.frame WHERE c.frame = ?1 AND c.bearer > 0") \
	X(CHUNK_REFERENCE, "SELECT c.bearer, c.frame, c.off, c.len, f.stored, f.raw, c.sha" \
	  " FROM chunk c CROSS JOIN frame f ON f.id = c.frame WHERE c.id = ?1") \
	X(CHUNK_PUT, "INSERT INTO chunk(id, frame, off, len, lines, bearer, sha)" \
	  " VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6)") \
	X(CHUNK_BEARER, "UPDATE chunk SET bearer = ?2 WHERE id = ?1") \
	X(CHUNK_MOVE, "UPDATE chunk SET frame = ?2, off = ?3 WHERE id = ?1") \
	X(CHUNK_DELETE, "DELETE FROM chunk WHERE id = ?1 AND bearer = 0") \
	X(CHUNK_DELETE_UNUSED, "DELETE FROM chunk WHERE id >= ?1 AND bearer = 0") \
	X(FRAME_PUT, "INSERT INTO frame(pack, off, stored, raw, live, held, class, dense, bad)" \
	  " VALUES(?1, ?2, ?3, ?4, 0, 0, ?5, ?6, 0)") \
	X(FRAME_GET, "SELECT " OFS_SCHEMA_FRAME " FROM frame WHERE id = ?1") \
	X(FRAME_NEXT, "SELECT " OFS_SCHEMA_FRAME " FROM frame WHERE id > ?1 ORDER BY id LIMIT 1") \
	X(FRAME_DUE, "SELECT " OFS_SCHEMA_FRAME " FROM frame INDEXED BY frame_due WHERE " \
	  OFS_SCHEMA_DUE " ORDER BY class, id") \
	X(FRAME_SET_BAD, "UPDATE frame SET bad = ?2 WHERE id = ?1") \
	X(FRAME_HOLD, "UPDATE frame SET live = live + ?2, held = held + ?3 WHERE id = ?1") \
	X(FRAME_DEAD, "SELECT pack, off, id FROM frame INDEXED BY frame_dead" \
	  " WHERE live = 0 AND (pack, off) >= (?1, ?2) ORDER BY pack, off LIMIT 1") \
	X(FRAME_LIVE_BEFORE, "SELECT off + stored FROM frame INDEXED BY frame_place" \
	  " WHERE pack = ?1 AND off < ?2 AND live > 0 ORDER BY off DESC LIMIT 1") \
	X(FRAME_LIVE_AFTER, "SELECT off FROM frame INDEXED BY frame_place" \
	  " WHERE pack = ?1 AND off > ?2 AND live > 0 ORDER BY off LIMIT 1") \
	X(FRAME_END, "SELECT off + stored FROM frame INDEXED BY frame_place WHERE pack = ?1" \
	  " ORDER BY off DESC LIMIT 1") \
	X(FRAME_DELETE, "DELETE FROM frame WHERE id = ?1") \
	X(FRAME_AT, "SELECT id FROM frame WHERE pack = ?1 AND off = ?2") \
	X(FRAME_IN, "SELECT " OFS_SCHEMA_FRAME " FROM frame INDEXED BY frame_place" \
	  " WHERE pack = ?1 AND off >= ?2 AND off < ?3 AND live > 0 ORDER BY off") \
	X(FRAME_UNSENT, "SELECT " OFS_SCHEMA_FRAME " FROM frame INDEXED BY frame_place" \
	  " WHERE (pack, off) >= (?1, ?2) AND live > 0 ORDER BY pack, off") \
	X(FRAME_PASSED, "SELECT " OFS_SCHEMA_FRAME " FROM frame f NOT INDEXED" \
	  " WHERE id BETWEEN ?1 AND ?2 AND live > 0 AND bad = 0 AND (pack, off) < (?3, ?4)" \
	  " AND ifnull((SELECT e.off + e.len FROM extent e WHERE e.pack = f.pack" \
	  " AND e.off <= f.off ORDER BY e.off DESC LIMIT 1), 0) <= f.off ORDER BY pack, off") \
	X(OBJECT_PUT, "INSERT INTO object(epoch, number, size) VALUES(?1, ?2, ?3)") \
	X(OBJECT_LIST, "SELECT id, epoch, number, size FROM object WHERE id > ?1" \
	  " ORDER BY id LIMIT 1") \
	X(OBJECT_DELETE_DEAD, "DELETE FROM object WHERE id NOT IN (SELECT object FROM extent)") \
	X(OBJECT_DELETE_ALL, "DELETE FROM object") \
	X(EXTENT_DELETE_ALL, "DELETE FROM extent") \
	X(EXTENT_DELETE_DEAD, "DELETE FROM extent WHERE NOT EXISTS (SELECT 1 FROM frame f" \
	  " INDEXED BY frame_place WHERE f.pack = extent.pack AND f.off >= extent.off" \
	  " AND f.off < extent.off + extent.len)") \
	X(EXTENT_PUT, "INSERT INTO extent(pack, off, len, object, at)" \
	  " VALUES(?1, ?2, ?3, ?4, ?5)") \
	X(EXTENT_LAST, "SELECT pack, off + len FROM extent ORDER BY pack DESC, off DESC LIMIT 1") \
	X(EXTENT_FIND, "SELECT e.off, e.len, e.at, o.id, o.epoch, o.number, o.size FROM extent e" \
	  " CROSS JOIN object o ON o.id = e.object" \
	  " WHERE e.pack = ?1 AND e.off <= ?2 ORDER BY e.off DESC LIMIT 1") \
	X(DRAFT_LIST, "SELECT ino, off, len, data_pos, data_len, data_off FROM draft" \
	  " ORDER BY ino, off") \
	X(DRAFT_PUT, "INSERT INTO draft(ino, off, len, data_pos, data_len, data_off)" \
	  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)") \
	X(DRAFT_DELETE, "DELETE FROM draft WHERE ino = ?1") \
	X(XATTR_GET, "SELECT list FROM xattr WHERE ino = ?1") \
	X(XATTR_PUT, "INSERT OR REPLACE INTO xattr(ino, list) VALUES(?1, ?2)") \
	X(XATTR_DELETE, "DELETE FROM xattr WHERE ino = ?1") \
	X(XATTR_LABELLED, "SELECT x.ino FROM xattr x CROSS JOIN inode i ON i.ino = x.ino" \
	  " WHERE x.ino > ?1 AND i.nlink > 0 ORDER BY x.ino") \
	X(MARK_LIST, "SELECT ino FROM mark ORDER BY ino LIMIT ?1") \
	X(MARK_PUT, "INSERT OR IGNORE INTO mark(ino) VALUES(?1)") \
	X(MARK_DELETE, "DELETE FROM mark WHERE ino = ?1") \
	X(NUMBER_FIRST, "SELECT min(ino) FROM (SELECT min(ino) AS ino FROM inode WHERE ino >= ?1" \
	  " UNION ALL SELECT min(ino) FROM tombstone WHERE ino >= ?1)") \
	X(TOMBSTONE_GET, "SELECT removed, what FROM tombstone WHERE ino = ?1") \
	X(TOMBSTONE_PUT, "INSERT OR REPLACE INTO tombstone(ino, removed, what)" \
	  " VALUES(?1, ?2, ?3)") \
	X(TOMBSTONE_PORTION, "SELECT max(ino) FROM (SELECT ino FROM tombstone WHERE ino > ?1" \
	  " ORDER BY ino LIMIT ?2)") \
	X(TOMBSTONE_DELETE, "DELETE FROM tombstone" \
	  " WHERE ino > ?1 AND ino <= ?2 AND removed < ?3") \
	X(LEDGER_GET, "SELECT results, offloaded, pointers, read FROM ledger WHERE id = ?1") \
	X(LEDGER_PUT, "INSERT OR REPLACE INTO ledger(id, day, results, offloaded, pointers, read," \
	  " who) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)") \
	X(LEDGER_LIST, "SELECT results, offloaded, pointers, read, id, day, who FROM ledger" \
	  " WHERE day >= ?1")
/* clang-format on */

enum ofs_index_stmt {
#define NUMBER(name, sql) OFS_STMT_##name,
	OFS_STMT_TABLE(NUMBER)
#undef NUMBER
	OFS_STMT_COUNT
};

/* The text of the statements, by enum ofs_index_stmt. */
extern const char *const ofs_schema_sql[];
