/* SPDX-License-Identifier: MIT */
/* Promotions in a store that is not mounted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/promotion.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_backend *backend;
static json_t *done;
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
	json_decref(done);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(client_promotion, .init = begin, .fini = finish);

static void make(const char *path, const char *data)
{
	OFS_FREE char *folder = strdup(path);
	ofs_handle h;

	if (strrchr(folder, '/')) {
		*strrchr(folder, '/') = '\0';
		cr_assert_eq(ofs_backend_mkdirs(backend, folder, NULL), 0);
	}
	cr_assert_eq(backend->ops->create(backend, path, 0600, &h), 0, "%s", path);
	cr_assert_eq(backend->ops->write(backend, h, data, strlen(data), 0), 0);
	backend->ops->close(backend, h);
}

/* Returns a member of the last result, or NULL if it is null. */
static const char *got(const char *key)
{
	return json_string_value(json_object_get(done, key));
}

static int promote(const struct ofs_promotion *p, const char *path)
{
	struct stat attr;

	json_decref(done);
	done = NULL;
	err.text[0] = '\0';
	cr_assert_eq(backend->ops->stat(backend, path, &attr), 0, "%s", path);
	return ofs_promote(p, backend, path, &attr, &err, &done);
}

static void expect_moved(const struct ofs_promotion *p, const char *from, const char *to)
{
	struct stat attr;

	cr_assert_eq(promote(p, from), 0, "%s: %s", from, err.text);
	cr_expect_str_eq(got("path"), to);
	cr_expect_eq(backend->ops->stat(backend, to, &attr), 0, "%s", to);
	if (strcmp(got("was"), got("path")) != 0)
		cr_expect_eq(backend->ops->stat(backend, got("was"), &attr), -ENOENT, "%s", from);
}

static void expect_refused(const struct ofs_promotion *p, const char *path, int code,
			   const char *words)
{
	cr_expect_eq(promote(p, path), -code, "%s", path);
	cr_expect(strstr(err.text, words), "no '%s' in: %s", words, err.text);
}

static void expect_attribute(const char *path, const char *name, const char *expected)
{
	OFS_FREE char *value = NULL;
	int r = ofs_backend_attribute(backend, path, name, &value);

	if (!expected) {
		cr_expect_eq(r, -ENODATA, "%s of %s", name, path);
		return;
	}
	cr_assert_eq(r, 0, "%s of %s", name, path);
	cr_expect_str_eq(value, expected);
}

static const struct ofs_promotion keep = { .top = "persistent" };

Test(client_promotion, category_and_name_stay)
{
	make("cache/web/a", "a");
	make("tasks/t/shell/b", "b");
	make("tasks/t/c", "c");
	make("d", "d");
	make("cache/web/deep/er/e", "e");
	expect_moved(&keep, "cache/web/a", "persistent/web/a");
	expect_moved(&keep, "tasks/t/shell/b", "persistent/shell/b");
	expect_moved(&keep, "tasks/t/c", "persistent/general/c");
	expect_moved(&keep, "d", "persistent/general/d");
	expect_moved(&keep, "cache/web/deep/er/e", "persistent/web/e");
	cr_expect_str_eq(got("was"), "cache/web/deep/er/e");
	cr_expect_str_eq(got("category"), "web");
}

Test(client_promotion, category_and_name_that_were_asked_for)
{
	const struct ofs_promotion p = { .top = "archive", .category = "notes", .name = "new" };

	make("cache/web/a", "a");
	expect_moved(&p, "cache/web/a", "archive/notes/new");
	cr_expect_str_eq(got("category"), "notes");
}

Test(client_promotion, a_category_that_was_set_goes_first)
{
	const struct ofs_promotion p = { .top = "persistent", .category = "other" };

	make("cache/web/a", "a");
	cr_assert_eq(ofs_backend_set_attribute(backend, "cache/web/a", "category", "notes"), 0);
	expect_moved(&keep, "cache/web/a", "persistent/notes/a");
	expect_moved(&p, "persistent/notes/a", "persistent/other/a");
	cr_expect_str_eq(got("category"), "other");
	cr_assert_eq(ofs_backend_set_attribute(backend, got("path"), "category", "notes"), 0);
	expect_moved(&p, "persistent/other/a", "persistent/other/a");
	cr_expect_str_eq(got("category"), "other");
	expect_moved(&(struct ofs_promotion){ .top = "archive", .category = "old" },
		     "persistent/other/a", "archive/old/a");
	cr_expect_str_eq(got("category"), "old");
}

Test(client_promotion, by_ref)
{
	OFS_FREE char *ref = NULL, *path = NULL;

	make("cache/web/a", "a");
	cr_assert_eq(ofs_backend_attribute(backend, "cache/web/a", "ref", &ref), 0);
	cr_assert_geq(asprintf(&path, "refs/%s", ref), 0);
	expect_moved(&keep, path, "persistent/web/a");
	cr_expect_str_eq(got("ref"), ref);
	cr_expect_str_eq(got("was"), "cache/web/a");
	expect_moved(&(struct ofs_promotion){ .top = "archive" }, path, "archive/web/a");
}

Test(client_promotion, what_is_there_already_stays)
{
	const struct ofs_promotion web = { .top = "persistent", .category = "web" };
	const struct ofs_promotion named = { .top = "persistent", .name = "other" };

	make("persistent/web/sub/a", "a");
	make("persistent/b", "b");
	expect_moved(&keep, "persistent/web/sub/a", "persistent/web/sub/a");
	expect_moved(&web, "persistent/web/sub/a", "persistent/web/sub/a");
	expect_moved(&keep, "persistent/b", "persistent/b");
	expect_moved(&named, "persistent/web/sub/a", "persistent/web/other");
	expect_moved(&web, "persistent/b", "persistent/web/b");
}

Test(client_promotion, directories)
{
	const struct ofs_promotion web = { .top = "persistent", .category = "web" };

	make("cache/web/a", "a");
	make("cache/shell/run/b", "b");
	make("tasks/t/shell/c", "c");
	expect_moved(&keep, "cache/shell/run", "persistent/shell/run");
	cr_expect_null(got("ref"));
	expect_moved(&keep, "cache/web", "persistent/web/web");
	expect_attribute("persistent/web/web/a", "category", "web");
	expect_moved(&keep, "tasks/t/shell", "persistent/shell/shell");
	expect_moved(&web, "tasks/t", "persistent/web/t");
	expect_moved(&web, "persistent/web", "persistent/web");
}

Test(client_promotion, nothing_is_replaced)
{
	const struct ofs_promotion tagged = { .top = "persistent", .tags = "x" };
	struct stat attr;

	make("persistent/web/a", "same");
	make("cache/web/a", "same");
	expect_refused(&tagged, "cache/web/a", EEXIST, "with the same content");
	cr_expect(strstr(err.text, "-n"));
	expect_attribute("cache/web/a", "tags", NULL);
	make("persistent/web/b", "one");
	make("cache/web/b", "two");
	expect_refused(&keep, "cache/web/b", EEXIST, "with other content");
	make("cache/web/c/d", "d");
	make("persistent/web/c", "c");
	expect_refused(&keep, "cache/web/c", EEXIST, "exists already");
	cr_expect_eq(backend->ops->stat(backend, "cache/web/a", &attr), 0);
	cr_expect_eq(backend->ops->stat(backend, "cache/web/c/d", &attr), 0);
}

Test(client_promotion, what_cannot_be_moved)
{
	make("cache/web/a", "a\n");
	expect_refused(&keep, "cache", EINVAL, "as a whole");
	expect_refused(&keep, "persistent", EINVAL, "as a whole");
	expect_refused(&keep, "", EINVAL, "whole tree");
	expect_refused(&keep, "refs", EINVAL, "cannot be moved: it is not a stored file");
	expect_refused(&keep, "README.md", EINVAL, "cannot be moved: it is not a stored file");
	expect_refused(&keep, ".offload/status.json", EINVAL, "not a stored file");
	expect_refused(&keep, "cache/web/a:1-1", EINVAL, "not a stored file");
}

Test(client_promotion, tags_are_added)
{
	const struct ofs_promotion p = { .top = "archive", .tags = " b , c,b" };
	const struct ofs_promotion bad = { .top = "persistent", .tags = "good,b/ad" };
	char many[OFS_TAGS_MAX + 1];

	make("cache/web/a", "a");
	cr_assert_eq(ofs_backend_set_attribute(backend, "cache/web/a", "tags", "a,b"), 0);
	expect_refused(&bad, "cache/web/a", EINVAL, "b/ad");
	expect_attribute("cache/web/a", "tags", "a,b");
	expect_moved(&p, "cache/web/a", "archive/web/a");
	cr_expect_str_eq(got("tags"), "a,b,c");
	expect_moved(&(struct ofs_promotion){ .top = "archive", .tags = "d" }, "archive/web/a",
		     "archive/web/a");
	expect_attribute("archive/web/a", "tags", "a,b,c,d");
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 200 == 199 ? ',' : (char)('a' + i / 200);
	many[OFS_TAGS_MAX] = '\0';
	expect_refused(&(struct ofs_promotion){ .top = "persistent", .tags = many },
		       "archive/web/a", EINVAL, "at most 4096");
}

Test(client_promotion, all_files_of_a_directory_are_tagged)
{
	const struct ofs_promotion p = { .top = "persistent", .tags = "x" };

	make("cache/web/d/a", "a");
	make("cache/web/d/e/b", "b");
	cr_assert_eq(ofs_backend_set_attribute(backend, "cache/web/d/a", "tags", "was"), 0);
	make("persistent/web/d", "in the way");
	expect_refused(&p, "cache/web/d", EEXIST, "exists already");
	expect_attribute("cache/web/d/a", "tags", "was");
	expect_attribute("cache/web/d/e/b", "tags", NULL);
	cr_assert_eq(backend->ops->unlink(backend, "persistent/web/d"), 0);
	expect_moved(&p, "cache/web/d", "persistent/web/d");
	expect_attribute("persistent/web/d/a", "tags", "was,x");
	expect_attribute("persistent/web/d/e/b", "tags", "x");
}

static void expect_tags(const char *tags, const char *more, const char *expected)
{
	OFS_FREE char *all = ofs_tags_join(tags, more);

	cr_expect_str_eq(all, expected);
}

Test(client_promotion, tags_are_joined)
{
	expect_tags("", "", "");
	expect_tags("a", "", "a");
	expect_tags("", "a", "a");
	expect_tags("a,b", "c", "a,b,c");
	expect_tags("a,b", "b,a", "a,b");
	expect_tags("ab", "a,b", "ab,a,b");
	expect_tags("a", " two words ,,c ", "a,two words,c");
}
