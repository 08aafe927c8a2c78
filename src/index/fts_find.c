/* SPDX-License-Identifier: MIT */
/* Queries of the search index. */
#include "base/buf.h"
#include "index/fts_schema.h"

static int gather(struct ofs_fts *fts, sqlite3_stmt *st, struct ofs_u64_list *ret)
{
	int r;

	while ((r = ofs_db_step(&fts->db, st)) > 0)
		ofs_u64_list_add(ret, ofs_column_u64(st, 0));
	return r;
}

/* ---- words */

/* Words contain no quotes. */
static int find(struct ofs_fts *fts, enum ofs_fts_stmt id, const char *word, size_t len,
		size_t limit, struct ofs_u64_list *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf match = OFS_BUF_INIT;
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, id, OFS_ARGS((int64_t)limit), &st);

	ofs_buf_append_str(&match, "\"");
	ofs_buf_append(&match, word, len);
	ofs_buf_append_str(&match, "\"");
	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 2, match.data, match.len);
	return r < 0 ? r : gather(fts, st, ret);
}

int ofs_fts_find_word(struct ofs_fts *fts, const char *word, size_t len, size_t limit,
		      struct ofs_u64_list *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, find(fts, OFS_FTS_FIND_WORD, word, len, limit, ret));
}

int ofs_fts_find_label(struct ofs_fts *fts, const char *word, size_t len, size_t limit,
		       struct ofs_u64_list *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, find(fts, OFS_FTS_FIND_LABEL, word, len, limit, ret));
}

/*
 * The words that begin with `start` are those from it on and before `start` with an 0xff appended.
 */
static int find_start(struct ofs_fts *fts, const char *start, size_t len, size_t limit,
		      struct ofs_u64_list *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf from = OFS_BUF_INIT, to = OFS_BUF_INIT;
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, OFS_FTS_FIND_START, OFS_ARGS((int64_t)limit), &st);

	ofs_buf_append(&from, start, len);
	ofs_buf_append(&to, start, len);
	ofs_buf_append(&to, "\xff", 1);
	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 2, from.data, from.len);
	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 3, to.data, to.len);
	return r < 0 ? r : gather(fts, st, ret);
}

int ofs_fts_find_start(struct ofs_fts *fts, const char *start, size_t len, size_t limit,
		       struct ofs_u64_list *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, find_start(fts, start, len, limit, ret));
}

/* ---- documents and files */

static int doc_get(struct ofs_fts *fts, uint64_t id, struct ofs_fts_doc *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&fts->db, OFS_FTS_DOC_GET, OFS_ARGS((int64_t)id), &st);

	if (r < 0)
		return r;
	ret->off = ofs_column_u64(st, 1);
	ret->len = ofs_column_u32(st, 2);
	ret->line = ofs_column_u64(st, 3);
	return ofs_column_bytes(st, 0, ret->sha, sizeof(ret->sha));
}

int ofs_fts_get_doc(struct ofs_fts *fts, uint64_t id, struct ofs_fts_doc *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, doc_get(fts, id, ret));
}

static int docs_of(struct ofs_fts *fts, uint64_t ino, uint64_t *ret_first, uint64_t *ret_n)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&fts->db, OFS_FTS_FILE_DOCS, OFS_ARGS((int64_t)ino), &st);

	*ret_n = 0;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*ret_first = ofs_column_u64(st, 0);
	*ret_n = ofs_column_u64(st, 1);
	return 0;
}

int ofs_fts_docs_of(struct ofs_fts *fts, uint64_t ino, uint64_t *ret_first, uint64_t *ret_n)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, docs_of(fts, ino, ret_first, ret_n));
}

static int files_of(struct ofs_fts *fts, const uint8_t sha[32], struct ofs_u64_list *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t content;
	int r = ofs_fts_content_find(fts, sha, &content);

	if (r <= 0)
		return r;
	r = ofs_db_start(&fts->db, OFS_FTS_FILE_OF, OFS_ARGS(content), &st);
	return r < 0 ? r : gather(fts, st, ret);
}

int ofs_fts_files_of(struct ofs_fts *fts, const uint8_t sha[32], struct ofs_u64_list *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, files_of(fts, sha, ret));
}
