/* SPDX-License-Identifier: MIT */
/* Vectors of documents in the search index. */
#include "index/fts_schema.h"

/* The number of a model; 0: it has no vectors yet. */
static int model_get(struct ofs_fts *fts, const char *name, int64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_start(&fts->db, OFS_FTS_MODEL_GET, OFS_NO_ARGS, &st);

	*ret = 0;
	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 1, name, strlen(name));
	if (r == 0)
		r = ofs_db_step(&fts->db, st);
	if (r > 0)
		*ret = sqlite3_column_int64(st, 0);
	return OFS_MIN(r, 0);
}

static int model_put(struct ofs_fts *fts, const char *name, int64_t *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = model_get(fts, name, ret);

	if (r < 0 || *ret)
		return r;
	r = ofs_db_start(&fts->db, OFS_FTS_MODEL_PUT, OFS_NO_ARGS, &st);
	if (r == 0)
		r = ofs_db_bind_text(&fts->db, st, 1, name, strlen(name));
	if (r == 0)
		r = ofs_db_step(&fts->db, st);
	*ret = sqlite3_last_insert_rowid(fts->db.conn);
	return r;
}

/* ---- contents without vectors */

static int docs_get(struct ofs_fts *fts, int64_t first, int64_t n, struct ofs_fts_bare *ret)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	size_t cap = 0;
	int r = ofs_db_start(&fts->db, OFS_FTS_VECTOR_DOCS, OFS_ARGS(first, n), &st);

	while (r == 0 && (r = ofs_db_step(&fts->db, st)) > 0) {
		*ofs_append(ret->docs, ret->ndocs, cap) =
			(struct ofs_fts_range){ ofs_column_u64(st, 0), ofs_column_u32(st, 1) };
		r = 0;
	}
	return r < 0 ? r : ret->ndocs == (size_t)n ? 0 : -EUCLEAN;
}

static int next_bare(struct ofs_fts *fts, const char *model, uint64_t after,
		     struct ofs_fts_bare *ret)
{
	int64_t id, first = 0, n = 0;
	int r = model_get(fts, model, &id);

	if (r == 0) {
		OFS_STMT sqlite3_stmt *st = NULL;

		r = ofs_db_first(&fts->db, OFS_FTS_VECTOR_NEXT, OFS_ARGS(id, (int64_t)after), &st);
		if (r < 0)
			return r;
		ret->id = ofs_column_u64(st, 0);
		r = ofs_column_bytes(st, 1, ret->sha, sizeof(ret->sha));
		first = sqlite3_column_int64(st, 2);
		n = sqlite3_column_int64(st, 3);
	}
	return r < 0 ? r : docs_get(fts, first, n, ret);
}

int ofs_fts_next_bare(struct ofs_fts *fts, const char *model, uint64_t after,
		      struct ofs_fts_bare *ret)
{
	OFS_DB_LOCKED(&fts->db);
	int r;

	*ret = (struct ofs_fts_bare){ 0 };
	r = ofs_fts_done(fts, next_bare(fts, model, after, ret));
	if (r < 0) {
		free(ret->docs);
		ret->docs = NULL;
	}
	return r;
}

/* ---- vectors */

static int vectors_put(struct ofs_fts *fts, const char *model, const uint8_t sha[32],
		       const void *data, size_t len)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t id;
	int r = model_put(fts, model, &id);

	if (r == 0)
		r = ofs_db_start(&fts->db, OFS_FTS_VECTOR_PUT, OFS_ARGS(id), &st);
	if (r == 0)
		r = ofs_db_bind_blob(&fts->db, st, 2, sha, 32);
	if (r == 0)
		r = ofs_db_bind_blob(&fts->db, st, 3, data, len);
	return r < 0 ? r : ofs_db_step(&fts->db, st);
}

int ofs_fts_put_vectors(struct ofs_fts *fts, const char *model, const uint8_t sha[32],
			const void *data, size_t len)
{
	OFS_DB_LOCKED(&fts->db);
	int r = ofs_db_writable(&fts->db);

	return r < 0 ? r : ofs_fts_written(fts, vectors_put(fts, model, sha, data, len));
}

static int vectors_list(struct ofs_fts *fts, const char *model, uint64_t *at, size_t limit,
			void (*fn)(void *arg, uint64_t doc, size_t ndocs, const void *data,
				   size_t len),
			void *arg)
{
	OFS_STMT sqlite3_stmt *st = NULL;
	int64_t id;
	int n = 0, r = model_get(fts, model, &id);

	if (r == 0)
		r = ofs_db_start(&fts->db, OFS_FTS_VECTOR_LIST,
				 OFS_ARGS(id, (int64_t)*at, (int64_t)limit), &st);
	for (; r == 0 && (r = ofs_db_step(&fts->db, st)) > 0; n++) {
		*at = ofs_column_u64(st, 0);
		fn(arg, ofs_column_u64(st, 1), (size_t)ofs_column_u64(st, 2),
		   sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3));
		r = 0;
	}
	return r < 0 ? r : n;
}

int ofs_fts_list_vectors(struct ofs_fts *fts, const char *model, uint64_t *at, size_t limit,
			 void (*fn)(void *arg, uint64_t doc, size_t ndocs, const void *data,
				    size_t len),
			 void *arg)
{
	OFS_DB_LOCKED(&fts->db);

	return ofs_fts_done(fts, vectors_list(fts, model, at, limit, fn, arg));
}

static int vectors_prune(struct ofs_fts *fts, const char *model)
{
	int64_t id, before = sqlite3_total_changes64(fts->db.conn);
	int r = model_get(fts, model, &id);

	if (r == 0)
		r = ofs_db_run(&fts->db, OFS_FTS_VECTOR_PRUNE, OFS_ARGS(id));
	return r < 0 ? r : sqlite3_total_changes64(fts->db.conn) > before;
}

int ofs_fts_prune_vectors(struct ofs_fts *fts, const char *model)
{
	OFS_DB_LOCKED(&fts->db);
	int r = ofs_db_writable(&fts->db);

	return r < 0 ? r : ofs_fts_written(fts, vectors_prune(fts, model));
}
