/* SPDX-License-Identifier: MIT */
/* Makes the log durable. */
#include "io/file.h"
#include "journal/journal_state.h"

/*
 * A sync writes zeros after the end of the log: as many bytes as the segment holds, within these
 * bounds, and only if they suffice for AHEAD_SYNCS more syncs of the same size.
 */
#define AHEAD_MIN ((uint64_t)64 << 10)
#define AHEAD_MAX ((uint64_t)256 << 10)
#define AHEAD_SYNCS 4u

/*
 * When a file has grown, a sync makes the filesystem commit its size and blocks, which costs
 * another flush. So the newest segment is made longer than its records: the syncs that follow find
 * the blocks allocated and only write data. The log ends where it did, since zeros are not a
 * record.
 */
static void journal_write_ahead(struct ofs_journal *j)
{
	struct ofs_segment *s;
	uint64_t used, len, most = j->segment_size;
	ofs_lsn end;

	OFS_LOCKED(&j->append_lock);
	s = j->newest;
	end = s->end;
	used = end - s->first;
	len = OFS_MAX(AHEAD_MIN, OFS_MIN(used, AHEAD_MAX));
	if (used > OFS_SEGMENT_HEADER && used < most && end > s->ahead && !s->scarce &&
	    end - OFS_MAX(j->durable, s->first) <= len / AHEAD_SYNCS) {
		len = OFS_MIN(len, most - used);
		s->ahead = end + len;
		s->scarce = ofs_io_zero(s->fd, used, len) < 0;
		if (s->scarce)
			ofs_segment_cut_ahead(s);
	}
}

/* Collects the unsynced segments, referenced, and the end of the log. */
static void journal_collect_unsynced(struct ofs_journal *j, struct ofs_segment_list *ret,
				     ofs_lsn *ret_end)
{
	pthread_rwlock_rdlock(&j->segments_lock);
	*ret_end = j->newest->end;
	for (size_t i = j->segments.n; i-- && j->segments.at[i]->end > j->durable;)
		ofs_segment_list_append(ret, ofs_segment_ref(j->segments.at[i]));
	pthread_rwlock_unlock(&j->segments_lock);
}

/* Makes everything before *ret_end durable. Only the caller that set `syncing` may be here. */
static int journal_sync_files(struct ofs_journal *j, ofs_lsn *ret_end)
{
	struct ofs_segment_list unsynced = { 0 };
	int r = 0;

	journal_collect_unsynced(j, &unsynced, ret_end);
	/*
	 * A segment created from here on starts after *ret_end, so its name is for the next sync.
	 */
	for (size_t i = 0; !r && i < unsynced.n; i++)
		r = ofs_io_datasync(unsynced.at[i]->fd);
	if (!r && atomic_exchange(&j->dir_dirty, false))
		r = ofs_io_sync(j->dirfd);
	ofs_segment_list_finish(&unsynced);
	return r;
}

static int journal_sync(struct ofs_journal *j, bool ahead)
{
	ofs_lsn target = ofs_journal_end(j);
	ofs_lsn end;
	int r;

	pthread_mutex_lock(&j->sync_lock);
	while (!j->poisoned && j->durable < target) {
		if (j->syncing) {
			pthread_cond_wait(&j->sync_done, &j->sync_lock);
			continue;
		}
		j->syncing = true;
		pthread_mutex_unlock(&j->sync_lock);
		if (ahead)
			journal_write_ahead(j);
		r = journal_sync_files(j, &end);
		pthread_mutex_lock(&j->sync_lock);
		j->syncing = false;
		if (r < 0)
			j->poisoned = r;
		else
			j->durable = end;
		pthread_cond_broadcast(&j->sync_done);
	}
	r = j->poisoned ? -EIO : 0;
	pthread_mutex_unlock(&j->sync_lock);
	return r;
}

int ofs_journal_sync(struct ofs_journal *j)
{
	return journal_sync(j, true);
}

/* Cutting zeros of a later sync does no harm: the sync after it writes them again. */
int ofs_journal_settle(struct ofs_journal *j)
{
	int r = journal_sync(j, false);

	OFS_LOCKED(&j->append_lock);
	ofs_segment_cut_ahead(j->newest);
	return r;
}

ofs_lsn ofs_journal_durable(struct ofs_journal *j)
{
	return j->durable;
}
