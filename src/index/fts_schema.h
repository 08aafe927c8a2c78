/* SPDX-License-Identifier: MIT */
/*
 * The tables of the search index, format 1. application_id is OFS_FTS_APPLICATION, user_version
 * OFS_FTS_FORMAT; one of another format is thrown away.
 *
 *   meta     `complete`: nothing was left to index. `merged`: the number of documents when segments
 *            were merged last.
 *   content  `parts` documents, -1 while they are being put, and for good if that failed; `users`:
 *            the files that name it. Found by the first bytes of the hash.
 *   doc      Part `part` of a content: `len` bytes from `off` on, starting in line `line`. The id
 *            is that of a row of `word` and of `gram`, and grows.
 *   word     FTS5 without content: words, with their places.
 *   gram     FTS5 without content: trigrams of the folded text (index/fts_fold.h), which documents
 *            have them and no more.
 *   file     `content`: its number or NULL. `stamp` is the caller's.
 *   label    FTS5 of trigrams, with content: name, title and tags of a file, folded.
 */
#pragma once

#include <stdatomic.h>

#include "index/db.h"
#include "index/fts.h"

#define OFS_FTS_FORMAT 1

/* Run on an empty database, before anything is written. */
extern const char ofs_fts_layout[];

/* Creates the tables and signs the database; run inside a transaction. */
extern const char ofs_fts_create[];

/* Drops all indexed content; run inside a transaction. */
extern const char ofs_fts_clear[];

#define OFS_FTS_DOC "c.sha, d.part, d.off, d.len, d.line"

/* The statements: OFS_FTS_<name>, and its text. */
/* clang-format off */
#define OFS_FTS_TABLE(X) \
	X(META_GET, "SELECT complete, merged FROM meta WHERE id = 1") \
	X(META_COMPLETE, "UPDATE meta SET complete = ?1 WHERE id = 1") \
	X(META_MERGED, "UPDATE meta SET merged = ?1 WHERE id = 1") \
	X(COUNT_FILES, "SELECT count(*) FROM file") \
	X(COUNT_DOCS, "SELECT count(*) FROM doc") \
	X(COUNT_ALIVE, "SELECT coalesce(sum(parts), 0) FROM content WHERE users > 0") \
	X(CONTENT_FIND, "SELECT id FROM content" \
	  " WHERE substr(sha, 1, 4) = substr(?1, 1, 4) AND sha = ?1 AND parts >= 0") \
	X(CONTENT_PUT, "INSERT INTO content(sha, parts, users) VALUES(?1, -1, 0)") \
	X(CONTENT_WHOLE, "UPDATE content SET parts = ?2 WHERE id = ?1") \
	X(CONTENT_GET, "SELECT sha, parts, users FROM content WHERE id = ?1") \
	X(CONTENT_USE, "UPDATE content SET users = users + ?2 WHERE id = ?1") \
	X(DOC_PUT, "INSERT INTO doc(content, part, off, len, line) VALUES(?1, ?2, ?3, ?4, ?5)") \
	X(WORD_PUT, "INSERT INTO word(rowid, text) VALUES(?1, ?2)") \
	X(GRAM_PUT, "INSERT INTO gram(rowid, text) VALUES(?1, ?2)") \
	X(WORD_MERGE, "INSERT INTO word(word, rank) VALUES('merge', ?1)") \
	X(GRAM_MERGE, "INSERT INTO gram(gram, rank) VALUES('merge', ?1)") \
	X(FILE_GET, "SELECT f.content, f.stamp, c.sha FROM file f" \
	  " LEFT JOIN content c ON c.id = f.content WHERE f.ino = ?1") \
	X(FILE_PUT, "INSERT OR REPLACE INTO file(ino, stamp, content)" \
	  " VALUES(?1, ?2, nullif(?3, 0))") \
	X(FILE_DELETE, "DELETE FROM file WHERE ino = ?1") \
	X(FILE_LIST, "SELECT ino FROM file WHERE ino > ?1 ORDER BY ino LIMIT ?2") \
	X(FILE_OF, "SELECT ino FROM file WHERE content = ?1 ORDER BY ino DESC") \
	X(NAME_PUT, "INSERT INTO label(rowid, name, title, tags) VALUES(?1, ?2, ?3, ?4)") \
	X(NAME_DELETE, "DELETE FROM label WHERE rowid = ?1") \
	X(FIND_WORDS, "SELECT " OFS_FTS_DOC ", rank FROM word w" \
	  " CROSS JOIN doc d ON d.id = w.rowid CROSS JOIN content c ON c.id = d.content" \
	  " WHERE word MATCH ?1 AND c.users > 0 ORDER BY rank LIMIT ?2") \
	X(FIND_GRAMS, "SELECT " OFS_FTS_DOC " FROM gram g CROSS JOIN doc d ON d.id = g.rowid" \
	  " CROSS JOIN content c ON c.id = d.content WHERE gram MATCH ?1 AND c.users > 0" \
	  " ORDER BY g.rowid DESC LIMIT ?2")
/* clang-format on */

enum ofs_fts_stmt {
#define NUMBER(name, sql) OFS_FTS_##name,
	OFS_FTS_TABLE(NUMBER)
#undef NUMBER
	OFS_FTS_STMTS
};

/* The statements by enum ofs_fts_stmt. */
extern const char *const ofs_fts_sql[];

/* ---- the search index as its parts share it */

/* All that follows `generation` is guarded by the lock of `db`. */
struct ofs_fts {
	struct ofs_db db; /* closed when it could not be started anew; the next batch tries again */
	_Atomic uint64_t generation; /* written under the lock */
	uint64_t files, documents, alive; /* as the database has them */
	uint64_t merged; /* documents there were when segments were last merged */
	bool merging; /* they are being merged */
	bool changed; /* since the write-ahead log was given back */
};

/* The number of a content that is whole: 1 and *ret, 0, or -errno. Under the lock. */
int ofs_fts_content_find(struct ofs_fts *fts, const uint8_t sha[32], int64_t *ret);

/*
 * Every public call ends in one of these, under the lock and with no statement left to reset: a
 * damaged database is started anew. Returns r. The second also remembers a failure, so that the
 * batch cannot be committed.
 */
int ofs_fts_done(struct ofs_fts *fts, int r);
int ofs_fts_written(struct ofs_fts *fts, int r);
