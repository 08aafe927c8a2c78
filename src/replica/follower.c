/* SPDX-License-Identifier: MIT */
#include "replica/follower.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "io/file.h"
#include "io/path.h"
#include "journal/transfer.h"
#include "replica/fetcher.h"
#include "replica/manifest.h"

#define TIMEOUT (20 * OFS_NS_PER_S) /* limit of one request */
#define PERIOD (2050 * OFS_NS_PER_MS) /* between requests for the next object of the log */
#define RETRY_MAX (30 * OFS_NS_PER_S)
#define TEST_TICK (50 * OFS_NS_PER_MS)
#define REBASE_AFTER (1200 * OFS_NS_PER_S) /* before what the old manifest needs is garbage */
#define REBASE_BYTES (UINT64_C(128) << 20) /* bytes of log, which memory has to hold */
#define LOOK_AFTER (600 * OFS_NS_PER_S) /* how often the end of the log is checked */
#define TRIES 5
#define PURE "base.db" /* the index as made of the pages of manifests */
#define FRESH "index.db.new"
#define STATE "remote/follow"
#define STATE_MAX ((size_t)1 << 20)

struct ofs_follower {
	char *path;
	const struct ofs_remote_access *remote;
	int dirfd, journal_fd;
	struct ofs_fetcher *fetcher;
	struct ofs_store *store;
	atomic_bool cancel;

	pthread_t thread;
	bool runs;
	/* Used by the thread alone once it runs. */
	struct ofs_lineage lineage;
	struct ofs_manifest base; /* the manifest of the index */
	struct ofs_log_place at; /* place up to which the log was fetched */
	json_t *chain; /* parts that base.db consists of, or NULL */
	int64_t rebased_at, looked_at; /* by the wall clock, as the machine may be suspended */
	uint64_t bytes; /* bytes of log since rebased_at */
	bool head; /* the last request found the end of the log */
	bool lost; /* `at` is no longer a place of the log */

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t wake;
	bool stop;
	struct ofs_replication_status status;
};

/* ---- the index */

static int open_file(struct ofs_follower *f, const char *name, int flags, int *ret)
{
	int fd = ofs_io_open(f->dirfd, name, flags | O_RDWR, 0600);

	if (fd < 0)
		return fd;
	*ret = fd;
	return 0;
}

/* Returns how many parts of the manifest base.db has; 0: it must be made anew. */
static size_t known_parts(const struct ofs_follower *f, const struct ofs_manifest *m)
{
	json_t *chain = json_object_get(m->object.header, "chain");
	size_t i, n = json_array_size(f->chain);

	if (n > json_array_size(chain))
		return 0;
	for (i = 0; i < n; i++)
		if (!json_equal(json_array_get(f->chain, i), json_array_get(chain, i)))
			return 0;
	return n;
}

/* Saves which parts base.db has; NULL while it is being changed. */
static int save_chain(struct ofs_follower *f, json_t *chain)
{
	OFS_FREE char *location = ofs_location_text(&f->remote->location), *text = NULL;
	json_t *json = json_pack("{s:s, s:O?}", "location", location, "chain", chain);

	text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	if (!text)
		ofs_out_of_memory();
	return ofs_io_write_file(f->dirfd, STATE, text, strlen(text));
}

static void load_chain(struct ofs_follower *f)
{
	OFS_FREE char *location = ofs_location_text(&f->remote->location);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	json_auto_t *json = NULL;
	const char *there;

	if (ofs_io_read_file(f->dirfd, STATE, STATE_MAX, &text) == 0)
		json = json_loadb((const char *)text.data, text.len, 0, NULL);
	there = json_string_value(json_object_get(json, "location"));
	if (there && strcmp(there, location) == 0)
		f->chain = json_incref(json_object_get(json, "chain"));
}

/* Lays the missing parts over base.db and, with `drafts`, data of drafts into the journal. */
static int fetch_base(struct ofs_follower *f, const struct ofs_manifest *m, bool drafts,
		      struct ofs_error *err)
{
	OFS_CLOSE int fd = -1;
	struct ofs_manifest_target to = { .journal_fd = f->journal_fd,
					  .skip = known_parts(f, m),
					  .drafts = drafts };
	int r = save_chain(f, NULL);

	if (r == 0)
		r = open_file(f, PURE, O_CREAT | (to.skip ? 0 : O_TRUNC), &fd);
	if (r < 0)
		return ofs_error_set(err, -r, "'%s/" PURE "' cannot be written: %s", f->path,
				     strerror(-r));
	to.index_fd = fd;
	r = ofs_manifest_fetch(&f->lineage, m, &to, err);
	if (r < 0)
		return r;
	json_decref(f->chain);
	f->chain = json_incref(json_object_get(m->object.header, "chain"));
	r = save_chain(f, f->chain);
	return r < 0 ? ofs_error_set(err, -r, "'%s/" STATE "' cannot be written: %s", f->path,
				     strerror(-r))
		     : 0;
}

static int copy_base(struct ofs_follower *f)
{
	OFS_CLOSE int from = -1, to = -1;
	int r = open_file(f, PURE, 0, &from);

	if (r == 0)
		r = open_file(f, FRESH, O_CREAT | O_TRUNC, &to);
	return r < 0 ? r : ofs_io_copy(from, to, 0);
}

/* Replaces index.db by the index of the manifest. */
static int make_index(struct ofs_follower *f, const struct ofs_manifest *m, struct ofs_error *err)
{
	OFS_FREE char *fresh = ofs_path_join(f->path, FRESH);
	uint64_t durable;
	int r = copy_base(f);

	if (r == 0) {
		r = ofs_manifest_finish_index(m, fresh, 0, &durable, err);
		if (r < 0)
			return r;
		r = ofs_io_rename(f->dirfd, FRESH, "index.db");
	}
	return r < 0 ? ofs_error_set(err, -r, "'%s/index.db' cannot be written: %s", f->path,
				     strerror(-r))
		     : 0;
}

/* ---- the log */

/* Fetches the next object of the log into the journal. -ENOENT: none; -ERESTART: it is a BASE. */
static int fetch_link(struct ofs_follower *f, struct ofs_link *ret, struct ofs_error *err)
{
	int r = ofs_lineage_next(&f->lineage, &f->at, err, ret);

	if (r < 0)
		return r;
	if (ret->kind == OFS_LINK_BASE)
		return -ERESTART;
	if (ret->kind == OFS_LINK_DATA)
		r = ofs_journal_import(f->journal_fd, f->lineage.uuid, ret->segment, ret->from,
				       ret->log.data, ret->log.len);
	if (r < 0)
		return ofs_error_set(err, -r, "the log of epoch %u cannot be used: %s", f->at.epoch,
				     strerror(-r));
	f->at = ofs_log_place_after(&f->at, ret);
	f->bytes += ret->log.len;
	return 0;
}

static int fetch_log(struct ofs_follower *f, struct ofs_error *err)
{
	int r = 0;

	while (r == 0 && !f->cancel) {
		OFS_CLEANUP(ofs_link_finish) struct ofs_link link = { 0 };

		r = fetch_link(f, &link, err);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- bases */

static int newest(struct ofs_follower *f, struct ofs_manifest *ret, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link began = { 0 };
	uint32_t epoch;
	int r = ofs_lineage_newest_epoch(&f->lineage, err, &epoch, &began);

	if (r == 0)
		r = ofs_manifest_newest(&f->lineage, epoch, err, ret);
	return r == -ENOENT ? ofs_error_set(err, ENODATA, "the remote has no checkpoint yet") : r;
}

/* Notes that the index is now that of `m`, and takes ownership of what `m` holds. */
static void take_base(struct ofs_follower *f, struct ofs_manifest *m)
{
	ofs_manifest_finish(&f->base);
	f->base = ofs_steal(*m);
	f->rebased_at = f->looked_at = ofs_clock_wall();
	f->bytes = 0;
}

/* Fetches the newest manifest and the log after it. -ERESTART: an even newer one is needed. */
static int fetch_newest(struct ofs_follower *f, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };
	int r = newest(f, &m, err);

	if (r == 0)
		r = fetch_base(f, &m, true, err);
	if (r == 0)
		r = make_index(f, &m, err);
	if (r < 0)
		return r;
	f->at = m.log;
	take_base(f, &m);
	r = fetch_log(f, err);
	return r < 0 ? r : 0;
}

static int fetch_all(struct ofs_follower *f, struct ofs_error *err)
{
	int r = -ERESTART;

	for (int i = 0; i < TRIES && r == -ERESTART; i++)
		r = fetch_newest(f, err);
	return r == -ERESTART ? ofs_error_set(err, EAGAIN, "the log has gaps") : r;
}

/* Removes old segments of the journal. */
static int trim(struct ofs_follower *f)
{
	ofs_lsn needed;
	int r = ofs_store_log_needed(f->store, &needed);

	return r < 0 ? r : ofs_journal_drop(f->journal_fd, needed);
}

static int reload(struct ofs_follower *f, struct ofs_error *err)
{
	bool newer;
	int r = ofs_store_reload(f->store, &newer, err);

	if (r == 0)
		r = trim(f);
	return r;
}

/* Switches to a newer base with the same state. */
static int rebase(struct ofs_follower *f, uint32_t epoch, uint32_t n, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };
	int r = ofs_manifest_read(&f->lineage, epoch, n, err, &m);

	if (r == 0)
		r = fetch_base(f, &m, false, err);
	/* It is garbage by now: the log leads to a newer one. */
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = make_index(f, &m, err);
	if (r == 0)
		r = reload(f, err);
	if (r == 0)
		take_base(f, &m);
	return r;
}

/* Starts again from what the remote has now. */
static int begin_again(struct ofs_follower *f, struct ofs_error *err)
{
	int r = fetch_all(f, err);

	if (r == 0)
		r = reload(f, err);
	f->lost = r < 0;
	return r;
}

/* ---- the thread */

/* The clock may have been set back, too. */
static bool has_passed(int64_t since, int64_t time)
{
	int64_t passed = ofs_clock_wall() - since;

	return passed < 0 || passed > time;
}

/* Checks that the manifest of the base still exists; otherwise what it needs may be gone. */
static int look(struct ofs_follower *f, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };
	int r;

	if (!has_passed(f->looked_at, LOOK_AFTER))
		return 0;
	r = ofs_manifest_read(&f->lineage, f->base.at.epoch, f->base.n, err, &m);
	if (r == 0)
		f->looked_at = ofs_clock_wall();
	f->lost = f->lost || r == -ENOENT;
	return r == -ENOENT ? 0 : r;
}

static bool is_rebase_due(const struct ofs_follower *f, const struct ofs_link *link)
{
	bool newer = link->checkpoint &&
		     (f->at.epoch > f->base.at.epoch || link->checkpoint > f->base.n);

	return link->kind == OFS_LINK_DATA && newer &&
	       (f->bytes > REBASE_BYTES || has_passed(f->rebased_at, REBASE_AFTER));
}

/* Applies one object of the log. -ENOENT: there is none. */
static int step(struct ofs_follower *f, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link link = { 0 };
	int r = fetch_link(f, &link, err);

	f->lost = f->lost || r == -ERESTART || r == -EBADMSG;
	if (r == 0 && link.kind == OFS_LINK_DATA)
		r = ofs_store_follow(f->store, link.to, err);
	f->lost = f->lost || r == -EUCLEAN;
	if (r == 0 && is_rebase_due(f, &link))
		r = rebase(f, f->at.epoch, link.checkpoint, err);
	return r;
}

/*
 * Applies all there is, or only one object after the end was met: another request would find
 * nothing.
 */
static int go_on(struct ofs_follower *f, struct ofs_error *err)
{
	int r = f->lost ? begin_again(f, err) : 0;

	while (r == 0 && !f->cancel) {
		bool was_head = f->head;

		r = step(f, err);
		f->head = r == -ENOENT;
		if (r == 0 && was_head)
			return 0;
	}
	if (r == -ENOENT)
		r = look(f, err);
	return r == -ERESTART ? 0 : r;
}

static void end_round(struct ofs_follower *f, int64_t began, int r, const struct ofs_error *err)
{
	OFS_LOCKED(&f->lock);
	if (r < 0 && !f->stop && strcmp(f->status.error, err->text) != 0)
		ofs_log(LOG_WARNING, "following: %s", err->text);
	snprintf(f->status.error, sizeof(f->status.error), "%s", r < 0 ? err->text : "");
	f->status.phase = r < 0 || f->lost ? OFS_REPLICATION_BEHIND : OFS_REPLICATION_CURRENT;
	f->status.epoch = f->at.epoch;
	if (r == 0 && f->head)
		f->status.complete_at = began;
	f->status.reads = ofs_s3_requests(ofs_bucket_s3(f->lineage.bucket), OFS_S3_READS);
}

static bool begin_round(struct ofs_follower *f, int64_t pause)
{
	int64_t until = ofs_clock_boot() + pause, left;

	OFS_LOCKED(&f->lock);
	while (!f->stop && (left = until - ofs_clock_boot()) > 0) {
		/* A test may advance the clock by hours. */
		if (ofs_clock_is_controlled())
			left = OFS_MIN(left, TEST_TICK);
		ofs_cond_wait_until(&f->wake, &f->lock, ofs_clock_monotonic() + left);
	}
	return !f->stop;
}

static void *run(void *arg)
{
	struct ofs_follower *f = arg;
	int64_t retry = PERIOD, pause = 0;

	while (begin_round(f, pause)) {
		struct ofs_error err = { "" };
		int64_t began = ofs_clock_wall();
		int r = go_on(f, &err);

		end_round(f, began, r, &err);
		retry = r < 0 ? OFS_MIN(2 * retry, RETRY_MAX) : PERIOD;
		pause = f->lost && r == 0 ? 0 : retry;
	}
	return NULL;
}

/* ---- for the store's owner */

static int make_directory(struct ofs_follower *f, struct ofs_error *err)
{
	static const char *const parts[] = { "journal", "packs", "remote" };
	int r = ofs_path_make(f->path, 0700);

	if (r == 0)
		r = f->dirfd = ofs_io_open(AT_FDCWD, f->path, O_RDONLY | O_DIRECTORY, 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(parts) && r >= 0; i++)
		r = ofs_io_mkdir(f->dirfd, parts[i], 0700);
	if (r >= 0)
		r = f->journal_fd = ofs_io_open(f->dirfd, "journal", O_RDONLY | O_DIRECTORY, 0);
	return r < 0 ? ofs_error_set(err, -r, "'%s' cannot be used: %s", f->path, strerror(-r)) : 0;
}

/* Checks in advance that nobody uses the directory; opening the store takes its lock. */
static int check_free(struct ofs_follower *f, struct ofs_error *err)
{
	OFS_CLOSE int fd = ofs_io_open(f->dirfd, "lock", O_RDONLY, 0);
	int r = fd < 0 ? 0 : ofs_io_lock(fd, true);

	return r == -EWOULDBLOCK
		       ? ofs_error_set(err, EBUSY, "'%s' is used by another process", f->path)
		       : 0;
}

static int prepare(struct ofs_follower *f, struct ofs_error *err)
{
	int r = make_directory(f, err);

	if (r == 0)
		r = check_free(f, err);
	if (r == 0)
		r = ofs_bucket_open(f->remote, TIMEOUT, &f->cancel, err, &f->lineage.bucket);
	if (r == 0)
		r = ofs_lineage_read_store(&f->lineage, err);
	if (r == -ENOENT)
		return ofs_error_set(err, ENODATA, "the remote has no store");
	if (r < 0)
		return r;
	load_chain(f);
	r = ofs_journal_drop(f->journal_fd, UINT64_MAX);
	if (r < 0)
		return ofs_error_set(err, -r, "'%s/journal' cannot be emptied: %s", f->path,
				     strerror(-r));
	return fetch_all(f, err);
}

int ofs_follower_create(const char *path, const struct ofs_remote_access *remote,
			struct ofs_error *err, struct ofs_follower **ret)
{
	struct ofs_follower *f = ofs_alloc(sizeof(*f));
	int r;

	f->path = ofs_strdup(path);
	f->remote = remote;
	f->dirfd = f->journal_fd = -1;
	pthread_mutex_init(&f->lock, NULL);
	ofs_cond_init(&f->wake);
	f->fetcher = ofs_fetcher_create(remote);
	r = prepare(f, err);
	if (r < 0)
		ofs_follower_destroy(f);
	else
		*ret = f;
	return r;
}

void ofs_follower_attach(struct ofs_follower *f, struct ofs_store *s, uint64_t local_max)
{
	f->store = s;
	ofs_fetcher_attach(f->fetcher, s, local_max);
	ofs_fetcher_set_durable(f->fetcher, UINT64_MAX);
}

int ofs_follower_start(struct ofs_follower *f)
{
	int r = ofs_thread_start(&f->thread, "follower", run, f);

	f->runs = r == 0;
	return r;
}

void ofs_follower_interrupt(struct ofs_follower *f)
{
	ofs_fetcher_cancel(f->fetcher);
}

void ofs_follower_stop(struct ofs_follower *f)
{
	if (!f)
		return;
	ofs_follower_interrupt(f);
	if (!f->runs)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	f->cancel = true;
	pthread_cond_signal(&f->wake);
	pthread_mutex_unlock(&f->lock);
	pthread_join(f->thread, NULL);
	f->runs = false;
}

void ofs_follower_destroy(struct ofs_follower *f)
{
	if (!f)
		return;
	ofs_fetcher_destroy(f->fetcher);
	ofs_bucket_close(f->lineage.bucket);
	ofs_manifest_finish(&f->base);
	json_decref(f->chain);
	ofs_io_close(&f->journal_fd);
	ofs_io_close(&f->dirfd);
	pthread_cond_destroy(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f->path);
	free(f);
}

void ofs_follower_status(struct ofs_follower *f, struct ofs_replication_status *ret)
{
	struct ofs_fetcher_counts fetched;

	ofs_fetcher_count(f->fetcher, &fetched);
	OFS_LOCKED(&f->lock);
	*ret = f->status;
	ret->reads += fetched.requests;
	ret->brought = fetched.bytes;
	ret->local = fetched.local;
	ret->local_max = fetched.local_max;
}
