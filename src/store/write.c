/* SPDX-License-Identifier: MIT */
/* Writing content into the journal; making and finding holes; preallocating; copying. */
#include <sys/statvfs.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/record.h"
#include "store/store_state.h"

static bool is_too_large(uint64_t off, uint64_t len)
{
	uint64_t end;

	return __builtin_add_overflow(off, len, &end) || end > (uint64_t)OFS_SIZE_MAX;
}

static int write_record(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off)
{
	struct ofs_record rec = { .type = OFS_RECORD_WRITE, .ino = ino, .size = off };
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	return r < 0 ? r : ofs_store_log(s, &rec, buf, size);
}

ssize_t ofs_store_write(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off)
{
	size_t done = 0;
	int r;

	if (is_too_large(off, size))
		return -EFBIG;
	r = ofs_store_wait_for_room(s);
	if (r < 0)
		return r;
	while (done < size) {
		size_t part = OFS_MIN(size - done, (size_t)OFS_JOURNAL_DATA_MAX);

		r = write_record(s, ino, (const uint8_t *)buf + done, part, off + done);
		if (ofs_store_make_room(s, r))
			r = write_record(s, ino, (const uint8_t *)buf + done, part, off + done);
		if (r < 0)
			return done ? (ssize_t)done : r;
		done += part;
	}
	return (ssize_t)done;
}

/* `lock` held. */
static int zero(struct ofs_store *s, const struct ofs_inode *n, uint64_t off, uint64_t len,
		bool grow)
{
	struct ofs_record rec = { .type = OFS_RECORD_ZERO,
				  .ino = n->row.ino,
				  .size = off,
				  .len = len,
				  .flags = grow ? OFS_ZERO_GROW : 0 };

	if (!grow)
		rec.len = off < n->row.size ? OFS_MIN(len, n->row.size - off) : 0;
	return rec.len ? ofs_store_log(s, &rec, NULL, 0) : 0;
}

int ofs_store_zero(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len, bool grow)
{
	struct ofs_inode *n;
	int r;

	if (grow && is_too_large(off, len))
		return -EFBIG;
	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	return r < 0 ? r : zero(s, n, off, len, grow);
}

int ofs_store_allocate(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len,
		       bool keep_size)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_SETATTR, .ino = ino, .flags = OFS_SET_SIZE, .size = off + len
	};
	struct ofs_inode *n;
	struct statvfs st;
	int r;

	if (is_too_large(off, len))
		return -EFBIG;
	if (ofs_reserve_is_tight(s))
		return -ENOSPC;
	if (fstatvfs(s->dirfd, &st) < 0)
		return -errno;
	if (len / st.f_frsize > st.f_bavail)
		return -ENOSPC;
	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0 && !keep_size && rec.size > n->row.size)
		r = ofs_store_log(s, &rec, NULL, 0);
	return r;
}

int64_t ofs_store_seek(struct ofs_store *s, uint64_t ino, uint64_t off, int whence)
{
	struct ofs_inode *n;
	bool data;
	int r;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	OFS_LOCKED(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r < 0)
		return r;
	if (off >= n->row.size)
		return -ENXIO;
	while (off < n->row.size) {
		uint64_t stop = ofs_content_map_stretch(&n->content, off, n->row.size, &data);

		if (data == (whence == SEEK_DATA))
			return (int64_t)off;
		off = stop;
	}
	return whence == SEEK_HOLE ? (int64_t)n->row.size : -ENXIO;
}

/* ---- copying */

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

enum step {
	STEP_END,
	STEP_SHARE,
	STEP_HOLE,
	STEP_DATA
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

/* Does what comes next with the lock held, all but copying data. */
static int copy_locked(struct copy *c, enum step *ret_step, uint64_t *ret_len)
{
	struct ofs_record rec = { .type = OFS_RECORD_COPY,
				  .ino = c->to,
				  .size = c->to_off,
				  .from = c->from,
				  .from_off = c->from_off };
	struct ofs_inode *from, *to;
	int r;

	OFS_LOCKED(&c->store->lock);
	r = copy_files(c, &from, &to);
	if (r < 0)
		return r;
	*ret_step = copy_plan(c, from, to, ret_len);
	rec.len = *ret_len;
	if (*ret_step == STEP_SHARE)
		return ofs_store_log(c->store, &rec, NULL, 0);
	return *ret_step == STEP_HOLE ? zero(c->store, to, c->to_off, *ret_len, true) : 0;
}

/* Returns how much it copied; 0 at the end. */
static ssize_t copy_step(struct copy *c)
{
	enum step step = STEP_END;
	uint64_t len = 0;
	int r = copy_locked(c, &step, &len);

	if (step == STEP_DATA)
		return copy_data(c, len);
	return r < 0 || step == STEP_END ? r : (ssize_t)len;
}

/* Whether the two ranges may be copied at all; ends them where the source ends. */
static int copy_check(struct copy *c)
{
	struct ofs_inode *from, *to;
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
	if (is_too_large(c->to_off, c->left))
		return -EFBIG;
	if (c->from == c->to && c->from_off < c->to_off + c->left &&
	    c->to_off < c->from_off + c->left)
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
		if (n < 0 && ofs_store_make_room(s, (int)n))
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
