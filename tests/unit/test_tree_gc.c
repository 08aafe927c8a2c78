/* SPDX-License-Identifier: MIT */
/* Garbage collection of a tree, with a clock that the tests set. */
#include <fcntl.h>
#include <sys/mman.h>

#include "tree/core/tree_state.h"

#include "test_tree_fixture.h"

#define SECOND OFS_NS_PER_S
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Evictable files are removed at once, unless a test sets a grace. */
static void begin(void)
{
	tree_options.grace_s = 0;
	tree_options.task_idle_s = 600;
	setup();
}

TestSuite(tree_gc, .init = begin, .fini = teardown);

/* ---- helpers */

static void put_text(const char *p, const char *text)
{
	ofs_tree_forget(t, make_of(p, text, strlen(text)), 1);
}

static const char *ref_of_node(ofs_node node)
{
	static char ref[OFS_REF_SIZE];

	ofs_ref_format(t, node, ref);
	return ref;
}

static const char *ref_of(const char *p)
{
	return ref_of_node(walk(p));
}

static json_t *root_json(const char *name)
{
	json_t *json = json_loads(xattr(OFS_NODE_ROOT, name), 0, NULL);

	cr_assert_not_null(json, "%s", name);
	return json;
}

static void pass(int64_t ns)
{
	ahead += ns;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
}

/* Waits, since the idle state of a task is cached for a moment. */
static void nap_until_known(void)
{
	for (int i = 0; i < 15; i++)
		nap();
}

static long number(json_t *json, const char *name)
{
	long n = (long)json_integer_value(json_object_get(json, name));

	json_decref(json);
	return n;
}

/* Collects. Returns the number of removed files. */
static long run(void)
{
	return number(collect("", "run"), "removed");
}

static void make_path(const char *p)
{
	char part[256];

	for (const char *at = strchr(p, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - p), p);
		if (try_walk(part) == -ENOENT)
			ofs_tree_forget(t, make_dir(part), 1);
	}
}

static void use_task(const char *name)
{
	char p[64];

	snprintf(p, sizeof(p), "tasks/%s", name);
	cr_assert_eq(set(walk(p), "state", "live"), 0);
	cr_assert_str_eq(xattr(walk(p), "state"), "live");
}

static const char *life_of(const char *p)
{
	return xattr(walk(p), "lifecycle");
}

static void expect_life(const char *p, const char *words)
{
	cr_assert_not_null(strstr(life_of(p), words), "%s: %s, not %s", p, life_of(p), words);
}

/* ---- which files are removed */

struct kind {
	const char *dir;
	bool working;
	bool ended;
	bool live;
};

static const struct kind kinds[] = {
	{ "", true, false },
	{ "cache/web/", true, false },
	{ "cache/web/deep/er/", true, false },
	{ "tasks/idle/shell/", true, false },
	{ "tasks/live/shell/", true, false, true },
	{ "tasks/over/shell/", true, true },
	{ "persistent/web/", false, false },
	{ "archive/web/", false, false },
};

struct subject {
	char path[128];
	char ref[OFS_REF_SIZE];
	bool goes;
	bool promoted;
};

enum {
	IMPORTANT = 1,
	REFERENCED = 2,
	OPEN = 4,
	OLD = 8,
	ALL = 16
};

static void make_subject(const struct kind *kind, int bits, struct subject *ret)
{
	char step[128], text[128];
	ofs_node node;

	snprintf(ret->path, sizeof(ret->path), "%sfile%d", kind->dir, bits);
	make_path(ret->path);
	node = make_of(ret->path, "text\n", 5);
	ofs_ref_format(t, node, ret->ref);
	cr_assert_eq(set(node, "ttl", bits & OLD ? "1h" : "10d"), 0);
	if (bits & IMPORTANT)
		cr_assert_eq(set(node, "important", "1"), 0);
	/* Some steps refer by ref, some by path. */
	snprintf(text, sizeof(text), "{\"outcome_ref\": \"%s\"}",
		 bits & OLD ? ret->ref : ret->path);
	snprintf(step, sizeof(step), "tasks/%s/history/step_%s.json",
		 bits & REFERENCED ? "live" : "over", ret->ref);
	make_path(step);
	put_text(step, text);
	if (!(bits & OPEN))
		ofs_tree_forget(t, node, 1);
	ret->goes = kind->working && !kind->live && !(bits & (IMPORTANT | REFERENCED | OPEN)) &&
		    (bits & OLD || kind->ended);
	ret->promoted = kind->ended && bits & IMPORTANT;
}

Test(tree_gc, every_combination)
{
	struct subject subjects[OFS_ARRAY_SIZE(kinds) * ALL];
	size_t n = 0, gone = 0;

	for (size_t k = 0; k < OFS_ARRAY_SIZE(kinds); k++)
		for (int bits = 0; bits < ALL; bits++)
			make_subject(&kinds[k], bits, &subjects[n++]);
	cr_assert_eq(set(walk("tasks/over"), "state", "done"), 0);
	pass(2 * HOUR);
	use_task("live");
	run();
	for (size_t i = 0; i < n; i++) {
		const struct subject *s = &subjects[i];
		char ref[32];

		snprintf(ref, sizeof(ref), "refs/%s", s->ref);
		cr_assert_eq(try_walk(s->path), s->goes || s->promoted ? -ENOENT : 0, "%s",
			     s->path);
		cr_assert_eq(try_walk(ref), s->goes ? -EKEYEXPIRED : 0, "%s", s->path);
		gone += s->goes;
	}
	/* The old file in each of five places, and in the ended task also the fresh one. */
	cr_assert_eq(gone, 6);
	/* A second run has nothing to do. */
	cr_assert_eq(run(), 0);
}

/* Each category's files stay for its lifetime and are removed after it. */
Test(tree_gc, every_category)
{
	static const struct {
		const char *dir;
		int64_t ttl; /* 0: never expires */
	} table[] = {
		{ "cache/shell", 30 * MINUTE }, { "cache/search", 6 * HOUR },
		{ "cache/web", 6 * HOUR },	{ "cache/file_read", 24 * HOUR },
		{ "cache/notes", 7 * DAY },	{ "cache/reports", 0 },
		{ "cache/builds", 24 * HOUR },	{ "tasks/t/shell", 30 * MINUTE },
		{ "tasks/t", 24 * HOUR },	{ "cache", 24 * HOUR },
	};
	int64_t passed = 0;
	char p[64];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++) {
		snprintf(p, sizeof(p), "%s/file", table[i].dir);
		make_path(p);
		put_text(p, "text\n");
	}
	while (passed <= 10 * DAY) {
		run();
		for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++) {
			int64_t ttl = table[i].ttl;

			snprintf(p, sizeof(p), "%s/file", table[i].dir);
			if (!ttl || passed < ttl)
				cr_assert_eq(try_walk(p), 0, "%s", p);
			/* A quarter more for uses that nobody saw, and a second for rounding. */
			else if (passed > ttl + ttl / 4 + SECOND)
				cr_assert_neq(try_walk(p), 0, "%s", p);
		}
		pass(20 * MINUTE);
		passed += 20 * MINUTE;
	}
}

/* ---- what counts as a use */

Test(tree_gc, a_use_renews)
{
	char buf[8];

	make_path("cache/shell/x");
	put_text("cache/shell/read", "text\n");
	put_text("cache/shell/written", "text\n");
	put_text("cache/shell/sliced", "text\n");
	put_text("cache/shell/looked-at", "text\n");
	for (int i = 0; i < 5; i++) {
		ofs_node slice;

		pass(25 * MINUTE);
		cr_assert_gt(ofs_tree_read(t, walk("cache/shell/read"), buf, sizeof(buf), 0), 0);
		cr_assert_gt(ofs_tree_write(t, walk("cache/shell/written"), "y", 1, 0), 0);
		slice = hold("cache/shell/sliced:1");
		cr_assert_gt(ofs_tree_read(t, slice, buf, sizeof(buf), 0), 0);
		ofs_tree_forget(t, slice, 1);
		/* Asking when it expires is no use. */
		if (i < 2)
			xattr(walk("cache/shell/looked-at"), "expires");
		run();
	}
	cr_assert_eq(try_walk("cache/shell/read"), 0);
	cr_assert_eq(try_walk("cache/shell/written"), 0);
	cr_assert_eq(try_walk("cache/shell/sliced"), 0);
	cr_assert_eq(try_walk("cache/shell/looked-at"), -ENOENT);
	pass(2 * HOUR);
	cr_assert_eq(run(), 3);
}

Test(tree_gc, promotion_clears_the_time_and_moving_back_starts_it)
{
	make_path("persistent/shell/x");
	make_path("cache/shell/dir/x");
	put_text("cache/shell/file", "text\n");
	put_text("cache/shell/dir/file", "text\n");
	move("cache/shell/file", "persistent/shell/file");
	move("cache/shell/dir", "persistent/shell/dir");
	cr_assert_str_eq(xattr(walk("persistent/shell/file"), "ttl"), "never");
	pass(100 * DAY);
	cr_assert_eq(run(), 0);
	move("persistent/shell/file", "cache/shell/file");
	move("persistent/shell/dir", "cache/shell/dir");
	pass(25 * MINUTE);
	cr_assert_eq(run(), 0);
	pass(25 * MINUTE);
	cr_assert_eq(run(), 2);
}

Test(tree_gc, ageing_survives_restarts)
{
	make_path("cache/shell/x");
	put_text("cache/shell/old", "text\n");
	pass(20 * MINUTE);
	reopen();
	put_text("cache/shell/new", "text\n");
	pass(18 * MINUTE);
	reopen();
	cr_assert_eq(run(), 1);
	cr_assert_eq(try_walk("cache/shell/old"), -ENOENT);
	cr_assert_eq(try_walk("cache/shell/new"), 0);
}

/* A file that has a name outside the working tier keeps all its names. */
Test(tree_gc, names)
{
	ofs_node node;

	make_path("cache/shell/x");
	make_path("persistent/shell/x");
	node = make("cache/shell/both");
	link_to(node, "persistent/shell/both");
	link_to(node, "cache/shell/again");
	ofs_tree_forget(t, node, 1);
	node = make("cache/shell/one");
	link_to(node, "cache/shell/two");
	ofs_tree_forget(t, node, 1);
	pass(HOUR);
	cr_assert_eq(run(), 1);
	cr_assert_eq(try_walk("cache/shell/both"), 0);
	cr_assert_eq(try_walk("cache/shell/again"), 0);
	cr_assert_eq(try_walk("cache/shell/one"), -ENOENT);
	cr_assert_eq(try_walk("cache/shell/two"), -ENOENT);
}

/* The longest of the lifetimes that its names give counts. */
Test(tree_gc, names_with_different_times)
{
	ofs_node node;

	make_path("cache/notes/x");
	make_path("cache/shell/x");
	make_path("tasks/live/web/x");
	make_path("tasks/over/web/x");
	node = make("cache/notes/long");
	link_to(node, "cache/shell/short");
	ofs_tree_forget(t, node, 1);
	node = make("tasks/live/web/file");
	link_to(node, "tasks/over/web/file");
	ofs_tree_forget(t, node, 1);
	cr_assert_eq(set(walk("tasks/over"), "state", "done"), 0);
	cr_assert_eq(run(), 0);
	pass(2 * HOUR);
	cr_assert_eq(run(), 0);
	cr_assert_eq(try_walk("cache/shell/short"), 0);
	cr_assert_eq(try_walk("tasks/over/web/file"), 0);
	pass(10 * DAY);
	cr_assert_eq(run(), 2);
}

/* ---- tasks */

Test(tree_gc, the_end_of_a_task)
{
	char buf[8];

	make_path("tasks/t/reports/deep/x");
	make_path("persistent/reports/x");
	put_text("tasks/t/reports/a", "a\n");
	put_text("tasks/t/reports/deep/b", "b\n");
	put_text("tasks/t/kept", "c\n");
	move("tasks/t/kept", "persistent/reports/kept");
	cr_assert_gt(ofs_tree_read(t, walk("tasks/t/reports/a"), buf, sizeof(buf), 0), 0);
	cr_assert_str_eq(xattr(walk("tasks/t"), "state"), "live");
	cr_assert_eq(number(collect("", "dry-run drop-all task t"), "removed"), 2);
	cr_assert_eq(number(collect("", "dry-run task t"), "promoted"), 2);
	cr_assert_eq(try_walk("tasks/t/reports/a"), 0);
	cr_assert_eq(set(walk("tasks/t"), "state", "done drop-all"), 0);
	cr_assert_str_eq(xattr(walk("tasks/t"), "state"), "done");
	cr_assert_eq(run(), 2);
	cr_assert_eq(try_walk("tasks/t"), -ENOENT, "it is empty, and goes as well");
	cr_assert_eq(try_walk("persistent/reports/kept"), 0);
}

/* Files made in a task after its end have their own lifetime. */
Test(tree_gc, after_the_end_of_a_task)
{
	make_path("tasks/t/shell/x");
	put_text("tasks/t/shell/before", "a\n");
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	pass(10 * SECOND);
	put_text("tasks/t/shell/after", "b\n");
	cr_assert_eq(run(), 1);
	cr_assert_eq(try_walk("tasks/t/shell/after"), 0);
	pass(HOUR);
	cr_assert_eq(run(), 1);

	make_path("tasks/u/shell/x");
	put_text("tasks/u/shell/file", "a\n");
	cr_assert_eq(set(walk("tasks/u"), "state", "done"), 0);
	cr_assert_eq(set(walk("tasks/u"), "state", "live"), 0);
	cr_assert_eq(run(), 0);
	cr_assert_eq(set(walk("tasks/u"), "state", "maybe"), -EINVAL);
	cr_assert_eq(set(walk("tasks/u/shell"), "state", "done"), -EOPNOTSUPP);
	cr_assert_eq(set(walk("cache"), "state", "done"), -EOPNOTSUPP);
	cr_assert_str_eq(xattr(walk("cache"), "state"), "-");
}

/* An ended task that is promoted and later moved back is live. */
Test(tree_gc, an_ended_task_that_was_promoted)
{
	make_path("tasks/t/shell/x");
	put_text("tasks/t/shell/file", "a\n");
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	pass(10 * SECOND);
	move("tasks/t", "persistent/t");
	pass(DAY);
	cr_assert_eq(run(), 0);
	move("persistent/t", "tasks/t");
	cr_assert_str_eq(xattr(walk("tasks/t"), "state"), "live");
	cr_assert_eq(run(), 0);
	cr_assert_eq(try_walk("tasks/t/shell/file"), 0);
}

/* ---- steps */

static void put_step(const char *p, const char *names)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"outcome_ref\": \"%s\"}", names);
	put_text(p, text);
}

/* A path keeps the file that is there now, and the one that was there when the step was read. */
Test(tree_gc, a_step_names_a_path)
{
	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	put_text("cache/shell/replaced", "old\n");
	put_text("cache/shell/moved", "text\n");
	put_step("tasks/t/history/step_1.json", "cache/shell/replaced");
	put_step("tasks/t/history/step_2.json", "cache/shell/moved");
	put_step("tasks/t/history/step_3.json", "cache/shell/later");
	put_step("tasks/t/history/step_4.json", "/mnt/elsewhere/cache/shell/far:1-2");
	cr_assert_eq(run(), 0);
	put_text("cache/shell/new", "new\n");
	put_text("cache/shell/later", "new\n");
	put_text("cache/shell/far", "new\n");
	move("cache/shell/new", "cache/shell/replaced");
	move("cache/shell/moved", "cache/shell/aside");
	pass(3 * DAY);
	use_task("t");
	cr_assert_eq(run(), 0);
	cr_assert_eq(try_walk("cache/shell/aside"), 0);
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	cr_assert_eq(run(), 8);
}

/* Steps keep files of their tree and of those in it, whatever changes where. */
Test(tree_gc, steps_of_several_trees)
{
	static const char file[] = "agents/a/cache/shell/file",
			  moved[] = "agents/b/cache/shell/moved",
			  own[] = "agents/b/cache/shell/own";

	make_path("agents/a/cache/shell/x");
	make_path("agents/b/cache/shell/x");
	put_text(file, "text\n");
	put_text(own, "text\n");
	make_path("tasks/t/history/x");
	make_path("agents/a/tasks/t/history/x");
	make_path("agents/b/tasks/t/history/x");
	put_step("agents/b/tasks/t/history/step_2.json", "cache/shell/own");
	put_step("agents/a/tasks/t/history/step_1.json", ref_of(own));
	pass(HOUR);
	use_task("t");
	cr_assert_eq(set(walk("agents/b/tasks/t"), "state", "live"), 0);
	cr_assert_eq(set(walk("agents/a/tasks/t"), "state", "live"), 0);
	expect_life(own, "tasks/t/history/step_2.json, which refers to it");
	expect_life(file, "goes with the next collection");
	put_step("tasks/t/history/step_1.json", file);
	expect_life(file, "kept for a step, which refers to it");
	move(file, moved);
	put_text(file, "text\n");
	pass(HOUR);
	use_task("t");
	expect_life(moved, "kept for a step, which refers to it");
	expect_life(file, "kept for a step, which refers to it");
	drop("tasks/t/history/step_1.json");
	expect_life(moved, "goes with the next collection");
	expect_life(own, "goes with the next collection");
}

static uint64_t inodes_asked(void)
{
	struct ofs_store_stats stats;

	cr_assert_eq(ofs_store_stats(t->store, &stats), 0);
	return stats.inodes_asked;
}

/* Others do not pay for the steps of an agent that changes something all the time. */
Test(tree_gc, steps_of_other_trees_are_left_alone)
{
	uint64_t before;

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	make_path("agents/a/tasks/t/history/x");
	for (int i = 0; i < 200; i++) {
		char p[64];

		snprintf(p, sizeof(p), "agents/a/tasks/t/history/step_%d.json", i);
		put_step(p, "cache/shell/file");
	}
	expect_life("cache/shell/file", "in use until");
	put_text("agents/a/tasks/t/more", "text\n");
	before = inodes_asked();
	expect_life("cache/shell/file", "in use until");
	cr_expect_lt(inodes_asked() - before, 200);
	before = inodes_asked();
	cr_expect_str_neq(xattr(walk("agents/a/tasks/t/more"), "lifecycle"), "-");
	cr_expect_geq(inodes_asked() - before, 200, "its own are read again");
}

Test(tree_gc, how_a_step_names_a_file)
{
	static const struct {
		const char *before, *after;
	} forms[] = {
		{ "{\"outcome_ref\": \"", "\"}" },
		{ "{\"outcome_ref\": \"refs/", "\"}" },
		{ "{\"outcome_ref\": \"./refs/", ":1-1\"}" },
		{ "{\"outcome_ref\": [\"nothing\", \"", "\"]}" },
		{ "{\"outcome_ref\": {\"ref\": \"", "\", \"path\": \"elsewhere\"}}" },
		{ "{\"step\": 3, \"result\": {\"all\": [{\"outcome_ref\": \"", "\"}]}}" },
		{ "{\"outcome_ref\": \".offload/refs/", "\"}" },
		{ "{\"outcome_ref\": \"/anywhere/.offload/refs/", "\"}" },
	};
	char p[64], text[256];

	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms); i++) {
		snprintf(p, sizeof(p), "cache/shell/file%zu", i);
		put_text(p, "text\n");
		snprintf(text, sizeof(text), "%s%s%s", forms[i].before, ref_of(p), forms[i].after);
		snprintf(p, sizeof(p), "tasks/t/history/step_%zu.json", i);
		put_text(p, text);
	}
	put_text("cache/shell/other", "text\n");
	put_text("tasks/t/history/step_x.json", "{\"outcome_ref\": ");
	put_text("tasks/t/history/notes.json", "{\"outcome_ref\": \"cache/shell/other\"}");
	pass(HOUR);
	use_task("t");
	cr_assert_eq(run(), 1);
	cr_assert_eq(try_walk("cache/shell/other"), -ENOENT);
	cr_assert_not_null(strstr(xattr(walk("cache/shell/file0"), "lifecycle"),
				  "tasks/t/history/step_0.json"));
	/* A rewritten step keeps what it names now. A removed step keeps nothing. */
	cr_assert_gt(ofs_tree_write(t, walk("tasks/t/history/step_0.json"), "{}        ", 10, 0),
		     0);
	ofs_tree_setattr(t, walk("tasks/t/history/step_0.json"),
			 &(struct ofs_setattr){ .set = OFS_SET_SIZE, .size = 2 },
			 &(struct stat){ 0 });
	drop("tasks/t/history/step_1.json");
	cr_assert_eq(run(), 2);
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	run();
	cr_assert_eq(try_walk("cache/shell/file5"), -ENOENT);
}

/* ---- tombstones */

Test(tree_gc, tombstones)
{
	char ref[32], info[64], text[4096];
	ofs_node node;
	json_t *json;
	ssize_t n;

	make_path("tasks/t/shell/x");
	node = make_of("tasks/t/shell/file", "one\ntwo\n", 8);
	cr_assert_eq(set(node, "title", "A title"), 0);
	cr_assert_eq(set(node, "tags", "a,b"), 0);
	snprintf(ref, sizeof(ref), "refs/%s", ref_of_node(node));
	snprintf(info, sizeof(info), "%s:info", ref);
	ofs_tree_forget(t, node, 1);
	cr_assert_eq(ofs_tree_seal(t), 0);
	pass(41 * MINUTE);
	cr_assert_eq(run(), 1);
	reopen();
	cr_assert_eq(try_walk(ref), -EKEYEXPIRED);
	strcat(ref, ":1-2");
	cr_assert_eq(try_walk(ref), -EKEYEXPIRED);
	node = hold(info);
	n = ofs_tree_read(t, node, text, sizeof(text) - 1, 0);
	cr_assert_gt(n, 0);
	text[n] = 0;
	json = json_loads(text, 0, NULL);
	cr_assert_not_null(json);
	cr_assert_str_eq(json_string_value(json_object_get(json, "path")), "tasks/t/shell/file");
	cr_assert_eq(json_integer_value(json_object_get(json, "size")), 8);
	cr_assert_eq(json_integer_value(json_object_get(json, "lines")), 2);
	cr_assert_eq(strlen(json_string_value(json_object_get(json, "sha256"))), 64);
	cr_assert_str_eq(json_string_value(json_object_get(json, "task")), "t");
	cr_assert_str_eq(json_string_value(json_object_get(json, "title")), "A title");
	cr_assert_str_eq(json_string_value(json_object_get(json, "tags")), "a,b");
	cr_assert_str_eq(json_string_value(json_object_get(json, "reason")), "expired");
	cr_assert_not_null(
		strstr(json_string_value(json_object_get(json, "why")), "its lifetime is 30m"));
	cr_assert_not_null(json_string_value(json_object_get(json, "removed")));
	json_decref(json);
	/* A ref that was never given has no tombstone. */
	cr_assert_eq(try_walk("refs/zzzzzz"), -ENOENT);
	cr_assert_eq(try_walk("refs/zzzzzz:info"), -ENOENT);
}

/* Looking up a slice is no use of the file if it is refused. */
Test(tree_gc, lookups_of_others_are_no_use)
{
	const struct ofs_setattr closed = { .set = OFS_SET_MODE, .mode = 0600 };
	const struct ofs_cred other = { .uid = 12345, .gid = 12345 };
	struct ofs_entry e;
	struct stat st;

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	cr_assert_eq(ofs_tree_setattr(t, walk("cache/shell/file"), &closed, &st), 0);
	pass(20 * MINUTE);
	cr_assert_eq(ofs_tree_lookup_as(t, walk("cache/shell"), "file:1", &other, &e), -EACCES);
	pass(21 * MINUTE);
	cr_assert_eq(run(), 1);
}

/* Only the owner of the store sees tombstones. */
Test(tree_gc, tombstones_of_others)
{
	const struct ofs_cred other = { .uid = 12345, .gid = 12345 };
	struct ofs_entry e;
	char name[32];

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	ofs_ref_format(t, walk("cache/shell/file"), name);
	pass(HOUR);
	cr_assert_eq(run(), 1);
	cr_assert_eq(ofs_tree_lookup_as(t, walk("refs"), name, &other, &e), -ENOENT);
	strcat(name, ":info");
	cr_assert_eq(ofs_tree_lookup_as(t, walk("refs"), name, &other, &e), -ENOENT);
}

/* ---- reports */

Test(tree_gc, dry_run)
{
	const char *why;
	json_t *json;

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	pass(41 * MINUTE);
	cr_assert_eq(number(collect("", "dry-run"), "removed"), 1);
	cr_assert_eq(try_walk("cache/shell/file"), 0);
	json = root_json("gc.0");
	cr_assert_str_eq(json_string_value(json_object_get(json, "path")), "cache/shell/file");
	cr_assert_str_eq(json_string_value(json_object_get(json, "action")), "remove");
	/* "40m 59s" or "41m", depending on when within a second the file was made. */
	why = json_string_value(json_object_get(json, "why"));
	cr_assert(!strncmp(why, "unused for 4", 12) && strstr(why, ", its lifetime is 30m"), "%s",
		  why);
	json_decref(json);
	cr_assert_str_eq(xattr(OFS_NODE_ROOT, "gc.1"), "-");
	cr_assert_str_eq(xattr(OFS_NODE_ROOT, "gc.x"), "-");
	cr_assert_eq(set(OFS_NODE_ROOT, "gc", "walk"), -EINVAL);
	cr_assert_eq(set(OFS_NODE_ROOT, "gc", "dry-run task none"), -ENOENT);
	cr_assert_eq(set(OFS_NODE_ROOT, "gc", "stop"), 0);
}

Test(tree_gc, explanations)
{
	make_path("cache/shell/x");
	make_path("cache/reports/x");
	put_text("cache/shell/file", "text\n");
	put_text("cache/reports/file", "text\n");
	put_text("persistent/file", "text\n");
	put_text("cache/shell/important", "text\n");
	cr_assert_eq(set(walk("cache/shell/important"), "important", "1"), 0);
	pass(10 * MINUTE);
	cr_assert_not_null(
		strstr(xattr(walk("cache/shell/file"), "lifecycle"), "Z unless it is used"));
	cr_assert_str_eq(xattr(walk("cache/reports/file"), "lifecycle"), "kept: it never expires");
	cr_assert_str_eq(xattr(walk("persistent/file"), "lifecycle"),
			 "kept: it is not in the working tier");
	cr_assert_str_eq(xattr(walk("cache/shell/important"), "lifecycle"),
			 "kept: it is marked important");
	pass(HOUR);
	cr_assert_not_null(strstr(xattr(walk("cache/shell/file"), "lifecycle"),
				  "goes with the next collection: its lifetime of 30m ended at "));
}

/* The explanation does not name a step in a directory that others cannot list. */
Test(tree_gc, explanations_for_others)
{
	const struct ofs_setattr closed = { .set = OFS_SET_MODE, .mode = 0711 };
	const struct ofs_cred other = { .uid = 12345, .gid = 12345 };
	struct stat st;
	char why[256];

	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	put_text("cache/shell/file", "text\n");
	put_step("tasks/t/history/step_1.json", "cache/shell/file");
	pass(HOUR);
	use_task("t");
	for (int i = 0; i < 2; i++) {
		ssize_t n = ofs_tree_getxattr_as(t, walk("cache/shell/file"),
						 "user.offload.lifecycle", why, sizeof(why) - 1,
						 &other);

		cr_assert_gt(n, 0);
		why[n] = 0;
		cr_assert_eq(strstr(why, "kept for a step, ") != NULL, i == 1, "%s", why);
		cr_assert_eq(strstr(why, "history/step_1.json") != NULL, i == 0, "%s", why);
		cr_assert_eq(ofs_tree_setattr(t, walk("tasks/t"), &closed, &st), 0);
	}
	cr_assert_not_null(strstr(xattr(walk("cache/shell/file"), "lifecycle"), "step_1.json"));
}

static void expect_collection(const char *tree, const char *state)
{
	json_t *json = json_loads(xattr(walk(tree), "gc"), 0, NULL);

	cr_expect_str_eq(json_string_value(json_object_get(json, "state")), state, "%s", tree);
	json_decref(json);
}

/* A request does not wait for the collection of another tree. */
Test(tree_gc, requests_take_turns)
{
	static const char *const trees[] = { "agents/a", "agents/b", "agents/c" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++)
		ofs_tree_forget(t, make_dir(trees[i]), 1);
	make_path("agents/a/cache/shell/x");
	make_path("agents/b/cache/shell/x");
	/* Tries to remove this one are repeated for a second. */
	make("agents/a/cache/shell/open");
	put_text("agents/b/cache/shell/file", "text\n");
	pass(HOUR);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++)
		cr_assert_eq(set(walk(trees[i]), "gc", "run"), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(trees); i++)
		expect_collection(trees[i], "running");
	cr_expect_eq(set(walk("agents/b"), "gc", "dry-run"), -EBUSY);
	cr_expect_str_eq(xattr(walk("agents/b"), "gc.0"), "-");
	cr_assert_eq(set(walk("agents/c"), "gc", "stop"), 0);
	expect_collection("agents/c", "stopped");
	expect_collection("agents/a", "running");
	cr_expect_eq(number(collected("agents/b"), "removed"), 1);
	cr_expect_eq(number(collected("agents/a"), "open"), 1);
	cr_expect_eq(number(collect("agents/c", "run"), "removed"), 0);
	cr_expect_eq(try_walk("agents/a/cache/shell/open"), 0);
}

/* ---- read errors */

/* Flips a bit of a file of the store where it has these bytes. */
static void flip(const char *file, const char *bytes)
{
	char name[128], *data, *at;
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "%s/%s", path, file);
	fd = open(name, O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(data, MAP_FAILED);
	at = memmem(data, (size_t)st.st_size, bytes + 1, strlen(bytes + 1));
	cr_assert_not_null(at);
	at[-1] ^= 1;
	munmap(data, (size_t)st.st_size);
	close(fd);
}

Test(tree_gc, labels_that_cannot_be_read_keep_a_file)
{
	static const char end[] = "the end of a title";
	char title[1000] = "";
	ofs_node node;

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	/* Long enough for its end to lie in a page without other attributes. */
	memset(title, '-', sizeof(title) - sizeof(end));
	strcat(title, end);
	node = walk("cache/shell/file");
	cr_assert_eq(set(node, "title", title), 0);
	cr_assert_eq(set(node, "important", "1"), 0);
	reopen();
	pass(HOUR);
	flip("index.db", end);
	cr_expect_eq(run(), 0);
	cr_expect_eq(try_walk("cache/shell/file"), 0);
	flip("index.db", end);
	cr_expect_eq(run(), 0);
	cr_expect_str_eq(xattr(walk("cache/shell/file"), "lifecycle"),
			 "kept: it is marked important");
	cr_expect_eq(set(walk("cache/shell/file"), "important", "0"), 0);
	pass(HOUR);
	cr_expect_eq(run(), 1);
}

Test(tree_gc, a_step_that_cannot_be_read_is_read_again)
{
	static const char pack[] = "packs/00000001.pack", name[] = "cache/shell/file";

	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	put_text(name, "text\n");
	put_step("tasks/t/history/step_1.json", name);
	cr_assert_eq(ofs_tree_seal(t), 0);
	reopen();
	flip(pack, name);
	cr_expect_eq(run(), 0);
	flip(pack, name);
	pass(3 * DAY);
	use_task("t");
	cr_expect_eq(run(), 0);
	expect_life(name, "step_1.json, which refers to it");
}

/* ---- shortage of space */

static void grant(uint64_t grace_s, uint64_t keep)
{
	tree_options.grace_s = grace_s;
	tree_options.working_keep = keep;
	reopen();
}

static void put_large(const char *p)
{
	static char data[100000];

	make_path(p);
	ofs_tree_forget(t, make_of(p, data, sizeof(data)), 1);
}

/* After a rest of some days, a conversation still finds what its pointers name. */
Test(tree_gc, what_is_evictable_stays_for_its_grace)
{
	json_t *json;

	grant(7 * 86400, 0);
	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	expect_life("cache/shell/file", "in use until ");
	pass(31 * MINUTE);
	for (int day = 0; day < 7; day++) {
		cr_assert_eq(run(), 0);
		expect_life("cache/shell/file", "evictable since ");
		expect_life("cache/shell/file", ": stays while there is room, goes after ");
		pass(DAY);
	}
	json = collect("", "dry-run");
	cr_assert_eq(number(json_incref(json), "removed"), 1);
	cr_assert_eq(number(json, "evictable"), 0);
	cr_assert_eq(run(), 1);
}

Test(tree_gc, what_is_evictable_is_told)
{
	json_t *json;

	grant(7 * 86400, 0);
	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	put_text("cache/shell/fresh", "text\n");
	pass(20 * MINUTE);
	cr_assert_gt(ofs_tree_write(t, walk("cache/shell/fresh"), "y", 1, 0), 0);
	pass(15 * MINUTE);
	json = collect("", "dry-run");
	cr_assert_eq(number(json_incref(json), "evictable_bytes"), 5);
	cr_assert_eq(number(json_incref(json), "items"), 1);
	cr_assert_eq(number(json, "evictable"), 1);
	json = root_json("gc.0");
	cr_assert_str_eq(json_string_value(json_object_get(json, "action")), "evictable");
	cr_assert_not_null(json_string_value(json_object_get(json, "at")));
	json_decref(json);
}

/* An agent cannot fill memory with the reports of trees in its own. */
Test(tree_gc, reports_of_an_agent_have_a_limit)
{
	char tree[6][96] = { "agents/a" }, name[16];
	struct ofs_entry e;
	ofs_node shell;

	grant(7 * 86400, 0);
	make_path("agents/z/cache/shell/x");
	put_text("agents/z/cache/shell/file", "text\n");
	for (int i = 0; i < 6; i++) {
		if (i)
			snprintf(tree[i], sizeof(tree[i]), "%s/agents/%d", tree[i - 1], i);
		make_dir(tree[i]);
	}
	snprintf(tree[5] + strlen(tree[5]), sizeof(tree[5]) - strlen(tree[5]), "/cache/shell");
	shell = make_dir(tree[5]);
	*strstr(tree[5], "/cache/shell") = 0;
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		cr_assert_eq(ofs_tree_mknod(t, shell, name, S_IFREG | 0600, 0, &cred, &e), 0);
		ofs_tree_forget(t, e.node, 1);
	}
	pass(HOUR);
	cr_expect_eq(number(collect("agents/z", "dry-run"), "items"), 1);
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(number(collect(tree[i], "dry-run"), "items"), 5000);
		cr_expect_str_neq(xattr(walk(tree[i]), "gc.4999"), "-");
		cr_expect_eq(!strcmp(xattr(walk(tree[0]), "gc.0"), "-"), i == 5, "%d", i);
	}
	cr_expect_str_neq(xattr(walk("agents/z"), "gc.0"), "-");
}

/* A file that is removed for lack of space is not told as one that stays, too. */
Test(tree_gc, what_is_removed_is_told_once)
{
	json_t *json;

	grant(7 * 86400, 150000);
	put_large("cache/shell/0");
	put_large("cache/shell/1");
	pass(3 * HOUR);
	json = collect("", "dry-run");
	cr_expect_eq(number(json_incref(json), "removed"), 1);
	cr_expect_eq(number(json_incref(json), "evictable"), 1);
	cr_expect_eq(number(json, "items"), 2);
	for (int i = 0; i < 2; i++) {
		json = root_json(i ? "gc.1" : "gc.0");
		cr_expect_str_eq(json_string_value(json_object_get(json, "action")),
				 i ? "remove" : "evictable");
		cr_expect_str_eq(json_string_value(json_object_get(json, "path")),
				 i ? "cache/shell/0" : "cache/shell/1");
		json_decref(json);
	}
}

/* If space is short, evictable files go, the least recently used first. */
Test(tree_gc, pressure_takes_what_was_used_longest_ago)
{
	static const char *const kept[] = { "cache/shell/pinned",  "cache/reports/forever",
					    "cache/web/unexpired", "tasks/live/shell/file",
					    "cache/shell/named",   "cache/shell/0",
					    "cache/shell/4" };
	char buf[8], ref[32], info[4096];
	ofs_node node;
	ssize_t n;

	grant(7 * 86400, 750000);
	for (size_t i = 0; i < 5; i++)
		put_large(kept[i]);
	cr_assert_eq(set(walk("cache/shell/pinned"), "important", "1"), 0);
	make_path("tasks/live/history/x");
	put_step("tasks/live/history/step_1.json", "cache/shell/named");
	for (int i = 0; i < 5; i++) {
		char p[32];

		snprintf(p, sizeof(p), "cache/shell/%d", i);
		put_large(p);
		pass(5 * SECOND);
	}
	/* The first of them is used again. */
	cr_assert_gt(ofs_tree_read(t, walk("cache/shell/0"), buf, sizeof(buf), 0), 0);
	snprintf(ref, sizeof(ref), "refs/%s:info", ref_of("cache/shell/1"));
	pass(32 * MINUTE);
	cr_assert_eq(run(), 0, "a use may be hidden for a quarter of its time");
	pass(9 * MINUTE);
	cr_assert_gt(ofs_tree_read(t, walk("tasks/live/history/step_1.json"), buf, 8, 0), 0);
	nap_until_known();
	cr_assert_eq(run(), 3);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kept); i++)
		cr_assert_eq(try_walk(kept[i]), 0, "%s", kept[i]);
	expect_life("tasks/live/shell/file", "kept: its task is live, until ");
	node = hold(ref);
	n = ofs_tree_read(t, node, info, sizeof(info) - 1, 0);
	cr_assert_gt(n, 0);
	info[n] = 0;
	cr_assert_not_null(strstr(info, "\"reason\": \"pressure\""), "%s", info);
	cr_assert_not_null(strstr(info, ", and room was needed"), "%s", info);
	cr_assert_eq(run(), 0, "it fits");
}

/* ---- live, idle, done */

static void expect_state(const char *name, const char *state)
{
	char p[64];

	snprintf(p, sizeof(p), "tasks/%s", name);
	nap_until_known();
	cr_assert_str_eq(xattr(walk(p), "state"), state, "%s", name);
}

Test(tree_gc, a_task_is_live_while_anything_in_it_is_used)
{
	char buf[8];

	make_path("tasks/t/shell/deep/x");
	make_path("tasks/u/shell/x");
	put_text("tasks/t/shell/file", "text\n");
	put_text("tasks/t/shell/deep/other", "text\n");
	put_text("tasks/u/shell/file", "text\n");
	expect_state("t", "live");
	for (int i = 0; i < 20; i++) {
		pass(9 * MINUTE);
		cr_assert_gt(ofs_tree_read(t, walk("tasks/t/shell/deep/other"), buf, 8, 0), 0);
		expect_state("t", "live");
		run();
	}
	cr_assert_eq(try_walk("tasks/t/shell/file"), 0);
	cr_assert_eq(try_walk("tasks/u/shell/file"), -ENOENT, "its task is idle");
	/* A quarter longer, for uses that nobody saw. */
	pass(12 * MINUTE);
	expect_state("t", "live");
	pass(2 * MINUTE);
	expect_state("t", "idle");
	cr_assert_gt(ofs_tree_read(t, walk("tasks/t/shell/deep/other"), buf, 8, 0), 0);
	expect_state("t", "live");
	pass(14 * MINUTE);
	expect_state("t", "idle");
	cr_assert_eq(run(), 1);
	cr_assert_eq(try_walk("tasks/t/shell/deep/other"), 0, "its own time is not over");
	use_task("t");
	pass(2 * HOUR);
	use_task("t");
	cr_assert_eq(run(), 0);
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	expect_state("t", "done");
	use_task("t");
	cr_assert_eq(run(), 0, "it is live again");
}

/* A step stops keeping files when its task becomes idle, unless the task is used again in time. */
Test(tree_gc, steps_of_idle_tasks_keep_nothing)
{
	char buf[8];

	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	put_text("cache/shell/file", "text\n");
	put_text("tasks/t/note", "note\n");
	put_step("tasks/t/history/step_1.json", "cache/shell/file");
	for (int i = 0; i < 10; i++) {
		pass(12 * MINUTE);
		cr_assert_gt(ofs_tree_read(t, walk("tasks/t/note"), buf, 8, 0), 0);
		cr_assert_eq(run(), 0);
	}
	expect_life("cache/shell/file", "step_1.json, which refers to it");
	pass(14 * MINUTE);
	expect_life("cache/shell/file", "goes with the next collection");
	cr_assert_gt(ofs_tree_read(t, walk("tasks/t/note"), buf, 8, 0), 0);
	expect_state("t", "live");
	cr_assert_eq(run(), 0);
	pass(14 * MINUTE);
	cr_assert_eq(run(), 1);
}

/* ---- the clock */

/* After a month of being closed, a store looks as if an hour had passed. */
Test(tree_gc, a_month_of_being_closed_is_an_hour)
{
	make_path("cache/shell/x");
	make_path("tasks/t/shell/x");
	grant(7 * 86400, 0);
	tree_options.task_idle_s = 86400;
	reopen();
	put_text("cache/shell/file", "text\n");
	put_text("tasks/t/shell/file", "text\n");
	pass(22 * HOUR);
	ofs_tree_close(t);
	pass(30 * DAY);
	open_tree();
	cr_assert_str_eq(xattr(walk("tasks/t"), "state"), "live");
	cr_assert_eq(run(), 0);
	expect_life("cache/shell/file", "evictable since ");
	pass(8 * DAY);
	cr_assert_eq(run(), 2);
}

/* ---- beyond the limits */

/* Makes a step with `n` times `text` between `before` and `after`. */
static void put_long_step(const char *p, const char *before, const char *text, size_t n,
			  const char *after)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_append_str(&b, before);
	while (n--)
		ofs_buf_append_str(&b, text);
	ofs_buf_append_str(&b, after);
	put_text(p, ofs_buf_str(&b));
}

/* A step that cannot be read may refer to any file. */
Test(tree_gc, a_step_beyond_the_limits_keeps_all)
{
	static const struct {
		const char *before, *text;
		size_t n;
		const char *after;
		bool beyond;
	} steps[] = {
		{ "{\"outcome_ref\": \"x\", \"text\": \"", "[,{", 300000, "\"}", false },
		{ "{\"outcome_ref\": \"x\", \"text\": \"", "[\\\"{", 200000, "\"}", false },
		{ "{\"outcome_ref\": \"x\"", " ", 1 << 20, "}", true },
		{ "{\"outcome_ref\": [", "1,", 65536, "1]}", true },
		{ "{\"outcome_ref\": [", "1,", 65000, "1]}", false },
		{ "{\"outcome_ref\": \"", "x", 1025, "\"}", true },
		{ "{\"outcome_ref\": \"", "x", 1024, "\"}", false },
	};

	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(steps); i++) {
		const char *why;

		put_text("cache/shell/file", "text\n");
		pass(3 * DAY);
		put_long_step("tasks/t/history/step_1.json", steps[i].before, steps[i].text,
			      steps[i].n, steps[i].after);
		why = xattr(walk("cache/shell/file"), "lifecycle");
		cr_assert_eq(strstr(why, "step_1.json, which is too large to be read") != NULL,
			     steps[i].beyond, "%zu: %s", i, why);
		cr_assert_eq(run(), !steps[i].beyond, "%zu", i);
		drop("tasks/t/history/step_1.json");
		if (steps[i].beyond)
			cr_assert_eq(run(), 1, "%zu", i);
	}
}

/* Steps beyond the memory for them also count as referring to every file, until there is room. */
Test(tree_gc, steps_beyond_the_memory_for_them_keep_all)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf name = OFS_BUF_INIT;
	char p[64];

	ofs_buf_append_str(&name, "\"");
	for (int i = 0; i < 500; i++)
		ofs_buf_append_str(&name, "x/");
	ofs_buf_append_str(&name, "\",");
	make_path("cache/shell/x");
	make_path("tasks/t/history/x");
	put_text("cache/shell/file", "text\n");
	for (int i = 0; i < 3; i++) {
		snprintf(p, sizeof(p), "tasks/t/history/step_%d.json", i);
		put_long_step(p, "{\"outcome_ref\": [", ofs_buf_str(&name), 1000, "\"\"]}");
	}
	pass(3 * DAY);
	use_task("t");
	cr_assert_eq(run(), 0);
	cr_assert_not_null(strstr(xattr(walk("cache/shell/file"), "lifecycle"), "step_2.json"));
	drop("tasks/t/history/step_0.json");
	cr_assert_eq(run(), 1);
}

Test(tree_gc, an_ended_task_of_any_depth_goes)
{
	struct ofs_entry e = { .node = make_dir("tasks/t") }, below;

	for (int i = 0; i < 100000; i++) {
		cr_assert_eq(ofs_tree_mkdir(t, e.node, "d", 0755, &cred, &below), 0);
		ofs_tree_forget(t, e.node, 1);
		e = below;
	}
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(set(walk("tasks/t"), "state", "done"), 0);
	run();
	cr_assert_eq(try_walk("tasks/t"), -ENOENT);
}

Test(tree_gc, a_stepped_clock_makes_nothing_older)
{
	static const int64_t steps[] = { HOUR, -2 * HOUR, 366 * DAY, -2 * 366 * DAY, 366 * DAY };

	make_path("cache/shell/x");
	put_text("cache/shell/file", "text\n");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(steps); i++) {
		stepped += steps[i];
		cr_assert_eq(run(), 0, "%zu", i);
		pass(5 * MINUTE);
		cr_assert_eq(run(), 0, "%zu", i);
	}
	pass(15 * MINUTE);
	cr_assert_eq(run(), 1);
}
