/* SPDX-License-Identifier: MIT */
#include "replica/rebuild.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "io/file.h"
#include "journal/transfer.h"
#include "replica/manifest.h"
#include "replica/scratch.h"
#include "replica/takeover.h"
#include "store/replication.h"

#define TIMEOUT (60 * OFS_NS_PER_S)
#define LSN_LEAP (UINT64_C(1) << 40)
#define NEVER_SEAL_MS 3600000u
#define TRIES 5

struct rebuild {
	const struct ofs_rebuild_settings *set;
	struct ofs_lineage lineage;
	struct ofs_replica_state state;
	uint32_t epoch; /* newest epoch known to have its object */
	struct ofs_manifest manifest;
	char *temporary; /* temporary directory of the store, or NULL */
	int dirfd, journal_fd, index_fd;
};

static void rebuild_finish(struct rebuild *rb)
{
	if (rb->temporary)
		ofs_scratch_remove(rb->temporary);
	ofs_object_cache_destroy(rb->lineage.cache);
	ofs_bucket_close(rb->lineage.bucket);
	ofs_replica_state_finish(&rb->state);
	ofs_manifest_finish(&rb->manifest);
	ofs_io_close(&rb->index_fd);
	ofs_io_close(&rb->journal_fd);
	ofs_io_close(&rb->dirfd);
	free(rb->temporary);
}

/* ---- the log */

/* Walks from *at to the end of the log; with `keep` puts it into the journal. */
static int walk(struct rebuild *rb, bool keep, struct ofs_log_place *at, struct ofs_error *err)
{
	for (unsigned int n = 0;; n++) {
		OFS_CLEANUP(ofs_link_finish) struct ofs_link link = { 0 };
		int r;

		if (n % OFS_LOG_AHEAD == 0)
			ofs_lineage_expect_log(&rb->lineage, at);
		r = ofs_lineage_next(&rb->lineage, at, err, &link);
		if (r < 0)
			return r == -ENOENT ? 0 : r;
		if (keep && link.kind == OFS_LINK_BASE)
			return ofs_error_set(err, EBADMSG,
					     "the log has a gap after the newest checkpoint");
		/* The writer of the FENCE may have died before creating the object of its epoch. */
		if (link.kind == OFS_LINK_FENCE && at->epoch >= rb->epoch)
			r = ofs_takeover_note_epoch(&rb->lineage, at, &link, err);
		if (r < 0)
			return r;
		if (keep && link.kind == OFS_LINK_DATA)
			r = ofs_journal_import(rb->journal_fd, rb->lineage.uuid, link.segment,
					       link.from, link.log.data, link.log.len);
		if (r < 0)
			return ofs_error_set(err, -r, "the log of epoch %u cannot be used: %s",
					     at->epoch, strerror(-r));
		*at = ofs_log_place_after(at, &link);
	}
}

/* ---- taking over */

/* Ends the epoch of the present owner where the log ends now. */
static int fence(struct rebuild *rb, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };
	OFS_CLEANUP(ofs_link_finish) struct ofs_link began = { 0 };
	struct ofs_log_place end;
	int r = ofs_lineage_newest_epoch(&rb->lineage, err, &rb->epoch, &began);

	if (r == -ENOENT)
		return ofs_error_set(err, ENODATA, "the remote has no log yet");
	if (r == 0)
		r = ofs_manifest_newest(&rb->lineage, rb->epoch, err, &m);
	if (r < 0)
		return r == -ENOENT
			       ? ofs_error_set(err, ENODATA, "the remote has no checkpoint yet")
			       : r;
	end = m.at;
	do {
		r = walk(rb, false, &end, err);
		if (r == 0)
			r = ofs_takeover_fence(&rb->lineage, &rb->state, &end,
					       ofs_align_up(end.lsn + 1, LSN_LEAP), m.key, err);
	} while (r == -EEXIST);
	return r;
}

/* Chooses the manifest to build on only after the FENCE: later ones are not part of the log. */
static int take_over(struct rebuild *rb, struct ofs_error *err)
{
	int r = ofs_replica_state_add_writer(-1, &rb->state);

	for (int i = 0; i < TRIES && r == 0; i++) {
		r = fence(rb, err);
		/* Its manifest was removed meanwhile, or somebody else was faster. */
		if ((r != -ENOENT && r != -ESTALE) || i + 1 == TRIES)
			break;
		r = 0;
	}
	rb->epoch = rb->state.at.epoch;
	return r < 0 ? r : ofs_manifest_newest(&rb->lineage, rb->epoch, err, &rb->manifest);
}

/* ---- the directory */

static int make_part(struct rebuild *rb, const char *name, int *ret)
{
	int r = ofs_io_mkdir(rb->dirfd, name, 0700);

	if (r == 0 && ret)
		r = *ret = ofs_io_open(rb->dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	return OFS_MIN(r, 0);
}

/* Makes a directory beside the target, which takes its place once it is a store. */
static int make_directory(struct rebuild *rb, const char *path, struct ofs_error *err)
{
	OFS_FREE char *base = NULL;
	size_t len = strlen(path);
	int r;

	while (len > 1 && path[len - 1] == '/')
		len--;
	base = ofs_format("%.*s.restoring", (int)len, path);
	r = ofs_scratch_make(base, &rb->temporary, err);
	if (r < 0)
		return r;
	rb->dirfd = ofs_io_open(AT_FDCWD, rb->temporary, O_RDONLY | O_DIRECTORY, 0);
	r = OFS_MIN(rb->dirfd, 0);
	if (r == 0)
		r = make_part(rb, "journal", &rb->journal_fd);
	if (r == 0)
		r = make_part(rb, "packs", NULL);
	if (r == 0)
		r = rb->index_fd = ofs_io_open(rb->dirfd, "index.db", O_RDWR | O_CREAT, 0600);
	return r < 0 ? ofs_error_set(err, -r, "the store cannot be created: %s", strerror(-r)) : 0;
}

/*
 * Replays the log and leaps far beyond its end. Nothing is sealed, since the content is elsewhere.
 */
static int settle_store(struct rebuild *rb, struct ofs_error *err)
{
	const struct ofs_store_options opts = { .seal_delay_ms = NEVER_SEAL_MS,
						.cache_bytes = 1 << 20 };
	struct ofs_store *s;
	int r = ofs_store_open(rb->temporary, &opts, err, &s), closed;

	if (r < 0)
		return r;
	r = ofs_store_start(s);
	if (r == 0)
		r = ofs_store_leap(s, rb->state.at.lsn);
	closed = ofs_store_close(s);
	r = r < 0 ? r : closed;
	return r < 0 ? ofs_error_set(err, -r, "the log cannot be replayed: %s", strerror(-r)) : 0;
}

static int fetch(struct rebuild *rb, struct ofs_error *err)
{
	const struct ofs_manifest_target to = { .index_fd = rb->index_fd,
						.journal_fd = rb->journal_fd,
						.drafts = true,
						.progress = rb->set->progress,
						.arg = rb->set->arg };
	OFS_FREE char *index = ofs_format("%s/index.db", rb->temporary);
	uint64_t leaps = rb->state.at.lsn / LSN_LEAP - rb->manifest.at.lsn / LSN_LEAP;
	struct ofs_log_place at = rb->manifest.log;
	int r = ofs_manifest_fetch(&rb->lineage, &rb->manifest, &to, err);

	if (r == 0)
		r = ofs_manifest_finish_index(&rb->manifest, index, leaps, &rb->state.durable, err);
	return r < 0 ? r : walk(rb, true, &at, err);
}

static int save_state(struct rebuild *rb, struct ofs_error *err)
{
	int r;

	rb->state.location = ofs_location_text(&rb->set->remote->location);
	rb->state.based = true;
	r = ofs_replica_state_save(rb->dirfd, &rb->state);
	return r < 0 ? ofs_error_set(err, -r, "remote/state cannot be written: %s", strerror(-r))
		     : 0;
}

static int move_into_place(struct rebuild *rb, const char *path, struct ofs_error *err)
{
	int r = ofs_io_rename(AT_FDCWD, rb->temporary, path);

	if (r < 0)
		return ofs_error_set(err, -r, "'%s' cannot be moved to '%s': %s", rb->temporary,
				     path, strerror(-r));
	free(ofs_steal(rb->temporary));
	return 0;
}

static int note_any(void *arg, const char *name)
{
	return 1;
}

/* A directory cannot be renamed over a mountpoint. */
static bool is_mountpoint(const char *path)
{
	OFS_FREE char *parent = ofs_format("%s/..", path);
	struct stat st, above;

	return stat(path, &st) == 0 && stat(parent, &above) == 0 && st.st_dev != above.st_dev;
}

/* Checks the target before anything is taken over. */
static int check_target(const char *path, struct ofs_error *err)
{
	int r = ofs_io_list(AT_FDCWD, path, note_any, NULL);

	if (r > 0)
		return ofs_error_set(err, ENOTEMPTY,
				     "'%s' is not empty: name an empty directory, or a new one",
				     path);
	if (r < 0 && r != -ENOENT)
		return ofs_error_set(err, -r, "'%s': %s", path, strerror(-r));
	if (is_mountpoint(path))
		return ofs_error_set(err, EBUSY,
				     "'%s' is a mountpoint: name a directory in it, or another one",
				     path);
	return 0;
}

int ofs_rebuild(const char *path, const struct ofs_rebuild_settings *set, struct ofs_error *err)
{
	OFS_CLEANUP(rebuild_finish)
	struct rebuild rb = { .set = set, .dirfd = -1, .journal_fd = -1, .index_fd = -1 };
	int r = check_target(path, err);

	if (r == 0)
		r = make_directory(&rb, path, err);
	if (r == 0)
		r = ofs_bucket_open(set->remote, TIMEOUT, NULL, err, &rb.lineage.bucket);
	if (r == 0) {
		rb.lineage.cache =
			ofs_object_cache_create(set->remote, TIMEOUT, OFS_REMOTE_OBJECT_MAX);
		r = ofs_lineage_read_store(&rb.lineage, err);
	}
	if (r == -ENOENT)
		return ofs_error_set(err, ENODATA, "the remote has no store");
	if (r == 0)
		r = ofs_s3_probe(ofs_bucket_s3(rb.lineage.bucket), err);
	if (r == 0)
		r = take_over(&rb, err);
	if (r == 0)
		r = fetch(&rb, err);
	if (r == 0)
		r = settle_store(&rb, err);
	if (r == 0)
		r = save_state(&rb, err);
	return r < 0 ? r : move_into_place(&rb, path, err);
}
