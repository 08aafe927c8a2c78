/* SPDX-License-Identifier: MIT */
#include "tree/core/move.h"

#include <stdio.h>

#include "tree/core/audit.h"
#include "tree/core/changes.h"
#include "tree/core/label.h"
#include "tree/core/place.h"
#include "tree/core/ref.h"
#include "tree/core/root.h"

/* Reloads the labels of the entry that was marked. */
static void reload(struct ofs_tree *t, uint64_t dir, const char *name)
{
	struct ofs_attr attr;

	if (ofs_store_lookup(t->store, dir, name, &attr) < 0)
		return;
	ofs_store_forget(t->store, attr.ino, 1);
	ofs_labels_reload(t, attr.ino);
}

int ofs_tree_move(struct ofs_tree *t, const struct ofs_move *what)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf mark = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf back = OFS_BUF_INIT;
	struct ofs_move m = *what;
	uint64_t left;
	int r = ofs_place_mark(t, m.dir, m.name, m.newdir, &mark);

	if (r == 0 && m.flags & RENAME_EXCHANGE)
		r = ofs_place_mark(t, m.newdir, m.newname, m.dir, &back);
	if (r < 0)
		return r;
	m.mark = mark.len || back.len ? OFS_ORIGIN_MARK : NULL;
	m.value = mark;
	m.back = back;
	r = ofs_store_move(t->store, &m, &left);
	if (r < 0)
		return r;
	ofs_audit_moved(t, m.dir, m.name, m.newdir, m.newname);
	if (m.flags & RENAME_EXCHANGE)
		ofs_audit_moved(t, m.newdir, m.newname, m.dir, m.name);
	ofs_roots_note_move(t, m.dir, m.newdir);
	if (mark.len)
		reload(t, m.newdir, m.newname);
	if (back.len)
		reload(t, m.dir, m.name);
	ofs_ref_left(t, m.newdir, left);
	t->moved(t, &m);
	ofs_tree_touch(t, m.dir);
	ofs_tree_touch(t, m.newdir);
	return 0;
}
