/* SPDX-License-Identifier: MIT */
/* tasks/<task>/context.md: when it is made, from which steps, and for whom. */
#include <sys/stat.h>

#include "tree/expiry/step_file.h"
#include "test_tree_fixture.h"

#define PATH "tasks/T/context.md"

static int calls; /* calls of make_recap() */
static int fails; /* what make_recap() returns: 0 or -errno */

/* Makes a line for each step: its name, its text and its error. */
static int make_recap(void *arg, const struct ofs_task_step *steps, size_t n, char **ret,
		      size_t *ret_len)
{
	FILE *out = open_memstream(ret, ret_len);

	cr_assert_eq(arg, &calls);
	calls++;
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s '%.*s' %d\n", steps[i].name, (int)steps[i].len, steps[i].text,
			-steps[i].error);
	fclose(out);
	if (fails) {
		free(*ret);
		*ret = NULL;
	}
	return fails;
}

static void begin(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;

	setup();
	ofs_tree_close(t);
	opts.background = false;
	opts.recap = (struct ofs_tree_recap){ make_recap, &calls };
	cr_assert_eq(ofs_tree_open(path, &opts, NULL, &t), 0);
	calls = fails = 0;
}

TestSuite(tree_task_context, .init = begin, .fini = teardown);

/* Makes a file that contains its own name, and the directories above it. */
static void put(const char *p)
{
	const char *name = strrchr(p, '/') + 1;
	char above[128];

	for (const char *slash = p; (slash = strchr(slash, '/')); slash++) {
		snprintf(above, sizeof(above), "%.*s", (int)(slash - p), p);
		if (try_walk(above) < 0)
			make_dir(above);
	}
	make_of(p, name, strlen(name));
}

/* Returns the text as read by `who` (NULL: may do everything), or "-" and the error. */
static const char *read_as(const char *name, const struct ofs_cred *who)
{
	static char text[65536];
	struct ofs_entry e;
	ssize_t n;
	int r = ofs_tree_lookup_as(t, walk("tasks/T"), name, who, &e);

	cr_assert_not(e.keep_name);
	if (r < 0) {
		snprintf(text, sizeof(text), "-%s", strerrorname_np(-r));
		return text;
	}
	n = ofs_tree_read(t, e.node, text, sizeof(text) - 1, 0);
	cr_assert_eq(n, e.attr.st_size);
	cr_assert_not(e.attr.st_mode & 0333);
	text[n] = 0;
	ofs_tree_forget(t, e.node, 1);
	return text;
}

static const char *recap(void)
{
	return read_as("context.md", NULL);
}

static void set_mode(const char *p, mode_t mode)
{
	struct ofs_setattr attr = { .set = OFS_SET_MODE, .mode = mode };
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, walk(p), &attr, &st), 0);
}

Test(tree_task_context, names_are_in_order)
{
	static const char *const sorted[] = {
		"step_0.json",
		"step_00.json",
		"step_1.json",
		"step_002.json",
		"step_9.json",
		"step_10.json",
		"step_18446744073709551616.json",
		"step_18446744073709551617.json",
		"step_-1.json",
		"step_1a.json",
		"step_a.json",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(sorted); i++) {
		cr_expect(ofs_step_file_is(sorted[i]), "%s", sorted[i]);
		for (size_t k = 0; k < OFS_ARRAY_SIZE(sorted); k++) {
			int r = ofs_step_file_compare(sorted[i], sorted[k]);

			cr_expect_eq((r > 0) - (r < 0), (i > k) - (i < k), "%s, %s", sorted[i],
				     sorted[k]);
		}
	}
	cr_expect_not(ofs_step_file_is("step_.json"));
	cr_expect_not(ofs_step_file_is("step_1.jso"));
	cr_expect_not(ofs_step_file_is("step_1.json.tmp"));
	cr_expect_not(ofs_step_file_is(".step_1.json"));
	cr_expect_not(ofs_step_file_is("json"));
}

Test(tree_task_context, it_is_made_when_it_is_asked_for_and_a_step_is_another)
{
	put("tasks/T/history/step_2.json");
	put("tasks/T/history/step_10.json");
	put("tasks/T/history/other.json");
	put("tasks/U/history/step_1.json");
	cr_expect_eq(try_walk("tasks/T/history/step_2.json"), 0);
	cr_expect_eq(calls, 0);
	cr_expect_str_eq(recap(), "step_2.json 'step_2.json' 0\nstep_10.json 'step_10.json' 0\n");
	recap();
	read_as("context.md:1", NULL);
	put("tasks/U/history/step_2.json");
	put("tasks/T/history/another.json");
	recap();
	cr_expect_eq(calls, 1, "%d", calls);
	put("tasks/T/history/step_3.json");
	cr_expect_str_eq(read_as("context.md:2", NULL), "step_3.json 'step_3.json' 0\n");
	cr_expect_eq(calls, 2);
}

Test(tree_task_context, what_fails_is_not_kept)
{
	put("tasks/T/history/step_1.json");
	fails = -ENOMEM;
	cr_expect_str_eq(recap(), "-ENOMEM");
	fails = 0;
	cr_expect_str_eq(recap(), "step_1.json 'step_1.json' 0\n");
	cr_expect_eq(calls, 2);
}

Test(tree_task_context, where_there_is_none)
{
	put("tasks/T/x");
	cr_expect_str_eq(recap(), "-ENOENT");
	put("tasks/T/history/step_1.json");
	cr_expect_str_neq(recap(), "-ENOENT");
	drop("tasks/T/history/step_1.json");
	cr_expect_str_eq(recap(), "-ENOENT");
	cr_expect_str_eq(recap(), "-ENOENT");
	cr_expect_str_eq(read_as("context.md:1-2", NULL), "-ENOENT");
	put("cache/history/step_1.json");
	put("tasks/W/step_1.json");
	cr_expect_eq(try_walk("cache/context.md"), -ENOENT);
	cr_expect_eq(try_walk("context.md"), -ENOENT);
	cr_expect_eq(try_walk("tasks/context.md"), -ENOENT);
	put("tasks/V/history/step_1.json");
	cr_expect_eq(try_walk("tasks/V/history/context.md"), -ENOENT);
	cr_expect_eq(try_walk("tasks/V/context.md"), 0);
	/* There is none if the program provides no maker. */
	reopen();
	cr_expect_eq(try_walk("tasks/V/context.md"), -ENOENT);
}

Test(tree_task_context, a_file_takes_its_place)
{
	struct ofs_entry e;
	char text[16];
	ofs_node task;

	put("tasks/T/history/step_1.json");
	task = walk("tasks/T");
	cr_expect_eq(ofs_tree_unlink(t, task, "context.md"), -EROFS);
	cr_expect_eq(ofs_tree_rename(t, task, "context.md", task, "x", 0), -EROFS);
	cr_expect_eq(ofs_tree_write(t, hold(PATH), "x", 1, 0), -EROFS);
	put("tasks/T/new");
	cr_expect_eq(ofs_tree_rename(t, task, "new", task, "context.md", 0), 0);
	cr_expect_eq(ofs_tree_read(t, walk(PATH), text, sizeof(text), 0), 3);
	cr_expect_eq(ofs_tree_unlink(t, task, "context.md"), 0);
	cr_expect_str_eq(recap(), "step_1.json 'step_1.json' 0\n");
	cr_expect_eq(ofs_tree_mkdir(t, task, "context.md", 0755, &cred, &e), 0);
	cr_expect_eq(ofs_tree_rmdir(t, task, "context.md"), 0);
	cr_expect_eq(ofs_tree_unlink(t, walk("tasks"), "context.md"), -ENOENT);
}

Test(tree_task_context, it_tells_what_the_caller_may_read)
{
	const struct ofs_cred root = { 0, 0 }, other = { 12345, 12345 };

	put("tasks/T/history/step_1.json");
	put("tasks/T/history/step_2.json");
	set_mode("tasks/T/history", 0755);
	set_mode("tasks/T/history/step_1.json", 0644);
	set_mode("tasks/T/history/step_2.json", 0600);
	cr_expect_str_eq(read_as("context.md", &root),
			 "step_1.json 'step_1.json' 0\nstep_2.json 'step_2.json' 0\n");
	cr_expect_str_eq(read_as("context.md", &other),
			 "step_1.json 'step_1.json' 0\nstep_2.json '' 13\n");
	cr_expect_str_eq(read_as("context.md:2", &other), "step_2.json '' 13\n");
	cr_expect_eq(calls, 2);
	set_mode("tasks/T/history/step_2.json", 0604);
	cr_expect_str_eq(read_as("context.md:2", &other), "step_2.json 'step_2.json' 0\n");
	for (mode_t mode = 0700; mode <= 0704; mode += 1) {
		set_mode("tasks/T/history", mode);
		cr_expect_str_eq(read_as("context.md", &other), "-EACCES");
		cr_expect_str_eq(read_as("context.md:1", &other), "-EACCES");
	}
	cr_expect_str_neq(read_as("context.md", &root), "-EACCES");
}

Test(tree_task_context, no_more_is_read_than_is_well)
{
	static char text[1 << 20];
	struct ofs_entry e;
	char name[64], *got;
	ssize_t n;

	memset(text, 'x', sizeof(text));
	for (int i = 1; i <= 18; i++) {
		snprintf(name, sizeof(name), "tasks/T/history/step_%d.json", i);
		put(name);
		cr_assert_eq(ofs_tree_write(t, walk(name), text, sizeof(text), 0), sizeof(text));
	}
	cr_assert_eq(ofs_tree_write(t, walk(name), text, 1, sizeof(text)), 1);
	cr_assert_eq(ofs_tree_lookup(t, walk("tasks/T"), "context.md", &e), 0);
	got = ofs_alloc(20 << 20);
	n = ofs_tree_read(t, e.node, got, 20 << 20, 0);
	cr_expect_gt(n, 15 << 20);
	cr_expect_lt(n, (16 << 20) + 4096);
	cr_expect_eq(strncmp(got, "step_1.json '' 27\nstep_2.json 'xxx", 30), 0, "%.60s", got);
	cr_expect(strstr(got, "step_18.json '' 27\n"));
	free(got);
}
