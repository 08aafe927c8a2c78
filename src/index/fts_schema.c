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
	"CREATE TABLE content(id INTEGER PRIMARY KEY, sha BLOB, parts INT, users INT);"
	"CREATE INDEX content_sha ON content(substr(sha, 1, 4));"
	"CREATE TABLE doc(id INTEGER PRIMARY KEY, content INT, part INT, off INT, len INT,"
	" line INT);"
	"CREATE TABLE file(ino INTEGER PRIMARY KEY, content INT, stamp INT);"
	"CREATE INDEX file_content ON file(content) WHERE content NOT NULL;"
	"CREATE VIRTUAL TABLE word USING fts5(text, content='', detail=full,"
	" tokenize='unicode61 remove_diacritics 2');"
	"CREATE VIRTUAL TABLE gram USING fts5(text, content='', detail=none, columnsize=0,"
	" tokenize='trigram');"
	"CREATE VIRTUAL TABLE label USING fts5(name, title, tags, columnsize=0,"
	" tokenize='trigram');"
	"PRAGMA application_id = " STR(OFS_FTS_APPLICATION) ";"
	"PRAGMA user_version = " STR(OFS_FTS_FORMAT) ";";

const char ofs_fts_clear[] =
	"DELETE FROM doc;"
	"DELETE FROM content;"
	"UPDATE file SET content = NULL, stamp = 0;"
	"INSERT INTO word(word) VALUES('delete-all');"
	"INSERT INTO gram(gram) VALUES('delete-all');"
	"UPDATE meta SET merged = 0;";
/* clang-format on */

#define DOC_COLUMNS "c.sha, d.part, d.off, d.len, d.line"

const char *const ofs_fts_sql[OFS_FTS_STMTS] = {
	[OFS_FTS_META_GET] = "SELECT complete, merged FROM meta WHERE id = 1",
	[OFS_FTS_META_COMPLETE] = "UPDATE meta SET complete = ?1 WHERE id = 1",
	[OFS_FTS_META_MERGED] = "UPDATE meta SET merged = ?1 WHERE id = 1",
	[OFS_FTS_COUNT_FILES] = "SELECT count(*) FROM file",
	[OFS_FTS_COUNT_DOCS] = "SELECT count(*) FROM doc",
	[OFS_FTS_COUNT_ALIVE] = "SELECT coalesce(sum(parts), 0) FROM content WHERE users > 0",

	[OFS_FTS_CONTENT_FIND] = "SELECT id FROM content WHERE substr(sha, 1, 4) = substr(?1, 1, 4)"
				 " AND sha = ?1 AND parts >= 0",
	[OFS_FTS_CONTENT_PUT] = "INSERT INTO content(sha, parts, users) VALUES(?1, -1, 0)",
	[OFS_FTS_CONTENT_WHOLE] = "UPDATE content SET parts = ?2 WHERE id = ?1",
	[OFS_FTS_CONTENT_GET] = "SELECT sha, parts, users FROM content WHERE id = ?1",
	[OFS_FTS_CONTENT_USE] = "UPDATE content SET users = users + ?2 WHERE id = ?1",
	[OFS_FTS_DOC_PUT] = "INSERT INTO doc(content, part, off, len, line)"
			    " VALUES(?1, ?2, ?3, ?4, ?5)",
	[OFS_FTS_WORD_PUT] = "INSERT INTO word(rowid, text) VALUES(?1, ?2)",
	[OFS_FTS_GRAM_PUT] = "INSERT INTO gram(rowid, text) VALUES(?1, ?2)",
	[OFS_FTS_WORD_MERGE] = "INSERT INTO word(word, rank) VALUES('merge', ?1)",
	[OFS_FTS_GRAM_MERGE] = "INSERT INTO gram(gram, rank) VALUES('merge', ?1)",

	[OFS_FTS_FILE_GET] = "SELECT f.content, f.stamp, c.sha FROM file f"
			     " LEFT JOIN content c ON c.id = f.content WHERE f.ino = ?1",
	[OFS_FTS_FILE_PUT] = "INSERT OR REPLACE INTO file(ino, stamp, content)"
			     " VALUES(?1, ?2, nullif(?3, 0))",
	[OFS_FTS_FILE_DELETE] = "DELETE FROM file WHERE ino = ?1",
	[OFS_FTS_FILE_LIST] = "SELECT ino FROM file WHERE ino > ?1 ORDER BY ino LIMIT ?2",
	[OFS_FTS_FILE_OF] = "SELECT ino FROM file WHERE content = ?1 ORDER BY ino DESC",
	[OFS_FTS_NAME_PUT] = "INSERT INTO label(rowid, name, title, tags) VALUES(?1, ?2, ?3, ?4)",
	[OFS_FTS_NAME_DELETE] = "DELETE FROM label WHERE rowid = ?1",

	[OFS_FTS_FIND_WORDS] = "SELECT " DOC_COLUMNS ", rank FROM word w"
			       " CROSS JOIN doc d ON d.id = w.rowid"
			       " CROSS JOIN content c ON c.id = d.content"
			       " WHERE word MATCH ?1 AND c.users > 0 ORDER BY rank LIMIT ?2",
	[OFS_FTS_FIND_GRAMS] = "SELECT " DOC_COLUMNS " FROM gram g"
			       " CROSS JOIN doc d ON d.id = g.rowid"
			       " CROSS JOIN content c ON c.id = d.content"
			       " WHERE gram MATCH ?1 AND c.users > 0"
			       " ORDER BY g.rowid DESC LIMIT ?2",
};
