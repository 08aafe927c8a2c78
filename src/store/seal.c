/* SPDX-License-Identifier: MIT */
/* Sealing: quiet drafts are hashed, deduplicated and put into packs. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "store/internal.h"

#define SEAL_LEVEL 6
#define BATCH_BYTES (UINT64_C(128) << 20) /* of drafts in one cycle */
#define DIGEST_HOLES_MAX \
	(UINT64_C(1) << 30) /* a file with more in holes is not hashed as a whole */

struct sealed_block {
	uint64_t index;
	struct ofs_index_chunk chunk;
};

struct sealed_file {
	uint64_t ino;
	uint64_t version; /* of the content that was sealed */
	uint64_t size;
	bool sparse; /* too much of it is holes */
	bool done;
	struct sealed_block *blocks; /* those that drafts touched, in order */
	size_t nblocks;
	bool has_sha;
	uint8_t sha[OFS_SHA256_SIZE];
	uint64_t lines;
	uint64_t stored; /* bytes in packs of the chunks that are new with it */
};

struct ofs_seal_batch {
	struct ofs_store *store;
	struct sealed_file *files;
	size_t nfiles, cap_files;
	struct ofs_index_chunk *chunks; /* new ones, in the order of their frames */
	size_t nchunks, cap_chunks;
	struct ofs_map by_sha; /* first 8 bytes of the hash -> index in `chunks` + 1 */
	struct ofs_sha256 *whole;
	uint8_t *buf; /* one block */
};

int ofs_seal_batch_create(struct ofs_store *s, struct ofs_seal_batch **ret)
{
	struct ofs_seal_batch *b = ofs_alloc(sizeof(*b));

	b->store = s;
	b->buf = ofs_alloc(OFS_BLOCK_SIZE);
	b->whole = ofs_sha256_create();
	if (!b->whole) {
		ofs_seal_batch_destroy(b);
		return -ENOMEM;
	}
	*ret = b;
	return 0;
}

void ofs_seal_batch_destroy(struct ofs_seal_batch *b)
{
	size_t i;

	if (!b)
		return;
	for (i = 0; i < b->nfiles; i++)
		free(b->files[i].blocks);
	free(b->files);
	free(b->chunks);
	free(b->buf);
	ofs_map_finish(&b->by_sha);
	ofs_sha256_destroy(b->whole);
	free(b);
}

static void sealed_add_block(struct sealed_file *f, uint64_t index, size_t *cap)
{
	if (f->nblocks && f->blocks[f->nblocks - 1].index >= index)
		return;
	f->blocks = ofs_grow(f->blocks, cap, f->nblocks + 1, sizeof(*f->blocks));
	f->blocks[f->nblocks++] = (struct sealed_block){ .index = index };
}

/* Takes a file into the batch: which of its blocks drafts touch. `lock` held. */
static void batch_add(struct ofs_seal_batch *b, const struct ofs_inode *n)
{
	const struct ofs_content *c = &n->content;
	uint64_t blocks = (n->row.size + OFS_BLOCK_SIZE - 1) / OFS_BLOCK_SIZE, i;
	struct sealed_file *f;
	size_t e, cap = 0;

	b->files = ofs_grow(b->files, &b->cap_files, b->nfiles + 1, sizeof(*b->files));
	f = &b->files[b->nfiles++];
	*f = (struct sealed_file){ .ino = n->row.ino, .version = n->version, .size = n->row.size };
	for (e = 0; e < c->nextents; e++) {
		uint64_t last = (c->extents[e].off + c->extents[e].len - 1) / OFS_BLOCK_SIZE;

		for (i = c->extents[e].off / OFS_BLOCK_SIZE; i <= last && i < blocks; i++)
			sealed_add_block(f, i, &cap);
	}
	f->sparse = n->row.size > (c->nblocks + f->nblocks) * OFS_BLOCK_SIZE + DIGEST_HOLES_MAX;
}

static void batch_choose(struct ofs_seal_batch *b, int64_t before)
{
	struct ofs_store *s = b->store;
	uint64_t bytes = 0;
	size_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->drafts.n && bytes < BATCH_BYTES; i++) {
		const struct ofs_inode *n = s->drafts.list[i];

		if (n->gone || n->written_at > before)
			continue;
		batch_add(b, n);
		bytes += n->content.draft_bytes;
	}
	pthread_mutex_unlock(&s->lock);
}

static uint32_t count_lines(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	uint32_t n = 0;

	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

static bool is_zeros(const uint8_t *p, size_t len)
{
	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

/* Finds a chunk with this content among the new ones and in the index. */
static int find_chunk(struct ofs_seal_batch *b, const uint8_t *sha, struct ofs_index_chunk *ret)
{
	size_t i = (uintptr_t)ofs_map_get(&b->by_sha, ofs_get_le64(sha));

	if (i && memcmp(b->chunks[i - 1].sha, sha, OFS_SHA256_SIZE) == 0) {
		*ret = b->chunks[i - 1];
		return 0;
	}
	return ofs_index_find_chunk(b->store->index, sha, ret);
}

static int store_chunk(struct ofs_seal_batch *b, const uint8_t *sha, uint32_t len,
		       struct ofs_index_chunk *ret)
{
	struct ofs_store *s = b->store;
	struct ofs_frame_chunk piece = { .data = b->buf,
					 .len = len,
					 .lines = count_lines(b->buf, len) };
	struct ofs_frame_loc loc;
	int r;

	memcpy(piece.sha, sha, sizeof(piece.sha));
	r = ofs_packset_append(s->packs, s->compressor, SEAL_LEVEL, &piece, 1, &loc);
	if (r < 0)
		return r;
	*ret = (struct ofs_index_chunk){
		.id = s->next_chunk++,
		.pack = loc.pack,
		.frame_off = loc.off,
		.frame_stored = loc.stored,
		.frame_raw = loc.raw,
		.len = len,
		.lines = piece.lines,
	};
	memcpy(ret->sha, sha, sizeof(ret->sha));
	b->chunks = ofs_grow(b->chunks, &b->cap_chunks, b->nchunks + 1, sizeof(*b->chunks));
	b->chunks[b->nchunks++] = *ret;
	return ofs_map_put(&b->by_sha, ofs_get_le64(sha), (void *)(uintptr_t)b->nchunks);
}

/* The block in `buf` becomes a chunk, an old one where there is one. All zeros are a hole. */
static int seal_block(struct ofs_seal_batch *b, struct sealed_file *f, uint32_t len,
		      struct ofs_index_chunk *ret)
{
	uint8_t sha[OFS_SHA256_SIZE];
	int r;

	*ret = (struct ofs_index_chunk){ 0 };
	if (is_zeros(b->buf, len))
		return 0;
	r = ofs_sha256(b->buf, len, sha);
	if (r < 0)
		return r;
	r = find_chunk(b, sha, ret);
	if (r != -ENOENT)
		return r;
	r = store_chunk(b, sha, len, ret);
	f->stored += ret->frame_stored;
	return r;
}

/* Reads block `i` into `buf`; -ESTALE when the file changed since it was chosen. */
static ssize_t read_block(struct ofs_seal_batch *b, const struct sealed_file *f, uint64_t i)
{
	uint64_t off = i * OFS_BLOCK_SIZE, version = 0;
	size_t want = (size_t)OFS_MIN(OFS_BLOCK_SIZE, f->size - off);
	ssize_t r;

	r = ofs_store_read_version(b->store, f->ino, b->buf, want, off, &version);
	if (r == -ENOENT || (r >= 0 && version != f->version))
		return -ESTALE;
	return r;
}

/* The daemon ends: what is not sealed yet stays a draft. */
static bool is_stopping(struct ofs_store *s)
{
	bool stop;

	pthread_mutex_lock(&s->lock);
	stop = s->stop && s->sealer_runs;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

/*
 * Seals the touched blocks and hashes the whole, in one pass over the file (or over the touched
 * blocks of a sparse one).
 */
static int seal_file(struct ofs_seal_batch *b, struct sealed_file *f)
{
	uint64_t blocks = (f->size + OFS_BLOCK_SIZE - 1) / OFS_BLOCK_SIZE, i;
	size_t next = 0;
	ssize_t len;
	int r;

	for (i = 0; i < blocks; i++) {
		bool touched = next < f->nblocks && f->blocks[next].index == i;

		if (f->sparse && !touched) {
			if (next == f->nblocks)
				break;
			i = f->blocks[next].index - 1;
			continue;
		}
		/* A large file takes longer than the end of the daemon may. */
		len = is_stopping(b->store) ? -ESTALE : read_block(b, f, i);
		if (len < 0)
			return (int)len;
		r = touched ? seal_block(b, f, (uint32_t)len, &f->blocks[next++].chunk) : 0;
		if (r == 0 && !f->sparse)
			r = ofs_sha256_update(b->whole, b->buf, (size_t)len);
		if (r < 0)
			return r;
		f->lines += count_lines(b->buf, (size_t)len);
	}
	if (f->sparse)
		return 0;
	f->has_sha = true;
	return ofs_sha256_final(b->whole, f->sha);
}

/* Tries again in an hour, or when the file is written. */
static void postpone(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n;

	pthread_mutex_lock(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (n)
		n->written_at = ofs_clock_monotonic() + 3600 * OFS_NS_PER_S;
	pthread_mutex_unlock(&s->lock);
}

int ofs_seal_collect(struct ofs_seal_batch *b, int64_t before)
{
	uint8_t scrap[OFS_SHA256_SIZE];
	int done = 0, r;
	size_t i;

	batch_choose(b, before);
	for (i = 0; i < b->nfiles; i++) {
		r = seal_file(b, &b->files[i]);
		if (r == 0) {
			b->files[i].done = true;
			done++;
			continue;
		}
		ofs_sha256_final(b->whole, scrap);
		if (r == -ESTALE)
			continue;
		if (r != -EIO)
			return r;
		/* A draft that cannot be read stays where it is; the others go on. */
		postpone(b->store, b->files[i].ino);
		ofs_log(LOG_ERR, "inode %llu cannot be sealed, its content cannot be read: %s",
			(unsigned long long)b->files[i].ino, strerror(-r));
	}
	return done;
}

int ofs_seal_commit_frames(struct ofs_seal_batch *b)
{
	size_t i, n;
	int r;

	for (i = 0; i < b->nchunks; i += n) {
		n = 1;
		while (i + n < b->nchunks && b->chunks[i + n].pack == b->chunks[i].pack &&
		       b->chunks[i + n].frame_off == b->chunks[i].frame_off)
			n++;
		r = ofs_index_put_frame(b->store->index, b->chunks + i, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void install_file(struct ofs_store *s, struct sealed_file *f)
{
	struct ofs_inode *n = ofs_map_get(&s->inodes, f->ino);
	size_t i;

	f->done = f->done && n && !n->gone && n->version == f->version;
	if (!f->done)
		return;
	for (i = 0; i < f->nblocks; i++)
		ofs_content_set_block(&n->content, f->blocks[i].index, &f->blocks[i].chunk,
				      s->epoch);
	ofs_content_drop_drafts(&n->content, s->epoch);
	n->on_draft_list = false;
	/* Until the index has settled who pays for what. */
	n->row.stored += f->stored;
	n->row.has_sha = f->has_sha;
	memcpy(n->row.sha, f->sha, sizeof(n->row.sha));
	n->row.lines = f->sparse ? -1 : (int64_t)f->lines;
	ofs_store_touch(s, n);
}

void ofs_seal_install(struct ofs_seal_batch *b)
{
	struct ofs_store *s = b->store;
	size_t i, n = 0;

	for (i = 0; i < b->nfiles; i++)
		install_file(s, &b->files[i]);
	for (i = 0; i < s->drafts.n; i++)
		if (s->drafts.list[i]->on_draft_list)
			s->drafts.list[n++] = s->drafts.list[i];
	s->drafts.n = n;
}
