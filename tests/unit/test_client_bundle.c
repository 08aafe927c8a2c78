/* SPDX-License-Identifier: MIT */
/* Export and import of a store that is not mounted, while it changes or fails. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "client/bundle.h"
#include "io/file.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_backend *backend;
static const struct ofs_backend_ops *ops; /* of the store, which those of a test call */
static struct ofs_export export;
static struct ofs_error err;
static int archive = -1;

static void begin(void)
{
	if (ofs_archive_is_possible(&err) < 0)
		cr_skip_test("%s", err.text);
	cr_assert(mkdtemp(store));
	cr_assert_eq(ofs_backend_open_store(store, true, false, &err, &backend), 0, "%s", err.text);
	ops = backend->ops;
}

static void finish(void)
{
	char command[64];

	ofs_backend_close(backend);
	if (archive >= 0)
		close(archive);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(client_bundle, .init = begin, .fini = finish);

static void make(const char *path, const char *data)
{
	OFS_FREE char *folder = ofs_strndup(path, (size_t)(strrchr(path, '/') - path));
	ofs_handle h;

	cr_assert_eq(ofs_backend_mkdirs(backend, folder, &err), 0, "%s", err.text);
	cr_assert_eq(ops->create(backend, path, 0600, &h), 0, "%s", path);
	cr_assert_eq(ops->write(backend, h, data, strlen(data), 0), 0);
	ops->close(backend, h);
}

/* Exports all, with these operations, and gives the result of that. */
static int export_by(const struct ofs_backend_ops *by)
{
	int r;

	if (archive >= 0)
		close(archive);
	archive = memfd_create("archive", MFD_CLOEXEC);
	cr_assert_geq(archive, 0);
	export = (struct ofs_export){ 0 };
	backend->ops = by;
	r = ofs_export(backend, &export, archive, &err);
	backend->ops = ops;
	return r;
}

static ssize_t read_archive(void *arg, void *buf, size_t size, uint64_t off)
{
	(void)arg;
	return ofs_io_pread(archive, buf, size, off);
}

/* Sets *ret to the member with that path. False if there is none. */
static bool find(struct ofs_archive **a, const char *path, const struct ofs_member **ret)
{
	int r;

	ofs_archive_close(*a);
	cr_assert_eq(ofs_archive_open(read_archive, NULL, &err, a), 0, "%s", err.text);
	while ((r = ofs_archive_next(*a, &err, ret)) > 0 && strcmp((*ret)->path, path) != 0)
		;
	cr_assert_geq(r, 0, "%s", err.text);
	return r;
}

Test(client_bundle, lifetimes_are_kept_except_where_files_never_expire)
{
	static const struct {
		const char *path;
		bool kept;
	} files[] = {
		{ "cache/archive/f", true },	   { "tasks/t/persistent/f", true },
		{ "agents/a/cache/web/f", true },  { "persistent/cache/f", false },
		{ "agents/a/archive/f/f", false }, { "agents/a/tasks/archive/f", true },
	};
	const char *const paths[] = { "agents/a", "cache", "tasks", "persistent" };
	struct ofs_archive *a = NULL;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(files); i++) {
		make(files[i].path, "x");
		cr_assert_eq(ofs_backend_set_attribute(backend, files[i].path, "ttl", "3d"), 0);
	}
	archive = memfd_create("archive", MFD_CLOEXEC);
	export.paths = paths;
	export.npaths = OFS_ARRAY_SIZE(paths);
	cr_assert_eq(ofs_export(backend, &export, archive, &err), 0, "%s", err.text);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(files); i++) {
		const struct ofs_member *m;
		struct ofs_xattr x;

		cr_assert(find(&a, files[i].path, &m), "%s", files[i].path);
		cr_expect_eq(ofs_xattr_find(&m->xattrs, "user.offload.ttl", &x), files[i].kept,
			     "%s", files[i].path);
	}
	ofs_archive_close(a);
}

static int list_fails(struct ofs_backend *b, const char *path,
		      int (*fn)(void *arg, const char *name), void *arg)
{
	return strcmp(path, "persistent") == 0 ? -EACCES : ops->list(b, path, fn, arg);
}

Test(client_bundle, a_top_directory_that_cannot_be_listed_is_named)
{
	struct ofs_backend_ops failing = *ops;

	failing.list = list_fails;
	make("cache/web/f", "x");
	cr_expect_eq(export_by(&failing), -EACCES);
	cr_expect_str_eq(err.text, "cannot export 'persistent': Permission denied");
}

static const char *const *victims; /* files that are removed once they have been listed */

static ssize_t listxattr_removes(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	for (const char *const *p = victims; *p; p++)
		if (strcmp(path, *p) == 0)
			cr_assert_eq(ops->unlink(b, path), 0, "%s", path);
	return ops->listxattr(b, path, buf, size);
}

static ssize_t readlink_removes(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	cr_assert_eq(ops->unlink(b, path), 0, "%s", path);
	return ops->readlink(b, path, buf, size);
}

static int import(json_t **ret)
{
	struct ofs_import i = { .read = read_archive, .dest = "", .room = UINT64_MAX };
	int r = ofs_import(backend, &i, &err);

	*ret = i.items;
	return r;
}

Test(client_bundle, what_vanishes_meanwhile_is_left_out)
{
	static const char *const gone[] = { "cache/web/b", "cache/web/twin-1", NULL };
	static const char *const there[] = { "cache/web/a", "cache/web/c", "cache/web/twin-2",
					     "cache/web/twin-3" };
	struct ofs_backend_ops removing = *ops;
	struct ofs_archive *a = NULL;
	const struct ofs_member *m;
	json_t *items;

	victims = gone;
	removing.listxattr = listxattr_removes;
	removing.readlink = readlink_removes;
	make("cache/web/a", "a");
	make("cache/web/b", "b");
	make("cache/web/c", "c");
	make("cache/web/twin-1", "twin");
	cr_assert_eq(ops->link(backend, "cache/web/twin-1", "cache/web/twin-2"), 0);
	cr_assert_eq(ops->link(backend, "cache/web/twin-1", "cache/web/twin-3"), 0);
	cr_assert_eq(ops->symlink(backend, "a", "cache/web/symlink"), 0);
	cr_assert_eq(export_by(&removing), 0, "%s", err.text);
	cr_expect_eq(export.left_out, 3);
	cr_expect_eq(export.files, 3);
	cr_expect_eq(export.links, 1);
	cr_expect_not(find(&a, "cache/web/b", &m));
	cr_assert(find(&a, "cache/web/twin-2", &m));
	cr_expect_eq(m->kind, OFS_MEMBER_FILE);
	cr_assert(find(&a, "cache/web/twin-3", &m));
	cr_expect_str_eq(m->target, "cache/web/twin-2");
	ofs_archive_close(a);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(there); i++)
		cr_assert_eq(ops->unlink(backend, there[i]), 0, "%s", there[i]);
	cr_expect_eq(import(&items), 0, "%s", err.text);
	json_decref(items);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(there); i++) {
		struct stat st;

		cr_expect_eq(ops->lstat(backend, there[i], &st), 0, "%s", there[i]);
	}
}

static int opened, other = -1; /* how often `archive` was opened; what the second reader finds */

static ssize_t read_changing(void *arg, void *buf, size_t size, uint64_t off)
{
	(void)arg;
	opened += off == 0;
	return ofs_io_pread(opened < 2 ? archive : other, buf, size, off);
}

static void relink(const char *target)
{
	ops->unlink(backend, "cache/web/l");
	cr_assert_eq(ops->symlink(backend, target, "cache/web/l"), 0);
}

Test(client_bundle, links_are_made_as_they_were_checked)
{
	struct ofs_import i = { .read = read_changing, .dest = "", .room = UINT64_MAX };
	char target[64] = "";

	make("cache/web/a", "a");
	cr_assert_eq(ops->link(backend, "cache/web/a", "cache/web/twin"), 0);
	relink("/etc/passwd");
	cr_assert_eq(export_by(ops), 0, "%s", err.text);
	other = archive;
	archive = -1;
	relink("a");
	cr_assert_eq(export_by(ops), 0, "%s", err.text);
	for (const char *const *each = (const char *const[]){ "a", "twin", "l", NULL }; *each;
	     each++) {
		OFS_FREE char *path = ofs_format("cache/web/%s", *each);

		cr_assert_eq(ops->unlink(backend, path), 0);
	}
	cr_expect_eq(ofs_import(backend, &i, &err), 0, "%s", err.text);
	json_decref(i.items);
	cr_expect_eq(opened, 2);
	ops->readlink(backend, "cache/web/l", target, sizeof(target) - 1);
	cr_expect_str_eq(target, "a");
	close(other);
}
