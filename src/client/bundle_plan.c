/* SPDX-License-Identifier: MIT */
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/name.h"
#include "client/bundle_plan.h"
#include "client/naming.h"
#include "client/operand.h"
#include "codec/hash.h"
#include "io/path.h"

#define IMPORT_MANIFEST_MAX ((uint64_t)1 << 20)
#define IMPORT_MEMBERS_MAX 10000000u
#define IMPORT_FILE_MAX (UINT64_C(1) << 44) /* as in a store */
/* An archive may unpack to at most this multiple of the free space. */
#define IMPORT_TIMES 64
#define IMPORT_NUMBERS 1000 /* numbered names end below this */

int ofs_import_refused(struct ofs_importing *m, const char *path, const char *why)
{
	return ofs_error_set(m->err, EBADMSG, "nothing was imported: '%s' %s", path, why);
}

int ofs_import_failed(struct ofs_importing *m, int r, const char *path)
{
	return m->err->text[0] ? r : ofs_backend_failed(m->err, r, "import", path);
}

static int stepped(struct ofs_importing *m, uint64_t bytes)
{
	m->bytes += bytes;
	if (!m->i->step || !m->i->step(m->i->arg, m->bytes, m->total))
		return 0;
	return ofs_error_set(m->err, EINTR, "interrupted: nothing was imported");
}

/* ---- members */

char *ofs_member_attribute(const struct ofs_member *member, const char *name)
{
	char full[64];
	struct ofs_xattr x;

	snprintf(full, sizeof(full), OFS_IMPORT_PREFIX "%s", name);
	if (!ofs_xattr_find(&member->xattrs, full, &x) || !x.size || memchr(x.value, 0, x.size))
		return NULL;
	return ofs_strndup(x.value, x.size);
}

int ofs_import_read(struct ofs_importing *m, const struct ofs_member *member,
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
			return ofs_import_refused(m, member->path, "is damaged");
		while (at < off) {
			size_t n = (size_t)OFS_MIN(off - at, (uint64_t)OFS_IMPORT_ZEROS);
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

static int hash_member(struct ofs_importing *m, const struct ofs_member *member,
		       char ret[OFS_IMPORT_SHA_LEN + 1])
{
	struct ofs_sha256 *hash = ofs_sha256_create();
	uint8_t sha[OFS_SHA256_SIZE];
	int r = ofs_import_read(m, member, hash_piece, hash);

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

static bool is_manifest(const struct ofs_member *member)
{
	return strcmp(member->path, OFS_BUNDLE_MANIFEST) == 0 && member->kind == OFS_MEMBER_FILE &&
	       member->size <= IMPORT_MANIFEST_MAX;
}

/* Reads the member that identifies the archive as an export and counts its members; NULL: none. */
static int read_manifest(struct ofs_importing *m, const struct ofs_member *member)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	json_t *json = NULL;
	json_int_t format = 0;

	if (member && is_manifest(member)) {
		int r = ofs_import_read(m, member, append_piece, &text);

		if (r < 0)
			return r;
		json = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
		format = json_integer_value(json_object_get(json, "offload_export"));
		m->members = (uint64_t)json_integer_value(json_object_get(json, "members"));
		json_decref(json);
	}
	if (!format)
		return ofs_error_set(m->err, EBADMSG,
				     "it is not an export: its first member is not a valid %s",
				     OFS_BUNDLE_MANIFEST);
	if (format != OFS_BUNDLE_FORMAT)
		return ofs_error_set(m->err, EBADMSG,
				     "the export has format %" JSON_INTEGER_FORMAT
				     ", but this program supports only %d: use a newer one",
				     format, OFS_BUNDLE_FORMAT);
	return 0;
}

/* ---- planning */

char *ofs_import_path(const char *path)
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

/*
 * True if a symbolic link at `path` to `target` stays in the tree, or in the agent's tree that it
 * lies in. Only the directories above the link are known to be no links themselves, so ".." may not
 * follow a name.
 */
static bool stays_inside(const char *path, const char *target)
{
	const char *rest = path;
	OFS_FREE char *agent = ofs_naming_agent_of(path, &rest);
	size_t depth = 0;
	bool named = false;

	if (target[0] == '/')
		return false;
	for (const char *p = rest; (p = strchr(p, '/')); p++)
		depth++;
	for (const char *p = target; *p; p += *p == '/') {
		size_t len = strcspn(p, "/");

		if (len == 2 && p[0] == '.' && p[1] == '.') {
			if (named || !depth--)
				return false;
		} else if (len && !(len == 1 && p[0] == '.')) {
			named = true;
		}
		p += len;
	}
	return true;
}

struct ofs_planned *ofs_planned_at(struct ofs_importing *m, const char *path)
{
	const json_t *at = json_object_get(m->by_path, path);

	return at ? &m->plan[json_integer_value(at)] : NULL;
}

/* Fails if a directory of `path` is a file or link in the archive: nothing may go through links. */
static int check_above(struct ofs_importing *m, const char *path)
{
	OFS_FREE char *part = ofs_strdup(path);

	for (char *slash = part; (slash = strchr(slash, '/')); *slash++ = '/') {
		const struct ofs_planned *above;

		*slash = '\0';
		above = ofs_planned_at(m, part);
		if (above && above->kind != OFS_MEMBER_DIR)
			return ofs_import_refused(m, path,
						  "lies in something that is not a directory");
	}
	return 0;
}

/* Returns 1 if the file at `path` has that content, 0 if it has other content, or -errno. */
static int has_content(struct ofs_importing *m, const char *path, const char *sha)
{
	char found[OFS_IMPORT_SHA_LEN + 1];
	int r = ofs_bundle_hash(m->b, path, found);

	return r < 0 ? r : strcmp(found, sha) == 0;
}

/* Returns 1 if the same is at the planned path, 0 if something else is, or -errno. */
static int is_there(struct ofs_importing *m, const struct ofs_planned *p)
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
		return n == (ssize_t)strlen(p->target) && memcmp(found, p->target, (size_t)n) == 0;
	default:
		return S_ISREG(st.st_mode) && p->sha ? has_content(m, p->path, p->sha) : 0;
	}
}

/*
 * Finds out whether the file can get its former ref, and sets `ref_free`. Returns 1 and adjusts
 * `path` if a file with that ref and content exists already, else 0 or -errno.
 */
static int plan_ref(struct ofs_importing *m, struct ofs_planned *p)
{
	OFS_FREE char *link = ofs_path_join("refs", p->ref);
	OFS_FREE char *info = ofs_format("refs/%s:info", p->ref);
	OFS_FREE char *path = NULL;
	json_t *gone = NULL;
	const char *sha;
	int r = ofs_backend_attribute(m->b, link, "path", &path);

	if (r == 0) {
		const char *name = strrchr(path, '/');

		if (name && strncmp(name + 1, OFS_IMPORT_STAGE, strlen(OFS_IMPORT_STAGE)) == 0) {
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
	/* A pointer to a removed file must not show other content. */
	if (ofs_gone_load(m->b, info, &gone) == 0) {
		sha = json_string_value(json_object_get(gone, "sha256"));
		p->ref_free = sha && strcmp(sha, p->sha) == 0;
	}
	json_decref(gone);
	return 0;
}

static bool is_taken(struct ofs_importing *m, const char *path)
{
	struct stat st;

	return json_object_get(m->taken, path) || m->b->ops->lstat(m->b, path, &st) != -ENOENT;
}

static int plan_rename(struct ofs_importing *m, struct ofs_planned *p)
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
	return ofs_import_refused(m, p->path, "exists, and so do all numbered names for it");
}

static int plan_taken(struct ofs_importing *m, struct ofs_planned *p)
{
	struct stat st;

	if (p->kind == OFS_MEMBER_DIR ||
	    (m->i->taken == OFS_IMPORT_REPLACE && m->b->ops->lstat(m->b, p->path, &st) == 0 &&
	     S_ISDIR(st.st_mode)))
		return ofs_import_refused(m, p->path, "exists, but is something else");
	switch (m->i->taken) {
	case OFS_IMPORT_SKIP:
		p->what = OFS_PLAN_SKIP;
		return 0;
	case OFS_IMPORT_REPLACE:
		p->what = OFS_PLAN_REPLACE;
		return 0;
	case OFS_IMPORT_RENAME:
		return plan_rename(m, p);
	default:
		return ofs_import_refused(
			m, p->path,
			"exists with other content; choose --skip, --replace or --rename for "
			"such files");
	}
}

static int plan_place(struct ofs_importing *m, struct ofs_planned *p)
{
	int r = p->ref ? plan_ref(m, p) : 0;

	if (r > 0) {
		p->what = OFS_PLAN_THERE;
		return 0;
	}
	if (r == 0)
		r = is_there(m, p);
	if (r > 0)
		p->what = OFS_PLAN_THERE;
	else if (r == 0)
		r = plan_taken(m, p);
	if (r < 0 && r != -ENOENT)
		return ofs_import_failed(m, r, p->path);
	if (p->what != OFS_PLAN_MAKE && p->what != OFS_PLAN_REPLACE)
		return 0;
	if (json_object_get(m->taken, p->path))
		return ofs_import_refused(m, p->path, "would be made twice");
	json_object_set_new_nocheck(m->taken, p->path, json_true());
	return 0;
}

static int plan_content(struct ofs_importing *m, const struct ofs_member *member,
			struct ofs_planned *p)
{
	char found[OFS_IMPORT_SHA_LEN + 1];
	int r;

	if (member->size > IMPORT_FILE_MAX)
		return ofs_import_refused(m, member->path, "is larger than a file can be");
	m->total += member->size;
	if (m->total / IMPORT_TIMES > m->i->room)
		return ofs_error_set(m->err, ENOSPC,
				     "nothing was imported: it unpacks to more than %d times the "
				     "free space of the disk",
				     IMPORT_TIMES);
	p->sha = ofs_member_attribute(member, "sha256");
	p->ref = ofs_member_attribute(member, "ref");
	if (!p->sha || strlen(p->sha) != OFS_IMPORT_SHA_LEN)
		return ofs_import_refused(m, member->path,
					  "has no sha256, so it cannot be checked");
	if (p->ref && !ofs_operand_is_ref(p->ref))
		return ofs_import_refused(m, member->path, "has a malformed ref");
	r = hash_member(m, member, found);
	if (r == 0 && strcmp(found, p->sha) != 0)
		r = ofs_import_refused(m, member->path,
				       "is not what was exported: its sha256 does not match");
	return r;
}

static int plan_link(struct ofs_importing *m, const struct ofs_member *member,
		     struct ofs_planned *p)
{
	const struct ofs_planned *first;

	p->target = ofs_import_path(member->target);
	first = p->target ? ofs_planned_at(m, p->target) : NULL;
	if (!first || first->kind != OFS_MEMBER_FILE)
		return ofs_import_refused(m, member->path,
					  "is another name of a file that is not in the archive");
	p->sha = ofs_strdup(first->sha);
	return 0;
}

static void plan_symlink(const struct ofs_member *member, struct ofs_planned *p)
{
	p->target = ofs_strdup(member->target);
	if (!stays_inside(p->path, p->target))
		p->what = OFS_PLAN_LEAVE;
}

static int plan_member(struct ofs_importing *m, const struct ofs_member *member)
{
	OFS_FREE char *clean = ofs_import_path(member->path);
	struct ofs_planned *p;
	int r;

	if (!clean)
		return ofs_import_refused(m, member->path, "lies outside what a tree stores");
	if (member->kind == OFS_MEMBER_OTHER)
		return ofs_import_refused(m, member->path, "is a device or other special file");
	if (ofs_planned_at(m, clean))
		return ofs_import_refused(m, member->path, "is there twice");
	if (m->n == IMPORT_MEMBERS_MAX)
		return ofs_error_set(m->err, E2BIG, "nothing was imported: more than %u members",
				     IMPORT_MEMBERS_MAX);
	r = check_above(m, clean);
	if (r < 0)
		return r;
	p = ofs_append(m->plan, m->n, m->cap);
	*p = (struct ofs_planned){ .kind = member->kind,
				   .path = *m->i->dest ? ofs_path_join(m->i->dest, clean)
						       : ofs_strdup(clean),
				   .mode = member->mode,
				   .mtime = member->mtime };
	json_object_set_new_nocheck(m->by_path, clean, json_integer((json_int_t)m->n - 1));
	if (member->kind == OFS_MEMBER_FILE)
		r = plan_content(m, member, p);
	else if (member->kind == OFS_MEMBER_LINK)
		r = plan_link(m, member, p);
	else if (member->kind == OFS_MEMBER_SYMLINK)
		plan_symlink(member, p);
	if (r == 0 && p->what != OFS_PLAN_LEAVE)
		r = plan_place(m, p);
	return r;
}

int ofs_import_open(struct ofs_importing *m)
{
	const struct ofs_member *member;
	int r;

	ofs_archive_close(m->archive);
	m->archive = NULL;
	m->bytes = 0;
	r = ofs_archive_open(m->i->read, m->i->read_arg, m->err, &m->archive);
	if (r == 0)
		r = ofs_archive_next(m->archive, m->err, &member);
	return r < 0 ? r : read_manifest(m, r > 0 ? member : NULL);
}

int ofs_import_plan(struct ofs_importing *m)
{
	const struct ofs_member *member;
	bool ended = false;
	int r = ofs_import_open(m);

	while (r == 0 && (r = ofs_archive_next(m->archive, m->err, &member)) > 0) {
		if (ended)
			return ofs_import_refused(m, member->path, "comes after the end");
		ended = is_manifest(member);
		r = ended ? read_manifest(m, member) : plan_member(m, member);
	}
	if (r == 0 && m->n != m->members)
		r = ofs_error_set(
			m->err, EBADMSG,
			"nothing was imported: the archive says that it has %llu members, "
			"but it has %zu",
			(unsigned long long)m->members, m->n);
	return r;
}
