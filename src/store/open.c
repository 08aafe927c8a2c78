/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing a store. Recovery takes the index as committed, the drafts that it names, and
 * the journal from the index's position on. Frames after the committed end of the packs are cut
 * off.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"
#include "io/path.h"
#include "io/trust.h"
#include "store/index_copy.h"
#include "store/owner.h"
#include "store/cycle.h"
#include "store/follow.h"
#include "store/replay.h"
#include "store/ledger.h"
#include "store/store_state.h"

#define JOURNAL_START 8
#define JOURNAL_MAX (UINT64_C(2) << 30)
#define JOURNAL_MAX_SCARCE (UINT64_C(64) << 20) /* at least, however little room there is */

/* Sets the message for an error; returns it. */
static int failed(struct ofs_error *err, int r, const char *what, const char *path)
{
	return ofs_error_set(err, -r, "cannot %s '%s': %s", what, path, strerror(-r));
}

struct seen {
	bool index;
	bool foreign;
};

static int note_name(void *arg, const char *name)
{
	static const char *const ours[] = { "lock",	  "journal",	"packs",   "index.db*",
					    "lost+found", "quarantine", "reserve", "config.ini",
					    "search.db*", "context.ini", "log",	   "remote" };
	struct seen *seen = arg;
	size_t i = 0;

	seen->index = seen->index || strcmp(name, "index.db") == 0;
	while (i < OFS_ARRAY_SIZE(ours) && fnmatch(ours[i], name, 0) != 0)
		i++;
	seen->foreign = seen->foreign || i == OFS_ARRAY_SIZE(ours);
	return 0;
}

/* Opens the directory, making it if allowed. It must hold a store, or nothing. */
static int open_directory(const char *path, bool create, struct ofs_error *err)
{
	struct seen seen = { false, false };
	OFS_CLOSE int fd = -1;
	int r = create ? ofs_io_mkdir(AT_FDCWD, path, 0700) : 0;

	if (r < 0)
		return failed(err, r, "make the store", path);
	fd = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return failed(err, fd, "open the store", path);
	r = ofs_trust_check_store(fd, path, err);
	if (r < 0)
		return r;
	r = ofs_io_list(fd, ".", note_name, &seen);
	if (r < 0)
		return failed(err, r, "read the store", path);
	if (seen.index)
		return ofs_steal_fd(&fd);
	if (seen.foreign)
		return ofs_error_set(
			err, EINVAL,
			"'%s' is not a store: it holds other files and no index.db; name a store, "
			"or an empty or new directory",
			path);
	if (!create)
		return ofs_error_set(err, ENOENT, "there is no store in '%s'", path);
	/* From now on nobody else may use it. */
	r = ofs_io_chmod(fd, 0700);
	return r < 0 ? failed(err, r, "set the mode 0700 of", path) : ofs_steal_fd(&fd);
}

static int open_part(struct ofs_store *s, const char *path, const char *name, int *ret,
		     struct ofs_error *err)
{
	int r = s->read_only && !s->follow ? 0 : ofs_io_mkdir(s->dirfd, name, 0700);

	if (r == 0)
		r = ofs_io_open(s->dirfd, name, O_RDONLY | O_DIRECTORY, 0);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot open '%s/%s': %s", path, name, strerror(-r));
	*ret = r;
	return 0;
}

static int note_any(void *arg, const char *name)
{
	*(bool *)arg = true;
	return 0;
}

static int open_index(struct ofs_store *s, const char *path, bool create,
		      struct ofs_index_meta *ret, struct ofs_error *err)
{
	struct ofs_index_meta meta = { .checkpoint = JOURNAL_START,
				       .next_ino = OFS_ROOT_INO + 1,
				       .next_chunk = 1,
				       .age = ofs_clock_wall() };
	OFS_FREE char *file = NULL;
	bool journal = false, content;
	int r;

	if (s->follow)
		return ofs_follow_open_index(s, err, ret, &s->index);
	r = s->read_only ? ofs_index_copy_make(s->dirfd, err, &s->index_copy) : 0;
	if (r < 0)
		return r;
	file = ofs_format("%s/index.db", s->index_copy ? s->index_copy : path);

	/* A new index must not take the place of one that is lost but described content. */
	r = ofs_io_list(s->journal_fd, ".", note_any, &journal);
	content = journal;
	if (r == 0)
		r = ofs_io_list(s->packs_fd, ".", note_any, &content);
	if (r < 0)
		return failed(err, r, "read the store", path);
	meta.age_wall = meta.wall_high = meta.age;
	if (getrandom(meta.uuid, sizeof(meta.uuid), 0) != sizeof(meta.uuid) ||
	    getrandom(&meta.ref_seed, sizeof(meta.ref_seed), 0) != sizeof(meta.ref_seed))
		return ofs_error_set(err, EIO, "cannot get random numbers");
	meta.ref_seed = (meta.ref_seed & INT64_MAX) | 1; /* 0 means none */
	r = ofs_index_open(file, create && !content ? &meta : NULL, err, &s->index);
	if (r == -ENOENT && content)
		return ofs_error_set(
			err, ENOENT,
			"'%s' is missing, but the store has content: put the file back from a "
			"backup; nothing was changed",
			file);
	if (r < 0)
		return r;
	/* The names of a new store are durable before anything is promised about its content. */
	if (!journal && !s->read_only) {
		OFS_CLOSE int parent = ofs_io_open(s->dirfd, "..", O_RDONLY | O_DIRECTORY, 0);

		r = ofs_io_sync(s->dirfd);
		/* A parent that cannot be read belongs to somebody else, and is older. */
		if (r == 0 && parent >= 0)
			r = ofs_io_sync(parent);
	}
	if (r == 0)
		r = ofs_index_get_meta(s->index, ret);
	return r < 0 ? failed(err, r, "read", file) : 0;
}

static int recover(struct ofs_store *s, const char *path, const struct ofs_index_meta *meta,
		   struct ofs_error *err)
{
	int r = ofs_store_replay(s, path, meta, err);

	if (r < 0)
		return r;
	if (s->follow) {
		ofs_packset_follow(s->packs, meta->pack, meta->pack_size);
		return 0;
	}
	/* Only now: an index that does not fit its journal may be old, and must cut nothing off. */
	if (!s->read_only)
		r = ofs_packset_resume(s->packs, meta->pack, meta->pack_size, err);
	if (r < 0)
		return r;
	if (s->damage.found && !s->read_only)
		r = ofs_damage_write(&s->damage, s->dirfd);
	if (r < 0)
		return failed(err, r, "write quarantine/ of", path);
	s->journal_damaged = s->damage.found ||
			     faccessat(s->dirfd, "quarantine/journal-damage", F_OK, 0) == 0;
	r = ofs_store_drop_orphans(s);
	if (r == 0 && !s->read_only)
		ofs_presence_start(s, path);
	return r < 0 ? failed(err, r, "read the index of", path) : 0;
}

/* Limits drafts to a quarter of the free space, but not below JOURNAL_MAX_SCARCE. */
static uint64_t limit_journal(struct ofs_store *s, const struct ofs_store_options *opts)
{
	uint64_t max = opts->journal_max ? opts->journal_max : JOURNAL_MAX;
	struct statvfs st;

	if (fstatvfs(s->dirfd, &st) < 0)
		return max;
	return OFS_MIN(max, OFS_MAX(st.f_frsize * st.f_bavail / 4, JOURNAL_MAX_SCARCE));
}

static int note_any_object(void *arg, const struct ofs_index_object *o)
{
	return 1;
}

static int open_parts(struct ofs_store *s, const char *path, const struct ofs_store_options *opts,
		      struct ofs_error *err)
{
	struct ofs_index_meta meta;
	int r;

	s->follow = opts->follow;
	s->read_only = s->damage.read_only = opts->read_only || s->follow;
	r = open_directory(path, opts->create && !s->read_only, err);
	if (r < 0)
		return r;
	s->dirfd = r;
	s->path = s->follow ? ofs_path_absolute(path) : NULL;
	r = s->read_only && !s->follow ? ofs_owner_keep_away(s->dirfd, path, err)
				       : ofs_owner_acquire(s->dirfd, path, opts->mountpoint, err);
	/* Without a lock file, which a read-only store cannot make, there is nothing to lock. */
	if (r < 0 && !(s->read_only && !s->follow && r == -ENOENT))
		return r;
	s->lockfd = r;
	/* A reserve that a killed owner left is room that opening may need. */
	if (!s->read_only)
		ofs_reserve_remove(s);
	s->journal_max = limit_journal(s, opts);
	r = open_part(s, path, "journal", &s->journal_fd, err);
	if (r == 0)
		r = open_part(s, path, "packs", &s->packs_fd, err);
	if (r == 0)
		r = open_index(s, path, opts->create, &meta, err);
	if (r < 0)
		return r;
	memcpy(s->uuid, meta.uuid, sizeof(s->uuid));
	s->ref_seed = meta.ref_seed;
	ofs_age_open(s, &meta);
	s->packs = ofs_packset_open(s->packs_fd, s->uuid, opts->cache_bytes);
	/* Frames that only a remote has are not damaged, even if nobody can bring them. */
	if (s->follow || ofs_index_list_objects(s->index, note_any_object, NULL))
		ofs_packset_expect_away(s->packs);
	return recover(s, path, &meta, err);
}

static void init_locks(struct ofs_store *s)
{
	pthread_mutexattr_t checked;
	pthread_rwlockattr_t rw;

	/* Its holder may bring content, and evict frames for that: ofs_store_evict_frames(). */
	pthread_mutexattr_init(&checked);
	pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&s->cycle, &checked);
	pthread_mutexattr_destroy(&checked);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->reserve.lock, NULL);
	pthread_rwlockattr_init(&rw);
	/* Readers keep coming: whoever gives space back must get a turn. */
	pthread_rwlockattr_setkind_np(&rw, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->reclaim, &rw);
	pthread_rwlockattr_destroy(&rw);
	ofs_cond_init(&s->sealer.wake);
	ofs_cond_init(&s->room.made);
	ofs_away_init(&s->away);
}

static void store_destroy(struct ofs_store *s, bool clean)
{
	struct ofs_tombstone *t;
	size_t pos = 0;

	if (s->lockfd >= 0 && !s->read_only)
		ofs_reserve_remove(s);
	ofs_journal_close(s->journal);
	ofs_packset_close(s->packs);
	ofs_index_close(s->index);
	ofs_index_copy_remove(&s->index_copy);
	ofs_compressor_destroy(s->compressor);
	ofs_store_free_inodes(s);
	while ((t = ofs_map_next(&s->tombstones, &pos)))
		free(t);
	ofs_map_finish(&s->tombstones);
	ofs_regions_finish(s);
	ofs_ledger_finish(s);
	ofs_tally_finish(&s->refs);
	ofs_map_finish(&s->versions);
	free(s->path);
	free(s->presence.path);
	free(s->dirty.list);
	free(s->drafts.list);
	free(s->moves);
	ofs_u64_list_finish(&s->changed);
	ofs_u64_list_finish(&s->sealed_files);
	pthread_cond_destroy(&s->sealer.wake);
	pthread_cond_destroy(&s->room.made);
	ofs_away_finish(&s->away);
	pthread_rwlock_destroy(&s->reclaim);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->reserve.lock);
	pthread_mutex_destroy(&s->cycle);
	ofs_io_close(&s->packs_fd);
	ofs_io_close(&s->journal_fd);
	ofs_io_close(&s->dirfd);
	/* Last: from here on somebody else may open the store. */
	if (s->read_only && !s->follow)
		ofs_io_close(&s->lockfd);
	else
		ofs_owner_release(&s->lockfd, clean);
	free(s);
}

const char *ofs_store_scratch(const struct ofs_store *s, const char *path)
{
	return s->index_copy ? s->index_copy : path;
}

int ofs_store_open(const char *path, const struct ofs_store_options *opts, struct ofs_error *err,
		   struct ofs_store **ret)
{
	struct ofs_store *s = ofs_alloc(sizeof(*s));
	int r;

	s->dirfd = s->lockfd = s->journal_fd = s->packs_fd = -1;
	s->epoch = 1;
	s->log_held = UINT64_MAX;
	s->next_version = 1;
	s->seal_delay_ms = opts->seal_delay_ms;
	s->scrub_ms = opts->scrub_ms;
	s->blocks_data = opts->blocks_data;
	s->classify = opts->classify;
	s->unsettled = true;
	s->attr_changed = opts->attr_changed;
	s->sealed = opts->follow ? NULL : opts->sealed;
	s->followed = opts->followed;
	s->close_hook = opts->closing;
	s->events_arg = opts->events_arg;
	init_locks(s);
	s->compressor = ofs_compressor_create();
	r = open_parts(s, path, opts, err);
	if (r < 0)
		store_destroy(s, true);
	else
		*ret = s;
	return r;
}

/* Logs that the store is closed without its last checkpoint. */
static void tell_unwritten(struct ofs_store *s, int r)
{
	int fault = ofs_journal_fault(s->journal);
	bool lost = fault == -ESTALE || fault == -ENODATA;

	ofs_log(LOG_ERR,
		"the last checkpoint failed (%s): %zu changed files and directories are not in the "
		"index; %s",
		s->broken ? s->broken : strerror(-r), s->dirty.n,
		lost ? "the journal is gone, and the changes with it"
		     : "the journal has the changes, and the next start reads it");
}

int ofs_store_close(struct ofs_store *s)
{
	struct ofs_seal_when when = { 0 };
	bool background;
	int r;

	if (!s)
		return 0;
	if (s->read_only) {
		store_destroy(s, true);
		return 0;
	}
	background = s->sealer.runs;
	ofs_sealer_stop(s);
	s->closing = true;
	/* The store stays as it is, for whoever looks for what the other host never got. */
	if (s->deposed) {
		if (s->close_hook)
			s->close_hook(s->events_arg);
		store_destroy(s, ofs_journal_settle(s->journal) == 0);
		return 0;
	}
	/* Whoever held an unlinked file is gone with the mount. */
	r = ofs_store_drop_orphans(s);
	if (r < 0)
		ofs_log(LOG_WARNING, "cannot list unlinked files: %s", strerror(-r));
	ofs_store_settle_uses(s);
	/* A daemon's drafts are sealed after its next start, since it must end quickly. */
	when.now = background ? INT64_MIN / 2 : ofs_clock_monotonic();
	r = ofs_store_cycle(s, &when, true);
	if (r < 0)
		tell_unwritten(s, r);
	else if (ofs_store_trim(s, true) == 0)
		ofs_index_settle(s->index);
	if (s->close_hook)
		s->close_hook(s->events_arg);
	store_destroy(s, r == 0);
	return r;
}

int64_t ofs_store_ref_seed(const struct ofs_store *s)
{
	return s->ref_seed;
}

int ofs_store_key(const struct ofs_store *s, const char *purpose, char ret[2 * OFS_SHA256_SIZE + 1])
{
	uint8_t key[OFS_SHA256_SIZE];
	int r = ofs_hmac(s->uuid, sizeof(s->uuid), purpose, strlen(purpose), key);

	if (r == 0)
		ofs_sha256_hex(key, ret);
	return r;
}
