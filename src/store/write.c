/* SPDX-License-Identifier: MIT */
/* Writing content into the journal; making and finding holes; preallocating. */
#include "store/write.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include <offloadfs/tree.h>

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

static int write_record(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_WRITE, .time = ofs_clock_wall(), .ino = ino, .size = off
	};
	struct ofs_inode *n;
	int r;

	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0)
		r = ofs_store_log(s, &rec, buf, size);
	pthread_mutex_unlock(&s->lock);
	return r;
}

ssize_t ofs_store_write(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off)
{
	size_t done = 0;
	uint64_t end;
	int r;

	if (__builtin_add_overflow(off, size, &end) || end > (uint64_t)OFS_SIZE_MAX)
		return -EFBIG;
	r = ofs_store_wait_for_room(s);
	if (r < 0)
		return r;
	while (done < size) {
		size_t part = OFS_MIN(size - done, (size_t)OFS_JOURNAL_DATA_MAX);

		r = write_record(s, ino, (const uint8_t *)buf + done, part, off + done);
		if (ofs_store_is_full(r) && ofs_store_make_room(s))
			r = write_record(s, ino, (const uint8_t *)buf + done, part, off + done);
		if (r < 0)
			return done ? (ssize_t)done : r;
		done += part;
	}
	return (ssize_t)done;
}

int ofs_store_zero_locked(struct ofs_store *s, struct ofs_inode *n, uint64_t off, uint64_t len,
			  bool grow)
{
	struct ofs_record rec = { .type = OFS_RECORD_ZERO,
				  .time = ofs_clock_wall(),
				  .ino = n->row.ino,
				  .size = off,
				  .len = len,
				  .flags = grow ? OFS_ZERO_GROW : 0 };

	if (!grow)
		rec.len = off < n->row.size ? OFS_MIN(len, n->row.size - off) : 0;
	return rec.len ? ofs_store_log(s, &rec, NULL, 0) : 0;
}

static bool is_too_large(uint64_t off, uint64_t len)
{
	uint64_t end;

	return __builtin_add_overflow(off, len, &end) || end > (uint64_t)OFS_SIZE_MAX;
}

int ofs_store_zero(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len, bool grow)
{
	struct ofs_inode *n;
	int r;

	if (grow && is_too_large(off, len))
		return -EFBIG;
	pthread_mutex_lock(&s->lock);
	r = ofs_store_file(s, ino, &n);
	if (r == 0)
		r = ofs_store_zero_locked(s, n, off, len, grow);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int check_disk(struct ofs_store *s, uint64_t len)
{
	struct statvfs st;

	if (ofs_reserve_is_tight(s))
		return -ENOSPC;
	if (fstatvfs(s->dirfd, &st) < 0)
		return -errno;
	return len / st.f_frsize > st.f_bavail ? -ENOSPC : 0;
}

int ofs_store_allocate(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len,
		       bool keep_size)
{
	struct ofs_record rec = {
		.type = OFS_RECORD_SETATTR, .ino = ino, .flags = OFS_SET_SIZE, .size = off + len
	};
	struct ofs_inode *n;
	int r;

	if (is_too_large(off, len))
		return -EFBIG;
	r = check_disk(s, len);
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	rec.time = ofs_clock_wall();
	r = ofs_store_file(s, ino, &n);
	if (r == 0 && !keep_size && rec.size > n->row.size)
		r = ofs_store_log(s, &rec, NULL, 0);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int64_t seek_locked(struct ofs_store *s, uint64_t ino, uint64_t off, int whence)
{
	struct ofs_inode *n;
	bool data;
	int r;

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

int64_t ofs_store_seek(struct ofs_store *s, uint64_t ino, uint64_t off, int whence)
{
	int64_t r;

	if (whence != SEEK_DATA && whence != SEEK_HOLE)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	r = seek_locked(s, ino, off, whence);
	pthread_mutex_unlock(&s->lock);
	return r;
}
