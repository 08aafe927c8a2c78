/* SPDX-License-Identifier: MIT */
/* Reads back old content, so that damage becomes known while it can still be repaired. */
#include "store/cycle.h"

#include "base/log.h"
#include "io/file.h"
#include "store/read.h"
#include "store/store_state.h"

/* An index that cannot be read says nothing about a frame. */
static int of_index(int r)
{
	return r == -EIO ? -OFS_EREAD : r;
}

/* 1 unless the content has the chunk. */
static int compare_chunk(void *arg, const struct ofs_index_chunk *c)
{
	const struct ofs_frame_content *content = arg;
	uint8_t sha[OFS_SHA256_SIZE];
	int r;

	if ((uint64_t)c->off + c->len > content->raw)
		return 1;
	r = ofs_sha256(content->data + c->off, c->len, sha);
	return r < 0 ? r : memcmp(sha, c->sha, sizeof(sha)) != 0;
}

/* Counts the pieces of the content that the index places in this frame; calls `fn` for each. */
static int find_chunks(struct ofs_store *s, const struct ofs_index_frame *f,
		       const struct ofs_frame_content *content,
		       int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg,
		       uint64_t *ret_n)
{
	uint32_t off = 0, i;
	int r = 0;

	*ret_n = 0;
	for (i = 0; i < content->chunks && r == 0; off += content->len[i++]) {
		uint8_t sha[OFS_SHA256_SIZE];
		struct ofs_index_chunk c;

		r = ofs_sha256(content->data + off, content->len[i], sha);
		if (r == 0)
			r = of_index(ofs_index_find_chunk(s->index, sha, &c));
		if (r == 0 && c.pack == f->pack && c.frame_off == f->off && c.off == off) {
			++*ret_n;
			r = fn ? fn(arg, &c) : 0;
		}
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    struct ofs_frame_content *content,
			    int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg,
			    uint64_t *ret_found)
{
	int r = find_chunks(s, f, content, fn, arg, ret_found);

	if (r < 0 || *ret_found >= f->live)
		return r;
	/* Damage, or chunks that came, moved or died meanwhile: checks each chunk of the index. */
	r = ofs_index_list_chunks(s->index, f->id, compare_chunk, content);
	return r > 0 ? -EIO : of_index(r);
}

static int look_at_frame(struct ofs_store *s, const struct ofs_index_frame *f, uint64_t *ret_chunks)
{
	OFS_CLEANUP(ofs_frame_content_finish) struct ofs_frame_content content = { 0 };
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	uint64_t found = 0;
	int r = ofs_packset_load(s->packs, &loc, &content);

	if (r == 0)
		r = ofs_store_compare_frame(s, f, &content, NULL, NULL, &found);
	*ret_chunks += found;
	return r;
}

static void remember(struct ofs_store *s, uint64_t frame, bool bad)
{
	int r = ofs_index_begin(s->index);

	if (r == 0)
		r = ofs_index_end(s->index, ofs_index_set_frame_bad(s->index, frame, bad));
	if (r < 0 && r != -ENOENT)
		ofs_log(LOG_WARNING, "cannot record the state of a frame: %s", strerror(-r));
}

/* Sets *ret to the frame as it is now. -ENOENT: it is gone. */
static int look_now(struct ofs_store *s, uint64_t id, struct ofs_index_frame *ret,
		    uint64_t *ret_chunks)
{
	int r;

	/* A frame that is dead by now may be punched at any moment. */
	pthread_rwlock_rdlock(&s->reclaim);
	r = of_index(ofs_index_get_frame(s->index, id, ret));
	if (r == 0 && ret->live)
		r = look_at_frame(s, ret, ret_chunks);
	pthread_rwlock_unlock(&s->reclaim);
	return r;
}

int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks)
{
	struct ofs_index_object object;
	struct ofs_index_extent e;
	struct ofs_index_frame now;
	int r = look_now(s, f->id, &now, ret_chunks);

	if (r == -EIO) {
		struct ofs_frame_loc loc = ofs_loc_of_frame(&now);

		if (ofs_away_has(s, &loc) && ofs_away_mend(s, &loc) == 0)
			r = look_now(s, f->id, &now, ret_chunks);
	}
	if (r == -ENOENT)
		return 0;
	if (r == -OFS_EAWAY && !s->follow &&
	    ofs_away_find(s, now.pack, now.off, &e, &object) == -ENOENT) {
		r = -EIO; /* no object has it */
	}
	if ((r == 0 || r == -EIO) && now.bad != (r < 0))
		remember(s, f->id, r < 0);
	return r;
}

int ofs_store_scrub(struct ofs_store *s)
{
	struct ofs_index_frame f;
	uint64_t chunks = 0;
	int r = ofs_index_next_frame(s->index, s->scrubbed, &f);

	if (r == -ENOENT) {
		s->scrubbed = 0;
		return 0;
	}
	if (r < 0)
		return r;
	s->scrubbed = f.id;
	if (!f.live || f.bad)
		return 1;
	r = ofs_store_check_frame(s, &f, &chunks);
	if (r == -OFS_EAWAY)
		return 1;
	if (r < 0 && r != -EIO && r != -OFS_EREAD)
		return r;
	if (r < 0)
		ofs_log(LOG_ERR, "packs/%08x.pack: the frame at %llu %s", f.pack,
			(unsigned long long)f.off,
			r == -EIO ? "is damaged; 'offload verify' names the files"
				  : "cannot be read");
	return 1;
}
