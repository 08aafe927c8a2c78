/* SPDX-License-Identifier: MIT */
/* Trees of agents: created, kept complete, separated from each other, and removed. */
#include <pthread.h>

#include "io/failpoint.h"
#include "store/store.h"

#include "test_tree_fixture.h"

#define DAY (24 * 3600 * OFS_NS_PER_S)

/* Writes that find room (negative: all), and then how many are refused. */
static _Atomic int room = -1, refusals;
int ofs_failpoint_armed = 1;

int ofs_failpoint_hit(const char *name)
{
	int left = room;

	if (left < 0 || strcmp(name, "io.pwritev") != 0)
		return 0;
	if (left)
		room = left - 1;
	return left || refusals-- <= 0 ? 0 : -ENOSPC;
}

void ofs_failpoint_kill(void)
{
	abort();
}

static void begin(void)
{
	tree_options.grace_s = 0;
	tree_options.task_idle_s = 600;
	setup();
}

TestSuite(tree_root, .init = begin, .fini = teardown);

/* ---- helpers */

static const char *const tops[] = { "cache", "tasks", "persistent", "archive", "agents" };
static const char *const made_up[] = { "README.md", "refs", "views", "search", ".offload" };

static const char *in(const char *tree, const char *name)
{
	static char full[8][512];
	static unsigned int next;
	char *p = full[next++ % 8];

	snprintf(p, sizeof(full[0]), "%s%s%s", tree, *tree ? "/" : "", name);
	return p;
}

static void expect_whole(const char *tree)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++)
		cr_expect_eq(try_walk(in(tree, tops[i])), 0, "%s/%s", tree, tops[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(made_up); i++)
		cr_expect_eq(try_walk(in(tree, made_up[i])), 0, "%s/%s", tree, made_up[i]);
}

static int try_mkdir(const char *p)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);
	int r = ofs_tree_mkdir(t, parent, name, 0755, &cred, &e);

	if (r == 0)
		ofs_tree_forget(t, e.node, 1);
	return r;
}

static int try_mknod(const char *p, mode_t mode)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);
	int r = ofs_tree_mknod(t, parent, name, mode, 0, &cred, &e);

	if (r == 0)
		ofs_tree_forget(t, e.node, 1);
	return r;
}

static int try_rmdir(const char *p)
{
	const char *name;
	ofs_node parent = parent_of(p, &name);

	return ofs_tree_rmdir(t, parent, name);
}

static int try_move(const char *from, const char *to, unsigned int flags)
{
	const char *x, *y;
	ofs_node a = parent_of(from, &x), b = parent_of(to, &y);

	return ofs_tree_rename(t, a, x, b, y, flags);
}

static void put_text(const char *p, const char *text)
{
	char part[256];

	for (const char *at = strchr(p, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - p), p);
		if (try_walk(part) == -ENOENT)
			ofs_tree_forget(t, make_dir(part), 1);
	}
	ofs_tree_forget(t, make_of(p, text, strlen(text)), 1);
}

static void put(const char *p)
{
	put_text(p, "x\n");
}

/* Looks up refs/REF in a tree. Returns 0 or -errno. */
static int by_ref(const char *tree, ofs_node node)
{
	char ref[OFS_REF_SIZE], name[32];

	ofs_ref_format(t, node, ref);
	snprintf(name, sizeof(name), "refs/%s", ref);
	return try_walk(in(tree, name));
}

/* Counts the links in a directory of a tree's views. */
static int count_one(void *arg, const char *name, const struct ofs_entry *entry, uint64_t next)
{
	*(int *)arg += name[0] != '.';
	return 0;
}

static int listed(const char *tree, const char *view)
{
	int n = 0;
	ofs_node node;

	if (try_walk(in(tree, view)) < 0)
		return -1;
	node = hold(in(tree, view));
	cr_assert_eq(ofs_tree_readdir(t, node, 0, false, count_one, &n), 0);
	return n;
}

static size_t found(const char *tree, const char *query)
{
	struct ofs_entry e;
	char name[64];

	snprintf(name, sizeof(name), "search/%s", query);
	cr_assert_eq(ofs_tree_walk(t, in(tree, name), &e), 0);
	ofs_tree_forget(t, e.node, 1);
	return (size_t)e.attr.st_size;
}

/* ---- created and kept complete */

Test(tree_root, a_directory_in_agents_is_a_tree)
{
	static const char *const trees[] = { "agents/a", "agents/a/agents/c",
					     "agents/a/agents/c/agents/d" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++) {
		cr_assert_eq(try_mkdir(trees[i]), 0);
		expect_whole(trees[i]);
		cr_expect_eq(try_mkdir(trees[i]), -EEXIST);
	}
	reopen();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++)
		expect_whole(trees[i]);
}

Test(tree_root, its_directories_stay)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("cache/d"), 0);
	cr_expect_eq(try_rmdir("agents"), -EBUSY);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++) {
		const char *top = in("agents/a", tops[i]);

		cr_expect_eq(try_rmdir(top), -EBUSY, "%s", top);
		cr_expect_eq(try_move(top, "cache/x", 0), -EBUSY, "%s", top);
		cr_expect_eq(try_move(top, "agents/a/x", 0), -EBUSY, "%s", top);
		cr_expect_eq(try_move("cache/d", top, RENAME_EXCHANGE), -EBUSY, "%s", top);
		cr_expect_eq(try_move("cache/d", top, 0), -EBUSY, "%s", top);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(made_up); i++) {
		const char *name = in("agents/a", made_up[i]);

		cr_expect_eq(try_mkdir(name), -EEXIST, "%s", name);
		cr_expect_eq(try_rmdir(name), -EBUSY, "%s", name);
	}
	expect_whole("agents/a");
}

Test(tree_root, an_agent_stays_and_may_get_another_name)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/b"), 0);
	cr_assert_eq(try_mkdir("agents/b/agents/c"), 0);
	cr_assert_eq(try_mkdir("cache/d"), 0);
	cr_expect_eq(try_move("agents/a", "cache/a", 0), -EPERM);
	cr_expect_eq(try_move("agents/a", "agents/b/agents/a", 0), -EPERM);
	cr_expect_eq(try_move("agents/b/agents/c", "agents/c", 0), -EPERM);
	cr_expect_eq(try_move("cache/d", "agents/d", 0), -EPERM);
	cr_expect_eq(try_move("cache/d", "agents/a", RENAME_EXCHANGE), -EPERM);
	cr_expect_eq(try_move("agents/a", "agents/a\n2026-01-01\tforged", 0), -EINVAL);
	put("agents/a/cache/x");
	if (try_move("agents/a", "agents/z", 0) == 0) {
		expect_whole("agents/z");
		cr_expect_eq(try_walk("agents/z/cache/x"), 0);
		cr_expect_eq(by_ref("agents/z", walk("agents/z/cache/x")), 0);
		cr_expect_str_eq(xattr(walk("agents/z/cache/x"), "agent"), "z");
		cr_expect_eq(try_move("agents/z", "agents/b", RENAME_EXCHANGE), 0);
		expect_whole("agents/z/agents/c");
		cr_expect_eq(by_ref("agents/z", walk("agents/b/cache/x")), -ENOENT);
	}
}

Test(tree_root, names_that_are_none)
{
	char invalid[3] = { (char)0xff, 'x', 0 };

	cr_assert_eq(try_mkdir("agents/a"), 0);
	for (int i = 0; i < 2; i++) {
		const char *where = i ? "agents/a/agents" : "agents";

		cr_expect_eq(try_mkdir(in(where, "a\nb")), -EINVAL);
		cr_expect_eq(try_mkdir(in(where, invalid)), -EINVAL);
		cr_expect_eq(try_mknod(in(where, "file"), S_IFREG | 0644), -EPERM);
		cr_expect_eq(try_mknod(in(where, "fifo"), S_IFIFO | 0644), -EPERM);
	}
	cr_expect_eq(listed("", "agents"), 1);
}

Test(tree_root, an_empty_tree_can_be_removed)
{
	ofs_node node;

	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/a/agents/c"), 0);
	cr_expect_eq(try_rmdir("agents/a"), -ENOTEMPTY);
	expect_whole("agents/a");
	node = hold("agents/a/views");
	put("agents/a/agents/c/tasks/t/x");
	cr_expect_eq(try_rmdir("agents/a/agents/c"), -ENOTEMPTY);
	drop("agents/a/agents/c/tasks/t/x");
	cr_expect_eq(try_rmdir("agents/a/agents/c"), -ENOTEMPTY);
	cr_assert_eq(try_rmdir("agents/a/agents/c/tasks/t"), 0);
	cr_assert_eq(try_rmdir("agents/a/agents/c"), 0);
	put("agents/a/at-the-root");
	cr_expect_eq(try_rmdir("agents/a"), -ENOTEMPTY);
	expect_whole("agents/a");
	drop("agents/a/at-the-root");
	cr_assert_eq(try_rmdir("agents/a"), 0);
	cr_expect_eq(try_walk("agents/a"), -ENOENT);
	/* A new tree of the same name has new nodes. */
	cr_assert_eq(try_mkdir("agents/a"), 0);
	expect_whole("agents/a");
	cr_expect_neq(walk("agents/a/views"), node);
	cr_expect_eq(ofs_tree_getattr(t, node, &(struct stat){ 0 }), -ESTALE);
	reopen();
	expect_whole("agents/a");
}

static void *make_and_drop(void *arg)
{
	ofs_node cache = *(ofs_node *)arg;
	struct ofs_entry e;

	for (int i = 0; i < 2000; i++) {
		if (ofs_tree_mknod(t, cache, "x", S_IFREG | 0644, 0, &cred, &e) < 0)
			break;
		ofs_tree_forget(t, e.node, 1);
		ofs_tree_unlink(t, cache, "x");
	}
	return NULL;
}

/* A file made while the tree is removed either comes too late or keeps the tree whole. */
Test(tree_root, a_tree_goes_whole_or_stays_whole)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		ofs_node archive;
		int r = -ENOTEMPTY;

		cr_assert_eq(try_mkdir("agents/a"), 0);
		archive = walk("agents/a/archive");
		cr_assert_eq(pthread_create(&thread, NULL, make_and_drop, &archive), 0);
		for (int k = 0; k < 1000 && r == -ENOTEMPTY; k++) {
			r = try_rmdir("agents/a");
			if (r < 0)
				expect_whole("agents/a");
		}
		pthread_join(thread, NULL);
		if (r < 0)
			cr_assert_eq(try_rmdir("agents/a"), 0);
		cr_assert_eq(try_walk("agents/a"), -ENOENT);
	}
}

/* Refuses one write. The removal of what was made must still find room. */
Test(tree_root, an_agent_that_there_is_no_room_for)
{
	int r = -ENOSPC, n;

	for (n = 0; r == -ENOSPC; n++) {
		refusals = 1;
		room = n;
		r = try_mkdir("agents/a");
		room = -1;
		cr_assert(r == 0 || try_walk("agents/a") == -ENOENT, "%d writes", n);
	}
	cr_assert_eq(r, 0);
	cr_expect_gt(n, (int)OFS_ARRAY_SIZE(tops));
	expect_whole("agents/a");
}

/* It is made and removed by several changes, and who may not wait could stop halfway. */
Test(tree_root, an_agent_takes_a_thread_that_may_wait)
{
	ofs_tree_set_nonblocking(true);
	cr_assert_eq(try_mkdir("agents/a"), -EAGAIN);
	ofs_tree_set_nonblocking(false);
	cr_assert_eq(try_walk("agents/a"), -ENOENT);
	cr_assert_eq(try_mkdir("agents/a"), 0);
	ofs_tree_set_nonblocking(true);
	cr_assert_eq(try_rmdir("agents/a"), -EAGAIN);
	ofs_tree_set_nonblocking(false);
	expect_whole("agents/a");
}

/* ---- other programs' stores, and what a crash leaves */

static const struct ofs_store_options plain_store = { .create = false };

/* Removes top directories from a store that no tree has open. */
static void without(const char *const names[], size_t n, const char *agent)
{
	struct ofs_store *store;
	struct ofs_attr at = { .ino = OFS_ROOT_INO };
	struct ofs_error err;

	ofs_tree_close(t);
	cr_assert_eq(ofs_store_open(path, &plain_store, &err, &store), 0);
	if (agent) {
		cr_assert_eq(ofs_store_lookup(store, OFS_ROOT_INO, "agents", &at), 0);
		cr_assert_eq(ofs_store_lookup(store, at.ino, agent, &at), 0);
	}
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(ofs_store_rmdir(store, at.ino, names[i]), 0, "%s", names[i]);
	ofs_store_close(store);
}

Test(tree_root, a_store_from_before_there_were_agents)
{
	put("cache/x");
	without((const char *const[]){ "agents" }, 1, NULL);
	open_tree();
	expect_whole("");
	cr_expect_eq(try_walk("cache/x"), 0);
	cr_assert_eq(try_mkdir("agents/a"), 0);
	expect_whole("agents/a");
}

Test(tree_root, an_agent_that_was_made_or_removed_in_part)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/b"), 0);
	put("agents/a/persistent/x");
	without((const char *const[]){ "cache", "agents" }, 2, "a");
	open_tree();
	without(tops, OFS_ARRAY_SIZE(tops), "b");
	open_tree();
	expect_whole("agents/a");
	expect_whole("agents/b");
	cr_expect_eq(try_walk("agents/a/persistent/x"), 0);
	cr_expect_eq(try_rmdir("agents/b"), 0);
}

/* A plain file in agents/ is no tree. */
Test(tree_root, plain_files_where_trees_are_expected)
{
	struct ofs_create file = { .mode = S_IFREG | 0600 };
	struct ofs_store *store;
	struct ofs_error err;
	struct ofs_attr at, other;

	cr_assert_eq(try_mkdir("agents/a"), 0);
	ofs_tree_close(t);
	cr_assert_eq(ofs_store_open(path, &plain_store, &err, &store), 0);
	cr_assert_eq(ofs_store_lookup(store, OFS_ROOT_INO, "agents", &at), 0);
	cr_assert_eq(ofs_store_create(store, at.ino, "file", &file, &other), 0);
	ofs_store_close(store);
	open_tree();
	expect_whole("agents/a");
	cr_expect_eq(try_walk("agents/file"), 0);
	drop("agents/file");
	cr_expect_eq(try_walk("agents/file"), -ENOENT);
}

static void make_in_store(struct ofs_store *store, uint64_t parent, const char *name, mode_t mode,
			  struct ofs_attr *ret)
{
	struct ofs_create what = { .mode = mode };

	cr_assert_eq(ofs_store_create(store, parent, name, &what, ret), 0, "%s", name);
}

Test(tree_root, a_store_from_before_with_names_of_now)
{
	struct ofs_store *store;
	struct ofs_error err;
	struct ofs_attr at, old;

	without((const char *const[]){ "agents" }, 1, NULL);
	cr_assert_eq(ofs_store_open(path, &plain_store, &err, &store), 0);
	make_in_store(store, OFS_ROOT_INO, "agents", S_IFREG | 0600, &at);
	ofs_store_close(store);
	open_tree();
	put("cache/x");
	cr_expect_eq(try_walk("agents"), 0);
	cr_assert_eq(ofs_tree_rename(t, OFS_NODE_ROOT, "agents", OFS_NODE_ROOT, "notes", 0), 0);
	ofs_tree_close(t);
	open_tree();
	expect_whole("");
	cr_expect_eq(try_walk("notes"), 0);
	ofs_tree_close(t);
	cr_assert_eq(ofs_store_open(path, &plain_store, &err, &store), 0);
	cr_assert_eq(ofs_store_lookup(store, OFS_ROOT_INO, "agents", &at), 0);
	make_in_store(store, at.ino, "a", S_IFDIR | 0700, &old);
	make_in_store(store, old.ino, "cache", S_IFREG | 0600, &old);
	make_in_store(store, at.ino, "b", S_IFDIR | 0700, &old);
	make_in_store(store, old.ino, "x", S_IFREG | 0600, &old);
	ofs_store_close(store);
	open_tree();
	cr_expect_eq(try_walk("agents/a/cache"), 0);
	expect_whole("agents/b");
	cr_expect_eq(try_walk("agents/b/x"), 0);
}

/* An agent of a store from before whose name would forge a row of the ledger. */
Test(tree_root, rows_of_the_ledger)
{
	static const char row[] = "run\tme\tt\t1\t2\t3\t4";
	struct ofs_store *store;
	struct ofs_error err;
	struct ofs_attr at;
	char text[512];
	ssize_t n;

	ofs_tree_close(t);
	cr_assert_eq(ofs_store_open(path, &plain_store, &err, &store), 0);
	cr_assert_eq(ofs_store_lookup(store, OFS_ROOT_INO, "agents", &at), 0);
	make_in_store(store, at.ino, "a\n2026-01-01\tforged", S_IFDIR | 0700, &at);
	ofs_store_close(store);
	open_tree();
	cr_assert_eq(set(walk("agents/a\n2026-01-01\tforged"), "ledger", row), 0);
	n = ofs_tree_read(t, hold(".offload/ledger"), text, sizeof(text) - 1, 0);
	cr_assert_gt(n, 0);
	text[n] = 0;
	cr_expect_not_null(strstr(text, "\trun\tagents/a^J2026-01-01 forged/me\tt\t1\t2\t3\t4\n"),
			   "%s", text);
}

/* ---- separation */

Test(tree_root, what_is_found_is_of_the_tree)
{
	static const char *const trees[] = { "", "agents/a", "agents/a/agents/c", "agents/b" };
	ofs_node file[4];

	for (size_t i = 1; i < 4; i++)
		cr_assert_eq(try_mkdir(trees[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		put(in(trees[i], "tasks/t/web/x"));
		file[i] = walk(in(trees[i], "tasks/t/web/x"));
		cr_assert_eq(set(file[i], "tags", "good"), 0);
		cr_assert_eq(set(file[i], "title", "zebra"), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 4; k++) {
			bool below = k == i || i == 0 || (i == 1 && k == 2);

			cr_expect_eq(by_ref(trees[i], file[k]), below ? 0 : -ENOENT, "%zu in %zu",
				     k, i);
		}
		cr_expect_eq(listed(trees[i], "views/by-tag/good"), 1);
		cr_expect_eq(listed(trees[i], "views/by-task/t"), 1);
		cr_expect_eq(listed(trees[i], "views/by-category/web"), 1);
		cr_expect_eq(listed(trees[i], "views/by-tier/working"), 1);
		cr_expect_eq(listed(trees[i], "views/recent"), 1);
		cr_expect_gt(found(trees[i], "tag:good"), 0);
		cr_expect_eq(found(trees[i], "agent:* tag:good") > 0, i < 2);
	}
	/* A label moves to another tree along with its file. */
	move("agents/b/tasks/t/web/x", "cache/x");
	cr_expect_eq(listed("agents/b", "views/by-tag/good"), -1);
	cr_expect_eq(listed("", "views/by-tag/good"), 2);
	cr_expect_eq(by_ref("agents/b", file[3]), -ENOENT);
	cr_expect_eq(by_ref("", file[3]), 0);
}

/* An answer that was kept is not given again after a change in a tree that the query asks. */
Test(tree_root, answers_are_of_now)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/a/agents/b"), 0);
	cr_expect_eq(found("agents/a", "agent:b pineapple"), 0);
	put_text("agents/a/agents/b/cache/x", "a pineapple grows\n");
	ahead += 3 * OFS_NS_PER_S;
	cr_expect_gt(found("agents/a", "agent:b pineapple"), 0);
}

/* Each symbolic link and special file belongs to one tree, too. */
Test(tree_root, names_in_two_trees)
{
	struct ofs_entry e;
	ofs_node d;
	int r;

	cr_assert_eq(try_mkdir("agents/a"), 0);
	d = make_dir("agents/a/persistent/d");
	for (int i = 0; i < 2; i++) {
		r = i ? ofs_tree_mknod(t, d, "n", S_IFIFO | 0600, 0, &cred, &e)
		      : ofs_tree_symlink(t, d, "n", "x", &cred, &e);
		cr_assert_eq(r, 0);
		link_to(e.node, "agents/a/cache/n");
		cr_expect_eq(try_move("agents/a/persistent/d", "persistent/d", 0), -EXDEV);
		drop("agents/a/cache/n");
		cr_expect_eq(try_move("agents/a/persistent/d", "persistent/d", 0), 0);
		move("persistent/d", "agents/a/persistent/d");
		drop("agents/a/persistent/d/n");
	}
}

/* ---- lifetimes */

/* Collects. Returns the number of removed files. */
static long run(const char *tree)
{
	json_t *json = collect(tree, "run");
	long n = (long)json_integer_value(json_object_get(json, "removed"));

	json_decref(json);
	return n;
}

/* Collects four times, an hour apart. Returns the number of removed files. */
static long collect_all(const char *tree)
{
	long n = 0;

	for (int i = 0; i < 4; i++) {
		ahead += DAY / 24;
		n += run(tree);
	}
	return n;
}

Test(tree_root, a_collection_is_of_the_tree_and_those_in_it)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/a/agents/c"), 0);
	cr_assert_eq(try_mkdir("agents/b"), 0);
	put("cache/web/x");
	put("agents/a/cache/web/x");
	put("agents/a/agents/c/cache/web/x");
	put("agents/b/cache/web/x");
	ahead += 60 * DAY;
	cr_expect_eq(collect_all("agents/a"), 2);
	cr_expect_eq(try_walk("agents/a/cache/web/x"), -ENOENT);
	cr_expect_eq(try_walk("agents/b/cache/web/x"), 0);
	cr_expect_eq(try_walk("cache/web/x"), 0);
	cr_expect_eq(collect_all(""), 2);
}

/* An agent does not learn which task of the tree around it refers to its file. */
Test(tree_root, reasons_are_of_the_tree_that_asks)
{
	static const char *const trees[] = { "agents/a", "" };

	cr_assert_eq(try_mkdir("agents/a"), 0);
	put("agents/a/cache/web/x");
	cr_assert_eq(set(walk("agents/a/cache/web/x"), "ttl", "1s"), 0);
	put_text("tasks/secret/history/step_1.json", "{\"outcome_ref\": \"agents/a/cache/web/x\"}");
	ahead += 60 * OFS_NS_PER_S;
	for (size_t i = 0; i < 2; i++) {
		const char *item;

		json_decref(collect(trees[i], "dry-run"));
		item = xattr(walk(trees[i]), "gc.0");
		cr_expect_not_null(strstr(item, "refers to it"), "%s", item);
		cr_expect_eq(strstr(item, "secret") != NULL, i == 1, "%s", item);
	}
}

static void expect_tombstone(const char *tree, ofs_node file, const char *p, const char *agent)
{
	char ref[OFS_REF_SIZE], name[32], text[4096];
	const char *shown;
	json_t *json;
	ofs_node node;
	ssize_t n;

	ofs_ref_format(t, file, ref);
	snprintf(name, sizeof(name), "refs/%s:info", ref);
	node = hold(in(tree, name));
	n = ofs_tree_read(t, node, text, sizeof(text), 0);
	cr_assert_gt(n, 0);
	ofs_tree_forget(t, node, 1);
	json = json_loadb(text, (size_t)n, 0, NULL);
	cr_expect_str_eq(json_string_value(json_object_get(json, "path")), p, "%s", tree);
	shown = json_string_value(json_object_get(json, "agent"));
	cr_expect_str_eq(shown ? shown : "none", agent, "%s", tree);
	json_decref(json);
}

/* Even after the tree was renamed or removed. */
Test(tree_root, a_tombstone_names_the_tree_as_seen_from_the_one_that_asks)
{
	ofs_node own, file;

	cr_assert_eq(try_mkdir("agents/a"), 0);
	cr_assert_eq(try_mkdir("agents/a/agents/c"), 0);
	put("cache/web/x");
	put("agents/a/agents/c/cache/web/x");
	own = walk("cache/web/x");
	file = walk("agents/a/agents/c/cache/web/x");
	ahead += 60 * DAY;
	cr_assert_eq(collect_all(""), 2);
	expect_tombstone("", own, "cache/web/x", "none");
	expect_tombstone("agents/a/agents/c", file, "cache/web/x", "none");
	expect_tombstone("agents/a", file, "agents/c/cache/web/x", "c");
	expect_tombstone("", file, "agents/a/agents/c/cache/web/x", "a/c");
	cr_assert_eq(try_move("agents/a", "agents/b", 0), 0);
	expect_tombstone("agents/b", file, "agents/c/cache/web/x", "c");
	expect_tombstone("", file, "agents/b/agents/c/cache/web/x", "b/c");
	cr_assert_eq(try_rmdir("agents/b/agents/c/cache/web"), 0);
	cr_assert_eq(try_rmdir("agents/b/agents/c"), 0);
	expect_tombstone("", file, "agents/a/agents/c/cache/web/x", "a/c");
}

/* A step of a live task keeps files of its own tree only. */
Test(tree_root, steps_keep_files_of_their_tree)
{
	static const char *const trees[] = { "agents/a", "agents/b" };
	ofs_node file[2];

	for (size_t i = 0; i < 2; i++) {
		cr_assert_eq(try_mkdir(trees[i]), 0);
		put(in(trees[i], "cache/web/x"));
		file[i] = walk(in(trees[i], "cache/web/x"));
	}
	/* Each tree has one step for its own file and one for the other's. */
	for (size_t i = 0; i < 4; i++) {
		char text[64], name[64], ref[OFS_REF_SIZE];

		ofs_ref_format(t, file[i % 2], ref);
		snprintf(text, sizeof(text), "{\"outcome_ref\": \"%s\"}", ref);
		snprintf(name, sizeof(name), "tasks/t/history/step_%zu.json", i % 2);
		put_text(in(trees[i / 2], name), text);
	}
	ahead += 60 * DAY;
	cr_assert_eq(set(walk("agents/b/tasks/t"), "state", "live"), 0);
	run("");
	ahead += DAY / 1440;
	run("");
	cr_expect_eq(try_walk("agents/b/tasks/t/history/step_1.json"), 0);
	/* The task in agents/b is live. It keeps its own file, and none of agents/a. */
	cr_expect_eq(try_walk("agents/b/cache/web/x"), 0);
	cr_expect_eq(by_ref("agents/a", file[0]), -EKEYEXPIRED);
	cr_expect_eq(by_ref("agents/b", file[0]), -ENOENT);
	cr_expect_eq(by_ref("", file[0]), -EKEYEXPIRED);
}

/* ---- the end of an agent */

static void collect_twice(void)
{
	for (int i = 0; i < 2; i++) {
		run("");
		ahead += DAY / 1440;
	}
}

Test(tree_root, the_end_of_an_agent)
{
	static const char *const trees[] = { "", "agents/a", "agents/a/agents/c", "agents/b" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++) {
		if (i)
			cr_assert_eq(try_mkdir(trees[i]), 0);
		put(in(trees[i], "cache/web/x"));
		put(in(trees[i], "cache/web/pinned"));
		put(in(trees[i], "tasks/t/shell/x"));
		put(in(trees[i], "persistent/web/x"));
		cr_assert_eq(set(walk(in(trees[i], "cache/web/pinned")), "important", "1"), 0);
	}
	cr_expect_str_eq(xattr(walk("agents/a"), "state"), "live");
	cr_expect_eq(set(walk("agents/a"), "state", "over"), -EINVAL);
	cr_expect_eq(set(walk("agents/a/cache"), "state", "done"), -EOPNOTSUPP);
	cr_assert_eq(set(walk("agents/a"), "state", "done"), 0);
	cr_expect_str_eq(xattr(walk("agents/a"), "state"), "done");
	ahead += DAY / 1440;
	collect_twice();
	expect_whole("agents/a");
	cr_expect_eq(try_walk("agents/a/cache/web"), -ENOENT);
	cr_expect_eq(try_walk("agents/a/tasks/t"), -ENOENT);
	cr_expect_eq(try_walk("agents/a/persistent/web/x"), 0);
	cr_expect_eq(try_walk("agents/a/persistent/web/pinned"), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i += 3) {
		cr_expect_eq(try_walk(in(trees[i], "cache/web/x")), 0, "%s", trees[i]);
		cr_expect_eq(try_walk(in(trees[i], "cache/web/pinned")), 0, "%s", trees[i]);
		cr_expect_eq(try_walk(in(trees[i], "tasks/t/shell/x")), 0, "%s", trees[i]);
	}
	cr_expect_str_eq(xattr(walk("agents/b"), "state"), "live");
}

Test(tree_root, an_end_that_is_taken_back)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	put("agents/a/cache/web/x");
	cr_assert_eq(set(walk("agents/a"), "state", "done"), 0);
	cr_assert_eq(set(walk("agents/a"), "state", "live"), 0);
	ahead += DAY / 1440;
	collect_twice();
	cr_expect_eq(try_walk("agents/a/cache/web/x"), 0);
	cr_expect_str_eq(xattr(walk("agents/a"), "state"), "live");
}

Test(tree_root, an_end_with_all_that_there_is)
{
	cr_assert_eq(try_mkdir("agents/a"), 0);
	put("agents/a/cache/web/pinned");
	put("agents/a/persistent/web/x");
	cr_assert_eq(set(walk("agents/a/cache/web/pinned"), "important", "1"), 0);
	cr_assert_eq(set(walk("agents/a"), "state", "done drop-all"), 0);
	ahead += DAY / 1440;
	collect_twice();
	cr_expect_eq(try_walk("agents/a/cache/web"), -ENOENT);
	cr_expect_eq(try_walk("agents/a/persistent/web/pinned"), -ENOENT);
	cr_expect_eq(try_walk("agents/a/persistent/web/x"), 0);
	expect_whole("agents/a");
}
