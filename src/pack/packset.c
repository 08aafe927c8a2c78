/* SPDX-License-Identifier: MIT */
#include "pack/packset.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/thread.h"
#include "io/file.h"
#include "pack/frame_buffer.h"

#define PACK_SIZE_DEFAULT (UINT64_C(256) << 20)

/* Bytes that are read to learn where a frame ends. A frame with a longer head is not read ahead. */
#define HEAD_MAX 8192

static int ahead_locate(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret);
static void ahead_load(void *arg, const struct ofs_frame_loc *loc);

static const struct ofs_ahead_ops ahead_ops = { ahead_locate, ahead_load };

struct ofs_packset *ofs_packset_open(int dirfd, const uint8_t uuid[16], size_t cache_bytes)
{
	struct ofs_packset *ps = ofs_alloc(sizeof(*ps));

	ps->cache = ofs_frame_cache_create(cache_bytes);
	ps->ahead = ofs_ahead_create(&ahead_ops, ps);
	ps->use = ofs_pack_use_create();
	ps->dirfd = dirfd;
	ps->pack_size = PACK_SIZE_DEFAULT;
	pthread_mutex_init(&ps->lock, NULL);
	ofs_pack_table_init(&ps->table, dirfd, uuid);
	return ps;
}

void ofs_packset_close(struct ofs_packset *ps)
{
	int saved = errno;

	if (!ps)
		return;
	ofs_ahead_destroy(ps->ahead);
	ofs_pack_put(&ps->table, ps->tail_pack);
	ofs_pack_table_finish(&ps->table);
	ofs_frame_cache_destroy(ps->cache);
	ofs_frame_build_finish(&ps->build);
	ofs_pack_use_destroy(ps->use);
	pthread_mutex_destroy(&ps->lock);
	free(ps);
	errno = saved;
}

void ofs_packset_expect_away(struct ofs_packset *ps)
{
	ps->away = true;
}

/* Uses matter only for packs of which parts may be away. */
static void note_use(struct ofs_packset *ps, uint32_t pack, uint64_t off)
{
	if (ps->away)
		ofs_pack_use_note(ps->use, pack, off);
}

void ofs_packset_set_pack_size(struct ofs_packset *ps, uint64_t bytes)
{
	OFS_LOCKED(&ps->lock);
	ps->pack_size = OFS_MIN(bytes, OFS_PACK_OFF_MAX);
}

void ofs_packset_tail(struct ofs_packset *ps, uint32_t *ret_pack, uint64_t *ret_size)
{
	OFS_LOCKED(&ps->lock);
	*ret_pack = ps->tail;
	*ret_size = ps->tail_size;
}

static void packset_set_tail(struct ofs_packset *ps, uint32_t pack, uint64_t size)
{
	OFS_LOCKED(&ps->lock);
	ps->tail = pack;
	ps->tail_size = size;
}

void ofs_packset_committed(struct ofs_packset *ps)
{
	OFS_LOCKED(&ps->lock);
	ps->committed = ps->tail;
	ps->committed_size = ps->tail_size;
}

void ofs_packset_follow(struct ofs_packset *ps, uint32_t pack, uint64_t size)
{
	packset_set_tail(ps, pack, size);
	ofs_packset_committed(ps);
}

struct resume {
	struct ofs_packset *ps;
	uint32_t last;
};

static int resume_unlink(void *arg, const char *name)
{
	struct resume *resume = arg;
	uint32_t number = ofs_pack_number(name);

	return number > resume->last ? ofs_io_unlink(resume->ps->dirfd, name) : 0;
}

/*
 * Creates a pack of which only the header was committed. Its file, which may have been cut short or
 * missing after a power failure before the first sync, was unlinked together with the later packs.
 */
static int resume_empty(struct ofs_packset *ps, uint32_t pack, struct ofs_error *err)
{
	int r = ofs_pack_create(&ps->table, pack, &ps->tail_pack);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot create packs/%08x.pack: %s", pack,
				     strerror(-r));
	ps->tail_dirty = true;
	ps->dir_dirty = true;
	return 0;
}

/*
 * Opens the last pack and cuts it to the committed size. -ENODATA: it cannot be continued, because
 * it is missing, too short or another store's.
 */
static int resume_cut(struct ofs_packset *ps, uint32_t pack, uint64_t size, struct ofs_error *err)
{
	uint64_t found = 0;
	int r = ofs_pack_get(&ps->table, pack, &ps->tail_pack);

	if (r == -ENOENT || r == -EINVAL) {
		ofs_log(LOG_ERR, "packs/%08x.pack %s; its content cannot be read", pack,
			r == -ENOENT ? "is missing" : "is not the pack that this store expects");
		return -ENODATA;
	}
	if (r == 0)
		r = ofs_io_size(ps->tail_pack->fd, &found, NULL);
	if (r == 0 && found < size) {
		ofs_log(LOG_ERR,
			"packs/%08x.pack is truncated: %" PRIu64 " bytes instead of %" PRIu64
			"; the rest cannot be read",
			pack, found, size);
		return -ENODATA;
	}
	if (r == 0 && found > size)
		r = ofs_io_truncate(ps->tail_pack->fd, size);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot resume packs/%08x.pack: %s", pack,
				     strerror(-r));
	return 0;
}

int ofs_packset_resume(struct ofs_packset *ps, uint32_t pack, uint64_t size, struct ofs_error *err)
{
	bool empty = size == OFS_PACK_HEADER;
	struct resume resume = { ps, pack && empty ? pack - 1 : pack };
	int r;

	if (pack && (size < OFS_PACK_HEADER || size % OFS_FRAME_ALIGN))
		return ofs_error_set(err, EUCLEAN, "%" PRIu64 " is not the size of a pack", size);
	ofs_pack_put(&ps->table, ofs_steal(ps->tail_pack));
	packset_set_tail(ps, 0, 0);
	ps->tail_dirty = false;
	ofs_pack_table_forget(&ps->table, pack, UINT32_MAX);
	ofs_frame_cache_drop_from(ps->cache, pack, size);
	r = ofs_io_list(ps->dirfd, ".", resume_unlink, &resume);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot remove the packs that were not committed: %s",
				     strerror(-r));
	if (pack)
		r = empty ? resume_empty(ps, pack, err) : resume_cut(ps, pack, size, err);
	if (r == -ENODATA) {
		/* Damage to one pack is no reason to refuse the others. */
		ofs_pack_put(&ps->table, ofs_steal(ps->tail_pack));
		size = OFS_PACK_HEADER;
		r = resume_empty(ps, ++pack, err);
	}
	if (r < 0) {
		ofs_pack_put(&ps->table, ofs_steal(ps->tail_pack));
		return r;
	}
	packset_set_tail(ps, pack, pack ? size : 0);
	ofs_packset_committed(ps);
	return 0;
}

static int packset_sync_tail(struct ofs_packset *ps)
{
	int r;

	if (ps->failed)
		return -EIO;
	r = ps->tail_dirty ? ofs_io_datasync(ps->tail_pack->fd) : 0;
	if (r == 0 && ps->tail_dirty && ofs_io_is_kept(ps->tail_pack->fd, 0) < 0) {
		ofs_log(LOG_ERR, "packs/%08x.pack was removed", ps->tail_pack->number);
		r = -EIO;
	}
	ps->failed = r < 0;
	if (r == 0)
		ps->tail_dirty = false;
	return r;
}

int ofs_packset_sync(struct ofs_packset *ps)
{
	int r = packset_sync_tail(ps);

	if (r < 0)
		return r;
	r = ps->dir_dirty ? ofs_io_sync(ps->dirfd) : 0;
	ps->failed = r < 0;
	if (r == 0)
		ps->dir_dirty = false;
	ofs_frame_build_finish(&ps->build);
	return r;
}

/* Starts the next pack. Syncs the one before it first, since a sync covers only the last. */
static int packset_roll(struct ofs_packset *ps, uint32_t number)
{
	struct ofs_pack *next;
	int r = packset_sync_tail(ps);

	if (r < 0)
		return r;
	r = ofs_pack_create(&ps->table, number, &next);
	if (r < 0)
		return r;
	ofs_pack_put(&ps->table, ps->tail_pack);
	ps->tail_pack = next;
	ps->tail_dirty = true;
	ps->dir_dirty = true;
	packset_set_tail(ps, number, OFS_PACK_HEADER);
	return 0;
}

/* Makes sure that a frame of `stored` bytes fits after the tail, and returns its place. */
static int packset_place(struct ofs_packset *ps, uint32_t stored, uint32_t *ret_pack,
			 uint64_t *ret_off)
{
	uint64_t limit;
	int r;

	pthread_mutex_lock(&ps->lock);
	*ret_pack = ps->tail;
	*ret_off = ps->tail_size;
	limit = ps->pack_size;
	pthread_mutex_unlock(&ps->lock);
	if (*ret_pack && (*ret_off == OFS_PACK_HEADER || *ret_off + stored <= limit))
		return 0;
	if (*ret_pack == UINT32_MAX)
		return -EFBIG;
	r = packset_roll(ps, *ret_pack + 1);
	if (r < 0)
		return r;
	*ret_pack += 1;
	*ret_off = OFS_PACK_HEADER;
	return 0;
}

int ofs_packset_append_built(struct ofs_packset *ps, struct ofs_frame_build *b,
			     struct ofs_frame_loc *ret)
{
	uint32_t pack, stored = (uint32_t)b->bytes.len;
	uint64_t off;
	int r;

	if (ps->failed)
		return -EIO;
	r = packset_place(ps, stored, &pack, &off);
	if (r < 0)
		return r;
	ofs_frame_place(b, pack, off);
	r = ofs_io_pwrite(ps->tail_pack->fd, b->bytes.data, stored, off);
	if (r < 0) {
		/* Only frees space: the next frame overwrites the bytes. */
		ofs_io_truncate(ps->tail_pack->fd, off);
		return r;
	}
	ps->tail_dirty = true;
	note_use(ps, pack, off);
	packset_set_tail(ps, pack, off + stored);
	*ret = (struct ofs_frame_loc){ pack, off, stored, (uint32_t)b->raw.len };
	return 0;
}

int ofs_packset_append(struct ofs_packset *ps, struct ofs_compressor *c, int level,
		       const struct ofs_frame_chunk *chunks, size_t n, struct ofs_frame_loc *ret)
{
	int r = ofs_frame_build(&ps->build, c, level, chunks, n);

	return r < 0 ? r : ofs_packset_append_built(ps, &ps->build, ret);
}

/* Reads loc->stored bytes, or fewer at the end of the file. Returns how many. */
static ssize_t packset_pread(struct ofs_packset *ps, const struct ofs_frame_loc *loc, void *to)
{
	struct ofs_pack *p;
	ssize_t n;
	int r = ofs_pack_get(&ps->table, loc->pack, &p);

	if (r < 0)
		return r;
	n = ofs_io_pread(p->fd, to, loc->stored, loc->off);
	note_use(ps, loc->pack, loc->off);
	ofs_pack_put(&ps->table, p);
	return n;
}

int ofs_packset_copy(struct ofs_packset *ps, const struct ofs_frame_loc *loc, uint8_t **ret,
		     size_t *ret_len)
{
	OFS_FREE uint8_t *bytes = malloc(OFS_MAX(loc->stored, 1u));
	ssize_t n;

	if (!bytes)
		return -ENOMEM;
	n = packset_pread(ps, loc, bytes);
	if (n < 0)
		return (int)n;
	*ret = ofs_steal(bytes);
	*ret_len = (size_t)n;
	return 0;
}

static bool loc_is_possible(const struct ofs_frame_loc *loc)
{
	return loc->pack && loc->off % OFS_FRAME_ALIGN == 0 && loc->off >= OFS_PACK_HEADER &&
	       loc->off < OFS_PACK_OFF_MAX && loc->stored >= OFS_FRAME_HEAD &&
	       loc->stored <= OFS_FRAME_STORED_MAX && loc->raw && loc->raw <= OFS_FRAME_RAW_MAX;
}

/* True for a frame that was punched or never written here: zeros, or the end of the file. */
static bool is_blank(const uint8_t *bytes, ssize_t len)
{
	return len < (ssize_t)OFS_FRAME_HEAD || ofs_get_le64(bytes) == 0;
}

/* Reads and decodes through `bytes`, a buffer of loc->stored bytes. See packset_expand(). */
static int expand_through(struct ofs_packset *ps, const struct ofs_frame_loc *loc, uint8_t *bytes,
			  struct ofs_frame_info *ret_info, uint8_t **ret, uint32_t **ret_lengths)
{
	ssize_t len = packset_pread(ps, loc, bytes);
	struct ofs_frame_info info;
	uint8_t *content;
	int r;

	if (ps->away && (len == -ENOENT || (len >= 0 && is_blank(bytes, len))))
		return -OFS_EAWAY;
	/* A pack that is missing or another store's does not come back. */
	if (len == -ENOENT || len == -EINVAL)
		return -EIO;
	if (len < 0)
		return len == -ENOMEM ? -ENOMEM : -OFS_EREAD;
	r = ofs_frame_decode(bytes, (size_t)len, loc->pack, loc->off, &info, &content);
	if (r < 0)
		return r;
	if (info.stored != loc->stored || info.raw != loc->raw) {
		ofs_frame_buffer_put(content, info.raw);
		return -EIO;
	}
	if (ret_lengths) {
		*ret_lengths = ofs_realloc(NULL, info.chunks, sizeof(**ret_lengths));
		ofs_frame_lengths(&info, *ret_lengths);
	}
	*ret_info = info;
	*ret = content;
	return 0;
}

/* `ret` is from ofs_frame_buffer_get(). `ret_lengths` (allocated) may be NULL. */
static int packset_expand(struct ofs_packset *ps, const struct ofs_frame_loc *loc,
			  struct ofs_frame_info *ret_info, uint8_t **ret, uint32_t **ret_lengths)
{
	/* Large enough to be kept for reuse, even for a small frame: it is released at once. */
	uint32_t room = OFS_MAX(loc->stored, OFS_FRAME_BUFFER);
	uint8_t *bytes;
	int r;

	if (!loc_is_possible(loc))
		return -EIO;
	bytes = ofs_frame_buffer_get(room);
	if (!bytes)
		return -ENOMEM;
	r = expand_through(ps, loc, bytes, ret_info, ret, ret_lengths);
	ofs_frame_buffer_put(bytes, room);
	return r;
}

int ofs_packset_load(struct ofs_packset *ps, const struct ofs_frame_loc *loc,
		     struct ofs_frame_content *ret)
{
	struct ofs_frame_info info;
	int r = packset_expand(ps, loc, &info, &ret->data, &ret->len);

	if (r < 0)
		return r;
	ret->raw = info.raw;
	ret->chunks = info.chunks;
	return 0;
}

void ofs_frame_content_finish(struct ofs_frame_content *fc)
{
	ofs_frame_buffer_put(fc->data, fc->raw);
	free(fc->len);
	*fc = (struct ofs_frame_content){ 0 };
}

/* See ofs_frame_load_fn. */
static int load_ahead(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	struct ofs_frame_info info;

	return packset_expand(arg, loc, &info, ret, NULL);
}

/* The same for a reader: also starts loading the following frames. */
static int load_asked(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret)
{
	struct ofs_packset *ps = arg;

	ofs_ahead_used(ps->ahead, loc, false);
	return load_ahead(ps, loc, ret);
}

/* The end of the committed part of a pack. */
static uint64_t packset_limit(struct ofs_packset *ps, uint32_t pack)
{
	uint64_t limit = OFS_PACK_OFF_MAX;

	OFS_LOCKED(&ps->lock);
	if (pack >= ps->committed)
		limit = pack == ps->committed ? ps->committed_size : 0;
	return limit;
}

/* See struct ofs_ahead_ops. */
static int ahead_locate(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret)
{
	struct ofs_frame_loc head = { .pack = pack, .off = off, .stored = HEAD_MAX };
	struct ofs_packset *ps = arg;
	uint64_t limit = packset_limit(ps, pack);
	OFS_FREE uint8_t *bytes = NULL;
	struct ofs_frame_info info;
	size_t len;
	int r;

	if (off >= limit)
		return -ENOENT;
	if (ofs_frame_cache_find(ps->cache, pack, off, ret))
		return 1;
	r = ofs_packset_copy(ps, &head, &bytes, &len);
	if (r == 0)
		r = ofs_frame_parse_head(bytes, len, pack, off, &info);
	if (r == 0 && (off + info.stored > limit || !ofs_frame_cache_has_room(ps->cache, info.raw)))
		r = -ENOENT;
	if (r == 0)
		*ret = (struct ofs_frame_loc){ pack, off, info.stored, info.raw };
	return r;
}

static void ahead_load(void *arg, const struct ofs_frame_loc *loc)
{
	struct ofs_packset *ps = arg;

	ofs_frame_cache_ahead(ps->cache, loc, load_ahead, ps);
}

void ofs_packset_forget(struct ofs_packset *ps, const struct ofs_frame_loc *loc)
{
	ofs_frame_cache_drop(ps->cache, loc->pack, loc->off, loc->off + loc->stored);
}

int ofs_packset_read(struct ofs_packset *ps, const struct ofs_frame_loc *loc, bool passing,
		     struct ofs_frame **ret)
{
	int r;

	if (!loc_is_possible(loc))
		return -EIO;
	r = ofs_frame_cache_get(ps->cache, loc, passing, load_asked, ps, ret);
	if (r == OFS_FRAME_AHEAD)
		ofs_ahead_used(ps->ahead, loc, true);
	return OFS_MIN(r, 0);
}

void ofs_packset_count_frames(struct ofs_packset *ps, struct ofs_frame_counts *ret)
{
	ofs_frame_cache_count(ps->cache, ret);
}
