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
