/* SPDX-License-Identifier: MIT */
/*
 * Copying by reference. Both files then name the same chunks and the same data in the journal:
 *
 *   chunks    A checkpoint takes all of memory at one moment, and the index deletes a chunk only at
 *             the end of a transaction that leaves it without a block. So when the source lets go of
 *             a chunk, the reference of the copy, which is older, is in that transaction or before.
 *   drafts    A segment of the journal stays while a draft in memory lies in it, whosever it is.
 *   replay    The record names the place, not the chunks: the source has the same content when the
 *             record is replayed, though more of it may be drafts.
 *
 * Only whole blocks are shared. The last one of a file is whole when the copy ends with it, too.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "store/content_map.h"
#include "store/inode.h"
#include "store/inode_table.h"
#include "store/apply.h"
#include "store/pressure.h"
#include "store/record.h"
#include "store/room.h"
#include "store/store.h"
#include "store/store_state.h"
#include "store/write.h"
#include <pthread.h>

#define COPY_MAX (UINT64_C(1) << 30) /* in one call */
#define DATA_MAX (UINT64_C(64) << 20) /* of it as data */
#define PART_MAX (UINT64_C(1) << 20)

struct copy {
	struct ofs_store *store;
	uint64_t from, from_off;
	uint64_t to, to_off;
	uint64_t left;
	uint64_t done;
	uint64_t as_data; /* of that */
	uint8_t *buf;
};

/* What one step does. */
enum step {
	STEP_END,
	STEP_SHARE,
	STEP_HOLE,
	STEP_DATA,
};

static int copy_files(struct copy *c, struct ofs_inode **ret_from, struct ofs_inode **ret_to)
{
	int r = ofs_store_file(c->store, c->from, ret_from);

	return r < 0 ? r : ofs_store_file(c->store, c->to, ret_to);
}

/* How much from here on are whole blocks of both. */
static uint64_t share_length(const struct copy *c, const struct ofs_inode *from,
			     const struct ofs_inode *to)
{
	if (c->from_off % OFS_BLOCK_SIZE || c->to_off % OFS_BLOCK_SIZE)
		return 0;
	if (c->from_off + c->left == from->row.size && c->to_off + c->left >= to->row.size)
		return c->left;
	return c->left - c->left % OFS_BLOCK_SIZE;
}

/* What comes next, and how much of it; `lock` held. */
static enum step copy_plan(struct copy *c, const struct ofs_inode *from, const struct ofs_inode *to,
			   uint64_t *ret_len)
{
	uint64_t stop;
	bool data;

	/* It may have become shorter. */
	if (c->from_off >= from->row.size)
		return STEP_END;
	c->left = OFS_MIN(c->left, from->row.size - c->from_off);
	*ret_len = share_length(c, from, to);
	if (*ret_len)
		return STEP_SHARE;
	stop = ofs_content_map_stretch(&from->content, c->from_off, c->from_off + c->left, &data);
	/* From the next block on it may be shared. */
	if (c->from_off % OFS_BLOCK_SIZE &&
	    c->from_off % OFS_BLOCK_SIZE == c->to_off % OFS_BLOCK_SIZE)
		stop = OFS_MIN(stop, ofs_align_up(c->from_off, OFS_BLOCK_SIZE));
	*ret_len = stop - c->from_off;
	if (!data)
		return STEP_HOLE;
	*ret_len = OFS_MIN(*ret_len, PART_MAX);
	return c->as_data < DATA_MAX ? STEP_DATA : STEP_END;
}

static int copy_share(struct copy *c, uint64_t len)
{
	struct ofs_record rec = { .type = OFS_RECORD_COPY,
				  .time = ofs_clock_wall(),
				  .ino = c->to,
				  .size = c->to_off,
				  .from = c->from,
				  .from_off = c->from_off,
				  .len = len };

	return ofs_store_log(c->store, &rec, NULL, 0);
}

/* Without the lock. Returns how much it was. */
static ssize_t copy_data(struct copy *c, uint64_t len)
{
	ssize_t n;

	if (!c->buf)
		c->buf = ofs_alloc(PART_MAX);
	n = ofs_store_read(c->store, c->from, c->buf, len, c->from_off);
	if (n > 0)
		n = ofs_store_write(c->store, c->to, c->buf, (size_t)n, c->to_off);
	c->as_data += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* Returns how much it copied; 0 at the end. */
static ssize_t copy_step(struct copy *c)
{
	struct ofs_inode *from, *to;
	enum step step = STEP_END;
	uint64_t len = 0;
	int r;

	pthread_mutex_lock(&c->store->lock);
	r = copy_files(c, &from, &to);
	if (r == 0)
		step = copy_plan(c, from, to, &len);
	if (step == STEP_SHARE)
		r = copy_share(c, len);
	else if (step == STEP_HOLE)
		r = ofs_store_zero_locked(c->store, to, c->to_off, len, true);
	pthread_mutex_unlock(&c->store->lock);
	if (step == STEP_DATA)
		return copy_data(c, len);
	return r < 0 || step == STEP_END ? r : (ssize_t)len;
}

/* Whether the two ranges may be copied at all; ends them where the source ends. */
static int copy_check(struct copy *c)
{
	struct ofs_inode *from, *to;
	uint64_t end;
	int r;

	pthread_mutex_lock(&c->store->lock);
	r = copy_files(c, &from, &to);
	if (r == 0)
		c->left = c->from_off < from->row.size
				  ? OFS_MIN(c->left, from->row.size - c->from_off)
				  : 0;
	pthread_mutex_unlock(&c->store->lock);
	if (r < 0 || !c->left)
		return r;
	if (__builtin_add_overflow(c->to_off, c->left, &end) || end > (uint64_t)OFS_SIZE_MAX)
		return -EFBIG;
	if (c->from == c->to && c->from_off < end && c->to_off < c->from_off + c->left)
		return -EINVAL;
	c->left = OFS_MIN(c->left, COPY_MAX);
	return ofs_store_wait_for_room(c->store);
}

ssize_t ofs_store_copy(struct ofs_store *s, uint64_t from, uint64_t from_off, uint64_t to,
		       uint64_t to_off, uint64_t len)
{
	struct copy c = { .store = s,
			  .from = from,
			  .from_off = from_off,
			  .to = to,
			  .to_off = to_off,
			  .left = len };
	ssize_t n = copy_check(&c);

	while (n == 0 && c.left) {
		n = copy_step(&c);
		if (ofs_store_is_full((int)n) && ofs_store_make_room(s))
			n = copy_step(&c);
		if (n <= 0)
			break;
		c.from_off += (uint64_t)n;
		c.to_off += (uint64_t)n;
		c.left -= (uint64_t)n;
		c.done += (uint64_t)n;
		n = 0;
	}
	free(c.buf);
	return c.done ? (ssize_t)c.done : n;
}
