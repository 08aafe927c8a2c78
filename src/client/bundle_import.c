/* SPDX-License-Identifier: MIT */
/*
 * An archive is read twice. First it is checked as a whole, and it is decided what becomes of each
 * member (`struct planned`). Then the files are written under names of their own, in the working
 * tier, so that what a death leaves there expires; and at last each is moved to its place. A file
 * that was promoted goes the way that it went then, from the directory of its task or category, so
 * that the tree marks it with its origin as it always does.
 */
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/text.h"
#include "client/bundle.h"
#include "client/naming.h"
#include "client/operand.h"
#include "codec/hash.h"
#include "io/path.h"

#define PREFIX "user.offload."
#define IMPORT_MANIFEST_MAX ((uint64_t)1 << 20)
#define IMPORT_MEMBERS_MAX 10000000u
#define IMPORT_FILE_MAX (UINT64_C(1) << 44) /* as a store takes */
/* No more than so many times what the disk has room for is unpacked. */
#define IMPORT_TIMES 64
#define IMPORT_STAGE ".offload-import-"
#define IMPORT_NUMBERS 1000 /* names that are tried where one is taken */
#define IMPORT_ZEROS ((size_t)256 << 10)
#define IMPORT_HELD_TRIES 200 /* of 10 ms, for the kernel to let go of a removed file */
#define SHA_LEN 64

struct planned {
	enum {
		PLAN_MAKE,
		PLAN_REPLACE,
		PLAN_THERE, /* with the same content, or a directory */
		PLAN_SKIP, /* with another one */
		PLAN_LEAVE, /* a link that leads out of the tree */
	} what;
	enum ofs_member_kind kind;
	char *path; /* where it goes */
	char *stage; /* where it is until then; NULL: it is not yet */
	char *sha; /* of files */
	char *ref; /* that it had; NULL: none */
	char *left; /* what an import that died has left with that ref; else NULL */
	bool ref_free; /* it may get that */
	bool placed;
	mode_t mode;
	int64_t mtime;
};

struct importing {
	struct ofs_backend *b;
	struct ofs_import *i;
	struct ofs_error *err;
	struct ofs_archive *archive;
	struct planned *plan;
	size_t n, cap;
	json_t *by_path; /* the path in the archive -> its place in `plan` */
	json_t *taken; /* paths that the plan makes */
	json_t *made; /* directories that were made, in order */
	uint64_t members, total, bytes;
	uint64_t random;
	char *zeros;
};

static void importing_finish(struct importing *m)
{
	ofs_archive_close(m->archive);
	for (size_t i = 0; i < m->n; i++) {
		free(m->plan[i].path);
		free(m->plan[i].stage);
		free(m->plan[i].sha);
		free(m->plan[i].ref);
		free(m->plan[i].left);
	}
	free(m->plan);
	json_decref(m->by_path);
	json_decref(m->taken);
	json_decref(m->made);
	free(m->zeros);
}

static int refused(struct importing *m, const char *path, const char *why)
{
	return ofs_error_set(m->err, EBADMSG, "nothing was imported: '%s' %s", path, why);
}

static int import_failed(struct importing *m, int r, const char *path)
{
	return m->err->text[0] ? r : ofs_backend_failed(m->err, r, "import", path);
}

static int stepped(struct importing *m, uint64_t bytes)
{
	m->bytes += bytes;
	if (!m->i->step || !m->i->step(m->i->arg, m->bytes, m->total))
		return 0;
	return ofs_error_set(m->err, EINTR, "interrupted: nothing was imported");
}

/* ---- members */

/* The value of user.offload.<name>, allocated; NULL: it has none, or one that is no text. */
static char *attribute(const struct ofs_member *member, const char *name)
{
	char full[64];
	struct ofs_xattr x;

	snprintf(full, sizeof(full), PREFIX "%s", name);
	if (!ofs_xattr_find(&member->xattrs, full, &x) || !x.size || memchr(x.value, 0, x.size))
		return NULL;
	return ofs_strndup(x.value, x.size);
}

/*
 * Calls fn(arg, data, len) for all of a file's content, holes as zeros where they are asked for.
 * -EBADMSG: pieces are not in order or reach beyond its size.
 */
static int read_content(struct importing *m, const struct ofs_member *member,
			int (*fn)(void *arg, const void *data, size_t len, uint64_t off, bool hole),
			void *arg)
{
	uint64_t at = 0, off = 0;
	const void *data;
	size_t len = 0;
	int r = 1;

	while (r > 0) {
		r = ofs_archive_read(m->archive, m->err, &data, &len, &off);
		if (r < 0)
			return r;
		if (r == 0) {
			off = member->size;
			len = 0;
		}
		if (off < at || off > member->size || len > member->size - off)
			return refused(m, member->path, "is damaged");
		while (at < off) {
			size_t n = (size_t)OFS_MIN(off - at, (uint64_t)IMPORT_ZEROS);
			int e = fn(arg, m->zeros, n, at, true);

			if (e == 0)
				e = stepped(m, n);
			if (e < 0)
				return e;
			at += n;
		}
		if (len) {
			int e = fn(arg, data, len, at, false);

			if (e == 0)
				e = stepped(m, len);
			if (e < 0)
				return e;
			at += len;
		}
	}
	return 0;
}

static int hash_piece(void *arg, const void *data, size_t len, uint64_t off, bool hole)
{
	return ofs_sha256_update(arg, data, len);
}

static int hash_member(struct importing *m, const struct ofs_member *member, char ret[SHA_LEN + 1])
{
	struct ofs_sha256 *hash = ofs_sha256_create();
	uint8_t sha[OFS_SHA256_SIZE];
	int r = read_content(m, member, hash_piece, hash);

	if (ofs_sha256_final(hash, sha) < 0 && r == 0)
		r = -EIO;
	ofs_sha256_destroy(hash);
	ofs_sha256_hex(sha, ret);
	return r;
}

static int append_piece(void *arg, const void *data, size_t len, uint64_t off, bool hole)
{
	ofs_buf_append(arg, data, len);
	return 0;
}

/* The first member says that it is an export, and how much there is. */
static int read_manifest(struct importing *m)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct ofs_member *member;
	json_t *json = NULL;
	json_int_t format = 0;
	int r = ofs_archive_next(m->archive, m->err, &member);

	if (r < 0)
		return r;
	if (r > 0 && strcmp(member->path, OFS_BUNDLE_MANIFEST) == 0 &&
	    member->kind == OFS_MEMBER_FILE && member->size <= IMPORT_MANIFEST_MAX) {
		r = read_content(m, member, append_piece, &text);
		if (r < 0)
			return r;
		json = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
		format = json_integer_value(json_object_get(json, "offload_export"));
		m->members = (uint64_t)json_integer_value(json_object_get(json, "members"));
		json_decref(json);
	}
	if (!format)
		return ofs_error_set(m->err, EBADMSG,
				     "it is not an export: it does not begin with a %s of one",
				     OFS_BUNDLE_MANIFEST);
	if (format != OFS_BUNDLE_FORMAT)
		return ofs_error_set(m->err, EBADMSG,
				     "the export has format %" JSON_INTEGER_FORMAT
				     ", and this program knows %d: use a newer one",
				     format, OFS_BUNDLE_FORMAT);
	return 0;
}

/* ---- planning */

/* Allocated: the path without what leads out of the tree; NULL: it would. */
static char *clean_path(const char *path)
{
	OFS_FREE char *clean = ofs_strdup(path);
	size_t len = strlen(clean);

	while (len && clean[len - 1] == '/')
		clean[--len] = '\0';
	if (!len || path[0] == '/' || len >= PATH_MAX / 2 || ofs_path_normalize(clean) < 0)
		return NULL;
	for (const char *p = clean; *p; p += *p == '/') {
		size_t part = strcspn(p, "/");

		if (part > 255)
			return NULL;
		p += part;
	}
	return ofs_bundle_is_place(clean) ? ofs_steal(clean) : NULL;
}

/* False: a symbolic link at `path` would lead out of the tree. */
static bool stays_inside(const char *path, const char *target)
{
	size_t depth = 0;

	if (target[0] == '/')
		return false;
	for (const char *p = path; (p = strchr(p, '/')); p++)
		depth++;
	for (const char *p = target; *p; p += *p == '/') {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.') {
			if (!depth--)
				return false;
		} else if (len && !(len == 1 && p[0] == '.')) {
			depth++;
		}
		p += len;
	}
	return true;
}

static struct planned *planned_at(struct importing *m, const char *path)
{
	const json_t *at = json_object_get(m->by_path, path);

	return at ? &m->plan[json_integer_value(at)] : NULL;
}

/* Nothing may be reached through a link that the archive brings. */
static int check_above(struct importing *m, const char *path)
{
	OFS_FREE char *part = ofs_strdup(path);

	for (char *slash = part; (slash = strchr(slash, '/')); *slash++ = '/') {
		const struct planned *above;

		*slash = '\0';
		above = planned_at(m, part);
		if (above && above->kind != OFS_MEMBER_DIR)
			return refused(m, path, "lies in something that is not a directory");
	}
	return 0;
}

/* 1: the file at `path` has that content; 0: another one; or -errno. */
static int has_content(struct importing *m, const char *path, const char *sha)
{
	char found[SHA_LEN + 1];
	int r = ofs_bundle_hash(m->b, path, found);

	return r < 0 ? r : strcmp(found, sha) == 0;
}

/* 1: what is at the planned path is the same; 0: it is not; -ENOENT: nothing is. */
static int is_there(struct importing *m, const struct planned *p, const char *target)
{
	char found[PATH_MAX];
	struct stat st;
	ssize_t n;
	int r = m->b->ops->lstat(m->b, p->path, &st);

	if (r < 0)
		return r;
	switch (p->kind) {
	case OFS_MEMBER_DIR:
		return S_ISDIR(st.st_mode);
	case OFS_MEMBER_SYMLINK:
		n = S_ISLNK(st.st_mode) ? m->b->ops->readlink(m->b, p->path, found, sizeof(found))
					: -EINVAL;
		return n == (ssize_t)strlen(target) && memcmp(found, target, (size_t)n) == 0;
	default:
		return S_ISREG(st.st_mode) && p->sha ? has_content(m, p->path, p->sha) : 0;
	}
}

/* The ref is one that the file may get here, its file is here already (1), or neither. */
static int plan_ref(struct importing *m, struct planned *p)
{
	OFS_FREE char *link = ofs_path_join("refs", p->ref);
	OFS_FREE char *info = ofs_format("refs/%s:info", p->ref);
	OFS_FREE char *path = NULL;
	json_t *gone = NULL;
	const char *sha;
	int r = ofs_backend_attribute(m->b, link, "path", &path);

	if (r == 0) {
		const char *name = strrchr(path, '/');

		if (name && strncmp(name + 1, IMPORT_STAGE, strlen(IMPORT_STAGE)) == 0) {
			p->left = ofs_steal(path);
			p->ref_free = true;
			return 0;
		}
		r = has_content(m, link, p->sha);
		if (r > 0) {
			free(p->path);
			p->path = ofs_steal(path);
		}
		return r;
	}
	p->ref_free = r == -ENOENT;
	if (r != -EKEYEXPIRED)
		return r == -ENOENT || r == -ENODATA ? 0 : r;
	/* A pointer to what is gone must not show anything else. */
	if (ofs_gone_load(m->b, info, &gone) == 0) {
		sha = json_string_value(json_object_get(gone, "sha256"));
		p->ref_free = sha && strcmp(sha, p->sha) == 0;
	}
	json_decref(gone);
	return 0;
}

static bool is_taken(struct importing *m, const char *path)
{
	struct stat st;

	return json_object_get(m->taken, path) || m->b->ops->lstat(m->b, path, &st) != -ENOENT;
}

static int plan_rename(struct importing *m, struct planned *p)
{
	OFS_FREE char *dir = ofs_strdup(p->path);
	char *slash = strrchr(dir, '/');
	char name[OFS_NAME_NUMBERED_MAX + 1];

	*slash++ = '\0';
	for (unsigned int i = 2; i < IMPORT_NUMBERS; i++) {
		OFS_FREE char *path = NULL;

		ofs_name_number(slash, i, name);
		path = ofs_path_join(dir, name);
		if (is_taken(m, path))
			continue;
		free(p->path);
		p->path = ofs_steal(path);
		return 0;
	}
	return refused(m, p->path, "exists, and so do all names like it");
}

static int plan_taken(struct importing *m, struct planned *p)
{
	struct stat st;

	if (p->kind == OFS_MEMBER_DIR ||
	    (m->i->taken == OFS_IMPORT_REPLACE && m->b->ops->lstat(m->b, p->path, &st) == 0 &&
	     S_ISDIR(st.st_mode)))
		return refused(m, p->path, "exists, and is something else");
	switch (m->i->taken) {
	case OFS_IMPORT_SKIP:
		p->what = PLAN_SKIP;
		return 0;
	case OFS_IMPORT_REPLACE:
		p->what = PLAN_REPLACE;
		return 0;
	case OFS_IMPORT_RENAME:
		return plan_rename(m, p);
	default:
		return refused(m, p->path,
			       "exists with other content; --skip, --replace or --rename say what "
			       "becomes of such files");
	}
}

static int plan_place(struct importing *m, struct planned *p, const char *target)
{
	int r = p->ref ? plan_ref(m, p) : 0;

	if (r > 0) {
		p->what = PLAN_THERE;
		return 0;
	}
	if (r == 0)
		r = is_there(m, p, target);
	if (r > 0)
		p->what = PLAN_THERE;
	else if (r == 0)
		r = plan_taken(m, p);
	if (r < 0 && r != -ENOENT)
		return import_failed(m, r, p->path);
	if (p->what != PLAN_MAKE && p->what != PLAN_REPLACE)
		return 0;
	if (json_object_get(m->taken, p->path))
		return refused(m, p->path, "would be made twice");
	json_object_set_new_nocheck(m->taken, p->path, json_true());
	return 0;
}

static int plan_content(struct importing *m, const struct ofs_member *member, struct planned *p)
{
	char found[SHA_LEN + 1];
	int r;

	if (member->size > IMPORT_FILE_MAX)
		return refused(m, member->path, "is larger than a file can be");
	m->total += member->size;
	if (m->total / IMPORT_TIMES > m->i->room)
		return ofs_error_set(m->err, ENOSPC,
				     "nothing was imported: it unpacks to more than %d times what "
				     "the disk has room for",
				     IMPORT_TIMES);
	p->sha = attribute(member, "sha256");
	p->ref = attribute(member, "ref");
	if (!p->sha || strlen(p->sha) != SHA_LEN)
		return refused(m, member->path, "has no sha256, so it cannot be checked");
	if (p->ref && !ofs_operand_is_ref(p->ref))
		return refused(m, member->path, "has a malformed ref");
	r = hash_member(m, member, found);
	if (r == 0 && strcmp(found, p->sha) != 0)
		r = refused(m, member->path, "is not what was exported: its sha256 is another");
	return r;
}

static int plan_link(struct importing *m, const struct ofs_member *member, struct planned *p)
{
	OFS_FREE char *of = clean_path(member->target);
	const struct planned *first = of ? planned_at(m, of) : NULL;

	if (!first || first->kind != OFS_MEMBER_FILE)
		return refused(m, member->path,
			       "is another name of what the archive does not have");
	p->sha = ofs_strdup(first->sha);
	return 0;
}

static int plan_member(struct importing *m, const struct ofs_member *member)
{
	OFS_FREE char *clean = clean_path(member->path);
	struct planned *p;
	int r;

	if (!clean)
		return refused(m, member->path, "lies outside of what a tree keeps");
	if (member->kind == OFS_MEMBER_OTHER)
		return refused(m, member->path, "is a device or the like");
	if (planned_at(m, clean))
		return refused(m, member->path, "is there twice");
	if (m->n == IMPORT_MEMBERS_MAX)
		return ofs_error_set(m->err, E2BIG, "nothing was imported: more than %u members",
				     IMPORT_MEMBERS_MAX);
	r = check_above(m, clean);
	if (r < 0)
		return r;
	p = ofs_append(m->plan, m->n, m->cap);
	*p = (struct planned){ .kind = member->kind,
			       .path = *m->i->dest ? ofs_path_join(m->i->dest, clean)
						   : ofs_strdup(clean),
			       .mode = member->mode,
			       .mtime = member->mtime };
	json_object_set_new_nocheck(m->by_path, clean, json_integer((json_int_t)m->n - 1));
	if (member->kind == OFS_MEMBER_FILE)
		r = plan_content(m, member, p);
	else if (member->kind == OFS_MEMBER_LINK)
		r = plan_link(m, member, p);
	else if (member->kind == OFS_MEMBER_SYMLINK && !stays_inside(p->path, member->target))
		p->what = PLAN_LEAVE;
	if (r == 0 && p->what != PLAN_LEAVE)
		r = plan_place(m, p, member->target);
	return r;
}

static int open_archive(struct importing *m)
{
	int r;

	ofs_archive_close(m->archive);
	m->archive = NULL;
	m->bytes = 0;
	r = ofs_archive_open(m->i->read, m->i->read_arg, m->err, &m->archive);
	return r < 0 ? r : read_manifest(m);
}

static int plan(struct importing *m)
{
	const struct ofs_member *member;
	int r = open_archive(m);

	while (r == 0 && (r = ofs_archive_next(m->archive, m->err, &member)) > 0)
		r = plan_member(m, member);
	if (r == 0 && m->n != m->members)
		r = ofs_error_set(
			m->err, EBADMSG,
			"nothing was imported: the archive says that it has %llu members, "
			"and has %zu",
			(unsigned long long)m->members, m->n);
	return r;
}

/* ---- writing */

/* Makes a directory and those above, and notes which were missing. */
static int make_dirs(struct importing *m, const char *path)
{
	OFS_FREE char *part = ofs_strdup(path);
	json_t *missing = json_array();
	char *slash = part;
	int r;

	while (slash) {
		struct stat st;

		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (m->b->ops->lstat(m->b, part, &st) == -ENOENT)
			json_array_append_new(missing, json_string_nocheck(part));
		if (slash)
			*slash++ = '/';
	}
	r = *path ? ofs_backend_mkdirs(m->b, path, m->err) : 0;
	json_array_extend(m->made, missing);
	json_decref(missing);
	return r;
}

/* Allocated: the directory in which the file is written before it goes to its place. */
static char *stage_dir(const struct planned *p, const struct ofs_member *member)
{
	const char *slash = strrchr(p->path, '/'), *rest = p->path;
	OFS_FREE char *agent = ofs_naming_agent_of(p->path, &rest);
	OFS_FREE char *task = attribute(member, "origin_task");
	OFS_FREE char *category = attribute(member, "origin_category");
	OFS_FREE char *clean = clean_path(member->path), *dir = NULL;
	const char *from = clean;
	OFS_FREE char *from_agent = ofs_naming_agent_of(clean, &from);
	struct ofs_error ignored;

	if (strncmp(rest, "persistent/", 11) != 0 && strncmp(rest, "archive/", 8) != 0)
		return ofs_strndup(p->path, (size_t)(slash - p->path));
	if ((task && ofs_naming_check_file(task, &ignored) < 0) ||
	    (category && ofs_naming_check_file(category, &ignored) < 0))
		dir = ofs_strdup("cache");
	else if (strncmp(from, "tasks/", 6) == 0 || strncmp(from, "cache/", 6) == 0)
		dir = ofs_strndup(from, (size_t)(strrchr(from, '/') - from));
	else if (task)
		dir = ofs_format("tasks/%s%s%s", task, category ? "/" : "",
				 category ? category : "");
	else
		dir = ofs_format("cache%s%s", category ? "/" : "", category ? category : "");
	return agent ? ofs_path_join(agent, dir) : ofs_steal(dir);
}

/* Creates the file at p->stage, whose directory is `dir`. With its ref if it may have that. */
static int create_stage(struct importing *m, struct planned *p, const char *dir, ofs_handle *ret)
{
	OFS_FREE char *value =
		ofs_format("%s/%s", p->ref ? p->ref : "", strrchr(p->stage, '/') + 1);
	const struct timespec nap = { .tv_nsec = 10000000 };
	int r = -EEXIST;

	if (p->left)
		m->b->ops->unlink(m->b, p->left);
	for (int i = 0; p->ref_free && i < IMPORT_HELD_TRIES; i++) {
		r = m->b->ops->setxattr(m->b, dir, PREFIX "bring", value, strlen(value));
		if (r != -EBUSY)
			break;
		nanosleep(&nap, NULL);
	}
	if (r == 0)
		return m->b->ops->edit(m->b, p->stage, ret);
	if (p->ref_free && (r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS))
		return r;
	p->ref_free = false;
	return m->b->ops->create(m->b, p->stage, 0600, ret);
}

struct writing {
	struct importing *m;
	struct ofs_sha256 *hash;
	ofs_handle h;
	uint64_t size;
};

static int write_piece(void *arg, const void *data, size_t len, uint64_t off, bool hole)
{
	struct writing *w = arg;
	int r = ofs_sha256_update(w->hash, data, len);

	if (r < 0)
		return r;
	if (!hole)
		return w->m->b->ops->write(w->m->b, w->h, data, len, off);
	/* The end is written, so that the file is as long as it should be. */
	return off + len == w->size ? w->m->b->ops->write(w->m->b, w->h, "", 1, w->size - 1) : 0;
}

static int write_content(struct importing *m, const struct ofs_member *member, struct planned *p,
			 ofs_handle h)
{
	struct writing w = { m, ofs_sha256_create(), h, member->size };
	uint8_t sha[OFS_SHA256_SIZE];
	char found[SHA_LEN + 1];
	int r = read_content(m, member, write_piece, &w);

	if (ofs_sha256_final(w.hash, sha) < 0 && r == 0)
		r = -EIO;
	ofs_sha256_destroy(w.hash);
	ofs_sha256_hex(sha, found);
	if (r == 0 && strcmp(found, p->sha) != 0)
		r = refused(m, member->path, "changed while the archive was read");
	return r;
}

/* Those that can be set; a value that means nothing is an error, as for setxattr(2). */
static int set_attributes(struct importing *m, const struct ofs_member *member, const char *path)
{
	static const char *const labels[] = { "ttl", "important", "tags", "title", "category" };
	struct ofs_xattr x;
	size_t at = 0;

	while (ofs_xattr_next(&member->xattrs, &at, &x)) {
		char name[OFS_XATTR_NAME_MAX + 1];
		bool wanted;
		int r;

		memcpy(name, x.name, x.name_len);
		name[x.name_len] = '\0';
		wanted = strncmp(name, "user.", 5) == 0 &&
			 strncmp(name, PREFIX, strlen(PREFIX)) != 0;
		for (size_t i = 0; !wanted && i < OFS_ARRAY_SIZE(labels); i++)
			wanted = strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
				 strcmp(name + strlen(PREFIX), labels[i]) == 0;
		r = wanted ? m->b->ops->setxattr(m->b, path, name, x.value, x.size) : 0;
		if (r < 0)
			return ofs_error_set(m->err, -r,
					     "nothing was imported: '%s' has an attribute %s that "
					     "cannot be set: %s",
					     member->path, name, strerror(-r));
	}
	return 0;
}

static int write_file(struct importing *m, const struct ofs_member *member, struct planned *p,
		      const char *dir)
{
	ofs_handle h;
	int r = create_stage(m, p, dir, &h);

	if (r < 0)
		return r;
	r = write_content(m, member, p, h);
	m->b->ops->close(m->b, h);
	if (r == 0)
		r = set_attributes(m, member, p->stage);
	if (r == 0)
		r = m->b->ops->stamp(m->b, p->stage, p->mode, p->mtime);
	return r;
}

/* Files and links, which get their places when all is written; directories get them now. */
static int write_member(struct importing *m, const struct ofs_member *member, struct planned *p)
{
	OFS_FREE char *dir = NULL;
	int r;

	if (p->what != PLAN_MAKE && p->what != PLAN_REPLACE)
		return 0;
	if (p->kind == OFS_MEMBER_DIR) {
		r = make_dirs(m, p->path);
		return r < 0 ? r : set_attributes(m, member, p->path);
	}
	if (p->kind == OFS_MEMBER_LINK)
		return 0;
	dir = stage_dir(p, member);
	r = make_dirs(m, dir);
	if (r < 0)
		return r;
	p->stage = ofs_format("%s/" IMPORT_STAGE "%016llx-%zu", dir, (unsigned long long)m->random,
			      (size_t)(p - m->plan));
	if (p->kind == OFS_MEMBER_SYMLINK)
		return m->b->ops->symlink(m->b, member->target, p->stage);
	return write_file(m, member, p, dir);
}

static int write_all(struct importing *m)
{
	const struct ofs_member *member;
	int r = open_archive(m);

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		r = ofs_archive_next(m->archive, m->err, &member);
		if (r < 0)
			break;
		r = r == 0 || member->kind != m->plan[i].kind
			    ? ofs_error_set(m->err, EBADMSG,
					    "the archive changed while it was read")
			    : write_member(m, member, &m->plan[i]);
		if (r < 0)
			return import_failed(m, r, m->plan[i].path);
	}
	return r;
}

/* ---- placing */

static int place(struct importing *m, struct planned *p)
{
	OFS_FREE char *dir = ofs_strndup(p->path, (size_t)(strrchr(p->path, '/') - p->path));
	int r = make_dirs(m, dir);

	if (r == 0)
		r = m->b->ops->rename(m->b, p->stage, p->path,
				      p->what == PLAN_REPLACE ? 0 : RENAME_NOREPLACE);
	p->placed = r == 0;
	return r < 0 ? import_failed(m, r, p->path) : 0;
}

/* Another name of a file that is in its place by now. */
static int place_link(struct importing *m, const struct ofs_member *member, struct planned *p)
{
	OFS_FREE char *of = clean_path(member->target);
	const struct planned *first = planned_at(m, of);
	OFS_FREE char *dir = ofs_strndup(p->path, (size_t)(strrchr(p->path, '/') - p->path));
	int r = make_dirs(m, dir);

	if (r == 0 && p->what == PLAN_REPLACE)
		r = m->b->ops->unlink(m->b, p->path);
	if (r == 0)
		r = m->b->ops->link(m->b, first->path, p->path);
	p->placed = r == 0;
	return r < 0 ? import_failed(m, r, p->path) : 0;
}

static int place_links(struct importing *m)
{
	const struct ofs_member *member;
	int r = open_archive(m);

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		struct planned *p = &m->plan[i];

		r = ofs_archive_next(m->archive, m->err, &member);
		if (r == 0)
			r = -EBADMSG;
		if (r > 0)
			r = p->kind == OFS_MEMBER_LINK &&
					    (p->what == PLAN_MAKE || p->what == PLAN_REPLACE)
				    ? place_link(m, member, p)
				    : 0;
	}
	return r;
}

static int place_all(struct importing *m)
{
	bool links = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		if (m->plan[i].stage)
			r = place(m, &m->plan[i]);
		links = links || m->plan[i].kind == OFS_MEMBER_LINK;
	}
	if (r == 0 && links)
		r = place_links(m);
	/* What is in a directory comes after it, and changes its time. */
	for (size_t i = m->n; r == 0 && i-- > 0;) {
		const struct planned *p = &m->plan[i];

		if (p->kind == OFS_MEMBER_DIR && p->what == PLAN_MAKE)
			m->b->ops->stamp(m->b, p->path, p->mode | S_IRWXU, p->mtime);
	}
	return r;
}

/* Directories that nothing is in: those that files were only written in, and after a failure all. */
static void remove_dirs(struct importing *m, bool all)
{
	for (size_t i = json_array_size(m->made); i-- > 0;) {
		const char *path = json_string_value(json_array_get(m->made, i));

		if (all || !json_object_get(m->taken, path))
			m->b->ops->rmdir(m->b, path);
	}
}

/* What was replaced stays so. */
static void undo(struct importing *m)
{
	for (size_t i = m->n; i-- > 0;) {
		const struct planned *p = &m->plan[i];

		if (p->placed && p->what == PLAN_MAKE)
			m->b->ops->unlink(m->b, p->path);
		else if (p->stage && !p->placed)
			m->b->ops->unlink(m->b, p->stage);
	}
	remove_dirs(m, true);
}

/* ---- telling */

static json_t *text_json(const char *text)
{
	OFS_FREE char *readable = text ? ofs_text_readable(text) : NULL;

	return readable ? json_string(readable) : json_null();
}

static void tell(struct importing *m)
{
	static const char *const words[] = { [PLAN_MAKE] = "imported",
					     [PLAN_REPLACE] = "replaced",
					     [PLAN_THERE] = "there",
					     [PLAN_SKIP] = "skipped",
					     [PLAN_LEAVE] = "left out" };
	static const char *const kinds[] = { [OFS_MEMBER_FILE] = "file",
					     [OFS_MEMBER_DIR] = "directory",
					     [OFS_MEMBER_SYMLINK] = "symlink",
					     [OFS_MEMBER_LINK] = "link" };

	m->i->items = json_array();
	for (size_t i = 0; i < m->n; i++) {
		const struct planned *p = &m->plan[i];
		OFS_FREE char *ref = NULL;

		if (p->kind == OFS_MEMBER_FILE && !m->i->dry_run)
			ofs_backend_attribute(m->b, p->path, "ref", &ref);
		else if (p->ref_free)
			ref = ofs_strdup(p->ref);
		json_array_append_new(m->i->items,
				      json_pack("{s:o, s:s, s:s, s:o, s:o}", "path",
						text_json(p->path), "kind", kinds[p->kind],
						"action", words[p->what], "was_ref",
						text_json(p->ref), "ref", text_json(ref)));
	}
}

int ofs_import(struct ofs_backend *b, struct ofs_import *i, struct ofs_error *err)
{
	OFS_CLEANUP(importing_finish) struct importing m = { .b = b, .i = i, .err = err };
	ofs_handle lock;
	int r, locked;

	err->text[0] = '\0';
	m.by_path = json_object();
	m.taken = json_object();
	m.made = json_array();
	m.zeros = ofs_alloc(IMPORT_ZEROS);
	memset(m.zeros, 0, IMPORT_ZEROS);
	if (getrandom(&m.random, sizeof(m.random), 0) < 0)
		m.random = (uint64_t)ofs_clock_wall();
	/* What lies under the names of another import is left by one that died. */
	locked = i->dry_run ? -ENOLCK : b->ops->lock(b, "cache", &lock);
	r = locked < 0 && locked != -ENOLCK ? ofs_backend_failed(err, locked, "lock", "cache") : 0;
	if (r == 0)
		r = plan(&m);
	if (r == 0 && !i->dry_run) {
		r = write_all(&m);
		if (r == 0)
			r = place_all(&m);
		if (r < 0)
			undo(&m);
		else
			remove_dirs(&m, false);
	}
	if (r == 0)
		tell(&m);
	if (locked == 0)
		b->ops->unlock(b, lock);
	return r;
}
