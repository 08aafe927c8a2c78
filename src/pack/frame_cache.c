/* SPDX-License-Identifier: MIT */
#include "pack/frame_cache.h"

#include <stdatomic.h>

#include "base/map.h"
#include "base/thread.h"
#include "pack/frame_buffer.h"

#define PASSING_MAX 8 /* frames that are kept for passing calls */

enum frame_state {
	FRAME_LOADING,
	FRAME_READY,
	FRAME_FAILED,
};

struct ofs_frame {
	atomic_uint refs; /* one per reader, and one of the cache while `listed` */
	struct ofs_frame_loc loc; /* constant */
	bool guess; /* constant; loaded ahead, so a failure is not reported to readers */
	uint8_t *data; /* constant once READY; the cache's lock publishes it to readers */

	/* Guarded by the cache's lock. */
	enum frame_state state;
	int error; /* when FAILED */
	bool listed; /* in the map and in the list */
	bool ahead; /* read ahead, and not requested yet */
	bool passing; /* requested by passing calls alone, and in the cache's `passing` */
	struct ofs_frame *newer;
	struct ofs_frame *older;
};

struct ofs_frame_cache {
	size_t max; /* constant */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t loaded; /* some frame has left LOADING */
	struct ofs_map map; /* by frame_key() */
	struct ofs_frame *newest;
	struct ofs_frame *oldest;
	size_t size; /* bytes of content of the listed READY frames */
	size_t ahead; /* bytes of content of the `ahead` frames, also while they are being loaded */
	struct ofs_frame *passing[PASSING_MAX]; /* listed frames; NULL: none */
	size_t next_passing; /* counts up; the place of the next one, which is that of the oldest */
	uint64_t origins[OFS_FRAME_ORIGINS]; /* requests by origin */
};

/* Frames are 8-aligned and lie below OFS_PACK_OFF_MAX, so no two have the same key. */
static uint64_t frame_key(uint32_t pack, uint64_t off)
{
	return (uint64_t)pack << 32 | off >> 3;
}

const uint8_t *ofs_frame_data(const struct ofs_frame *f)
{
	return f->data;
}

uint32_t ofs_frame_size(const struct ofs_frame *f)
{
	return f->loc.raw;
}

void ofs_frame_unref(struct ofs_frame *f)
{
	int saved = errno;

	if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1) {
		ofs_frame_buffer_put(f->data, f->loc.raw);
		free(f);
	}
	errno = saved;
}

static struct ofs_frame *frame_ref(struct ofs_frame *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}

static void list_add(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	f->newer = NULL;
	f->older = fc->newest;
	if (fc->newest)
		fc->newest->newer = f;
	else
		fc->oldest = f;
	fc->newest = f;
}

static void list_remove(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	if (f->newer)
		f->newer->older = f->older;
	else
		fc->newest = f->older;
	if (f->older)
		f->older->newer = f->newer;
	else
		fc->oldest = f->newer;
}

/* Called when the frame is requested or forgotten. True at the first request. Under the lock. */
static bool frame_arrived(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	if (!f->ahead)
		return false;
	f->ahead = false;
	fc->ahead -= f->loc.raw;
	return true;
}

/*
 * Takes the frame out of `passing`: a call that does not pass requests it, or it is forgotten.
 * Under the lock.
 */
static void frame_stays(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	for (size_t i = 0; i < PASSING_MAX && f->passing; i++)
		if (fc->passing[i] == f)
			fc->passing[i] = NULL;
	f->passing = false;
}

/* Removes a listed frame and drops the cache's reference. Under the lock. */
static void cache_forget(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	ofs_map_remove(&fc->map, frame_key(f->loc.pack, f->loc.off));
	list_remove(fc, f);
	frame_arrived(fc, f);
	frame_stays(fc, f);
	f->listed = false;
	if (f->state == FRAME_READY)
		fc->size -= f->loc.raw;
	ofs_frame_unref(f);
}

/* Evicts until the bound holds. Frames being loaded do not count yet. Under the lock. */
static void cache_evict(struct ofs_frame_cache *fc)
{
	struct ofs_frame *f = fc->oldest;

	while (fc->size > fc->max && f) {
		struct ofs_frame *next = f->newer;

		if (f->state == FRAME_READY)
			cache_forget(fc, f);
		f = next;
	}
}

struct ofs_frame_cache *ofs_frame_cache_create(size_t max)
{
	struct ofs_frame_cache *fc = ofs_alloc(sizeof(*fc));

	fc->max = max;
	pthread_mutex_init(&fc->lock, NULL);
	pthread_cond_init(&fc->loaded, NULL);
	return fc;
}

void ofs_frame_cache_destroy(struct ofs_frame_cache *fc)
{
	int saved = errno;

	if (!fc)
		return;
	while (fc->oldest)
		cache_forget(fc, fc->oldest);
	ofs_map_finish(&fc->map);
	pthread_cond_destroy(&fc->loaded);
	pthread_mutex_destroy(&fc->lock);
	free(fc);
	errno = saved;
}

/* Lists a frame that the caller will load, and returns a reference. Under the lock. */
static struct ofs_frame *cache_announce(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc,
					bool guess)
{
	struct ofs_frame *f = ofs_alloc(sizeof(*f));

	atomic_init(&f->refs, 1);
	f->loc = *loc;
	f->guess = guess;
	f->state = FRAME_LOADING;
	ofs_map_put(&fc->map, frame_key(loc->pack, loc->off), f);
	f->listed = true;
	frame_ref(f);
	list_add(fc, f);
	return f;
}

/*
 * Enters a frame that passing calls alone have requested into `passing`, instead of the oldest one.
 * Under the lock.
 */
static void frame_passes(struct ofs_frame_cache *fc, struct ofs_frame *f)
{
	struct ofs_frame **place = &fc->passing[fc->next_passing++ % PASSING_MAX];

	if (*place)
		cache_forget(fc, *place);
	*place = f;
	f->passing = true;
}

/* Publishes the result of `load`. A frame dropped meanwhile serves only those that wait for it. */
static void cache_settle(struct ofs_frame_cache *fc, struct ofs_frame *f, uint8_t *data, int error)
{
	OFS_LOCKED(&fc->lock);
	if (error < 0) {
		if (f->listed)
			cache_forget(fc, f);
		f->error = error;
		f->state = FRAME_FAILED;
	} else {
		f->data = data;
		f->state = FRAME_READY;
		if (f->listed) {
			fc->size += f->loc.raw;
			if (f->loc.raw > fc->max)
				cache_forget(fc, f);
			else
				cache_evict(fc);
		}
	}
	pthread_cond_broadcast(&fc->loaded);
}

static int cache_load(struct ofs_frame_cache *fc, struct ofs_frame *f, ofs_frame_load_fn load,
		      void *arg)
{
	uint8_t *data = NULL;
	int r = load(arg, &f->loc, &data);

	cache_settle(fc, f, data, r);
	return r;
}

/*
 * Makes a loaded frame the newest unless `passing`, or waits for one that is being loaded. Under
 * the lock, which is released while waiting.
 */
static int cache_await(struct ofs_frame_cache *fc, struct ofs_frame *f, bool passing)
{
	if (!passing)
		frame_stays(fc, f);
	if (f->state == FRAME_READY && !passing) {
		list_remove(fc, f);
		list_add(fc, f);
	}
	while (f->state == FRAME_LOADING)
		pthread_cond_wait(&fc->loaded, &fc->lock);
	return f->state == FRAME_FAILED ? f->error : 0;
}

/* See ofs_frame_cache_get(). -EAGAIN: reading ahead failed, so the caller tries again. */
static int cache_get(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc, bool passing,
		     ofs_frame_load_fn load, void *arg, struct ofs_frame **ret)
{
	int r, origin = OFS_FRAME_KEPT;
	struct ofs_frame *f;

	pthread_mutex_lock(&fc->lock);
	f = ofs_map_get(&fc->map, frame_key(loc->pack, loc->off));
	if (f && (f->loc.stored != loc->stored || f->loc.raw != loc->raw)) {
		pthread_mutex_unlock(&fc->lock);
		return -EIO;
	}
	if (f) {
		frame_ref(f);
		if (frame_arrived(fc, f)) {
			origin = OFS_FRAME_AHEAD;
			if (passing)
				frame_passes(fc, f);
		}
		fc->origins[origin]++;
		r = cache_await(fc, f, passing);
		if (r < 0 && f->guess)
			r = -EAGAIN;
		pthread_mutex_unlock(&fc->lock);
	} else {
		origin = OFS_FRAME_LOADED;
		fc->origins[origin]++;
		f = cache_announce(fc, loc, false);
		if (passing)
			frame_passes(fc, f);
		pthread_mutex_unlock(&fc->lock);
		r = cache_load(fc, f, load, arg);
	}
	if (r < 0) {
		ofs_frame_unref(f);
		return r;
	}
	*ret = f;
	return origin;
}

int ofs_frame_cache_get(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc, bool passing,
			ofs_frame_load_fn load, void *arg, struct ofs_frame **ret)
{
	int r;

	do
		r = cache_get(fc, loc, passing, load, arg, ret);
	while (r == -EAGAIN);
	return r;
}

/* Under the lock. */
static bool room_ahead(const struct ofs_frame_cache *fc, uint32_t raw)
{
	return fc->ahead + raw <= fc->max / 2;
}

void ofs_frame_cache_ahead(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc,
			   ofs_frame_load_fn load, void *arg)
{
	struct ofs_frame *f = NULL;

	pthread_mutex_lock(&fc->lock);
	if (!ofs_map_get(&fc->map, frame_key(loc->pack, loc->off)) && room_ahead(fc, loc->raw))
		f = cache_announce(fc, loc, true);
	if (f) {
		f->ahead = true;
		fc->ahead += loc->raw;
	}
	pthread_mutex_unlock(&fc->lock);
	if (f)
		cache_load(fc, f, load, arg);
	ofs_frame_unref(f);
}

bool ofs_frame_cache_has_room(struct ofs_frame_cache *fc, uint32_t raw)
{
	OFS_LOCKED(&fc->lock);
	return room_ahead(fc, raw);
}

bool ofs_frame_cache_find(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off,
			  struct ofs_frame_loc *ret)
{
	struct ofs_frame *f;

	OFS_LOCKED(&fc->lock);
	f = ofs_map_get(&fc->map, frame_key(pack, off));
	if (f)
		*ret = f->loc;
	return f;
}

void ofs_frame_cache_drop(struct ofs_frame_cache *fc, uint32_t pack, uint64_t from, uint64_t to)
{
	struct ofs_frame *f, *next;

	OFS_LOCKED(&fc->lock);
	for (f = fc->oldest; f; f = next) {
		next = f->newer;
		if (f->loc.pack == pack && f->loc.off < to && f->loc.off + f->loc.stored > from)
			cache_forget(fc, f);
	}
}

void ofs_frame_cache_drop_from(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off)
{
	struct ofs_frame *f, *next;

	OFS_LOCKED(&fc->lock);
	for (f = fc->oldest; f; f = next) {
		next = f->newer;
		if (f->loc.pack > pack || (f->loc.pack == pack && f->loc.off + f->loc.stored > off))
			cache_forget(fc, f);
	}
}

size_t ofs_frame_cache_size(struct ofs_frame_cache *fc)
{
	OFS_LOCKED(&fc->lock);
	return fc->size;
}

void ofs_frame_cache_count(struct ofs_frame_cache *fc, struct ofs_frame_counts *ret)
{
	OFS_LOCKED(&fc->lock);
	*ret = (struct ofs_frame_counts){ .kept = fc->origins[OFS_FRAME_KEPT],
					  .ahead = fc->origins[OFS_FRAME_AHEAD],
					  .loaded = fc->origins[OFS_FRAME_LOADED],
					  .bytes = fc->size };
}
