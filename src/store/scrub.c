/* SPDX-License-Identifier: MIT */
/* Reading back what was written long ago, so that damage is known while it can still be mended. */
#include "store/scrub.h"

#include "base/log.h"
#include "base/util.h"
#include "codec/hash.h"
#include "io/file.h"
#include "store/read.h"
#include "store/store_state.h"
#include <pthread.h>

/* The chunks of a frame as the index has them, compared one by one with its content. */
struct comparison {
	const struct ofs_frame_content *content;
	bool differs;
};

static int compare_chunk(void *arg, const struct ofs_index_chunk *c)
{
	struct comparison *cmp = arg;
	uint8_t sha[OFS_SHA256_SIZE];

	if ((uint64_t)c->off + c->len > cmp->content->raw ||
	    ofs_sha256(cmp->content->data + c->off, c->len, sha) < 0 ||
	    memcmp(sha, c->sha, sizeof(sha)) != 0)
		cmp->differs = true;
	return 0;
}

int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    const struct ofs_frame_content *content)
{
	struct comparison cmp = { .content = content };
	int r = ofs_index_list_chunks(s->index, f->id, compare_chunk, &cmp);

	return r == 0 && cmp.differs ? -EIO : r;
}

/*
 * Counts the pieces of the content that the index knows to lie here; when those are all that should
 * be here, the frame need not be looked for in the index chunk by chunk.
 */
static int count_known(struct ofs_store *s, const struct ofs_index_frame *f,
		       const struct ofs_frame_content *content, uint32_t *ret)
{
	uint32_t off = 0, i;
	int r;

	*ret = 0;
	for (i = 0; i < content->chunks; off += content->len[i++]) {
		uint8_t sha[OFS_SHA256_SIZE];
		struct ofs_index_chunk c;

		r = ofs_sha256(content->data + off, content->len[i], sha);
		if (r == 0)
			r = ofs_index_find_chunk(s->index, sha, &c);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0 && c.pack == f->pack && c.frame_off == f->off && c.off == off)
			++*ret;
	}
	return 0;
}

static int look_at_frame(struct ofs_store *s, const struct ofs_index_frame *f, uint64_t *ret_chunks)
{
	OFS_CLEANUP(ofs_frame_content_finish) struct ofs_frame_content content = { 0 };
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	uint32_t known = 0;
	int r;

	r = ofs_packset_load(s->packs, &loc, &content);
	if (r == 0)
		r = count_known(s, f, &content, &known);
	if (r < 0)
		return r;
	*ret_chunks += known;
	/* Either something is wrong, or chunks came, moved or died meanwhile. */
	return known < f->live ? ofs_store_compare_frame(s, f, &content) : 0;
}

static int remember(struct ofs_store *s, uint64_t frame, bool bad)
{
	int r = ofs_index_begin(s->index);

	if (r == 0)
		r = ofs_index_end(s->index, ofs_index_set_frame_bad(s->index, frame, bad));
	return r == -ENOENT ? 0 : r;
}

int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks)
{
	struct ofs_index_frame now;
	int r;

	/* A frame that is dead by now may be punched at any moment. */
	pthread_rwlock_rdlock(&s->reclaim);
	r = ofs_index_get_frame(s->index, f->id, &now);
	if (r == 0 && now.live)
		r = look_at_frame(s, &now, ret_chunks);
	pthread_rwlock_unlock(&s->reclaim);
	if (r == -ENOENT)
		return 0;
	if ((r == 0 || r == -EIO) && now.bad != (r < 0)) {
		int e = remember(s, f->id, r < 0);

		if (e < 0)
			ofs_log(LOG_WARNING, "a frame's state cannot be noted: %s", strerror(-e));
	}
	return r;
}

int ofs_store_scrub(struct ofs_store *s)
{
	struct ofs_index_frame f;
	uint64_t chunks = 0;
	int r;

	r = ofs_index_next_frame(s->index, s->scrubbed, &f);
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
	if (r == -OFS_EREAD)
		ofs_log(LOG_ERR, "packs/%08x.pack: the frame at %llu cannot be read", f.pack,
			(unsigned long long)f.off);
	if (r == -EIO)
		ofs_log(LOG_ERR,
			"packs/%08x.pack: the frame at %llu is damaged; 'offload verify' names the files",
			f.pack, (unsigned long long)f.off);
	return r < 0 && r != -EIO && r != -OFS_EREAD ? r : 1;
}
