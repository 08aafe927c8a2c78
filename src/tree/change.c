/* SPDX-License-Identifier: MIT */
/* The calls that change the tree: they pass to the store what the rules of the tiers allow. */
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "base/clock.h"
#include "tree/agents.h"
#include "tree/core/audit.h"
#include "tree/core/changes.h"
#include "tree/core/move.h"
#include "tree/core/place.h"
#include "tree/core/quota.h"
#include "tree/core/ref.h"
#include "tree/core/stat.h"
#include "tree/expiry/gc.h"
#include "tree/expiry/task.h"
#include "tree/search/indexer.h"
#include "tree/virtual/nodes.h"
#include "tree/core/slice.h"

#define ARCHIVE_GRACE (60 * OFS_NS_PER_S)

/* A name that denotes a slice of an existing file cannot be created or changed: -EROFS. */
static int check_not_slice(struct ofs_tree *t, ofs_node parent, const char *name)
{
	char base_name[OFS_NAME_MAX + 1];
	struct ofs_slice_spec spec;
	struct ofs_entry made_up;
	struct ofs_attr attr;
	size_t len;
	int r;

	if (strlen(name) > OFS_NAME_MAX || ofs_slice_parse(name, &len, &spec) == -ENOENT)
		return 0;
	r = ofs_store_lookup(t->store, parent, name, &attr);
	if (r == 0) {
		/* An entry literally has this name: the store decides. */
		ofs_store_forget(t->store, attr.ino, 1);
		return 0;
	}
	memcpy(base_name, name, len);
	base_name[len] = 0;
	/* The root has virtual files, too. */
	if (ofs_fixed_lookup(t, parent, base_name, &made_up) == 0)
		return S_ISREG(made_up.attr.st_mode) ? -EROFS : 0;
	r = ofs_store_lookup(t->store, parent, base_name, &attr);
	if (r < 0)
		return 0;
	ofs_store_forget(t->store, attr.ino, 1);
	return S_ISREG(attr.mode) ? -EROFS : 0;
}

/* Returns the error for a change in a virtual node. */
static int may_not_change(struct ofs_tree *t, ofs_node node)
{
	struct stat st;
	int r = ofs_tree_getattr(t, node, &st);

	return r < 0 ? r : S_ISDIR(st.st_mode) ? -EROFS : -ENOTDIR;
}

/* Returns 0 if `parent` may get an entry `name`. */
static int check_new_name(struct ofs_tree *t, ofs_node parent, const char *name)
{
	if (ofs_node_is_virtual(parent))
		return may_not_change(t, parent);
	if (ofs_fixed_is_reserved(t, parent, name))
		return -EEXIST;
	return check_not_slice(t, parent, name);
}

/* The top directories of a tree cannot be moved or removed. */
static int check_not_top(struct ofs_tree *t, ofs_node parent, const char *name)
{
	const struct ofs_root *root = ofs_root_at(t, parent);
	struct ofs_attr attr;

	if (!root || ofs_store_lookup(t->store, parent, name, &attr) < 0)
		return 0;
	ofs_store_forget(t->store, attr.ino, 1);
	return ofs_root_top(root, attr.ino) != OFS_TOPS ? -EBUSY : 0;
}

/* A task's recap is virtual, unless a file takes its place. */
static int check_not_recap(struct ofs_tree *t, ofs_node parent, const char *name)
{
	struct ofs_attr attr;

	if (!ofs_task_context_is(t, parent, name))
		return 0;
	if (ofs_store_lookup(t->store, parent, name, &attr) == 0) {
		ofs_store_forget(t->store, attr.ino, 1);
		return 0;
	}
	return ofs_task_context_exists(t, parent) ? -EROFS : 0;
}

/* Returns 0 if an entry may be removed or moved away. */
static int check_old_name(struct ofs_tree *t, ofs_node parent, const char *name)
{
	int r;

	if (ofs_node_is_virtual(parent))
		return may_not_change(t, parent);
	if (ofs_fixed_is_reserved(t, parent, name))
		return -EBUSY;
	r = check_not_top(t, parent, name);
	if (r == 0)
		r = check_not_recap(t, parent, name);
	return r < 0 ? r : check_not_slice(t, parent, name);
}

/*
 * Sealed content in archive/ is read-only. A file that is being written there directly remains
 * writable until it is moved or changed in another way (which shows in ctime), and for a minute
 * after the last write. Sets *ret_dir to the directory of a file that may be changed.
 */
static int check_content(struct ofs_tree *t, ofs_node node, uint64_t *ret_dir)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	struct ofs_attr attr;
	struct stat st;
	int r;

	if (ofs_node_is_virtual(node)) {
		r = ofs_tree_getattr(t, node, &st);
		return r < 0 ? r : S_ISDIR(st.st_mode) ? -EISDIR : -EROFS;
	}
	r = ofs_store_getattr(t->store, node, &attr);
	if (r < 0)
		return r;
	*ret_dir = attr.parent;
	if (!attr.sealed)
		return 0;
	r = ofs_place_of(t, node, &place);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (place.top != OFS_TOP_ARCHIVE)
		return 0;
	if (attr.ctime == attr.mtime && ofs_clock_wall() - attr.mtime < ARCHIVE_GRACE)
		return 0;
	return -EROFS;
}

/* Reports a successful change of the node or in the directory `node`; returns `r`. */
static int changed(struct ofs_tree *t, ofs_node node, int r)
{
	if (r == 0)
		ofs_tree_touch(t, node);
	return r;
}

/* Reports that the content of a file in `dir` has changed. */
static void content_changed(struct ofs_tree *t, ofs_node node, uint64_t dir)
{
	ofs_indexer_note_in(t->indexer, node, dir);
	ofs_tree_touch(t, dir);
}

static int create(struct ofs_tree *t, ofs_node parent, const char *name,
		  const struct ofs_create *what, struct ofs_entry *ret)
{
	struct ofs_attr attr;
	int r;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	r = check_new_name(t, parent, name);
	if (r == 0)
		r = ofs_agents_check_entry(t, parent, name, what->mode);
	if (r == 0)
		r = ofs_store_create(t->store, parent, name, what, &attr);
	if (r == 0)
		ofs_stat_fill_entry(&attr, true, ret);
	if (r == 0 && S_ISREG(what->mode))
		ofs_indexer_note_in(t->indexer, attr.ino, parent);
	return changed(t, parent, r);
}

/*
 * Sets `what` up to create a file with the given ref. -EEXIST if the ref cannot exist in this
 * store, or if its removed file was in another tree than `dir`.
 */
static int choose_number(struct ofs_tree *t, uint64_t dir, const char *ref, struct ofs_create *what)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stone = OFS_BUF_INIT;
	char same[OFS_REF_SIZE];
	struct ofs_root *root;
	int64_t removed;
	int r = ofs_root_of(t, dir, &root);

	if (r < 0)
		return r;
	what->ino = ofs_ref_parse(t, ref);
	ofs_ref_format(t, what->ino, same);
	if (!what->ino || strcmp(ref, same) != 0)
		return -EEXIST;
	if (ofs_ref_get_tombstone(t, t->root, what->ino, &stone, &removed) == -ENOENT)
		return 0;
	stone.len = 0;
	what->again = ofs_ref_get_tombstone(t, root, what->ino, &stone, &removed) == 0;
	return what->again ? 0 : -EEXIST;
}

/*
 * Creates an empty file with the ref that it had in another store or before it was removed, for the
 * owner of the tree. `value` is REF/NAME; -EINVAL if not. -EEXIST: the name or the ref is taken,
 * the ref cannot exist in this store, or its file is not known to have been removed from this tree.
 * -EBUSY: the file that had the ref is still in use.
 */
static int bring(struct ofs_tree *t, ofs_node dir, const void *value, size_t size)
{
	OFS_FREE char *text =
		ofs_format("%.*s", (int)OFS_MIN(size, (size_t)PATH_MAX), (const char *)value);
	struct ofs_create what = { .mode = S_IFREG | 0600, .uid = t->uid };
	char *name = strchr(text, '/');
	struct ofs_entry made;
	struct ofs_attr parent;
	int r = ofs_store_getattr(t->store, dir, &parent);

	if (!name || strlen(text) != size || !name[1] || strchr(name + 1, '/') ||
	    strcmp(name + 1, ".") == 0 || strcmp(name + 1, "..") == 0)
		return -EINVAL;
	*name++ = '\0';
	if (r == 0 && !S_ISDIR(parent.mode))
		r = -ENOTDIR;
	if (r == 0)
		r = choose_number(t, dir, text, &what);
	if (r < 0)
		return r;
	what.gid = parent.gid;
	r = create(t, dir, name, &what, &made);
	if (r < 0)
		return r;
	ofs_ref_forget(t, made.node, 1);
	/* The kernel only set an attribute, so its cached attributes of the directory are stale. */
	if (t->events.attr_changed)
		t->events.attr_changed(t->events.arg, dir);
	return 0;
}

int ofs_tree_setxattr(struct ofs_tree *t, ofs_node node, const char *name, const void *value,
		      size_t size, int flags)
{
	if (ofs_node_is_virtual(node) || strcmp(name, "user.offload.bring") != 0)
		return ofs_attributes_set(t, node, name, value, size, flags);
	return flags & XATTR_CREATE ? -EEXIST : bring(t, node, value, size);
}

int ofs_tree_mknod(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode, dev_t rdev,
		   const struct ofs_cred *cred, struct ofs_entry *ret)
{
	struct ofs_create what = { .mode = mode, .uid = cred->uid, .gid = cred->gid, .rdev = rdev };

	if (S_ISDIR(mode) || S_ISLNK(mode))
		return -EINVAL;
	if (!(mode & S_IFMT))
		what.mode |= S_IFREG;
	return create(t, parent, name, &what, ret);
}

/* An agent's tree is made and removed in several changes, any of which may wait. */
static int check_whole(struct ofs_tree *t, ofs_node parent)
{
	return ofs_root_of_agents(t, parent) && ofs_store_is_nonblocking() ? -EAGAIN : 0;
}

#define OPEN_TO_ALL (S_ISVTX | S_IWOTH)

/*
 * In a directory open to all, a category that is open to all belongs to the owner of that
 * directory: the owner of a sticky directory may remove anything in it, and must therefore not be
 * whoever came first. A task belongs to its creator, so that tools can tell whose it is.
 */
static void choose_owner(struct ofs_tree *t, ofs_node parent, struct ofs_create *what)
{
	struct ofs_attr above;
	enum ofs_top top;

	if ((what->mode & OPEN_TO_ALL) != OPEN_TO_ALL || !t->shared ||
	    ofs_store_getattr(t->store, parent, &above) < 0 ||
	    (above.mode & OPEN_TO_ALL) != OPEN_TO_ALL)
		return;
	top = ofs_root_top(ofs_root_of_attr(t, &above), parent);
	if (top == OFS_TOP_TASKS || (top == OFS_TOPS && !ofs_task_is_dir(t, &above)))
		return;
	what->uid = above.uid;
	what->gid = above.gid;
}

int ofs_tree_mkdir(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode,
		   const struct ofs_cred *cred, struct ofs_entry *ret)
{
	struct ofs_create what = { .mode = S_IFDIR | (mode & 07777),
				   .uid = cred->uid,
				   .gid = cred->gid };
	int r = check_whole(t, parent);

	if (r < 0)
		return r;
	choose_owner(t, parent, &what);
	r = create(t, parent, name, &what, ret);
	return r < 0 ? r : ofs_agents_make(t, parent, name, ret);
}

int ofs_tree_symlink(struct ofs_tree *t, ofs_node parent, const char *name, const char *target,
		     const struct ofs_cred *cred, struct ofs_entry *ret)
{
	struct ofs_create what = {
		.mode = S_IFLNK | 0777, .uid = cred->uid, .gid = cred->gid, .target = target
	};

	return create(t, parent, name, &what, ret);
}

int ofs_tree_link(struct ofs_tree *t, ofs_node node, ofs_node parent, const char *name,
		  struct ofs_entry *ret)
{
	struct ofs_attr attr;
	int r;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if (ofs_node_is_virtual(node))
		return -EPERM;
	r = check_new_name(t, parent, name);
	if (r == 0)
		r = ofs_agents_check_entry(t, parent, name, 0);
	if (r == 0)
		r = ofs_agents_check_link(t, node, parent);
	if (r == 0)
		r = ofs_store_link(t->store, node, parent, name, &attr);
	if (r == 0) {
		ofs_stat_fill_entry(&attr, true, ret);
		ofs_indexer_note(t->indexer, node);
	}
	return changed(t, parent, r);
}

int ofs_tree_unlink(struct ofs_tree *t, ofs_node parent, const char *name)
{
	int r = check_old_name(t, parent, name);
	uint64_t left;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if (r < 0)
		return r;
	r = ofs_store_unlink(t->store, parent, name, &left);
	if (r < 0)
		return r;
	ofs_ref_left(t, parent, left);
	return changed(t, parent, r);
}

int ofs_tree_rmdir(struct ofs_tree *t, ofs_node parent, const char *name)
{
	int r = check_old_name(t, parent, name);

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if (r == 0)
		r = check_whole(t, parent);
	if (r < 0)
		return r;
	r = ofs_root_of_agents(t, parent) ? ofs_agents_remove(t, parent, name)
					  : ofs_store_rmdir(t->store, parent, name);
	return changed(t, parent, r);
}

int ofs_tree_rename(struct ofs_tree *t, ofs_node parent, const char *name, ofs_node newparent,
		    const char *newname, unsigned int flags)
{
	const struct ofs_move what = {
		.dir = parent, .newdir = newparent, .name = name, .newname = newname, .flags = flags
	};
	int r;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	r = check_old_name(t, parent, name);
	if (r == 0)
		r = check_new_name(t, newparent, newname);
	/* An entry at the new name would be replaced, or moved here. */
	if (r == 0)
		r = check_not_top(t, newparent, newname);
	if (r == 0)
		r = ofs_agents_check_move(t, parent, name, newparent, newname, flags);
	return r < 0 ? r : ofs_tree_move(t, &what);
}

int ofs_tree_setattr(struct ofs_tree *t, ofs_node node, const struct ofs_setattr *attr,
		     struct stat *ret)
{
	struct ofs_attr now;
	uint64_t dir = 0;
	int r = 0;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if (ofs_node_is_virtual(node))
		return -EROFS;
	if (attr->set & OFS_SET_SIZE)
		r = check_content(t, node, &dir);
	if (r == 0 && attr->set & OFS_SET_SIZE)
		r = ofs_quota_check(t, node, attr->size);
	if (r == 0)
		r = ofs_store_setattr(t->store, node, attr, &now);
	if (r == 0 && attr->set & (OFS_SET_MODE | OFS_SET_UID | OFS_SET_GID) &&
	    ofs_root_at(t, node))
		r = ofs_agents_set_owner(t, ofs_root_at(t, node), attr);
	if (r == 0)
		ofs_stat_fill(&now, ret);
	if (r == 0 && attr->set & OFS_SET_SIZE)
		ofs_indexer_note_in(t->indexer, node, dir);
	return changed(t, node, r);
}

ssize_t ofs_tree_write(struct ofs_tree *t, ofs_node node, const void *buf, size_t size,
		       uint64_t off)
{
	uint64_t dir = 0;
	ssize_t n = check_content(t, node, &dir);

	ofs_tree_count(t, OFS_TREE_WRITE);
	if (n == 0)
		n = ofs_quota_check(t, node, off + size);
	if (n == 0)
		n = ofs_store_write(t->store, node, buf, size, off);
	if (n > 0)
		atomic_fetch_add_explicit(&t->bytes_written, (uint64_t)n, memory_order_relaxed);
	if (n > 0)
		content_changed(t, node, dir);
	return n;
}

int ofs_tree_fallocate(struct ofs_tree *t, ofs_node node, int mode, uint64_t off, uint64_t len)
{
	bool keep_size = mode & FALLOC_FL_KEEP_SIZE;
	uint64_t dir = 0;
	int r = check_content(t, node, &dir);

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if (r == 0 && !keep_size)
		r = ofs_quota_check(t, node, off + len);
	if (r < 0)
		return r;
	switch (mode) {
	case 0:
	case FALLOC_FL_KEEP_SIZE:
		r = ofs_store_allocate(t->store, node, off, len, keep_size);
		break;
	case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
	case FALLOC_FL_ZERO_RANGE:
		r = ofs_store_zero(t->store, node, off, len, !keep_size);
		break;
	default:
		r = -EOPNOTSUPP;
	}
	if (r == 0)
		content_changed(t, node, dir);
	return r;
}

/* A copy ends at the end of its source. */
static int check_copy(struct ofs_tree *t, ofs_node from, uint64_t from_off, ofs_node to,
		      uint64_t to_off, uint64_t len)
{
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, from, &attr);

	if (r < 0 || from_off >= attr.size)
		return r;
	return ofs_quota_check(t, to, to_off + OFS_MIN(len, attr.size - from_off));
}

ssize_t ofs_tree_copy(struct ofs_tree *t, ofs_node from, uint64_t from_off, ofs_node to,
		      uint64_t to_off, uint64_t len)
{
	uint64_t dir = 0;
	ssize_t n = check_content(t, to, &dir);

	ofs_tree_count(t, OFS_TREE_WRITE);
	if (n == 0 && !ofs_node_is_virtual(from))
		n = check_copy(t, from, from_off, to, to_off, len);
	if (n == 0)
		n = ofs_node_is_virtual(from)
			    ? -EXDEV
			    : ofs_store_copy(t->store, from, from_off, to, to_off, len);
	if (n > 0) {
		ofs_gc_note_use(t->gc, from);
		content_changed(t, to, dir);
	}
	return n;
}

/* Virtual files have no holes. */
static int64_t seek_virtual(struct ofs_tree *t, ofs_node node, uint64_t off, int whence)
{
	struct stat st;
	int r = ofs_tree_getattr(t, node, &st);

	if (r < 0)
		return r;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	if (off >= (uint64_t)st.st_size)
		return -ENXIO;
	return whence == SEEK_DATA ? (int64_t)off : st.st_size;
}

int64_t ofs_tree_seek(struct ofs_tree *t, ofs_node node, uint64_t off, int whence)
{
	return ofs_node_is_virtual(node) ? seek_virtual(t, node, off, whence)
					 : ofs_store_seek(t->store, node, off, whence);
}

void ofs_tree_set_nonblocking(bool on)
{
	ofs_store_set_nonblocking(on);
}

int ofs_tree_sync(struct ofs_tree *t)
{
	ofs_tree_count(t, OFS_TREE_SYNC);
	return ofs_store_sync(t->store);
}

int ofs_tree_seal(struct ofs_tree *t)
{
	return ofs_store_seal(t->store);
}
