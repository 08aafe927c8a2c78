/* SPDX-License-Identifier: MIT */
#include "client/deposit.h"

#include <stdatomic.h>
#include <stdio.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "client/naming.h"
#include "codec/hash.h"
#include "io/path.h"

#define DEPOSIT_MODE 0600
#define DEPOSIT_CHUNK ((size_t)256 << 10)
#define DEPOSIT_TRIES 100

struct deposit_candidate {
	char *name;
	int64_t seconds;
};

/* A deposit in progress. */
struct deposit_work {
	const struct ofs_deposit *d;
	const struct ofs_content *content;
	struct ofs_backend *backend;
	struct ofs_error *err;
	char *folder;
	char hash[2 * OFS_SHA256_SIZE + 1]; /* hex; its start is in automatic names */
	struct deposit_candidate *candidates;
	size_t count;
	size_t cap;
	char *chunk[2]; /* DEPOSIT_CHUNK bytes each */
};

void ofs_deposited_finish(struct ofs_deposited *d)
{
	free(d->path);
	free(d->ref);
	*d = (struct ofs_deposited){ 0 };
}

static void deposit_work_destroy(struct deposit_work **w)
{
	for (size_t i = 0; i < (*w)->count; i++)
		free((*w)->candidates[i].name);
	free((*w)->candidates);
	free((*w)->folder);
	free((*w)->chunk[0]);
	free(*w);
}

static char *deposit_folder(const struct ofs_deposit *d)
{
	OFS_FREE char *top = d->task ? ofs_path_join("tasks", d->task) : ofs_strdup("cache");

	return d->folder ? ofs_strdup(d->folder) : ofs_path_join(top, d->category);
}

/* Returns 1 if the file has the same bytes and only the caller can write to it, 0 or -errno. */
static int deposit_compare(struct deposit_work *w, const char *path)
{
	OFS_FREE char *range = NULL;
	uint64_t off = 0;
	ofs_handle h;
	struct stat st;
	int r = w->backend->ops->stat(w->backend, path, &st);

	if (r < 0)
		return r;
	/* "a:2" may be line 2 of "a", which is no file. */
	if (ofs_backend_attribute(w->backend, path, "range", &range) == 0)
		return -ENOENT;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != w->content->size ||
	    st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return 0;
	r = w->backend->ops->open(w->backend, path, &h);
	if (r < 0)
		return r;
	for (r = 1; r == 1 && off < w->content->size;) {
		ssize_t a = w->backend->ops->read(w->backend, h, w->chunk[0], DEPOSIT_CHUNK, off);
		ssize_t b = ofs_spool_read(w->content->spool, w->chunk[1], DEPOSIT_CHUNK, off);

		if (a < 0 || b < 0)
			r = (int)(a < 0 ? a : b);
		else if (a != b || memcmp(w->chunk[0], w->chunk[1], (size_t)a) != 0)
			r = 0;
		off += a > 0 ? (uint64_t)a : 0;
	}
	w->backend->ops->close(w->backend, h);
	return r;
}

static int deposit_consider(void *arg, const char *name)
{
	struct deposit_work *w = arg;
	int64_t seconds;

	if (!ofs_naming_is_auto(name, w->d->category, w->hash, w->content->ext, &seconds))
		return 0;
	w->candidates = ofs_grow(w->candidates, &w->cap, w->count + 1, sizeof(*w->candidates));
	w->candidates[w->count++] =
		(struct deposit_candidate){ .name = ofs_strdup(name), .seconds = seconds };
	return 0;
}

static int deposit_by_time(const void *a, const void *b)
{
	const struct deposit_candidate *left = a, *right = b;

	return (left->seconds > right->seconds) - (left->seconds < right->seconds);
}

/* Asks the tree for the candidates; lists all names if the daemon is too old to answer. */
static int deposit_list(struct deposit_work *w)
{
	OFS_FREE char *ending = ofs_naming_auto_ending(w->hash, w->content->ext);
	OFS_FREE char *attribute = ofs_format("ending.%s", ending);
	OFS_FREE char *names = NULL;
	int r = ofs_backend_attribute(w->backend, w->folder, attribute, &names);
	char *rest = names, *name;

	if (r < 0)
		return w->backend->ops->list(w->backend, w->folder, deposit_consider, w);
	while ((name = strsep(&rest, "\n")))
		deposit_consider(w, name);
	return 0;
}

/*
 * Looks for the content under an automatic name. Takes the oldest of several files, so that all
 * callers find the same one, and passes over unreadable ones. Returns 1 and the path, 0 or -errno.
 */
static int deposit_find(struct deposit_work *w, char **ret_path)
{
	int r = deposit_list(w);

	if (r < 0)
		return r;
	if (w->count > 1)
		qsort(w->candidates, w->count, sizeof(*w->candidates), deposit_by_time);
	for (size_t i = 0; i < w->count; i++) {
		OFS_FREE char *path = ofs_path_join(w->folder, w->candidates[i].name);

		if (deposit_compare(w, path) == 1) {
			*ret_path = ofs_steal(path);
			return 1;
		}
	}
	return 0;
}

static int deposit_write(struct deposit_work *w, ofs_handle h)
{
	uint64_t off = 0;

	while (off < w->content->size) {
		ssize_t n = ofs_spool_read(w->content->spool, w->chunk[0], DEPOSIT_CHUNK, off);
		int r;

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		r = w->backend->ops->write(w->backend, h, w->chunk[0], (size_t)n, off);
		if (r < 0)
			return r;
		off += (uint64_t)n;
	}
	return 0;
}

static int deposit_set_one(struct deposit_work *w, const char *path, const char *name,
			   const char *value)
{
	int r;

	if (!value)
		return 0;
	r = ofs_backend_set_attribute(w->backend, path, name, value);
	if (r == -EINVAL && strcmp(name, "ttl") == 0)
		return ofs_error_set(w->err, EINVAL,
				     "--ttl '%s' is not a time to live: give 30m, 6h, 7d or never",
				     value);
	if (r == -EINVAL)
		return ofs_error_set(w->err, EINVAL,
				     "--%s '%s' is not one line of UTF-8 of at most 1024 bytes",
				     name, value);
	if (r < 0)
		return ofs_error_set(w->err, -r, "cannot set --%s '%s': %s", name, value,
				     ofs_backend_strerror(-r));
	return 0;
}

static int deposit_set_attributes(struct deposit_work *w, const char *path)
{
	int r = deposit_set_one(w, path, "ttl", w->d->ttl);

	return r < 0 ? r : deposit_set_one(w, path, "title", w->d->title);
}

/* Asks the tree for the ref of a file, which cannot be derived from its inode number. */
static int deposit_ref(struct deposit_work *w, const char *path, char **ret)
{
	char ref[OFS_REF_SIZE];
	ssize_t n = w->backend->ops->getxattr(w->backend, path, "user.offload.ref", ref,
					      sizeof(ref) - 1);

	if (n < 0)
		return (int)n;
	ref[n] = '\0';
	*ret = ofs_strdup(ref);
	return 0;
}

/* Makes a hidden temporary file with content and attributes. Sets its path and ref in `ret`. */
static int deposit_make(struct deposit_work *w, struct ofs_deposited *ret)
{
	static atomic_uint serial;
	OFS_CLEANUP(ofs_deposited_finish) struct ofs_deposited made = { 0 };
	ofs_handle h;
	int r = -EEXIST;

	for (int i = 0; i < DEPOSIT_TRIES && r == -EEXIST; i++) {
		char name[64];

		snprintf(name, sizeof(name), ".offload-%d-%u.tmp", (int)getpid(),
			 atomic_fetch_add(&serial, 1));
		free(made.path);
		made.path = ofs_path_join(w->folder, name);
		r = w->backend->ops->create(w->backend, made.path, DEPOSIT_MODE, &h);
	}
	if (r < 0)
		return ofs_backend_failed(w->err, r, "make a file in", w->folder);
	r = deposit_set_attributes(w, made.path);
	if (r == 0) {
		/* Before writing, while the kernel still has the attributes in its cache. */
		r = deposit_ref(w, made.path, &made.ref);
		if (r == 0)
			r = deposit_write(w, h);
		if (r < 0)
			ofs_backend_failed(w->err, r, "write into", w->folder);
	}
	w->backend->ops->close(w->backend, h);
	if (r < 0) {
		w->backend->ops->unlink(w->backend, made.path);
		return r;
	}
	*ret = made;
	made = (struct ofs_deposited){ 0 };
	return 0;
}

static int deposit_taken(struct deposit_work *w, const char *name)
{
	return ofs_error_set(
		w->err, EEXIST,
		"'%s' exists in '%s' with other content, or others can change it: choose another "
		"name, or leave -n out",
		name, w->folder);
}

/* Reuses a file with the same bytes, and sets the attributes asked for. */
static int deposit_use_existing(struct deposit_work *w, const char *path, struct ofs_deposited *ret)
{
	int r = deposit_set_attributes(w, path);

	if (r < 0)
		return r;
	r = deposit_ref(w, path, &ret->ref);
	if (r < 0)
		return ofs_backend_failed(w->err, r, "read the ref of", path);
	ret->path = ofs_strdup(path);
	return 0;
}

/* Renames the temporary file, or reuses one that another tool has made meanwhile. */
static int deposit_name(struct deposit_work *w, struct ofs_deposited *file)
{
	int64_t seconds = ofs_clock_wall() / OFS_NS_PER_S;
	int r = -EEXIST;

	for (int i = 0; i < DEPOSIT_TRIES && r == -EEXIST; i++) {
		OFS_FREE char *automatic =
			ofs_naming_auto(w->d->category, seconds + i, w->hash, w->content->ext);
		const char *name = w->d->name ? w->d->name : automatic;
		OFS_FREE char *path = ofs_path_join(w->folder, name);

		r = w->backend->ops->rename(w->backend, file->path, path, RENAME_NOREPLACE);
		if (r == 0) {
			free(file->path);
			file->path = ofs_steal(path);
		} else if (r == -EEXIST && deposit_compare(w, path) == 1) {
			w->backend->ops->unlink(w->backend, file->path);
			ofs_deposited_finish(file);
			return deposit_use_existing(w, path, file);
		} else if (r != -EEXIST) {
			ofs_backend_failed(w->err, r, "make the file", path);
		} else if (w->d->name || i == DEPOSIT_TRIES - 1) {
			r = deposit_taken(w, name);
			break;
		}
	}
	if (r < 0)
		w->backend->ops->unlink(w->backend, file->path);
	return r;
}

/* Finds or makes the file. Called with the folder locked, if it can be. */
static int deposit_place(struct deposit_work *w, struct ofs_deposited *ret)
{
	OFS_FREE char *path = NULL;
	int r;

	if (w->d->name) {
		path = ofs_path_join(w->folder, w->d->name);
		r = deposit_compare(w, path);
		if (r == 0)
			return deposit_taken(w, w->d->name);
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return ofs_backend_failed(w->err, r, "look at", path);
	} else {
		r = deposit_find(w, &path);
		if (r < 0)
			return ofs_backend_failed(w->err, r, "list", w->folder);
	}
	if (r == 1)
		return deposit_use_existing(w, path, ret);
	r = deposit_make(w, ret);
	ret->is_new = true;
	return r < 0 ? r : deposit_name(w, ret);
}

/*
 * Chooses the hash for automatic names, by which content is found again. Where other users can see
 * the names it is keyed, since a plain hash would let them confirm a guess of the content.
 */
static int deposit_choose_hash(struct deposit_work *w)
{
	const char *sha256 = w->content->sha256;
	OFS_FREE char *key = NULL;
	uint8_t mac[OFS_SHA256_SIZE];
	struct stat st;
	int r;

	snprintf(w->hash, sizeof(w->hash), "%s", sha256);
	if (!w->backend->shared)
		return 0;
	r = w->backend->ops->stat(w->backend, w->folder, &st);
	if (r < 0 || !ofs_backend_is_seen(w->backend, &st))
		return r;
	r = ofs_backend_attribute(w->backend, "", "key", &key);
	if (r == 0)
		r = ofs_hmac(key, strlen(key), sha256, strlen(sha256), mac);
	if (r == 0)
		ofs_sha256_hex(mac, w->hash);
	return r;
}

int ofs_deposit_store(const struct ofs_deposit *d, const struct ofs_content *content,
		      struct ofs_backend *backend, struct ofs_error *err, struct ofs_deposited *ret)
{
	OFS_CLEANUP(deposit_work_destroy) struct deposit_work *w = ofs_alloc(sizeof(*w));
	OFS_CLEANUP(ofs_deposited_finish) struct ofs_deposited done = { 0 };
	ofs_handle lock;
	int r, locked = -ENOENT;

	w->d = d;
	w->content = content;
	w->backend = backend;
	w->err = err;
	w->folder = deposit_folder(d);
	w->chunk[0] = ofs_realloc(NULL, 2, DEPOSIT_CHUNK);
	w->chunk[1] = w->chunk[0] + DEPOSIT_CHUNK;
	r = ofs_backend_mkdirs(backend, w->folder, err);
	if (r < 0)
		return r;
	/*
	 * Without the lock, two tools may at worst store the same bytes twice, under names with
	 * different times. A given name needs no lock: only one tool can take it.
	 */
	if (!d->name) {
		r = deposit_choose_hash(w);
		if (r < 0)
			return ofs_backend_failed(w->err, r, "choose a name in", w->folder);
		locked = backend->ops->lock(backend, w->folder, &lock);
	}
	r = deposit_place(w, &done);
	if (locked == 0)
		backend->ops->unlock(backend, lock);
	if (r < 0)
		return r;
	*ret = done;
	done = (struct ofs_deposited){ 0 };
	return 0;
}
