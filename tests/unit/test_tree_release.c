/* SPDX-License-Identifier: MIT */
/* The kernel is told to drop a ref when its file loses the last name, and only then. */
#include <fcntl.h>

#include "test_tree_fixture.h"

static struct {
	ofs_node node, parent;
	char name[OFS_NAME_MAX + 1];
	int count;
} released;

static void on_release(void *arg, ofs_node node, ofs_node parent, const char *name)
{
	cr_assert_eq(arg, &released);
	released.node = node;
	released.parent = parent;
	snprintf(released.name, sizeof(released.name), "%s", name);
	released.count++;
}

static void setup_listening(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;

	setup();
	ofs_tree_close(t);
	opts.background = false;
	opts.events = (struct ofs_tree_events){ .release = on_release, .arg = &released };
	cr_assert_eq(ofs_tree_open(path, &opts, NULL, &t), 0);
}

TestSuite(tree_release, .init = setup_listening, .fini = teardown);

/* Makes a file to which nobody holds a reference. */
static ofs_node make_unheld(const char *p)
{
	ofs_node node = make(p);

	ofs_tree_forget(t, node, 1);
	return node;
}

/* Looks a file up by its ref and keeps a reference. Returns 0 or -errno. */
static int find(ofs_node node)
{
	char ref[OFS_REF_SIZE];
	struct ofs_entry e;
	int r;

	ofs_ref_format(t, node, ref);
	r = ofs_tree_lookup(t, walk("refs"), ref, &e);
	cr_assert(r < 0 || e.node == node);
	return r;
}

static void expect_released(ofs_node node)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, node, ref);
	cr_assert_eq(released.count, 1);
	cr_assert_eq(released.node, node);
	cr_assert_eq(released.parent, walk("refs"));
	cr_assert_str_eq(released.name, ref);
}

Test(tree_release, a_file_found_by_its_ref)
{
	ofs_node f = make_unheld("cache/f");

	cr_assert_eq(find(f), 0);
	cr_assert_eq(released.count, 0);
	drop("cache/f");
	expect_released(f);
	cr_assert_eq(find(f), -ENOENT);
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(released.count, 1);
}

Test(tree_release, one_that_was_replaced)
{
	ofs_node f = make_unheld("cache/f"), g = make_unheld("cache/g");

	cr_assert_eq(find(f), 0);
	cr_assert_eq(find(g), 0);
	move("cache/g", "cache/f");
	expect_released(f);
}

Test(tree_release, not_while_it_has_a_name)
{
	ofs_node f = make_unheld("cache/f"), g = make_unheld("cache/g"), cache = walk("cache");

	cr_assert_eq(find(f), 0);
	cr_assert_eq(find(g), 0);
	link_to(f, "cache/h");
	drop("cache/f");
	cr_assert_eq(ofs_tree_rename(t, cache, "g", cache, "h", RENAME_EXCHANGE), 0);
	cr_assert_eq(ofs_tree_rename(t, cache, "g", cache, "h", RENAME_NOREPLACE), -EEXIST);
	move("cache/g", "cache/moved");
	cr_assert_eq(ofs_tree_unlink(t, cache, "absent"), -ENOENT);
	cr_assert_eq(released.count, 0);
	drop("cache/moved");
	expect_released(f);
}

Test(tree_release, not_when_nobody_remembers_it)
{
	ofs_node f = make_unheld("cache/f"), g = make_unheld("cache/g");
	char ref[OFS_REF_SIZE], slice[64];

	/* One was found by its name, and a slice by its ref, which holds no reference. */
	ofs_ref_format(t, f, ref);
	snprintf(slice, sizeof(slice), "refs/%s:1", ref);
	hold(slice);
	hold("cache/f");
	drop("cache/f");
	/* The other was found by its ref, but forgotten since. */
	cr_assert_eq(find(g), 0);
	hold("cache/g");
	ofs_tree_forget(t, g, 2);
	drop("cache/g");
	cr_assert_eq(released.count, 0);
}

Test(tree_release, references_by_other_names_are_no_reason_to_forget)
{
	ofs_node f = make_unheld("cache/f");

	hold("cache/f");
	cr_assert_eq(find(f), 0);
	ofs_tree_forget(t, f, 1);
	drop("cache/f");
	expect_released(f);
}
