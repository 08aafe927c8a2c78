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

#define OFS_FTS_FORMAT 1

/* Run on an empty database, before anything is written. */
extern const char ofs_fts_layout[];

/* Creates the tables and signs the database; run inside a transaction. */
extern const char ofs_fts_create[];

/* Drops all indexed content; run inside a transaction. */
extern const char ofs_fts_clear[];

enum ofs_fts_stmt {
	OFS_FTS_META_GET,
	OFS_FTS_META_COMPLETE,
	OFS_FTS_META_MERGED,
	OFS_FTS_COUNT_FILES,
	OFS_FTS_COUNT_DOCS,
	OFS_FTS_COUNT_ALIVE,

	OFS_FTS_CONTENT_FIND,
	OFS_FTS_CONTENT_PUT,
	OFS_FTS_CONTENT_WHOLE,
	OFS_FTS_CONTENT_GET,
	OFS_FTS_CONTENT_USE,
	OFS_FTS_DOC_PUT,
	OFS_FTS_WORD_PUT,
	OFS_FTS_GRAM_PUT,
	OFS_FTS_WORD_MERGE,
	OFS_FTS_GRAM_MERGE,

	OFS_FTS_FILE_GET,
	OFS_FTS_FILE_PUT,
	OFS_FTS_FILE_DELETE,
	OFS_FTS_FILE_LIST,
	OFS_FTS_FILE_OF,
	OFS_FTS_NAME_PUT,
	OFS_FTS_NAME_DELETE,

	OFS_FTS_FIND_WORDS,
	OFS_FTS_FIND_GRAMS,

	OFS_FTS_STMTS
};

/* The statements by enum ofs_fts_stmt. */
extern const char *const ofs_fts_sql[];
