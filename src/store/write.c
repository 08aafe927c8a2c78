/* SPDX-License-Identifier: MIT */
/* Writing content into the journal; making and finding holes; preallocation; copying. */
#include <offloadfs/tree.h>

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
		if (ofs_store_make_room(s, &r))
			r = write_record(s, ino, (const uint8_t *)buf + done, part, off + done);
		if (r < 0)
			return done ? (ssize_t)done : r;
		done += part;
	}
	return (ssize_t)done;
}

/* Logs the zeroing of a range, as far as it changes the file; `lock` held. */
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
	int r = -ENOSPC;

	if (is_too_large(off, len))
		return -EFBIG;
	if (ofs_reserve_is_tight(s) && (!ofs_store_make_room(s, &r) || ofs_reserve_is_tight(s)))
		return r;
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
 *             the end of a transaction that leaves it without a block. So when the source drops a
 *             chunk, the reference of the copy, which is older, is in that transaction or an
 *             earlier one.
 *   drafts    A segment of the journal stays while a draft of any file in memory lies in it.
 *   replay    The record names the place, not the chunks: the source has the same content when the
 *             record is replayed, though more of it may be drafts.
 *
 * Only whole blocks are shared. The last block of a file counts as whole if the copy ends with it.
 */
#define COPY_MAX (UINT64_C(1) << 30) /* in one call */
#define DATA_MAX (UINT64_C(64) << 20) /* of that as data */
#define PART_MAX (UINT64_C(1) << 20)

static int copy_files(struct ofs_store *s, const struct ofs_record *c, struct ofs_inode **ret_from,
		      struct ofs_inode **ret_to)
{
	int r = ofs_store_file(s, c->from, ret_from);

	return r < 0 ? r : ofs_store_file(s, c->ino, ret_to);
}

/* The number of bytes from here on that are whole blocks of both files. */
static uint64_t share_length(const struct ofs_record *c, const struct ofs_inode *from,
			     const struct ofs_inode *to)
{
	if (c->from_off % OFS_BLOCK_SIZE || c->size % OFS_BLOCK_SIZE)
		return 0;
	if (c->from_off + c->len == from->row.size && c->size + c->len >= to->row.size)
		return c->len;
	return c->len - c->len % OFS_BLOCK_SIZE;
}

/*
 * Copies the next part by reference or as a hole, and returns its length. 0: the next *ret_data
 * bytes are to be copied as data or, if that is 0 as well, the source has ended.
 */
static ssize_t copy_map(struct ofs_store *s, struct ofs_record *c, uint64_t *ret_data)
{
	struct ofs_inode *from, *to;
	struct ofs_record rec;
	uint64_t stop;
	bool data;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_wait_for_checkpoint(s);
	if (r == 0)
		r = copy_files(s, c, &from, &to);
	/* The source may have become shorter. */
	if (r < 0 || c->from_off >= from->row.size)
		return r;
	c->len = OFS_MIN(c->len, from->row.size - c->from_off);
	rec = *c;
	rec.len = share_length(c, from, to);
	if (rec.len) {
		r = ofs_store_log(s, &rec, NULL, 0);
		return r < 0 ? r : (ssize_t)rec.len;
	}
	stop = ofs_content_map_stretch(&from->content, c->from_off, c->from_off + c->len, &data);
	/* From the next block on, sharing may be possible. */
	if (c->from_off % OFS_BLOCK_SIZE &&
	    c->from_off % OFS_BLOCK_SIZE == c->size % OFS_BLOCK_SIZE)
		stop = OFS_MIN(stop, ofs_align_up(c->from_off, OFS_BLOCK_SIZE));
	stop -= c->from_off;
	*ret_data = data ? OFS_MIN(stop, PART_MAX) : 0;
	r = data ? 0 : zero(s, to, c->size, stop, true);
	return r < 0 || data ? r : (ssize_t)stop;
}

/* Returns how much it copied; 0: the copy ends here. */
static int copy_step(struct ofs_store *s, struct ofs_record *c, uint64_t *as_data, uint8_t *buf)
{
	uint64_t data = 0;
	ssize_t n = copy_map(s, c, &data);

	if (n != 0 || !data || *as_data >= DATA_MAX)
		return (int)n;
	n = ofs_store_is_nonblocking() ? ofs_store_read_here(s, c->from, buf, data, c->from_off)
				       : ofs_store_read(s, c->from, buf, data, c->from_off);
	if (n > 0)
		n = ofs_store_write(s, c->ino, buf, (size_t)n, c->size);
	*as_data += n > 0 ? (uint64_t)n : 0;
	return (int)n;
}

/* Checks that the ranges may be copied, and ends them where the source ends. */
static int copy_check(struct ofs_store *s, struct ofs_record *c)
{
	struct ofs_inode *from, *to;
	int r;

	pthread_mutex_lock(&s->lock);
	r = copy_files(s, c, &from, &to);
	if (r == 0)
		c->len = OFS_MIN(c->len, from->row.size - OFS_MIN(from->row.size, c->from_off));
	pthread_mutex_unlock(&s->lock);
	if (r < 0 || !c->len)
		return r;
	if (is_too_large(c->size, c->len))
		return -EFBIG;
	if (c->from == c->ino && c->from_off < c->size + c->len && c->size < c->from_off + c->len)
		return -EINVAL;
	c->len = OFS_MIN(c->len, COPY_MAX);
	return ofs_store_wait_for_room(s);
}

ssize_t ofs_store_copy(struct ofs_store *s, uint64_t from, uint64_t from_off, uint64_t to,
		       uint64_t to_off, uint64_t len)
{
	/* At first the whole copy, then what is left of it. */
	struct ofs_record c = { .type = OFS_RECORD_COPY,
				.ino = to,
				.size = to_off,
				.from = from,
				.from_off = from_off,
				.len = len };
	OFS_FREE uint8_t *buf = ofs_alloc(PART_MAX);
	uint64_t as_data = 0;
	int n = copy_check(s, &c);

	if (n < 0)
		return n;
	while (c.len) {
		n = copy_step(s, &c, &as_data, buf);
		if (ofs_store_make_room(s, &n))
			n = copy_step(s, &c, &as_data, buf);
		if (n <= 0)
			break;
		c.from_off += (uint64_t)n;
		c.size += (uint64_t)n;
		c.len -= (uint64_t)n;
	}
	return c.size > to_off ? (ssize_t)(c.size - to_off) : n;
}
