/* SPDX-License-Identifier: MIT */
/* Deposits in a store that is not mounted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/deposit.h"
#include "client/naming.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_backend *backend;
static struct ofs_spool spool;
static struct ofs_content content;
static struct ofs_deposited done;
static struct ofs_error err;

static void begin(void)
{
	spool = (struct ofs_spool)OFS_SPOOL_INIT;
	cr_assert(mkdtemp(store));
	cr_assert_eq(ofs_backend_open_store(store, true, false, &err, &backend), 0, "%s", err.text);
}

static void finish(void)
{
	char command[64];

	ofs_backend_close(backend);
	ofs_spool_finish(&spool);
	ofs_deposited_finish(&done);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(client_deposit, .init = begin, .fini = finish);

static int put(const struct ofs_deposit *d, const char *data)
{
	ofs_spool_finish(&spool);
	cr_assert_eq(ofs_spool_append(&spool, data, strlen(data)), 0);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
	ofs_deposited_finish(&done);
	return ofs_deposit_store(d, &content, backend, &err, &done);
}

static int count_one(void *arg, const char *name)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

static void expect_files(const char *folder, int expected)
{
	int count = 0;

	cr_assert_eq(backend->ops->list(backend, folder, count_one, &count), 0);
	cr_expect_eq(count, expected, "%s has %d files", folder, count);
}

static void expect_content(const char *path, const char *expected)
{
	char text[64] = "";
	ofs_handle h;

	cr_assert_eq(backend->ops->open(backend, path, &h), 0);
	cr_assert_geq(backend->ops->read(backend, h, text, sizeof(text) - 1, 0), 0);
	backend->ops->close(backend, h);
	cr_expect_str_eq(text, expected);
}

Test(client_deposit, same_bytes_same_file)
{
	const struct ofs_deposit d = { .category = "web" };
	OFS_FREE char *path = NULL, *ref = NULL;
	int64_t seconds;

	cr_assert_eq(put(&d, "hello\n"), 0, "%s", err.text);
	cr_expect_eq(strncmp(done.path, "cache/web/", 10), 0);
	cr_expect(ofs_naming_is_auto(done.path + 10, "web", content.sha256, "txt", &seconds));
	expect_content(done.path, "hello\n");
	path = strdup(done.path);
	ref = strdup(done.ref);
	cr_assert_eq(put(&d, "hello\n"), 0);
	cr_expect_str_eq(done.path, path);
	cr_expect_str_eq(done.ref, ref);
	expect_files("cache/web", 1);
	cr_assert_eq(put(&d, "other\n"), 0);
	cr_expect_str_neq(done.ref, ref);
	expect_files("cache/web", 2);
}

Test(client_deposit, a_file_that_was_changed_is_another)
{
	const struct ofs_deposit d = { .category = "web" };
	OFS_FREE char *path = NULL;
	ofs_handle h;

	cr_assert_eq(put(&d, "hello\n"), 0);
	path = strdup(done.path);
	cr_assert_eq(backend->ops->open(backend, path, &h), 0);
	cr_assert_eq(backend->ops->write(backend, h, "J", 1, 0), 0);
	backend->ops->close(backend, h);
	cr_assert_eq(put(&d, "hello\n"), 0, "%s", err.text);
	cr_expect_str_neq(done.path, path);
	expect_content(done.path, "hello\n");
	expect_content(path, "Jello\n");
}

Test(client_deposit, the_oldest_of_several_is_the_one)
{
	const struct ofs_deposit d = { .category = "web" };
	OFS_FREE char *old = NULL, *path = NULL;
	ofs_handle h;

	cr_assert_eq(put(&d, "hello\n"), 0);
	old = ofs_naming_auto("web", 999, content.sha256, "txt");
	cr_assert_gt(asprintf(&path, "cache/web/%s", old), 0);
	cr_assert_eq(backend->ops->create(backend, path, 0600, &h), 0);
	cr_assert_eq(backend->ops->write(backend, h, "hello\n", 6, 0), 0);
	backend->ops->close(backend, h);
	cr_assert_eq(put(&d, "hello\n"), 0);
	cr_expect_str_eq(done.path, path);
}

Test(client_deposit, given_names)
{
	const struct ofs_deposit d = { .category = "notes", .task = "t1", .name = "a.md" };

	cr_assert_eq(put(&d, "one\n"), 0, "%s", err.text);
	cr_expect_str_eq(done.path, "tasks/t1/notes/a.md");
	cr_assert_eq(put(&d, "one\n"), 0);
	cr_expect_str_eq(done.path, "tasks/t1/notes/a.md");
	cr_expect_eq(put(&d, "two\n"), -EEXIST);
	cr_expect(strstr(err.text, "'a.md' exists"));
	expect_content("tasks/t1/notes/a.md", "one\n");
	expect_files("tasks/t1/notes", 1);
}

Test(client_deposit, nothing_is_stored_when_a_wish_cannot_be_met)
{
	const struct ofs_deposit title = { .category = "web", .title = "two\nlines" };
	const struct ofs_deposit ttl = { .category = "web", .ttl = "soon" };

	cr_expect_eq(put(&title, "hello\n"), -EINVAL);
	cr_expect(strstr(err.text, "--title"));
	cr_expect_eq(put(&ttl, "hello\n"), -EINVAL);
	cr_expect(strstr(err.text, "--ttl"));
	expect_files("cache/web", 0);
}

static void expect_attribute(const char *name, const char *expected)
{
	OFS_FREE char *text = NULL;

	cr_assert_eq(ofs_backend_attribute(backend, done.path, name, &text), 0);
	cr_expect_str_eq(text, expected);
}

Test(client_deposit, title_and_time_to_live)
{
	const struct ofs_deposit d = { .category = "web", .title = "A page", .ttl = "90m" };

	cr_assert_eq(put(&d, "hello\n"), 0, "%s", err.text);
	expect_attribute("title", "A page");
	expect_attribute("ttl", "90m");
}

Test(client_deposit, a_folder_that_is_a_file)
{
	const struct ofs_deposit d = { .category = "web" };
	ofs_handle h;

	cr_assert_eq(backend->ops->create(backend, "cache/web", 0600, &h), 0);
	backend->ops->close(backend, h);
	cr_expect_eq(put(&d, "hello\n"), -ENOTDIR);
}

Test(client_deposit, more_than_memory_holds)
{
	const struct ofs_deposit d = { .category = "big" };
	size_t len = 3 << 20;
	char *data = malloc(len + 1);
	struct stat st;

	memset(data, 'x', len);
	data[len] = '\0';
	cr_assert_eq(put(&d, data), 0, "%s", err.text);
	cr_assert_eq(backend->ops->stat(backend, done.path, &st), 0);
	cr_expect_eq(st.st_size, (off_t)len);
	cr_assert_eq(put(&d, data), 0);
	expect_files("cache/big", 1);
	free(data);
}
