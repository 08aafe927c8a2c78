/* SPDX-License-Identifier: MIT */
/* Tasks, and the files in directories, of a store that is not mounted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/files.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_backend *backend;
static struct ofs_error err;

static void begin(void)
{
	cr_assert(mkdtemp(store));
	cr_assert_eq(ofs_backend_open_store(store, true, false, &err, &backend), 0, "%s", err.text);
}

static void finish(void)
{
	char command[64];

	ofs_backend_close(backend);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(client_tasks, .init = begin, .fini = finish);

static void make(const char *folder, const char *name)
{
	char path[256];
	ofs_handle h;

	cr_assert_eq(ofs_backend_mkdirs(backend, folder, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	cr_assert_eq(backend->ops->create(backend, path, 0600, &h), 0, "%s", path);
	cr_assert_eq(backend->ops->write(backend, h, "text\n", 5, 0), 0);
	backend->ops->close(backend, h);
}

Test(client_tasks, files_are_found_in_order)
{
	static const char *const expected[] = { "cache/a", "cache/b/1", "cache/b/2/3", "cache/c" };
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };

	make("cache", "c");
	make("cache/b/2", "3");
	make("cache/b", "1");
	make("cache", "a");
	make("cache2", "z");
	cr_assert_eq(ofs_backend_mkdirs(backend, "cache/empty", NULL), 0);
	cr_assert_eq(ofs_files_gather(backend, "cache", &files), 0);
	cr_assert_eq(files.count, OFS_ARRAY_SIZE(expected));
	for (size_t i = 0; i < files.count; i++) {
		cr_expect_str_eq(files.list[i].path, expected[i]);
		cr_expect_eq(files.list[i].attr.st_size, 5);
	}
	cr_expect_eq(ofs_files_gather(backend, "cache/none", &files), -ENOENT);
	cr_expect_eq(files.count, OFS_ARRAY_SIZE(expected));
}

static void expect_unknown(const char *name, const char *expected)
{
	cr_expect_eq(ofs_task_check(backend, name, &err), -ENOENT);
	cr_expect_str_eq(err.text, expected);
}

Test(client_tasks, unknown_ones_are_told_with_those_there_are)
{
	char name[32];

	expect_unknown("x", "there is no task 'x', nor any other");
	make("tasks/one", "a");
	make("tasks", "no-task");
	expect_unknown("x", "there is no task 'x'; there are: one");
	expect_unknown("no-task", "there is no task 'no-task'; there are: one");
	expect_unknown("../cache", "there is no task '../cache'; there are: one");
	expect_unknown("", "there is no task ''; there are: one");
	cr_expect_eq(ofs_task_check(backend, "one", &err), 0);
	for (int i = 10; i < 25; i++) {
		snprintf(name, sizeof(name), "tasks/t%d", i);
		make(name, "a");
	}
	expect_unknown("x", "there is no task 'x'; there are: one, t10, t11, t12, t13, t14, t15, "
			    "t16, t17, t18, and 6 more");
}
