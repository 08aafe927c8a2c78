/* SPDX-License-Identifier: MIT */
/* A tree on a store of its own, with shorthands for what tests do with it. */
#pragma once

#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <time.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/util.h"
#include "scratch.h"
#include "test_clock_fixture.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_tree *t;
static const struct ofs_cred cred = { 1000, 1001 };

static struct ofs_tree_options tree_options = OFS_TREE_OPTIONS_INIT;

static inline void open_tree(void)
{
	struct ofs_error err = { "" };

	tree_options.background = false;
	cr_assert_eq(ofs_tree_open(path, &tree_options, &err, &t), 0, "%s", err.text);
}

static inline void reopen(void)
{
	ofs_tree_close(t);
	open_tree();
}

static inline void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
	open_tree();
}

static inline int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static inline void teardown(void)
{
	ofs_tree_close(t);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Returns the node of a path without keeping a reference. */
static inline ofs_node walk(const char *p)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	ofs_tree_forget(t, e.node, 1);
	return e.node;
}

/* Returns the node of a path and keeps a reference until the tree is closed. */
static inline ofs_node hold(const char *p)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	return e.node;
}

/* Looks a path up. Returns 0 or -errno. */
static inline int try_walk(const char *p)
{
	struct ofs_entry e;
	int r = ofs_tree_walk(t, p, &e);

	if (r == 0)
		ofs_tree_forget(t, e.node, 1);
	return r;
}

/* Splits "a/b/c": returns the node of a/b and sets *ret_name to c. */
static inline ofs_node parent_of(const char *p, const char **ret_name)
{
	char head[1024];
	const char *slash = strrchr(p, '/');

	*ret_name = slash ? slash + 1 : p;
	snprintf(head, sizeof(head), "%.*s", slash ? (int)(slash - p) : 0, p);
	return walk(head);
}

static inline ofs_node make_dir(const char *p)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_mkdir(t, parent, name, 0755, &cred, &e), 0, "%s", p);
	return e.node;
}

static inline ofs_node make_of(const char *p, const void *data, size_t size)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_mknod(t, parent, name, S_IFREG | 0644, 0, &cred, &e), 0, "%s", p);
	if (size)
		cr_assert_eq(ofs_tree_write(t, e.node, data, size, 0), (ssize_t)size);
	return e.node;
}

/* Creates a file and keeps a reference to it, so that it stays in memory. */
static inline ofs_node make(const char *p)
{
	return make_of(p, "x\n", 2);
}

static inline void move(const char *from, const char *to)
{
	const char *a, *b;
	ofs_node x = parent_of(from, &a), y = parent_of(to, &b);

	cr_assert_eq(ofs_tree_rename(t, x, a, y, b, 0), 0, "%s to %s", from, to);
}

static inline void drop(const char *p)
{
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_unlink(t, parent, name), 0, "%s", p);
}

static inline void link_to(ofs_node node, const char *p)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_link(t, node, parent, name, &e), 0, "%s", p);
	ofs_tree_forget(t, e.node, 1);
}

/* Returns the value of user.offload.NAME, or "-" if there is none. */
static inline const char *xattr(ofs_node node, const char *name)
{
	static char value[65536];
	char full[64];
	ssize_t n;

	snprintf(full, sizeof(full), "user.offload.%s", name);
	n = ofs_tree_getxattr(t, node, full, value, sizeof(value) - 1);
	if (n == -ENODATA)
		return "-";
	cr_assert_geq(n, 0, "%s: %zd", name, n);
	value[n] = 0;
	return value;
}

/* Sets user.offload.NAME. Returns 0 or -errno. */
static inline int set_with(ofs_node node, const char *name, const char *value, int flags)
{
	char full[64];

	snprintf(full, sizeof(full), "user.offload.%s", name);
	return ofs_tree_setxattr(t, node, full, value, strlen(value), flags);
}

static inline int set(ofs_node node, const char *name, const char *value)
{
	return set_with(node, name, value, 0);
}

static inline int unset(ofs_node node, const char *name)
{
	char full[64];

	snprintf(full, sizeof(full), "user.offload.%s", name);
	return ofs_tree_removexattr(t, node, full);
}

/* Waits until the collection of a tree ends. Returns the state, for json_decref(). */
static inline json_t *collected(const char *tree)
{
	json_t *json;

	for (;;) {
		json = json_loads(xattr(walk(tree), "gc"), 0, NULL);
		cr_assert_not_null(json);
		if (strcmp(json_string_value(json_object_get(json, "state")), "running") != 0)
			break;
		json_decref(json);
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	cr_assert_str_eq(json_string_value(json_object_get(json, "state")), "done");
	return json;
}

/* Collects a tree ("": all) and waits until it is done. Returns the state, for json_decref(). */
static inline json_t *collect(const char *tree, const char *how)
{
	cr_assert_eq(set(walk(tree), "gc", how), 0, "%s", how);
	return collected(tree);
}
