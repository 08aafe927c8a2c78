/* SPDX-License-Identifier: MIT */
#include "index/schema.h"

#include "index/index.h"

#define STR OFS_SCHEMA_STR

/* clang-format off */
const char ofs_schema_layout[] =
	"PRAGMA page_size = " STR(OFS_INDEX_PAGE_SIZE) ";"
	"PRAGMA auto_vacuum = INCREMENTAL;";

/* SQLite keeps this text in the database: it stays short. */
#define TABLE_XATTR "CREATE TABLE xattr(ino INTEGER PRIMARY KEY, list BLOB);"
#define TABLE_TOMBSTONE "CREATE TABLE tombstone(ino INTEGER PRIMARY KEY, removed INT, what BLOB);"
#define SIGN_FORMAT "PRAGMA user_version = " STR(OFS_INDEX_FORMAT) ";"

const char ofs_schema_create[] =
	"CREATE TABLE meta(id INTEGER PRIMARY KEY, uuid BLOB, checkpoint INT, next_ino INT,"
	" next_chunk INT, pack INT, pack_size INT, unused_from INT, scrubbed INT, files"
	" INT, dirs INT,"
	" others INT, bytes INT, tombstones INT, age INT, age_wall INT, wall_high INT);"
	"CREATE TABLE inode(ino INTEGER PRIMARY KEY, parent INT, mode INT, uid INT, gid INT,"
	" nlink INT, rdev INT, size INT, mtime INT, atime INT, ctime INT, btime INT, stored INT,"
	" lines INT, sha BLOB, target BLOB, chunk INT, used INT);"
	"CREATE INDEX inode_guest ON inode(chunk) WHERE chunk < 0;"
	"CREATE INDEX inode_orphan ON inode(nlink) WHERE nlink = 0;"
	"CREATE TABLE dirent(parent INT, name BLOB, ino INT, type INT, cookie INT,"
	" PRIMARY KEY(parent, name)) WITHOUT ROWID;"
	"CREATE TABLE frame(id INTEGER PRIMARY KEY, pack INT, off INT, stored INT, raw INT,"
	" live INT, held INT, class INT, dense INT, bad INT);"
	"CREATE UNIQUE INDEX frame_place ON frame(pack, off);"
	"CREATE INDEX frame_dead ON frame(pack, off) WHERE live = 0;"
	"CREATE INDEX frame_due ON frame(class, id) WHERE " OFS_SCHEMA_DUE ";"
	"CREATE TABLE chunk(id INTEGER PRIMARY KEY, sha BLOB, frame INT, off INT, len INT,"
	" lines INT, bearer INT);"
	"CREATE INDEX chunk_sha ON chunk(substr(sha, 1, 4)) WHERE bearer > 0;"
	"CREATE TABLE block(ino INT, block INT, chunk INT, guest INT,"
	" PRIMARY KEY(ino, block)) WITHOUT ROWID;"
	"CREATE INDEX block_guest ON block(chunk) WHERE guest = 1;"
	"CREATE TABLE draft(ino INT, off INT, len INT, data_pos INT, data_len INT, data_off INT,"
	" PRIMARY KEY(ino, off)) WITHOUT ROWID;"
	"CREATE TABLE mark(ino INTEGER PRIMARY KEY);"
	TABLE_XATTR
	TABLE_TOMBSTONE
	"PRAGMA application_id = " STR(OFS_INDEX_APPLICATION) ";"
	SIGN_FORMAT;

const char ofs_schema_from_2[] =
	TABLE_XATTR
	"ALTER TABLE meta ADD COLUMN files INT;"
	"ALTER TABLE meta ADD COLUMN dirs INT;"
	"ALTER TABLE meta ADD COLUMN others INT;"
	"ALTER TABLE meta ADD COLUMN bytes INT;";

const char ofs_schema_from_3[] =
	TABLE_TOMBSTONE
	"ALTER TABLE meta ADD COLUMN tombstones INT;"
	"ALTER TABLE meta ADD COLUMN age INT;"
	"ALTER TABLE meta ADD COLUMN age_wall INT;"
	"ALTER TABLE meta ADD COLUMN wall_high INT;"
	"ALTER TABLE inode ADD COLUMN used INT;"
	OFS_SCHEMA_COUNT ";"
	SIGN_FORMAT;
/* clang-format on */

#define CHUNK_COLUMNS                                                                   \
	"c.id, c.sha, f.pack, f.off, f.stored, f.raw, c.off, c.len, c.lines, c.bearer," \
	" f.class, f.dense, f.bad"
#define FRAME_COLUMNS "id, pack, off, stored, raw, live, held, class, dense, bad"

const char *const ofs_schema_sql[OFS_STMT_COUNT] = {
	[OFS_STMT_META_GET] = "SELECT uuid, checkpoint, next_ino, next_chunk, pack, pack_size,"
			      " unused_from, scrubbed, files, dirs, others, bytes,"
			      " tombstones, age, age_wall, wall_high FROM meta WHERE id = 1",
	[OFS_STMT_META_PUT] = "INSERT OR REPLACE INTO meta(id, checkpoint, next_ino, next_chunk,"
			      " pack, pack_size, unused_from, scrubbed, files, dirs, others, bytes,"
			      " tombstones, age, age_wall, wall_high, uuid) VALUES(1, ?1, ?2, ?3,"
			      " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
	[OFS_STMT_META_COUNT] = OFS_SCHEMA_COUNT,

	[OFS_STMT_INODE_LIST] =
		"SELECT ino, parent, mode, uid, gid, nlink, rdev, size, mtime, atime, ctime, btime,"
		" stored, lines, used, target, sha, iif(typeof(sha) = 'integer',"
		" (SELECT c.sha FROM chunk c WHERE c.id = abs(i.chunk)), NULL)"
		" FROM inode i WHERE ino BETWEEN ?1 AND ?2 ORDER BY ino",
	[OFS_STMT_INODE_PUT] =
		"INSERT INTO inode(ino, parent, mode, uid, gid, nlink, rdev, size, mtime, atime,"
		" ctime, btime, stored, lines, used, sha, target, chunk)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
		" ?16, ?17, 0)"
		" ON CONFLICT(ino) DO UPDATE SET parent = ?2, mode = ?3, uid = ?4, gid = ?5,"
		" nlink = ?6, rdev = ?7, size = ?8, mtime = ?9, atime = ?10, ctime = ?11,"
		" btime = ?12, lines = ?14, used = ?15, sha = ?16, target = ?17",
	[OFS_STMT_INODE_DELETE] = "DELETE FROM inode WHERE ino = ?1",
	[OFS_STMT_INODE_STORED] = "SELECT stored FROM inode WHERE ino = ?1",
	[OFS_STMT_INODE_CHARGE] = "UPDATE inode SET stored = stored + ?2 WHERE ino = ?1",
	[OFS_STMT_INODE_SHA] = "SELECT sha FROM inode WHERE ino = ?1",
	[OFS_STMT_INODE_SET_SHA] = "UPDATE inode SET sha = ?2 WHERE ino = ?1",
	[OFS_STMT_INODE_ORPHANS] = "SELECT ino FROM inode WHERE nlink = 0",
	[OFS_STMT_INODE_COUNT] = "SELECT count(*), sum(size >> 32), sum(size & 0xffffffff)"
				 " FROM inode WHERE mode & 0xf000 = 0x8000",

	[OFS_STMT_DIRENT_LIST] = "SELECT name, ino, type, cookie FROM dirent WHERE parent = ?1",
	[OFS_STMT_DIRENT_SCAN] = "SELECT parent, name, ino FROM dirent"
				 " WHERE (parent, name) > (?1, ?2) ORDER BY parent, name LIMIT ?3",
	[OFS_STMT_DIRENT_PUT] = "INSERT OR REPLACE INTO dirent(parent, ino, type, cookie, name)"
				" VALUES(?1, ?2, ?3, ?4, ?5)",
	[OFS_STMT_DIRENT_DELETE] = "DELETE FROM dirent WHERE parent = ?1 AND name = ?2",

	[OFS_STMT_FIRST_GET] =
		"SELECT abs(chunk), chunk < 0 FROM inode WHERE ino = ?1 AND chunk <> 0",
	[OFS_STMT_FIRST_PUT] = "UPDATE inode SET chunk = iif(?3, -?2, ?2) WHERE ino = ?1",
	[OFS_STMT_FIRST_LIST] = "SELECT " CHUNK_COLUMNS ", i.ino, 0 FROM inode i"
				" LEFT JOIN chunk c ON c.id = abs(i.chunk)"
				" LEFT JOIN frame f ON f.id = c.frame"
				" WHERE i.ino BETWEEN ?1 AND ?2 AND i.chunk <> 0"
				" ORDER BY i.ino",
	[OFS_STMT_FIRST_SHA] = "SELECT c.sha FROM inode i CROSS JOIN chunk c ON c.id = abs(i.chunk)"
			       " WHERE i.ino = ?1",

	[OFS_STMT_BLOCK_LIST] = "SELECT " CHUNK_COLUMNS ", b.block FROM block b"
				" LEFT JOIN chunk c ON c.id = b.chunk"
				" LEFT JOIN frame f ON f.id = c.frame"
				" WHERE b.ino = ?1 ORDER BY b.block",
	[OFS_STMT_BLOCK_GET] = "SELECT chunk, guest FROM block WHERE ino = ?1 AND block = ?2",
	[OFS_STMT_BLOCK_NEXT] = "SELECT chunk, guest, block FROM block"
				" WHERE ino = ?1 AND block >= ?2 ORDER BY block LIMIT 1",
	[OFS_STMT_BLOCK_PUT] = "INSERT OR REPLACE INTO block(ino, block, chunk, guest)"
			       " VALUES(?1, ?2, ?3, ?4)",
	[OFS_STMT_BLOCK_DELETE] = "DELETE FROM block WHERE ino = ?1 AND block = ?2",
	[OFS_STMT_BLOCK_GUEST_OF] = "SELECT ino, 0 FROM inode WHERE ino = ?2 AND chunk = -?1"
				    " UNION ALL SELECT ino, block FROM block INDEXED BY block_guest"
				    " WHERE guest = 1 AND chunk = ?1 AND ino = ?2 LIMIT 1",
	[OFS_STMT_BLOCK_GUEST] = "SELECT ino, 0 FROM inode INDEXED BY inode_guest"
				 " WHERE chunk < 0 AND chunk = -?1"
				 " UNION ALL SELECT ino, block FROM block INDEXED BY block_guest"
				 " WHERE guest = 1 AND chunk = ?1 LIMIT 1",
	[OFS_STMT_BLOCK_HOLDERS] = "SELECT bearer FROM chunk WHERE id = ?1 AND bearer > 0"
				   " UNION ALL SELECT ino FROM inode INDEXED BY inode_guest"
				   " WHERE chunk < 0 AND chunk = -?1"
				   " UNION ALL SELECT ino FROM block INDEXED BY block_guest"
				   " WHERE guest = 1 AND chunk = ?1",
	[OFS_STMT_BLOCK_NEXT_LONG] = "SELECT ino FROM block WHERE ino > ?1"
				     " ORDER BY ino LIMIT 1",
	[OFS_STMT_TOTALS] = "SELECT (SELECT total(raw) FROM frame WHERE live > 0),"
			    " (SELECT total(size) FROM inode WHERE size > ?1"
			    " AND mode & 0xf000 = 0x8000)",

	[OFS_STMT_CHUNK_FIND] = "SELECT " CHUNK_COLUMNS " FROM chunk c INDEXED BY chunk_sha"
				" CROSS JOIN frame f ON f.id = c.frame"
				" WHERE c.bearer > 0 AND substr(c.sha, 1, 4) = substr(?1, 1, 4)"
				" AND c.sha = ?1 LIMIT 1",
	[OFS_STMT_CHUNK_GET] = "SELECT " CHUNK_COLUMNS " FROM chunk c"
			       " CROSS JOIN frame f ON f.id = c.frame WHERE c.id = ?1",
	[OFS_STMT_CHUNK_OF_FRAME] = "SELECT " CHUNK_COLUMNS " FROM chunk c"
				    " CROSS JOIN frame f ON f.id = c.frame"
				    " WHERE c.frame = ?1 AND c.bearer > 0",
	[OFS_STMT_CHUNK_REFERENCE] =
		"SELECT c.bearer, c.frame, c.off, c.len, f.stored, f.raw, c.sha"
		" FROM chunk c CROSS JOIN frame f ON f.id = c.frame"
		" WHERE c.id = ?1",
	[OFS_STMT_CHUNK_PUT] = "INSERT INTO chunk(id, frame, off, len, lines, bearer, sha)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6)",
	[OFS_STMT_CHUNK_BEARER] = "UPDATE chunk SET bearer = ?2 WHERE id = ?1",
	[OFS_STMT_CHUNK_MOVE] = "UPDATE chunk SET frame = ?2, off = ?3 WHERE id = ?1",
	[OFS_STMT_CHUNK_DELETE] = "DELETE FROM chunk WHERE id = ?1 AND bearer = 0",
	[OFS_STMT_CHUNK_DELETE_UNUSED] = "DELETE FROM chunk WHERE id >= ?1 AND bearer = 0",

	[OFS_STMT_FRAME_PUT] =
		"INSERT INTO frame(pack, off, stored, raw, live, held, class, dense, bad)"
		" VALUES(?1, ?2, ?3, ?4, 0, 0, ?5, ?6, 0)",
	[OFS_STMT_FRAME_GET] = "SELECT " FRAME_COLUMNS " FROM frame WHERE id = ?1",
	[OFS_STMT_FRAME_NEXT] = "SELECT " FRAME_COLUMNS " FROM frame WHERE id > ?1"
				" ORDER BY id LIMIT 1",
	[OFS_STMT_FRAME_DUE] = "SELECT " FRAME_COLUMNS " FROM frame INDEXED BY frame_due"
			       " WHERE " OFS_SCHEMA_DUE " ORDER BY class, id",
	[OFS_STMT_FRAME_SET_BAD] = "UPDATE frame SET bad = ?2 WHERE id = ?1",
	[OFS_STMT_FRAME_HOLD] = "UPDATE frame SET live = live + ?2, held = held + ?3 WHERE id = ?1",
	[OFS_STMT_FRAME_DEAD] = "SELECT pack, off, id FROM frame INDEXED BY frame_dead"
				" WHERE live = 0 AND (pack, off) >= (?1, ?2)"
				" ORDER BY pack, off LIMIT 1",
	[OFS_STMT_FRAME_LIVE_BEFORE] = "SELECT off + stored FROM frame INDEXED BY frame_place"
				       " WHERE pack = ?1 AND off < ?2 AND live > 0"
				       " ORDER BY off DESC LIMIT 1",
	[OFS_STMT_FRAME_LIVE_AFTER] = "SELECT off FROM frame INDEXED BY frame_place"
				      " WHERE pack = ?1 AND off > ?2 AND live > 0"
				      " ORDER BY off LIMIT 1",
	[OFS_STMT_FRAME_END] = "SELECT off + stored FROM frame INDEXED BY frame_place"
			       " WHERE pack = ?1 ORDER BY off DESC LIMIT 1",
	[OFS_STMT_FRAME_DELETE] = "DELETE FROM frame WHERE id = ?1",

	[OFS_STMT_DRAFT_LIST] = "SELECT ino, off, len, data_pos, data_len, data_off FROM draft"
				" ORDER BY ino, off",
	[OFS_STMT_DRAFT_PUT] = "INSERT INTO draft(ino, off, len, data_pos, data_len, data_off)"
			       " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[OFS_STMT_DRAFT_DELETE] = "DELETE FROM draft WHERE ino = ?1",

	[OFS_STMT_XATTR_GET] = "SELECT list FROM xattr WHERE ino = ?1",
	[OFS_STMT_XATTR_PUT] = "INSERT OR REPLACE INTO xattr(ino, list) VALUES(?1, ?2)",
	[OFS_STMT_XATTR_DELETE] = "DELETE FROM xattr WHERE ino = ?1",
	[OFS_STMT_XATTR_LABELLED] = "SELECT x.ino FROM xattr x CROSS JOIN inode i ON i.ino = x.ino"
				    " WHERE x.ino > ?1 AND i.nlink > 0 ORDER BY x.ino",

	[OFS_STMT_MARK_LIST] = "SELECT ino FROM mark ORDER BY ino LIMIT ?1",
	[OFS_STMT_MARK_PUT] = "INSERT OR IGNORE INTO mark(ino) VALUES(?1)",
	[OFS_STMT_MARK_DELETE] = "DELETE FROM mark WHERE ino = ?1",

	[OFS_STMT_TOMBSTONE_GET] = "SELECT removed, what FROM tombstone WHERE ino = ?1",
	[OFS_STMT_TOMBSTONE_PUT] = "INSERT OR REPLACE INTO tombstone(ino, removed, what)"
				   " VALUES(?1, ?2, ?3)",
	[OFS_STMT_TOMBSTONE_PORTION] = "SELECT max(ino) FROM (SELECT ino FROM tombstone"
				       " WHERE ino > ?1 ORDER BY ino LIMIT ?2)",
	[OFS_STMT_TOMBSTONE_DELETE] = "DELETE FROM tombstone"
				      " WHERE ino > ?1 AND ino <= ?2 AND removed < ?3",
};
