/* SPDX-License-Identifier: MIT */
#include "index/fts_schema.h"

#include "index/schema.h"
#include "index/vfs.h"

#define STR OFS_SCHEMA_STR

/* clang-format off */
const char ofs_fts_layout[] =
	"PRAGMA page_size = " STR(OFS_FTS_PAGE_SIZE) ";"
	"PRAGMA auto_vacuum = INCREMENTAL;";

const char ofs_fts_create[] =
	"CREATE TABLE meta(id INTEGER PRIMARY KEY, complete INT, merged INT);"
	"INSERT INTO meta VALUES(1, 0, 0);"
	"CREATE TABLE content(id INTEGER PRIMARY KEY, sha BLOB, doc INT, docs INT, users INT);"
	"CREATE INDEX content_sha ON content(substr(sha, 1, 4));"
	"CREATE TABLE doc(id INTEGER PRIMARY KEY, content INT, off INT, len INT, line INT);"
	"CREATE TABLE file(ino INTEGER PRIMARY KEY, content INT, stamp INT, label TEXT);"
	"CREATE INDEX file_content ON file(content) WHERE content NOT NULL;"
	"CREATE VIRTUAL TABLE word USING fts5(text, content='', detail=none, columnsize=0,"
	" tokenize='ascii');"
	"CREATE VIRTUAL TABLE word_row USING fts5vocab(word, instance);"
	"CREATE VIRTUAL TABLE label USING fts5(text, content='', detail=none, columnsize=0,"
	" tokenize='ascii');"
	"CREATE TABLE model(id INTEGER PRIMARY KEY, name TEXT UNIQUE);"
	"CREATE TABLE vector(id INTEGER PRIMARY KEY, model INT, sha BLOB, data BLOB);"
	"CREATE INDEX vector_sha ON vector(substr(sha, 1, 4));"
	"PRAGMA application_id = " STR(OFS_FTS_APPLICATION) ";"
	"PRAGMA user_version = " STR(OFS_FTS_FORMAT) ";";

const char ofs_fts_clear[] =
	"DELETE FROM doc;"
	"DELETE FROM content;"
	"UPDATE file SET content = NULL, stamp = 0;"
	"INSERT INTO word(word) VALUES('delete-all');"
	"UPDATE meta SET merged = 0;";
/* clang-format on */

#define SQL(name, sql) sql,

const char *const ofs_fts_sql[OFS_FTS_STMTS] = { OFS_FTS_TABLE(SQL) };
