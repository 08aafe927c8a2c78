/* SPDX-License-Identifier: MIT */
/*
 * The tables of the search index, format 3. application_id is OFS_FTS_APPLICATION, and user_version
 * is OFS_FTS_FORMAT. A database of another format is discarded.
 *
 *   meta     `complete`: nothing was left to index. `merged`: the number of documents when segments
 *            were last merged.
 *   content  Its documents are `doc` and the following ones, `docs` of them. `docs` is -1 while
 *            they are being added, and stays so if that fails. `users`: the number of files with
 *            this content. Found by the first bytes of the hash.
 *   doc      `len` bytes of a content from `off` on, starting in line `line`. The id is that of a
 *            row of `word`, and only grows.
 *   word     FTS5 without content: which documents have which words (base/words.h), and no more.
 *   word_row The same as a table of words and documents.
 *   file     `content`: its number or NULL. `stamp` is the caller's. `label`: the words of its row
 *            in `label`.
 *   label    FTS5 without content: the words of the name, the title and the tags of a file.
 *   model    The id (embed/embed.h) of a model that makes vectors.
 *   vector   The vectors of the documents of a content, one after the other, by a model. They stay
 *            when the content is indexed again, since its documents are the same but for their
 *            numbers; the rows then get new numbers. Numbers only grow, so the last row is never
 *            pruned.
 */
#pragma once

#include <stdatomic.h>

#include "index/db.h"
#include "index/fts.h"

#define OFS_FTS_FORMAT 3

/* Run on an empty database, before anything is written. */
extern const char ofs_fts_layout[];

/* Creates the tables and signs the database. Run inside a transaction. */
extern const char ofs_fts_create[];

/* Drops all indexed content. Run inside a transaction. */
extern const char ofs_fts_clear[];

/* The statements: OFS_FTS_<name> and its text. */
/* clang-format off */
#define OFS_FTS_TABLE(X) \
	X(META_GET, "SELECT complete, merged FROM meta WHERE id = 1") \
	X(META_COMPLETE, "UPDATE meta SET complete = ?1 WHERE id = 1") \
	X(META_MERGED, "UPDATE meta SET merged = ?1 WHERE id = 1") \
	X(COUNT_FILES, "SELECT count(*) FROM file") \
	X(COUNT_DOCS, "SELECT count(*) FROM doc") \
	X(COUNT_ALIVE, "SELECT coalesce(sum(docs), 0) FROM content WHERE users > 0") \
	X(CONTENT_FIND, "SELECT id FROM content" \
	  " WHERE substr(sha, 1, 4) = substr(?1, 1, 4) AND sha = ?1 AND docs >= 0") \
	X(CONTENT_PUT, "INSERT INTO content(sha, docs, users) VALUES(?1, -1, 0)") \
	X(CONTENT_WHOLE, "UPDATE content SET doc = ?2, docs = ?3 WHERE id = ?1") \
	X(CONTENT_GET, "SELECT docs, users FROM content WHERE id = ?1") \
	X(CONTENT_USE, "UPDATE content SET users = users + ?2 WHERE id = ?1") \
	X(DOC_PUT, "INSERT INTO doc(content, off, len, line) VALUES(?1, ?2, ?3, ?4)") \
	X(DOC_GET, "SELECT c.sha, d.off, d.len, d.line FROM doc d" \
	  " JOIN content c ON c.id = d.content WHERE d.id = ?1 AND c.users > 0") \
	X(WORD_PUT, "INSERT INTO word(rowid, text) VALUES(?1, ?2)") \
	X(WORD_MERGE, "INSERT INTO word(word, rank) VALUES('merge', ?1)") \
	X(LABEL_MERGE, "INSERT INTO label(label, rank) VALUES('merge', ?1)") \
	X(FILE_GET, "SELECT f.content, f.stamp, c.sha FROM file f" \
	  " LEFT JOIN content c ON c.id = f.content WHERE f.ino = ?1") \
	X(FILE_PUT, "INSERT OR REPLACE INTO file(ino, stamp, content, label)" \
	  " VALUES(?1, ?2, nullif(?3, 0), ?4)") \
	X(FILE_LABEL, "SELECT label FROM file WHERE ino = ?1") \
	X(FILE_DOCS, "SELECT c.doc, c.docs FROM file f JOIN content c ON c.id = f.content" \
	  " WHERE f.ino = ?1") \
	X(FILE_DELETE, "DELETE FROM file WHERE ino = ?1") \
	X(FILE_LIST, "SELECT ino FROM file WHERE ino > ?1 ORDER BY ino LIMIT ?2") \
	X(FILE_OF, "SELECT ino FROM file WHERE content = ?1 ORDER BY ino DESC") \
	X(LABEL_PUT, "INSERT INTO label(rowid, text) VALUES(?1, ?2)") \
	X(LABEL_DELETE, "INSERT INTO label(label, rowid, text) VALUES('delete', ?1, ?2)") \
	X(MODEL_GET, "SELECT id FROM model WHERE name = ?1") \
	X(MODEL_PUT, "INSERT INTO model(name) VALUES(?1)") \
	X(VECTOR_NEXT, "SELECT c.id, c.sha, c.doc, c.docs FROM content c WHERE c.id > ?2" \
	  " AND c.docs > 0 AND c.users > 0 AND NOT EXISTS(SELECT 1 FROM vector v" \
	  " WHERE substr(v.sha, 1, 4) = substr(c.sha, 1, 4) AND v.sha = c.sha AND v.model = ?1)" \
	  " ORDER BY c.id LIMIT 1") \
	X(VECTOR_DOCS, "SELECT off, len FROM doc WHERE id >= ?1 AND id < ?1 + ?2 ORDER BY id") \
	X(VECTOR_PUT, "INSERT INTO vector(model, sha, data) VALUES(?1, ?2, ?3)") \
	X(VECTOR_RENUMBER, "UPDATE vector SET id = n.id FROM (SELECT v.id AS old, row_number()" \
	  " OVER () + (SELECT max(id) FROM vector) AS id FROM content c JOIN vector v" \
	  " ON substr(v.sha, 1, 4) = substr(c.sha, 1, 4) AND v.sha = c.sha WHERE c.id = ?1) n" \
	  " WHERE vector.id = n.old") \
	X(VECTOR_LIST, "SELECT v.id, c.doc, c.docs, v.data FROM vector v JOIN content c" \
	  " ON substr(c.sha, 1, 4) = substr(v.sha, 1, 4) AND c.sha = v.sha AND c.docs > 0" \
	  " WHERE v.id > ?2 AND v.model = ?1 ORDER BY v.id LIMIT ?3") \
	X(VECTOR_PRUNE, "DELETE FROM vector WHERE id IN (SELECT v.id FROM vector v WHERE" \
	  " v.id < (SELECT max(id) FROM vector) AND (v.model <> ?1 OR NOT EXISTS(SELECT 1" \
	  " FROM content c WHERE substr(c.sha, 1, 4) = substr(v.sha, 1, 4) AND c.sha = v.sha" \
	  " AND c.users > 0)) LIMIT 256)") \
	X(FIND_WORD, "SELECT rowid FROM word WHERE word MATCH ?2 ORDER BY rowid DESC LIMIT ?1") \
	X(FIND_START, "SELECT doc FROM word_row WHERE term >= ?2 AND term < ?3 LIMIT ?1") \
	X(FIND_LABEL, "SELECT rowid FROM label WHERE label MATCH ?2 ORDER BY rowid DESC LIMIT ?1")
/* clang-format on */

enum ofs_fts_stmt {
#define NUMBER(name, sql) OFS_FTS_##name,
	OFS_FTS_TABLE(NUMBER)
#undef NUMBER
	OFS_FTS_STMTS
};

/* The text of the statements, by enum ofs_fts_stmt. */
extern const char *const ofs_fts_sql[];

/* ---- the state of the search index, shared by the files that implement it */

/* All after `numbering` is guarded by the lock of `db`. */
struct ofs_fts {
	struct ofs_db db; /* closed if it could not be started anew; the next batch tries again */
	_Atomic uint64_t generation; /* written under the lock, like the next */
	_Atomic uint64_t numbering;
	uint64_t files, documents, alive; /* as in the database */
	uint64_t merged; /* documents when segments were last merged */
	bool merging; /* a merge is going on */
	bool scattered; /* segments were merged, and the space of the old ones is still in use */
	bool changed; /* since the write-ahead log was last emptied */
};

/*
 * 1: *ret is the number of a content that is completely indexed; 0: there is none; or -errno. Under
 * the lock.
 */
int ofs_fts_content_find(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret);

/*
 * Every public call ends in one of these, under the lock and with no statement left to reset: if
 * the database is damaged, it is started anew. Returns r. The second also records a failure, so
 * that the batch cannot be committed.
 */
int ofs_fts_done(struct ofs_fts *fts, int r);
int ofs_fts_written(struct ofs_fts *fts, int r);
