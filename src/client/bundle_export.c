/* SPDX-License-Identifier: MIT */
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "client/bundle.h"
#include "client/files.h"
#include "client/naming.h"
#include "client/operand.h"
#include "codec/hash.h"
#include "io/path.h"

#define PREFIX "user.offload."
#define EXPORT_BLOCK ((int64_t)256 << 10)
#define EXPORT_PIECE ((size_t)256 << 10)
/* A longer file is read twice, first to hash it, unless its hash is known. */
#define EXPORT_WHOLE ((uint64_t)4 << 20)
#define EXPORT_NAMES ((size_t)64 << 10)

static const char *const tops[] = { "cache", "tasks", "persistent", "archive" };

bool ofs_bundle_is_place(const char *path)
{
	const char *rest;
	OFS_FREE char *agent = ofs_naming_agent_of(path, &rest);

	if (agent)
		path = rest;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++) {
		size_t len = strlen(tops[i]);

		if (strncmp(path, tops[i], len) == 0 && (path[len] == '/' || !path[len]))
			return true;
	}
	/* The directory of all agents, or that of one. */
	return strcmp(path, "agents") == 0 ||
	       (strncmp(path, "agents/", 7) == 0 && path[7] && !strchr(path + 7, '/'));
}

struct exporting {
	struct ofs_backend *b;
	struct ofs_export *e;
	struct ofs_error *err;
	struct ofs_archive *archive;
	struct ofs_files found; /* of any kind, sorted by path */
	uint64_t total, done; /* bytes */
	json_t *first_names; /* inode of a file with several names -> its first path */
	char *piece;
};

static void exporting_finish(struct exporting *x)
{
	ofs_archive_close(x->archive);
	ofs_files_finish(&x->found);
	json_decref(x->first_names);
	free(x->piece);
}

static int stepped(struct exporting *x, uint64_t bytes)
{
	x->done += bytes;
	if (!x->e->step || !x->e->step(x->e->arg, x->done, x->total))
		return 0;
	return ofs_error_set(x->err, EINTR, "interrupted");
}

static int export_failed(struct exporting *x, int r, const char *path)
{
	return ofs_backend_failed(x->err, r, "export", path);
}

/* ---- gathering */

static int gather(struct exporting *x, const char *path);

static int gather_dir(struct exporting *x, const char *path)
{
	struct ofs_files inside = { 0 };
	int r = ofs_files_list(x->b, path, &inside);

	if (r < 0)
		r = r == -ENOENT ? 0 : export_failed(x, r, path);
	for (size_t i = 0; r == 0 && i < inside.count; i++)
		r = gather(x, inside.list[i].path);
	ofs_files_finish(&inside);
	return r;
}

/* Adds `path` and all below it. Skips special files, and files that vanish meanwhile. */
static int gather(struct exporting *x, const char *path)
{
	struct stat st;
	int r = ofs_bundle_is_place(path) ? x->b->ops->lstat(x->b, path, &st) : -ENOENT;

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return export_failed(x, r, path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	*ofs_append(x->found.list, x->found.count, x->found.cap) =
		(struct ofs_file){ .path = ofs_strdup(path), .attr = st };
	return S_ISDIR(st.st_mode) ? gather_dir(x, path) : 0;
}

/* Adds a file that was promoted out of the task. `name` is REF-NAME. */
static int add_promoted(void *arg, const char *name)
{
	struct exporting *x = arg;
	OFS_FREE char *link = ofs_format("refs/%.*s", (int)strcspn(name, "-"), name);
	OFS_FREE char *path = NULL;
	int r = ofs_backend_attribute(x->b, link, "path", &path);

	if (r < 0)
		return r == -ENOENT || r == -EKEYEXPIRED || r == -ENODATA ? 0 : r;
	return strncmp(path, "tasks/", 6) == 0 ? 0 : gather(x, path);
}

static int gather_task(struct exporting *x, const char *task)
{
	OFS_FREE char *dir = ofs_task_path(task);
	OFS_FREE char *view = ofs_format("views/by-task/%s", task);
	size_t before = x->found.count;
	int r = gather(x, dir);

	if (r == 0)
		r = x->b->ops->list(x->b, view, add_promoted, x);
	if (r == -ENOENT || r == -ENOTDIR)
		r = 0;
	if (r < 0)
		return x->err->text[0] ? r : export_failed(x, r, view);
	return x->found.count > before ? 0 : ofs_task_check(x->b, task, x->err);
}

static int gather_operand(struct exporting *x, const char *operand)
{
	OFS_FREE char *link = ofs_path_join("refs", operand);
	OFS_FREE char *path = NULL;
	struct stat st;
	int r;

	if (ofs_operand_is_ref(operand) && x->b->ops->lstat(x->b, operand, &st) == -ENOENT) {
		r = ofs_backend_attribute(x->b, link, "path", &path);
		return r < 0 ? ofs_error_set(x->err, -r, "cannot export '%s': %s", operand,
					     ofs_backend_strerror(-r))
			     : gather(x, path);
	}
	if (!ofs_bundle_is_place(operand))
		return ofs_error_set(x->err, EINVAL,
				     "cannot export '%s': only what is in cache, tasks, "
				     "persistent, archive and agents can be exported",
				     operand);
	r = x->b->ops->lstat(x->b, operand, &st);
	return r < 0 ? export_failed(x, r, operand) : gather(x, operand);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct ofs_file *)a)->path, ((const struct ofs_file *)b)->path);
}

/* Sorts the files, so that a directory comes before its contents, and drops duplicates. */
static void put_in_order(struct exporting *x)
{
	struct ofs_files *f = &x->found;
	size_t n = 0;

	if (f->count)
		qsort(f->list, f->count, sizeof(*f->list), by_path);
	for (size_t i = 0; i < f->count; i++) {
		if (n && strcmp(f->list[n - 1].path, f->list[i].path) == 0)
			free(f->list[i].path);
		else
			f->list[n++] = f->list[i];
	}
	f->count = n;
}

static int gather_all(struct exporting *x)
{
	int r = x->e->task ? gather_task(x, x->e->task) : 0;

	for (size_t i = 0; r == 0 && i < x->e->npaths; i++)
		r = gather_operand(x, x->e->paths[i]);
	for (size_t i = 0; r == 0 && !x->e->task && !x->e->npaths && i < OFS_ARRAY_SIZE(tops); i++)
		r = gather_dir(x, tops[i]);
	put_in_order(x);
	return r;
}

/* ---- attributes */

/* Sets *ret to the category that follows from a file's place, borrowed from `path` or `origin`. */
static void category_of_place(const char *path, const char *origin, const char **ret,
			      size_t *ret_len)
{
	const char *rest, *slash;
	OFS_FREE char *agent = ofs_naming_agent_of(path, &rest);
	int skip = 1;

	if (agent)
		path = rest;
	if (strncmp(path, "tasks/", 6) == 0)
		skip = 2;
	while (skip-- && path)
		path = (slash = strchr(path, '/')) ? slash + 1 : NULL;
	slash = path ? strchr(path, '/') : NULL;
	*ret = slash ? path : origin ? origin : "general";
	*ret_len = slash ? (size_t)(slash - path) : strlen(*ret);
}

static int add_attribute(struct exporting *x, const char *path, const char *name,
			 struct ofs_buf *list)
{
	OFS_FREE char *value = ofs_alloc(OFS_XATTR_VALUE_MAX);
	ssize_t n = x->b->ops->getxattr(x->b, path, name, value, OFS_XATTR_VALUE_MAX);

	if (n < 0)
		return n == -ENODATA ? 0 : (int)n;
	if (ofs_xattr_room(list) + strlen(name) + (size_t)n > OFS_XATTR_ROOM)
		return -E2BIG;
	ofs_xattr_set(list, name, value, (size_t)n);
	return 0;
}

/* Adds the category if it was set as a label, which is so if it differs from that of the place. */
static int add_category(struct exporting *x, const char *path, struct ofs_buf *list)
{
	OFS_FREE char *category = NULL, *origin = NULL;
	const char *place;
	size_t len;
	int r = ofs_backend_attribute(x->b, path, "category", &category);

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	r = ofs_backend_attribute(x->b, path, "origin_category", &origin);
	if (r < 0 && r != -ENODATA)
		return r;
	category_of_place(path, origin, &place, &len);
	if (strlen(category) != len || memcmp(category, place, len) != 0)
		ofs_xattr_set(list, PREFIX "category", category, strlen(category));
	return 0;
}

static int add_attributes(struct exporting *x, const struct ofs_file *f, struct ofs_buf *list)
{
	static const char *const kept[] = { "ref",   "ttl",	    "important",      "tags",
					    "title", "origin_task", "origin_category" };
	OFS_FREE char *names = ofs_alloc(EXPORT_NAMES);
	ssize_t n = x->b->ops->listxattr(x->b, f->path, names, EXPORT_NAMES);
	const char *place = f->path;
	OFS_FREE char *agent = ofs_naming_agent_of(f->path, &place);
	bool working = !ofs_path_below("persistent", place) && !ofs_path_below("archive", place);
	int r = n < 0 ? (int)n : 0;

	for (const char *p = names; r == 0 && p < names + n; p += strlen(p) + 1) {
		bool wanted = strncmp(p, PREFIX, strlen(PREFIX)) != 0;

		for (size_t i = 0; !wanted && i < OFS_ARRAY_SIZE(kept); i++)
			wanted = strcmp(p + strlen(PREFIX), kept[i]) == 0;
		/* Files in persistent/ and archive/ never expire, whatever their ttl says. */
		if (strcmp(p, PREFIX "ttl") == 0 && !working)
			wanted = false;
		if (wanted)
			r = add_attribute(x, f->path, p, list);
	}
	return r == 0 && S_ISREG(f->attr.st_mode) ? add_category(x, f->path, list) : r;
}

/* ---- content */

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * OFS_NS_PER_S + st->st_mtim.tv_nsec;
}

/*
 * Hashes `size` bytes of an open file, and adds them to the archive if `write` is set. Takes holes
 * as zeros without reading them. -ESTALE: the file is shorter; or another -errno.
 */
static int pass(struct exporting *x, ofs_handle h, const struct ofs_stretch *data, size_t ndata,
		uint64_t size, bool write, char ret_sha[65])
{
	struct ofs_sha256 *hash = ofs_sha256_create();
	uint8_t sha[OFS_SHA256_SIZE];
	uint64_t off = 0;
	size_t at = 0;
	int r = 0;

	while (r == 0 && off < size) {
		size_t want = (size_t)OFS_MIN(size - off, (uint64_t)EXPORT_PIECE);
		ssize_t n;

		while (at < ndata && data[at].off + data[at].len <= off)
			at++;
		if (ndata && (at == ndata || off < data[at].off)) {
			if (at < ndata)
				want = (size_t)OFS_MIN(want, data[at].off - off);
			memset(x->piece, 0, want);
			n = (ssize_t)want;
		} else {
			if (ndata)
				want = (size_t)OFS_MIN(want, data[at].off + data[at].len - off);
			n = x->b->ops->read(x->b, h, x->piece, want, off);
		}
		r = n < 0 ? (int)n : n == 0 ? -ESTALE : 0;
		if (r == 0)
			r = ofs_sha256_update(hash, x->piece, (size_t)n);
		if (r == 0 && write)
			r = ofs_archive_write(x->archive, x->piece, (size_t)n, x->err);
		if (r == 0)
			r = stepped(x, write ? (uint64_t)n : 0);
		off += n > 0 ? (uint64_t)n : 0;
	}
	if (ofs_sha256_final(hash, sha) < 0 && r == 0)
		r = -EIO;
	ofs_sha256_destroy(hash);
	ofs_sha256_hex(sha, ret_sha);
	return r;
}

int ofs_bundle_hash(struct ofs_backend *b, const char *path, char ret[65])
{
	struct ofs_export none = { 0 };
	struct ofs_error err = { "" };
	struct exporting x = { .b = b, .e = &none, .err = &err };
	OFS_FREE char *known = NULL;
	struct stat st;
	ofs_handle h;
	int r = ofs_backend_attribute(b, path, "sha256", &known);

	if (r == 0 && strlen(known) == 64) {
		memcpy(ret, known, 65);
		return 0;
	}
	r = b->ops->stat(b, path, &st);
	if (r == 0)
		r = b->ops->open(b, path, &h);
	if (r < 0)
		return r;
	x.piece = ofs_alloc(EXPORT_PIECE);
	r = pass(&x, h, NULL, 0, (uint64_t)st.st_size, false, ret);
	b->ops->close(b, h);
	free(x.piece);
	return r;
}

/*
 * Returns the stretches of a file that have data, allocated; none if it has no holes or they are
 * unknown. Rounds to whole blocks, as the tree does for sealed files, so that the archive does not
 * depend on what is sealed.
 */
static struct ofs_stretch *map_data(struct exporting *x, ofs_handle h, uint64_t size, size_t *ret_n)
{
	struct ofs_stretch *list = NULL;
	size_t n = 0, cap = 0;
	uint64_t end = 0;

	while (end < size) {
		int64_t from = x->b->ops->seek(x->b, h, end, SEEK_DATA), to;

		if (from < 0 && from != -ENXIO)
			break;
		/* No data follows: an empty stretch at the end marks the hole before it. */
		to = from < 0 ? (int64_t)size : x->b->ops->seek(x->b, h, (uint64_t)from, SEEK_HOLE);
		from = from < 0 ? to : from - from % EXPORT_BLOCK;
		if (to < from || (uint64_t)to > size)
			break;
		if (!n || (uint64_t)from > end)
			*ofs_append(list, n, cap) = (struct ofs_stretch){ .off = (uint64_t)from };
		to += (EXPORT_BLOCK - to % EXPORT_BLOCK) % EXPORT_BLOCK;
		end = OFS_MIN((uint64_t)to, size);
		list[n - 1].len = end - list[n - 1].off;
	}
	if (end < size || (n == 1 && list[0].len == size)) {
		free(list);
		list = NULL;
		n = 0;
	}
	*ret_n = n;
	return list;
}

static int put_short(struct exporting *x, struct ofs_member *m, ofs_handle h)
{
	OFS_FREE char *text = NULL;
	uint8_t sha[OFS_SHA256_SIZE];
	char hex[65];
	size_t len;
	/* The file may have grown since it was listed. */
	int r = ofs_backend_read_all(x->b, h, 4 * EXPORT_WHOLE, &text, &len);

	if (r < 0)
		return r == -EFBIG ? -ESTALE : r;
	r = ofs_sha256(text, len, sha);
	ofs_sha256_hex(sha, hex);
	ofs_xattr_set(&m->xattrs, PREFIX "sha256", hex, strlen(hex));
	m->size = len;
	if (r == 0)
		r = ofs_archive_put(x->archive, m, NULL, 0, x->err);
	if (r == 0)
		r = ofs_archive_write(x->archive, text, len, x->err);
	x->e->bytes += len;
	return r < 0 ? r : stepped(x, len);
}

static int put_long(struct exporting *x, struct ofs_member *m, ofs_handle h)
{
	size_t n;
	OFS_FREE struct ofs_stretch *data = map_data(x, h, m->size, &n);
	OFS_FREE char *known = NULL;
	char sha[65], found[65];
	int r = ofs_backend_attribute(x->b, m->path, "sha256", &known);

	if (r == 0 && strlen(known) == 64)
		memcpy(sha, known, 65);
	else
		r = pass(x, h, data, n, m->size, false, sha);
	if (r < 0)
		return r;
	ofs_xattr_set(&m->xattrs, PREFIX "sha256", sha, strlen(sha));
	r = ofs_archive_put(x->archive, m, data, n, x->err);
	if (r == 0)
		r = pass(x, h, data, n, m->size, true, found);
	x->e->bytes += m->size;
	return r == 0 && strcmp(sha, found) != 0 ? -ESTALE : r;
}

static int put_file(struct exporting *x, struct ofs_member *m)
{
	ofs_handle h;
	int r = x->b->ops->open(x->b, m->path, &h);

	if (r < 0)
		return r;
	r = m->size <= EXPORT_WHOLE ? put_short(x, m, h) : put_long(x, m, h);
	x->b->ops->close(x->b, h);
	x->e->files++;
	return r == -ESTALE || r == -ENOENT
		       ? ofs_error_set(x->err, ESTALE,
				       "'%s' changed while it was exported: try again", m->path)
		       : r;
}

static int put_link(struct exporting *x, struct ofs_member *m)
{
	char target[PATH_MAX];
	ssize_t n = x->b->ops->readlink(x->b, m->path, target, sizeof(target) - 1);

	if (n < 0)
		return (int)n;
	target[n] = '\0';
	m->target = target;
	x->e->links++;
	return ofs_archive_put(x->archive, m, NULL, 0, x->err);
}

/* Leaves a file out if it has vanished since it was listed. */
static int put_member(struct exporting *x, const struct ofs_file *f)
{
	struct ofs_member m = { .path = f->path,
				.mode = f->attr.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO),
				.mtime = mtime_of(&f->attr),
				.size = (uint64_t)f->attr.st_size,
				.xattrs = OFS_BUF_INIT };
	bool linked = S_ISREG(f->attr.st_mode) && f->attr.st_nlink > 1;
	int r = S_ISLNK(f->attr.st_mode) ? 0 : add_attributes(x, f, &m.xattrs);
	char key[32];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)f->attr.st_ino);
	if (linked)
		m.target = json_string_value(json_object_get(x->first_names, key));
	if (r == 0 && m.target) {
		m.kind = OFS_MEMBER_LINK;
		m.xattrs.len = 0;
		x->e->links++;
		r = ofs_archive_put(x->archive, &m, NULL, 0, x->err);
	} else if (r == 0 && S_ISLNK(f->attr.st_mode)) {
		m.kind = OFS_MEMBER_SYMLINK;
		r = put_link(x, &m);
	} else if (r == 0 && S_ISDIR(f->attr.st_mode)) {
		m.kind = OFS_MEMBER_DIR;
		x->e->directories++;
		r = ofs_archive_put(x->archive, &m, NULL, 0, x->err);
	} else if (r == 0) {
		r = put_file(x, &m);
		if (r == 0 && linked)
			json_object_set_new(x->first_names, key, json_string_nocheck(f->path));
	}
	ofs_buf_finish(&m.xattrs);
	if (r == -ENOENT && !x->err->text[0]) {
		x->e->left_out++;
		return 0;
	}
	return r < 0 && !x->err->text[0] ? export_failed(x, r, f->path) : r;
}

/* ---- the manifest */

static int put_manifest(struct exporting *x, uint64_t members)
{
	struct ofs_member m = { .path = OFS_BUNDLE_MANIFEST, .mode = 0644, .xattrs = OFS_BUF_INIT };
	json_t *what = json_array(), *json;
	OFS_FREE char *text = NULL;
	int r;

	x->total = 0;
	for (size_t i = 0; i < x->found.count; i++) {
		const struct stat *st = &x->found.list[i].attr;

		x->total += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
		/* The time of the newest file: with the current time no two exports would match. */
		if (S_ISREG(st->st_mode))
			m.mtime = OFS_MAX(m.mtime, mtime_of(st));
	}
	if (x->e->task)
		json_array_append_new(what, json_sprintf("task %s", x->e->task));
	for (size_t i = 0; i < x->e->npaths; i++)
		json_array_append_new(what, json_string(x->e->paths[i]));
	json = json_pack("{s:i, s:s, s:o, s:I}", "offload_export", OFS_BUNDLE_FORMAT, "version",
			 OFS_VERSION, "what", what, "members", (json_int_t)members);
	text = json_dumps(json, JSON_INDENT(2));
	json_decref(json);
	m.size = strlen(text) + 1;
	text[m.size - 1] = '\n';
	r = ofs_archive_put(x->archive, &m, NULL, 0, x->err);
	return r < 0 ? r : ofs_archive_write(x->archive, text, m.size, x->err);
}

int ofs_export(struct ofs_backend *b, struct ofs_export *e, int fd, struct ofs_error *err)
{
	OFS_CLEANUP(exporting_finish) struct exporting x = { .b = b, .e = e, .err = err };
	int r = ofs_archive_create(fd, err, &x.archive);

	if (r < 0)
		return r;
	err->text[0] = '\0';
	x.first_names = json_object();
	x.piece = ofs_alloc(EXPORT_PIECE);
	r = gather_all(&x);
	if (r == 0)
		r = put_manifest(&x, x.found.count);
	for (size_t i = 0; r == 0 && i < x.found.count; i++)
		r = put_member(&x, &x.found.list[i]);
	if (r == 0 && e->left_out)
		r = put_manifest(&x, x.found.count - e->left_out);
	return r < 0 ? r : ofs_archive_end(x.archive, err);
}
