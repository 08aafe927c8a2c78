/* SPDX-License-Identifier: MIT */
#include "tree/followed.h"

#include <stdio.h>

#include "store/record.h"
#include "tree/core/changes.h"
#include "tree/core/label.h"
#include "tree/core/ref.h"
#include "tree/core/root.h"
#include "tree/search/indexer.h"
#include "tree/virtual/made.h"

#define PREFIX "user.offload."

/* Only a node with references can be cached by the kernel; the root is known without one. */
static bool is_known(struct ofs_tree *t, uint64_t ino, struct ofs_attr *ret)
{
	return ofs_store_getattr(t->store, ino, ret) == 0 && (ret->held || ino == OFS_ROOT_INO);
}

static void forget_name(struct ofs_tree *t, uint64_t dir, const char *name)
{
	struct ofs_attr attr;

	if (!is_known(t, dir, &attr))
		return;
	if (t->events.release)
		t->events.release(t->events.arg, 0, dir, name);
	if (t->events.content_changed)
		t->events.content_changed(t->events.arg, dir);
}

static void forget_attr(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_attr attr;

	if (t->events.attr_changed && is_known(t, ino, &attr))
		t->events.attr_changed(t->events.arg, ino);
}

static void drop_tree(struct ofs_tree *t, struct ofs_root *root)
{
	ofs_root_remove(t, root);
	ofs_made_drop_kept(t, root);
}

/* Handles a name that was added or removed. */
static void entry_changed(struct ofs_tree *t, uint64_t dir, const char *name, uint64_t ino)
{
	struct ofs_root *gone = ofs_roots_follow(t, dir, ino);

	if (gone)
		drop_tree(t, gone);
	forget_name(t, dir, name);
	forget_attr(t, ino);
	ofs_tree_touch(t, dir);
}

static void lost(struct ofs_tree *t, uint64_t dir, const struct ofs_followed *what, uint64_t ino)
{
	ofs_ref_left(t, dir, what->left);
	if (ofs_store_is_nameless(t->store, ino))
		ofs_labels_drop(t, ino);
	ofs_indexer_note(t->indexer, ino);
}

static void moved(struct ofs_tree *t, const struct ofs_followed *what)
{
	const struct ofs_record *r = what->record;
	const struct ofs_move m = { .dir = r->dir,
				    .newdir = r->newdir,
				    .name = r->name,
				    .newname = r->text,
				    .flags = r->flags };

	entry_changed(t, m.newdir, m.newname, what->ino);
	entry_changed(t, m.dir, m.name, what->ino);
	forget_attr(t, what->other);
	ofs_roots_note_move(t, m.dir, m.newdir);
	if (what->left)
		lost(t, m.newdir, what, what->left);
	t->moved(t, &m);
}

static void content_changed(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_attr attr;

	if (is_known(t, ino, &attr) && t->events.content_changed)
		t->events.content_changed(t->events.arg, ino);
	if (ofs_store_getattr(t->store, ino, &attr) < 0)
		return;
	ofs_indexer_note_in(t->indexer, ino, attr.parent);
	ofs_tree_touch(t, attr.parent ? attr.parent : ino);
}

static void attribute_changed(struct ofs_tree *t, uint64_t ino, const char *name)
{
	size_t len = strlen(PREFIX);
	enum ofs_label_kind kind = OFS_LABELS;

	if (strncmp(name, PREFIX, len) == 0) {
		kind = ofs_label_find(name + len);
		ofs_labels_reload(t, ino);
	}
	if (kind != OFS_LABELS)
		t->labelled(t, ino, kind, OFS_TTL_UNSET);
	forget_attr(t, ino);
	ofs_tree_touch(t, ino);
}

static void note_record(struct ofs_tree *t, const struct ofs_followed *what)
{
	const struct ofs_record *r = what->record;

	switch ((enum ofs_record_type)r->type) {
	case OFS_RECORD_CREATE:
		entry_changed(t, r->dir, r->name, what->ino);
		if (S_ISREG(r->mode))
			ofs_indexer_note_in(t->indexer, what->ino, r->dir);
		break;
	case OFS_RECORD_LINK:
		entry_changed(t, r->dir, r->name, what->ino);
		ofs_indexer_note(t->indexer, what->ino);
		break;
	case OFS_RECORD_UNLINK:
	case OFS_RECORD_EXPIRE:
		entry_changed(t, r->dir, r->name, what->ino);
		lost(t, r->dir, what, what->ino);
		break;
	case OFS_RECORD_RENAME:
		moved(t, what);
		break;
	case OFS_RECORD_SETATTR:
		if (!(r->flags & OFS_SET_SIZE)) {
			forget_attr(t, what->ino);
			ofs_tree_touch(t, what->ino);
			break;
		}
		content_changed(t, what->ino);
		break;
	case OFS_RECORD_WRITE:
	case OFS_RECORD_ZERO:
	case OFS_RECORD_COPY:
		content_changed(t, what->ino);
		break;
	case OFS_RECORD_SETXATTR:
	case OFS_RECORD_REMOVEXATTR:
		attribute_changed(t, what->ino, r->name);
		break;
	case OFS_RECORD_LEDGER:
		break;
	}
}

static int look_at_root(void *arg, struct ofs_root *root)
{
	struct ofs_tree *t = arg;

	if (ofs_root_look(t, root))
		ofs_changes_touch(root->changes, t);
	else
		drop_tree(t, root);
	return 0;
}

/* Log was skipped, so anything known so far may be stale. */
static void note_skip(struct ofs_tree *t)
{
	ofs_labels_forget(t);
	ofs_root_each(t, t->root, look_at_root, t);
	ofs_roots_find(t, t->root);
	ofs_roots_note_skip(t);
	ofs_indexer_note_all(t->indexer);
}

void ofs_tree_followed(void *tree, const struct ofs_followed *what)
{
	struct ofs_tree *t = tree;

	if (what->record) {
		note_record(t, what);
	} else if (what->ino) {
		if (what->name)
			forget_name(t, what->dir, what->name);
		if (t->events.content_changed)
			t->events.content_changed(t->events.arg, what->ino);
	} else {
		note_skip(t);
	}
}
