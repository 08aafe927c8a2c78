/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/bundle_plan.h"
#include "client/naming.h"
#include "codec/hash.h"
#include "io/path.h"

#define IMPORT_HELD_TRIES 200 /* 10 ms each, until the kernel forgets a removed file */

static void importing_finish(struct ofs_importing *m)
{
	ofs_archive_close(m->archive);
	for (size_t i = 0; i < m->n; i++) {
		free(m->plan[i].path);
		free(m->plan[i].stage);
		free(m->plan[i].sha);
		free(m->plan[i].target);
		free(m->plan[i].ref);
		free(m->plan[i].left);
	}
	free(m->plan);
	json_decref(m->by_path);
	json_decref(m->taken);
	json_decref(m->made);
	free(m->zeros);
}

/* ---- writing */

/* Makes a directory and the missing ones above it, which are added to `made`. */
static int make_dirs(struct ofs_importing *m, const char *path)
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

/* Returns the directory in which the file is staged, allocated. */
static char *stage_dir(const struct ofs_planned *p, const struct ofs_member *member)
{
	const char *slash = strrchr(p->path, '/'), *rest = p->path;
	OFS_FREE char *agent = ofs_naming_agent_of(p->path, &rest);
	OFS_FREE char *task = ofs_member_attribute(member, "origin_task");
	OFS_FREE char *category = ofs_member_attribute(member, "origin_category");
	OFS_FREE char *clean = ofs_import_path(member->path), *dir = NULL;
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

static char *stage_name(const struct ofs_importing *m, const struct ofs_planned *p, const char *dir)
{
	return ofs_format("%s/" OFS_IMPORT_STAGE "%016llx-%zu", dir, (unsigned long long)m->random,
			  (size_t)(p - m->plan));
}

/* Creates the file at p->stage in `dir`, with its former ref if that is free. 0 or -errno. */
static int create_stage(struct ofs_importing *m, struct ofs_planned *p, const char *dir,
			ofs_handle *ret)
{
	OFS_FREE char *value =
		ofs_format("%s/%s", p->ref ? p->ref : "", strrchr(p->stage, '/') + 1);
	const struct timespec nap = { .tv_nsec = 10000000 };
	int r = -EEXIST;

	if (p->left)
		m->b->ops->unlink(m->b, p->left);
	for (int i = 0; p->ref_free && i < IMPORT_HELD_TRIES; i++) {
		r = m->b->ops->setxattr(m->b, dir, OFS_IMPORT_PREFIX "bring", value, strlen(value));
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
	struct ofs_importing *m;
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
	/* The last byte of a hole at the end is written, which sets the size. */
	return off + len == w->size ? w->m->b->ops->write(w->m->b, w->h, "", 1, w->size - 1) : 0;
}

static int write_content(struct ofs_importing *m, const struct ofs_member *member,
			 struct ofs_planned *p, ofs_handle h)
{
	struct writing w = { m, ofs_sha256_create(), h, member->size };
	uint8_t sha[OFS_SHA256_SIZE];
	char found[OFS_IMPORT_SHA_LEN + 1];
	int r = ofs_import_read(m, member, write_piece, &w);

	if (ofs_sha256_final(w.hash, sha) < 0 && r == 0)
		r = -EIO;
	ofs_sha256_destroy(w.hash);
	ofs_sha256_hex(sha, found);
	if (r == 0 && strcmp(found, p->sha) != 0)
		r = ofs_import_refused(m, member->path, "changed while the archive was read");
	return r;
}

/* Sets the attributes that users can set. An invalid value is an error, as for setxattr(2). */
static int set_attributes(struct ofs_importing *m, const struct ofs_member *member,
			  const char *path)
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
			 strncmp(name, OFS_IMPORT_PREFIX, strlen(OFS_IMPORT_PREFIX)) != 0;
		for (size_t i = 0; !wanted && i < OFS_ARRAY_SIZE(labels); i++)
			wanted = strncmp(name, OFS_IMPORT_PREFIX, strlen(OFS_IMPORT_PREFIX)) == 0 &&
				 strcmp(name + strlen(OFS_IMPORT_PREFIX), labels[i]) == 0;
		r = wanted ? m->b->ops->setxattr(m->b, path, name, x.value, x.size) : 0;
		if (r < 0)
			return ofs_error_set(m->err, -r,
					     "nothing was imported: '%s' has an attribute %s that "
					     "cannot be set: %s",
					     member->path, name, ofs_backend_strerror(-r));
	}
	return 0;
}

static int write_file(struct ofs_importing *m, const struct ofs_member *member,
		      struct ofs_planned *p, const char *dir)
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

/* Stages a file or symbolic link. Makes a directory at once; hard links come last. */
static int write_member(struct ofs_importing *m, const struct ofs_member *member,
			struct ofs_planned *p)
{
	OFS_FREE char *dir = NULL;
	int r;

	if (p->what != OFS_PLAN_MAKE && p->what != OFS_PLAN_REPLACE)
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
	p->stage = stage_name(m, p, dir);
	if (p->kind == OFS_MEMBER_SYMLINK)
		return m->b->ops->symlink(m->b, p->target, p->stage);
	return write_file(m, member, p, dir);
}

static int archive_changed(struct ofs_importing *m)
{
	return ofs_error_set(m->err, EBADMSG, "the archive changed while it was read");
}

/* Reads the member for which `p` was planned, again. */
static int next_member(struct ofs_importing *m, const struct ofs_planned *p,
		       const struct ofs_member **ret)
{
	int r = ofs_archive_next(m->archive, m->err, ret);
	OFS_FREE char *path = r > 0 ? ofs_import_path((*ret)->path) : NULL;

	if (r < 0)
		return r;
	return path && ofs_planned_at(m, path) == p && (*ret)->kind == p->kind ? 0
									       : archive_changed(m);
}

static int write_all(struct ofs_importing *m)
{
	const struct ofs_member *member;
	int r = ofs_import_open(m);

	for (size_t i = 0; r == 0 && i < m->n; i++) {
		r = next_member(m, &m->plan[i], &member);
		if (r == 0)
			r = write_member(m, member, &m->plan[i]);
		if (r < 0)
			return ofs_import_failed(m, r, m->plan[i].path);
	}
	return r;
}

/* ---- placing */

/* Moves what is staged to its place or, with `file`, gives that one a further name there. */
static int place(struct ofs_importing *m, struct ofs_planned *p, const char *file)
{
	OFS_FREE char *dir = ofs_strndup(p->path, (size_t)(strrchr(p->path, '/') - p->path));
	int r = make_dirs(m, dir);

	if (file)
		p->stage = stage_name(m, p, dir);
	if (r == 0 && file)
		r = m->b->ops->link(m->b, file, p->stage);
	if (r == 0)
		r = m->b->ops->rename(m->b, p->stage, p->path,
				      p->what == OFS_PLAN_REPLACE ? 0 : RENAME_NOREPLACE);
	p->placed = r == 0;
	return r < 0 ? ofs_import_failed(m, r, p->path) : 0;
}

static int place_all(struct ofs_importing *m)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->n; i++)
		if (m->plan[i].stage)
			r = place(m, &m->plan[i], NULL);
	for (size_t i = 0; r == 0 && i < m->n; i++) {
		struct ofs_planned *p = &m->plan[i];

		if (p->kind == OFS_MEMBER_LINK &&
		    (p->what == OFS_PLAN_MAKE || p->what == OFS_PLAN_REPLACE))
			r = place(m, p, ofs_planned_at(m, p->target)->path);
	}
	/* In reverse order, and last: a change in a directory sets the directory's time. */
	for (size_t i = m->n; r == 0 && i-- > 0;) {
		const struct ofs_planned *p = &m->plan[i];

		if (p->kind == OFS_MEMBER_DIR && p->what == OFS_PLAN_MAKE)
			m->b->ops->stamp(m->b, p->path, p->mode | S_IRWXU, p->mtime);
	}
	return r;
}

/* Removes empty directories that were made: those that were only staged in, or `all`. */
static void remove_dirs(struct ofs_importing *m, bool all)
{
	for (size_t i = json_array_size(m->made); i-- > 0;) {
		const char *path = json_string_value(json_array_get(m->made, i));

		if (all || !json_object_get(m->taken, path))
			m->b->ops->rmdir(m->b, path);
	}
}

/* Removes what was staged or placed. A replaced file stays replaced. */
static void undo(struct ofs_importing *m)
{
	for (size_t i = m->n; i-- > 0;) {
		const struct ofs_planned *p = &m->plan[i];

		if (p->placed && p->what == OFS_PLAN_MAKE)
			m->b->ops->unlink(m->b, p->path);
		else if (p->stage && !p->placed)
			m->b->ops->unlink(m->b, p->stage);
	}
	remove_dirs(m, true);
}

/* ---- the result */

static json_t *text_json(const char *text)
{
	OFS_FREE char *readable = text ? ofs_text_readable(text) : NULL;

	return readable ? json_string(readable) : json_null();
}

static void tell(struct ofs_importing *m)
{
	static const char *const words[] = { [OFS_PLAN_MAKE] = "imported",
					     [OFS_PLAN_REPLACE] = "replaced",
					     [OFS_PLAN_THERE] = "there",
					     [OFS_PLAN_SKIP] = "skipped",
					     [OFS_PLAN_LEAVE] = "left out" };
	static const char *const kinds[] = { [OFS_MEMBER_FILE] = "file",
					     [OFS_MEMBER_DIR] = "directory",
					     [OFS_MEMBER_SYMLINK] = "symlink",
					     [OFS_MEMBER_LINK] = "link" };

	m->i->items = json_array();
	for (size_t i = 0; i < m->n; i++) {
		const struct ofs_planned *p = &m->plan[i];
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
	OFS_CLEANUP(importing_finish) struct ofs_importing m = { .b = b, .i = i, .err = err };
	ofs_handle lock;
	int r, locked;

	err->text[0] = '\0';
	m.by_path = json_object();
	m.taken = json_object();
	m.made = json_array();
	m.zeros = ofs_alloc(OFS_IMPORT_ZEROS);
	memset(m.zeros, 0, OFS_IMPORT_ZEROS);
	if (getrandom(&m.random, sizeof(m.random), 0) < 0)
		m.random = (uint64_t)ofs_clock_wall();
	/* Under the lock, staged files of other imports are known to be leftovers. */
	locked = i->dry_run ? -ENOLCK : b->ops->lock(b, "cache", &lock);
	r = locked < 0 && locked != -ENOLCK ? ofs_backend_failed(err, locked, "lock", "cache") : 0;
	if (r == 0)
		r = ofs_import_plan(&m);
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
