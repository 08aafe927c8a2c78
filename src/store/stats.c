/* SPDX-License-Identifier: MIT */
/* Figures: what is in the store, what it costs, and how full its disk is. */
#include <fcntl.h>
#include <sys/stat.h>

#include "io/file.h"
#include "store/store_state.h"

#define BLOCK 4096u /* as st_blksize */
#define INODE_COST 512u /* bytes that an inode takes in the index, and a little more */

struct usage {
	int dirfd;
	uint64_t bytes;
};

static int add_usage(void *arg, const char *name)
{
	struct usage *u = arg;
	struct stat st;

	/* One that is gone by now costs nothing. */
	if (fstatat(u->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		u->bytes += (uint64_t)st.st_blocks * 512;
	return 0;
}

/* What only memory knows. */
static void stats_of_memory(struct ofs_store *s, struct ofs_store_stats *ret)
{
	size_t i;

	pthread_mutex_lock(&s->lock);
	ret->files = s->counts.files;
	ret->dirs = s->counts.dirs;
	ret->others = s->counts.others;
	ret->bytes = s->counts.bytes;
	ret->tombstones = s->counts.tombstones;
	for (i = 0; i < s->drafts.n; i++) {
		if (s->drafts.list[i]->gone)
			continue;
		ret->draft_files++;
		ret->draft_bytes += s->drafts.list[i]->content.draft_bytes;
	}
	ret->cached = s->inodes.count;
	ret->held = s->held;
	ret->tight = s->reserve.tight;
	ret->broken = s->broken;
	ret->error = s->sync_error ? s->sync_error : s->room.error;
	pthread_mutex_unlock(&s->lock);
}

int ofs_store_stats(struct ofs_store *s, struct ofs_store_stats *ret)
{
	struct usage packs = { .dirfd = s->packs_fd };
	struct ofs_store_stats st = { 0 };
	int r;

	stats_of_memory(s, &st);
	r = ofs_io_list(s->packs_fd, ".", add_usage, &packs);
	if (r == 0)
		r = ofs_index_disk_usage(s->index, &st.index);
	if (r < 0)
		return r;
	st.packs = packs.bytes;
	st.journal = ofs_journal_size(s->journal, NULL);
	*ret = st;
	return 0;
}

static uint64_t to_blocks(uint64_t n, uint64_t size)
{
	return size >= BLOCK ? n * (size / BLOCK) : n / (BLOCK / size);
}

int ofs_store_statfs(struct ofs_store *s, struct statvfs *ret)
{
	uint64_t missing = ofs_reserve_missing(s) / BLOCK, used;
	struct statvfs st;

	if (fstatvfs(s->dirfd, &st) < 0)
		return -errno;
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
