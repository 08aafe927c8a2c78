/* SPDX-License-Identifier: MIT */
/*
 * Queries of the search index. Results are gathered under the lock and handed on without it, so
 * that callbacks may take long and call the index.
 */
#include "base/u64_list.h"
#include "index/fts_fold.h"
#include "index/fts_schema.h"

#define GRAMS_MAX 64 /* of one needle that are asked for */

struct hit {
	struct ofs_fts_doc doc;
	double bm25;
};

struct hits {
	struct hit *at;
	size_t n, cap;
};

static void hits_finish(struct hits *h)
{
	free(h->at);
}

static int64_t bound(size_t limit)
{
	return limit > INT32_MAX ? INT32_MAX : (int64_t)limit;
}

static int read_doc(sqlite3_stmt *st, struct ofs_fts_doc *ret)
{
	ret->part = ofs_column_u32(st, 1);
	ret->off = ofs_column_u64(st, 2);
	ret->len = ofs_column_u32(st, 3);
	ret->line = ofs_column_u64(st, 4);
	return ofs_column_bytes(st, 0, ret->sha, sizeof(ret->sha));
}

/* A plain SQLITE_ERROR means that the expression is invalid. */
static int find_errno(struct ofs_fts *fts, int rc)
{
	return (rc & 0xff) == SQLITE_ERROR ? -EINVAL : ofs_db_errno(&fts->db, rc);
}

static int gather_docs(struct ofs_fts *fts, enum ofs_fts_stmt id, const char *match, size_t limit,
		       struct hits *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, id, OFS_NO_ARGS, &st), rc;

	if (r < 0)
		return r;
	sqlite3_bind_text(st, 1, match, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, bound(limit));
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct hit hit = { 0 };

		r = read_doc(st, &hit.doc);
		if (r < 0)
			return r;
		if (id == OFS_FTS_FIND_WORDS)
			hit.bm25 = sqlite3_column_double(st, 5);
		*ofs_append(ret->at, ret->n, ret->cap) = hit;
	}
	return find_errno(fts, rc);
}

static int find_docs(struct ofs_fts *fts, enum ofs_fts_stmt id, const char *match, size_t limit,
		     struct hits *ret)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, gather_docs(fts, id, match, limit, ret));
}

int ofs_fts_find_words(struct ofs_fts *fts, const char *match, size_t limit,
		       int (*fn)(void *arg, const struct ofs_fts_doc *doc, double bm25), void *arg)
{
	OFS_CLEANUP(hits_finish) struct hits hits = { 0 };
	int r = find_docs(fts, OFS_FTS_FIND_WORDS, match, limit, &hits);

	for (size_t i = 0; i < hits.n && r == 0; i++)
		r = fn(arg, &hits.at[i].doc, hits.at[i].bm25);
	return r;
}

/* ---- substrings */

/* Appends a string of an FTS5 expression, in quotes. */
static void append_quoted(struct ofs_buf *out, const uint8_t *text, size_t len)
{
	ofs_buf_append(out, "\"", 1);
	for (size_t i = 0; i < len; i++)
		ofs_buf_append(out, text[i] == '"' ? "\"\"" : (const char *)&text[i],
			       text[i] == '"' ? 2 : 1);
	ofs_buf_append(out, "\"", 1);
}

/* Characters of valid UTF-8. */
static size_t count_chars(const struct ofs_buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] >> 6 != 2;
	return n;
}

static size_t char_size(const struct ofs_buf *text, size_t at)
{
	uint32_t code;
	size_t n = ofs_fts_decode(text->data + at, text->len - at, &code);

	return n ? n : 1;
}

/* Appends the trigrams of a needle, all of which must be there. */
static void append_grams(struct ofs_buf *out, const struct ofs_buf *needle)
{
	size_t at = 0, grams = count_chars(needle) - 2;

	for (size_t i = 0; i < OFS_MIN(grams, (size_t)GRAMS_MAX); i++) {
		size_t end = at;

		for (int k = 0; k < 3; k++)
			end += char_size(needle, end);
		if (out->len)
			ofs_buf_append_str(out, " AND ");
		append_quoted(out, needle->data + at, end - at);
		at += char_size(needle, at);
	}
}

int ofs_fts_find_substring(struct ofs_fts *fts, const char *const *needles, size_t n, size_t limit,
			   int (*fn)(void *arg, const struct ofs_fts_doc *doc), void *arg)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf match = OFS_BUF_INIT;
	OFS_CLEANUP(hits_finish) struct hits hits = { 0 };
	int r = n ? 0 : -EINVAL;

	for (size_t i = 0; i < n && r == 0; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf needle = OFS_BUF_INIT;

		ofs_fts_clean(needles[i], strlen(needles[i]), true, &needle);
		if (count_chars(&needle) < OFS_FTS_NEEDLE_MIN)
			r = -EINVAL;
		if (r == 0)
			append_grams(&match, &needle);
	}
	if (r == 0)
		ofs_buf_append(&match, "", 1);
	if (r == 0)
		r = find_docs(fts, OFS_FTS_FIND_GRAMS, (const char *)match.data, limit, &hits);
	for (size_t i = 0; i < hits.n && r == 0; i++)
		r = fn(arg, &hits.at[i].doc);
	return r;
}

/* ---- names */

struct name_query {
	struct ofs_buf sql; /* the condition */
	struct ofs_buf match; /* for needles that have trigrams; else empty */
	struct ofs_buf patterns; /* for the others, NUL-terminated one after the other */
	int npatterns;
};

static void name_query_finish(struct name_query *q)
{
	ofs_buf_finish(&q->sql);
	ofs_buf_finish(&q->match);
	ofs_buf_finish(&q->patterns);
}

/* A pattern for LIKE, and the condition that asks for it. */
static void add_short(struct name_query *q, const struct ofs_buf *needle)
{
	int param = ++q->npatterns + 2;

	ofs_buf_append(&q->patterns, "%", 1);
	for (size_t i = 0; i < needle->len; i++) {
		if (strchr("%_\\", needle->data[i]))
			ofs_buf_append(&q->patterns, "\\", 1);
		ofs_buf_append(&q->patterns, &needle->data[i], 1);
	}
	ofs_buf_append(&q->patterns, "%", 2); /* with its NUL */
	ofs_buf_printf(&q->sql,
		       " AND (name LIKE ?%d ESCAPE '\\' OR title LIKE ?%d ESCAPE '\\'"
		       " OR tags LIKE ?%d ESCAPE '\\')",
		       param, param, param);
}

static int add_needle(struct name_query *q, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf needle = OFS_BUF_INIT;

	ofs_fts_clean(text, strlen(text), true, &needle);
	if (!needle.len)
		return -EINVAL;
	if (count_chars(&needle) < OFS_FTS_NEEDLE_MIN) {
		add_short(q, &needle);
		return 0;
	}
	if (q->match.len)
		ofs_buf_append_str(&q->match, " AND ");
	append_quoted(&q->match, needle.data, needle.len);
	return 0;
}

static int gather_inos(struct ofs_fts *fts, sqlite3_stmt *st, struct ofs_u64_list *ret)
{
	int rc;

	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		ofs_u64_list_add(ret, ofs_column_u64(st, 0));
	return ofs_db_errno(&fts->db, rc);
}

static int run_name_query(struct ofs_fts *fts, const struct name_query *q, size_t limit,
			  struct ofs_u64_list *ret)
{
	const char *pattern = (const char *)q->patterns.data;
	sqlite3_stmt *st = NULL;
	int rc, r;

	if (!fts->db.conn)
		return -EIO;
	rc = sqlite3_prepare_v2(fts->db.conn, (const char *)q->sql.data, -1, &st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(st, 1, bound(limit));
	if (rc == SQLITE_OK && q->match.len)
		rc = sqlite3_bind_text64(st, 2, (const char *)q->match.data, q->match.len,
					 SQLITE_STATIC, SQLITE_UTF8);
	for (int i = 0; i < q->npatterns && rc == SQLITE_OK; i++) {
		rc = sqlite3_bind_text(st, i + 3, pattern, -1, SQLITE_STATIC);
		pattern += strlen(pattern) + 1;
	}
	r = rc == SQLITE_OK ? gather_inos(fts, st, ret) : ofs_db_errno(&fts->db, rc);
	sqlite3_finalize(st);
	return r;
}

static int name_query_make(struct name_query *q, const char *const *needles, size_t n)
{
	int r;

	if (!n || n > 64)
		return -EINVAL;
	ofs_buf_append_str(&q->sql, "SELECT rowid FROM label WHERE 1");
	r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_needle(q, needles[i]);
	if (r == 0 && q->match.len)
		ofs_buf_append_str(&q->sql, " AND label MATCH ?2");
	if (r == 0)
		ofs_buf_append(&q->sql, " ORDER BY rowid DESC LIMIT ?1",
			       sizeof(" ORDER BY rowid DESC LIMIT ?1"));
	return r;
}

int ofs_fts_find_names(struct ofs_fts *fts, const char *const *needles, size_t n, size_t limit,
		       int (*fn)(void *arg, uint64_t ino), void *arg)
{
	OFS_CLEANUP(name_query_finish)
	struct name_query q = { OFS_BUF_INIT, OFS_BUF_INIT, OFS_BUF_INIT, 0 };
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list found = { 0 };
	int r = name_query_make(&q, needles, n);

	if (r == 0) {
		OFS_DB_LOCKED(&fts->db);

		r = ofs_fts_done(fts, run_name_query(fts, &q, limit, &found));
	}
	for (size_t i = 0; i < found.n && r == 0; i++)
		r = fn(arg, found.at[i]);
	return r;
}

/* ---- files */

static int gather_files(struct ofs_fts *fts, const uint8_t sha[32], struct ofs_u64_list *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t content;
	int r = ofs_fts_content_find(fts, sha, &content);

	if (r <= 0)
		return r;
	r = ofs_db_start(&fts->db, OFS_FTS_FILE_OF, OFS_ARGS(content), &st);
	return r < 0 ? r : gather_inos(fts, st, ret);
}

int ofs_fts_files_of(struct ofs_fts *fts, const uint8_t sha[32], int (*fn)(void *arg, uint64_t ino),
		     void *arg)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list found = { 0 };
	int r;

	{
		OFS_DB_LOCKED(&fts->db);

		r = ofs_fts_done(fts, gather_files(fts, sha, &found));
	}
	for (size_t i = 0; i < found.n && r == 0; i++)
		r = fn(arg, found.at[i]);
	return r;
}
