/* SPDX-License-Identifier: MIT */
/* Objects of the remote, and the parts of packs that lie in them. */
#include "index/index_state.h"

static int put_object(struct ofs_index *ix, const struct ofs_index_object *o,
		      const struct ofs_index_extent *extents, size_t n)
{
	int64_t id;
	int r = ofs_db_run(&ix->db, OFS_STMT_OBJECT_PUT, OFS_ARGS(o->epoch, o->number, o->size));

	id = sqlite3_last_insert_rowid(ix->db.conn);
	for (size_t i = 0; i < n && r == 0; i++)
		r = ofs_db_run(&ix->db, OFS_STMT_EXTENT_PUT,
			       OFS_ARGS(extents[i].pack, extents[i].off, extents[i].len, id,
					extents[i].at));
	return r;
}

int ofs_index_put_object(struct ofs_index *ix, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	return r < 0 ? r : ofs_db_written(&ix->db, put_object(ix, object, extents, n));
}

static int delete_objects(struct ofs_index *ix, int extents, int objects)
{
	OFS_DB_LOCKED(&ix->db);
	int r = ofs_db_writable(&ix->db);

	if (r < 0)
		return r;
	r = ofs_db_run(&ix->db, extents, OFS_NO_ARGS);
	return ofs_db_written(&ix->db, r < 0 ? r : ofs_db_run(&ix->db, objects, OFS_NO_ARGS));
}

int ofs_index_delete_dead_objects(struct ofs_index *ix)
{
	return delete_objects(ix, OFS_STMT_EXTENT_DELETE_DEAD, OFS_STMT_OBJECT_DELETE_DEAD);
}

int ofs_index_delete_objects(struct ofs_index *ix)
{
	return delete_objects(ix, OFS_STMT_EXTENT_DELETE_ALL, OFS_STMT_OBJECT_DELETE_ALL);
}

int ofs_index_find_extent(struct ofs_index *ix, uint32_t pack, uint64_t off,
			  struct ofs_index_extent *ret, struct ofs_index_object *ret_object)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_EXTENT_FIND, OFS_ARGS(pack, off), &st);

	if (r < 0)
		return r;
	*ret = (struct ofs_index_extent){ pack, ofs_column_u64(st, 0), ofs_column_u64(st, 1),
					  ofs_column_u64(st, 2) };
	*ret_object = (struct ofs_index_object){ ofs_column_u64(st, 3), ofs_column_u32(st, 4),
						 ofs_column_u32(st, 5), ofs_column_u64(st, 6) };
	return off - ret->off < ret->len ? 0 : -ENOENT;
}

static int next_object(struct ofs_index *ix, uint64_t after, struct ofs_index_object *ret)
{
	OFS_DB_LOCKED(&ix->db);
	OFS_STMT sqlite3_stmt *st = NULL;
	int r = ofs_db_first(&ix->db, OFS_STMT_OBJECT_LIST, OFS_ARGS(after), &st);

	if (r == 0)
		*ret = (struct ofs_index_object){ ofs_column_u64(st, 0), ofs_column_u32(st, 1),
						  ofs_column_u32(st, 2), ofs_column_u64(st, 3) };
	return r;
}

int ofs_index_list_objects(struct ofs_index *ix,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg)
{
	struct ofs_index_object o = { 0 };
	int r;

	while ((r = next_object(ix, o.id, &o)) == 0) {
		r = fn(arg, &o);
		if (r)
			return r;
	}
	return r == -ENOENT ? 0 : r;
}
