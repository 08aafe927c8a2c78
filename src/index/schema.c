/* SPDX-License-Identifier: MIT */
#include "index/schema.h"

#include "index/index.h"

#define STR OFS_SCHEMA_STR

/* clang-format off */
const char ofs_schema_layout[] =
	"PRAGMA page_size = " STR(OFS_INDEX_PAGE_SIZE) ";"
	"PRAGMA auto_vacuum = INCREMENTAL;";

/* SQLite keeps this text in the database, so it is short. */
#define TABLE_XATTR "CREATE TABLE xattr(ino INTEGER PRIMARY KEY, list BLOB);"
#define TABLE_TOMBSTONE "CREATE TABLE tombstone(ino INTEGER PRIMARY KEY, removed INT, what BLOB);"
#define TABLE_LEDGER \
	"CREATE TABLE ledger(id INTEGER PRIMARY KEY, day INT, results INT, offloaded INT," \
	" pointers INT, read INT, who BLOB);"
#define TABLES_OBJECT \
	"CREATE TABLE object(id INTEGER PRIMARY KEY, epoch INT, number INT, size INT);" \
	"CREATE TABLE extent(pack INT, off INT, len INT, object INT, at INT," \
	" PRIMARY KEY(pack, off)) WITHOUT ROWID;"
#define SIGN_FORMAT "PRAGMA user_version = " STR(OFS_INDEX_FORMAT) ";"

const char ofs_schema_create[] =
	"CREATE TABLE meta(id INTEGER PRIMARY KEY, uuid BLOB, checkpoint INT, next_ino INT,"
	" next_chunk INT, pack INT, pack_size INT, unused_from INT, scrubbed INT, files"
	" INT, dirs INT,"
	" others INT, bytes INT, tombstones INT, age INT, age_wall INT, wall_high INT,"
	" ref_seed INT);"
	"CREATE TABLE inode(ino INTEGER PRIMARY KEY, parent INT, mode INT, uid INT, gid INT,"
	" nlink INT, rdev INT, size INT, mtime INT, atime INT, ctime INT, btime INT, stored INT,"
	" lines INT, sha BLOB, target BLOB, chunk INT, used INT, tokens INT);"
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
	TABLE_LEDGER
	TABLES_OBJECT
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
	OFS_SCHEMA_COUNT ";";

/* Refs that were given out must not change, so an upgraded store has no seed. */
const char ofs_schema_from_4[] =
	TABLE_LEDGER
	"ALTER TABLE meta ADD COLUMN ref_seed INT;";

const char ofs_schema_from_5[] =
	"ALTER TABLE inode ADD COLUMN tokens INT;";

const char ofs_schema_from_6[] =
	TABLES_OBJECT
	SIGN_FORMAT;
/* clang-format on */

#define SQL(name, sql) sql,

const char *const ofs_schema_sql[OFS_STMT_COUNT] = { OFS_STMT_TABLE(SQL) };
