/* SPDX-License-Identifier: MIT */
#include "store/pressure.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"
#include "store/store_state.h"

#define BLOCK 4096u /* as st_blksize */
#define INODE_COST 512u /* bytes that an inode takes in the index, rounded up */
#define RESERVE_BYTES (UINT64_C(8) << 20)
#define RETRY_NS (250 * OFS_NS_PER_MS)
#define TOLD_NS (60 * OFS_NS_PER_S)
#define DIRTY_MAX 32768u
#define DIRTY_MIN 64u
#define DIRTY_COST (16 * BLOCK) /* more than two dirty inodes add to the log of the index */

/* ---- the journal */

/*
 * What a record changed stays in memory until it is sealed, however small the record is: this many
 * take some 300 MB. The limit is more than two segments of the journal hold.
 */
#define RECORDS_MAX (UINT64_C(512) << 10)

/* The journal holds more than one `part`th of its limit. */
static bool is_beyond(struct ofs_store *s, unsigned int part)
{
	uint64_t records, size = ofs_journal_size(s->journal, s->log_needed, &records);

	return size > s->journal_max / part || records > RECORDS_MAX / part;
}

/* From a quarter of the limit on, drafts need not become quiet. */
bool ofs_store_is_pressed(struct ofs_store *s)
{
	return is_beyond(s, 4);
}

bool ofs_store_is_stopping(struct ofs_store *s)
{
	OFS_LOCKED(&s->lock);

	return s->sealer.stop && s->sealer.runs;
}

bool ofs_store_would_wait(struct ofs_store *s)
{
	return !s->read_only && is_beyond(s, 1);
}

/* ---- the disk */

bool ofs_store_is_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* Makes the file `size` bytes long, all of them allocated. */
static int reserve_resize(struct ofs_store *s, uint64_t size)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "reserve", O_WRONLY | O_CREAT, 0600);
	int r;

	if (fd < 0)
		return fd;
	r = size ? ofs_io_allocate(fd, size) : ofs_io_truncate(fd, 0);
	if (r < 0)
		ofs_io_truncate(fd, 0);
	return r;
}

/* One line for a shortage: on a nearly full disk each checkpoint uses and refills the reserve. */
static void tell_full(struct ofs_store *s)
{
	int64_t now = ofs_clock_monotonic();

	if (!s->reserve.told || now - s->reserve.told > TOLD_NS)
		ofs_log(LOG_WARNING, "the disk is full: only changes that free space are possible");
	s->reserve.told = now;
}

void ofs_reserve_fill(struct ofs_store *s)
{
	OFS_LOCKED(&s->reserve.lock);
	int r = reserve_resize(s, RESERVE_BYTES);

	if (ofs_store_is_full(r) && !s->reserve.tight)
		tell_full(s);
	if (r == 0 && s->reserve.tight)
		ofs_log(LOG_INFO, "there is room on the disk again");
	s->reserve.there = r == 0;
	/* If room cannot be set aside for another reason, the store does without. */
	s->reserve.tight = ofs_store_is_full(r);
	s->reserve.tried = ofs_clock_monotonic();
}

bool ofs_reserve_release(struct ofs_store *s)
{
	OFS_LOCKED(&s->reserve.lock);
	bool had = s->reserve.there;

	if (had) {
		reserve_resize(s, 0);
		tell_full(s);
	}
	s->reserve.there = false;
	s->reserve.tight = true;
	return had;
}

bool ofs_reserve_is_tight(struct ofs_store *s)
{
	if (s->reserve.tight && ofs_clock_monotonic() - s->reserve.tried > RETRY_NS)
		ofs_reserve_fill(s);
	return s->reserve.tight;
}

void ofs_reserve_remove(struct ofs_store *s)
{
	ofs_io_unlink(s->dirfd, "reserve");
}

size_t ofs_store_dirty_max(struct ofs_store *s)
{
	struct statvfs st;
	uint64_t room;

	if (fstatvfs(s->dirfd, &st) < 0)
		return DIRTY_MAX;
	room = st.f_bavail * st.f_frsize + (s->reserve.there ? RESERVE_BYTES : 0);
	/* A checkpoint writes each page of the index once at most. */
	if (s->room.index <= room)
		return DIRTY_MAX;
	return (size_t)OFS_MIN(OFS_MAX(room / DIRTY_COST, (uint64_t)DIRTY_MIN),
			       (uint64_t)DIRTY_MAX);
}

/* ---- figures */

static void stats_of_memory(struct ofs_store *s, struct ofs_store_stats *ret)
{
	OFS_LOCKED(&s->lock);
	*ret = (struct ofs_store_stats){
		.files = s->counts.files,
		.dirs = s->counts.dirs,
		.others = s->counts.others,
		.bytes = s->counts.bytes,
		.tombstones = s->counts.tombstones,
		.cached = s->inodes.count,
		.held = s->held,
		.waiting_max = s->journal_max,
		.sealed = s->sealed_bytes,
		.sealed_stored = s->sealed_stored,
		.inodes_asked = s->inodes_asked,
		.inodes_loaded = s->inodes_loaded,
		.tight = s->reserve.tight,
		.broken = s->broken,
		.journal_damaged = s->journal_damaged,
		.error = s->sync_error ? s->sync_error : s->room.error,
	};
	for (size_t i = 0; i < s->drafts.n; i++) {
		if (s->drafts.list[i]->gone)
			continue;
		ret->draft_files++;
		ret->draft_bytes += s->drafts.list[i]->content.draft_bytes;
	}
}

int ofs_store_stats(struct ofs_store *s, struct ofs_store_stats *ret)
{
	struct ofs_frame_counts frames;
	ofs_lsn durable;
	int r;

	ofs_store_is_whole(s);
	stats_of_memory(s, ret);
	ofs_packset_count_frames(s->packs, &frames);
	ret->frames_kept = frames.kept;
	ret->frames_ahead = frames.ahead;
	ret->frames_loaded = frames.loaded;
	ret->frame_bytes = frames.bytes;
	ret->journal = ofs_journal_size(s->journal, 0, NULL);
	ret->segments = ofs_journal_segments(s->journal);
	ret->waiting = ofs_journal_size(s->journal, s->log_needed, &ret->waiting_records);
	durable = ofs_journal_durable(s->journal);
	ret->unsynced = ofs_journal_end(s->journal);
	ret->unsynced -= OFS_MIN(ret->unsynced, durable);
	r = ofs_packset_disk_usage(s->packs, &ret->packs);
	return r == 0 ? ofs_index_disk_usage(s->index, &ret->index) : r;
}

static uint64_t to_blocks(uint64_t n, uint64_t size)
{
	return size >= BLOCK ? n * (size / BLOCK) : n / (BLOCK / size);
}

int ofs_store_statfs(struct ofs_store *s, struct statvfs *ret)
{
	uint64_t missing, used;
	struct statvfs st;

	if (fstatvfs(s->dirfd, &st) < 0)
		return -errno;
	pthread_mutex_lock(&s->reserve.lock);
	missing = s->reserve.there ? 0 : RESERVE_BYTES / BLOCK;
	pthread_mutex_unlock(&s->reserve.lock);
	pthread_mutex_lock(&s->lock);
	used = s->counts.files + s->counts.dirs + s->counts.others;
	pthread_mutex_unlock(&s->lock);
	st.f_blocks = to_blocks(st.f_blocks, st.f_frsize);
	st.f_bfree = to_blocks(st.f_bfree, st.f_frsize);
	st.f_bavail = to_blocks(st.f_bavail, st.f_frsize);
	st.f_bavail -= OFS_MIN(st.f_bavail, missing);
	st.f_bsize = st.f_frsize = BLOCK;
	st.f_ffree = st.f_favail = st.f_bavail * (BLOCK / INODE_COST);
	st.f_files = st.f_ffree + used;
	st.f_namemax = 255;
	*ret = st;
	return 0;
}
