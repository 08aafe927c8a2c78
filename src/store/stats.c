/* SPDX-License-Identifier: MIT */
/* Figures: what is in the store, what it costs, and how full its disk is. */
#include "store/store_state.h"

#define BLOCK 4096u /* as st_blksize */
#define INODE_COST 512u /* bytes that an inode takes in the index, and a little more */

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
		.tight = s->reserve.tight,
		.broken = s->broken,
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
	int r;

	stats_of_memory(s, ret);
	ret->journal = ofs_journal_size(s->journal, NULL);
	r = ofs_packset_disk_usage(s->packs, &ret->packs);
	return r == 0 ? ofs_index_disk_usage(s->index, &ret->index) : r;
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
