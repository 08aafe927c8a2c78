/* SPDX-License-Identifier: MIT */
/*
 * Sealing: quiet drafts are hashed, deduplicated and put into packs, block by block. A block whose
 * drafts changed meanwhile stays a draft; the other blocks of its file are sealed nonetheless, so
 * that a file that is written without end does not hold up the journal.
 */
#include "store/cycle.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/tokens.h"
#include "io/file.h"
#include "store/packer.h"
#include "store/read.h"
#include "store/store_state.h"

#define BATCH_BYTES (UINT64_C(64) << 20) /* of drafts in one batch */
#define BATCH_BYTES_TIGHT (UINT64_C(2) << 20) /* on a full disk; gives back more than it takes */
#define DIGEST_HOLES_MAX \
	(UINT64_C(1) << 30) /* a file with more bytes in holes is not hashed as a whole */
/* A whole file is hashed again only after it was quiet for as long as hashing it takes. */
#define DIGEST_NS_PER_BYTE 16

#define READ_RETRY (60 * OFS_NS_PER_S)

#define NOT_PACKED SIZE_MAX

_Static_assert(OFS_TOKENS_SAMPLE == OFS_BLOCK_SIZE, "tokens are estimated from the first block");

struct sealed_block {
	uint64_t index;
	struct ofs_block_state state;
	size_t packed; /* index in the packer, or NOT_PACKED */
	struct ofs_index_chunk chunk; /* else the existing chunk; id 0: a hole */
	bool hole; /* all zeros */
	uint8_t sha[OFS_SHA256_SIZE]; /* unless `hole` */
};

struct sealed_file {
	uint64_t ino;
	uint64_t version; /* of the content when the file was chosen */
	uint64_t size;
	uint64_t parent; /* files of one directory are sealed together */
	uint32_t class;
	bool sparse; /* too much of it is in holes */
	bool digest; /* the whole is to be hashed now */
	bool done; /* all of `blocks` were sealed */
	struct sealed_block *blocks; /* touched by drafts, in order */
	size_t nblocks, cap_blocks;
	size_t nsealed; /* of these, from the first on */
	int64_t tokens; /* -1: unknown */
	bool has_sha;
	uint8_t sha[OFS_SHA256_SIZE];
};

struct ofs_seal_batch {
	struct ofs_store *store;
	struct ofs_packer *packer;
	struct sealed_file *files;
	size_t nfiles, cap_files;
	struct ofs_map by_sha; /* first 8 bytes of the hash -> index in the packer + 1 */
	struct ofs_sha256 *whole;
	uint64_t bytes; /* of blocks read for sealing */
	uint64_t max; /* approximate limit of `bytes` */
	uint8_t *buf; /* one block */
};

void ofs_seal_batch_destroy(struct ofs_seal_batch *b)
{
	size_t i, k;

	if (!b)
		return;
	for (i = 0; i < b->nfiles; i++) {
		for (k = 0; k < b->files[i].nblocks; k++)
			ofs_block_state_finish(&b->files[i].blocks[k].state);
		free(b->files[i].blocks);
	}
	free(b->files);
	free(b->buf);
	ofs_packer_destroy(b->packer);
	ofs_map_finish(&b->by_sha);
	ofs_sha256_destroy(b->whole);
	free(b);
}

static int batch_create(struct ofs_store *s, struct ofs_seal_batch **ret)
{
	struct ofs_seal_batch *b = ofs_alloc(sizeof(*b));
	int r;

	b->store = s;
	b->max = s->reserve.tight ? BATCH_BYTES_TIGHT : BATCH_BYTES;
	if (s->packs_max)
		b->max = OFS_MIN(b->max, OFS_MAX(s->packs_max / 8, BATCH_BYTES_TIGHT));
	b->buf = ofs_alloc(OFS_BLOCK_SIZE);
	b->whole = ofs_sha256_create();
	r = ofs_packer_create(s, false, &b->packer);
	if (r < 0)
		ofs_seal_batch_destroy(b);
	else
		*ret = b;
	return r;
}

/* ---- choosing */

static uint64_t block_count(uint64_t size)
{
	return (size + OFS_BLOCK_SIZE - 1) / OFS_BLOCK_SIZE;
}

static bool digest_is_due(const struct ofs_inode *n, const struct ofs_seal_when *when)
{
	int64_t quiet = when->now - n->written_at;

	/* The only block of a small file is the whole. */
	return !when->delay || n->row.size <= OFS_BLOCK_SIZE ||
	       quiet >= when->delay + (int64_t)(n->row.size * DIGEST_NS_PER_BYTE);
}

/* So much of the file is in holes that it is not hashed; `more` blocks are still to be sealed. */
static bool is_sparse(const struct ofs_inode *n, uint64_t more)
{
	return n->row.size > (n->content.nblocks + more) * OFS_BLOCK_SIZE + DIGEST_HOLES_MAX;
}

static bool inode_is_due(const struct ofs_inode *n, const struct ofs_seal_when *when)
{
	if (n->gone || n->seal_after > when->now)
		return false;
	if (when->pressed && ofs_content_map_has_drafts(&n->content))
		return true;
	if (n->written_at > when->now - when->delay)
		return false;
	return ofs_content_map_has_drafts(&n->content) || is_sparse(n, 0) || digest_is_due(n, when);
}

bool ofs_seal_is_due(struct ofs_store *s, const struct ofs_seal_when *when)
{
	for (size_t i = 0; i < s->drafts.n; i++)
		if (inode_is_due(s->drafts.list[i], when))
			return true;
	return false;
}

bool ofs_seal_is_stuck(struct ofs_store *s)
{
	int64_t now = ofs_clock_monotonic();
	bool stuck = false;

	for (size_t i = 0; i < s->drafts.n; i++) {
		const struct ofs_inode *n = s->drafts.list[i];

		if (n->gone || !ofs_content_map_has_drafts(&n->content))
			continue;
		if (n->seal_after <= now)
			return false;
		stuck = true;
	}
	return stuck;
}

static void file_add_block(struct sealed_file *f, uint64_t index)
{
	if (f->nblocks && f->blocks[f->nblocks - 1].index >= index)
		return;
	*ofs_append(f->blocks, f->nblocks, f->cap_blocks) =
		(struct sealed_block){ .index = index, .packed = NOT_PACKED };
}

/* Adds a file to the batch, with the blocks that drafts touch. `lock` held. */
static void batch_add(struct ofs_seal_batch *b, const struct ofs_inode *n,
		      const struct ofs_seal_when *when)
{
	const struct ofs_content_map *c = &n->content;
	uint64_t blocks = block_count(n->row.size), i;
	struct sealed_file *f = ofs_append(b->files, b->nfiles, b->cap_files);

	*f = (struct sealed_file){ .ino = n->row.ino,
				   .version = n->version,
				   .size = n->row.size,
				   .parent = n->row.parent,
				   .tokens = -1,
				   .digest = digest_is_due(n, when) };
	for (size_t e = 0; e < c->nextents; e++) {
		uint64_t last = (c->extents[e].off + c->extents[e].len - 1) / OFS_BLOCK_SIZE;

		if (c->extents[e].data.pos == OFS_LOST_POS)
			continue;
		for (i = c->extents[e].off / OFS_BLOCK_SIZE; i <= last && i < blocks; i++)
			file_add_block(f, i);
	}
	f->sparse = is_sparse(n, f->nblocks);
}

static int file_compare(const void *a, const void *b)
{
	const struct sealed_file *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* Chooses due files, in order of directory, since siblings often have similar content. */
static void batch_choose(struct ofs_seal_batch *b, const struct ofs_seal_when *when)
{
	struct ofs_store *s = b->store;
	uint64_t bytes = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->drafts.n && bytes < b->max; i++) {
		const struct ofs_inode *n = s->drafts.list[i];

		if (!inode_is_due(n, when))
			continue;
		batch_add(b, n, when);
		bytes += n->content.draft_bytes;
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < b->nfiles; i++)
		b->files[i].class = ofs_store_class(s, b->files[i].ino);
	if (b->nfiles)
		qsort(b->files, b->nfiles, sizeof(*b->files), file_compare);
}

/* ---- blocks */

static bool is_zeros(const uint8_t *p, size_t len)
{
	return !len || (!p[0] && !memcmp(p, p + 1, len - 1));
}

/* Finds a chunk with this content, among the new ones or in the index; -ENOENT. */
static int find_chunk(struct ofs_seal_batch *b, const uint8_t *sha, struct sealed_block *block)
{
	size_t i = (uintptr_t)ofs_map_get(&b->by_sha, ofs_get_le64(sha));

	if (i && memcmp(ofs_packer_chunk(b->packer, i - 1)->sha, sha, OFS_SHA256_SIZE) == 0) {
		block->packed = i - 1;
		return 0;
	}
	return ofs_index_find_chunk(b->store->index, sha, &block->chunk);
}

/* Makes the block in `buf` a chunk, an existing one if possible. All zeros become a hole. */
static int seal_block(struct ofs_seal_batch *b, const struct sealed_file *f,
		      struct sealed_block *block, uint32_t len)
{
	struct ofs_index_chunk c = { .len = len };
	bool heal;
	int r;

	block->hole = is_zeros(b->buf, len);
	if (block->hole)
		return 0;
	r = ofs_sha256(b->buf, len, block->sha);
	if (r == 0)
		r = find_chunk(b, block->sha, block);
	if (r < 0 && r != -ENOENT)
		return r;
	/* Unreadable content is stored again, which repairs every file that shares it. */
	heal = r == 0 && block->packed == NOT_PACKED && block->chunk.bad;
	if (r == 0 && !heal)
		return 0;
	if (heal)
		c.id = block->chunk.id;
	memcpy(c.sha, block->sha, sizeof(c.sha));
	c.lines = (uint32_t)ofs_text_newlines(b->buf, len);
	block->packed = ofs_packer_count(b->packer);
	r = ofs_packer_add(b->packer, f->class, heal, &c, b->buf);
	if (r == 0)
		ofs_map_put(&b->by_sha, ofs_get_le64(c.sha),
			    (void *)(uintptr_t)(block->packed + 1));
	return r;
}

/* ---- files */

/* `buf` has the first `len` bytes of the file. */
static void estimate_tokens(const struct ofs_seal_batch *b, struct sealed_file *f, size_t len)
{
	f->tokens = (int64_t)ofs_tokens_estimate(b->buf, len, f->size);
}

/*
 * Puts off a file that could not be read: its content may be sound, and would be lost if the rest
 * were sealed without it.
 */
static void postpone(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n;

	ofs_log(LOG_ERR, "inode %llu cannot be read for sealing, trying again in a minute",
		(unsigned long long)ino);
	OFS_LOCKED(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (n)
		n->seal_after = ofs_clock_monotonic() + READ_RETRY;
}

/* Hashes a whole file by reading it. -ESTALE: not now. */
static int digest_file(struct ofs_seal_batch *b, struct sealed_file *f)
{
	uint64_t blocks = block_count(f->size), i;
	int r = 0;

	for (i = 0; i < blocks && r == 0; i++) {
		uint64_t off = i * OFS_BLOCK_SIZE, version = 0;
		size_t want = (size_t)OFS_MIN(OFS_BLOCK_SIZE, f->size - off);
		ssize_t len = -ESTALE;

		/* Hashing a large file must not keep the daemon from ending, or writers waiting. */
		if (!ofs_store_is_stopping(b->store) && !ofs_store_is_pressed(b->store))
			len = ofs_store_read_version(b->store, f->ino, b->buf, want, off, false,
						     &version);
		if (len == -OFS_EREAD)
			postpone(b->store, f->ino);
		if (len == -ENOENT || len == -OFS_EREAD || (len >= 0 && version != f->version))
			len = -ESTALE;
		r = len < 0 ? (int)len : ofs_sha256_update(b->whole, b->buf, (size_t)len);
		if (r == 0 && i == 0)
			estimate_tokens(b, f, (size_t)len);
	}
	return r;
}

/* The hash of the file's only chunk is that of the whole. */
static bool is_one_chunk(const struct sealed_file *f)
{
	return f->nblocks == 1 && f->size <= OFS_BLOCK_SIZE && !f->blocks[0].hole;
}

/* Seals the touched blocks. Sets *ret_hashed if the whole could be hashed on the way. */
static int seal_blocks(struct ofs_seal_batch *b, struct sealed_file *f, bool *ret_hashed)
{
	bool hashing = f->nblocks == block_count(f->size);
	ssize_t len;
	int r;

	for (size_t i = 0; i < f->nblocks && b->bytes < b->max; i++) {
		struct sealed_block *block = &f->blocks[i];

		if (ofs_store_is_stopping(b->store))
			return -ESTALE;
		len = ofs_store_read_block(b->store, f->ino, block->index, b->buf, &block->state);
		if (len == -OFS_EREAD)
			postpone(b->store, f->ino);
		if (len == -ENOENT || len == -OFS_EREAD)
			len = -ESTALE;
		if (len < 0)
			return (int)len;
		r = seal_block(b, f, block, (uint32_t)len);
		if (r < 0)
			return r;
		if (block->index == 0 && !block->state.nlost)
			estimate_tokens(b, f, (size_t)len);
		f->nsealed = i + 1;
		b->bytes += (uint64_t)len;
		hashing = hashing && block->state.version == f->version && !block->state.nlost;
		r = hashing && !is_one_chunk(f) ? ofs_sha256_update(b->whole, b->buf, (size_t)len)
						: 0;
		if (r < 0)
			return r;
	}
	f->done = f->nsealed == f->nblocks;
	*ret_hashed = hashing && f->done;
	return 0;
}

static int seal_file(struct ofs_seal_batch *b, struct sealed_file *f)
{
	uint8_t scrap[OFS_SHA256_SIZE];
	bool hashed = false;
	int r = seal_blocks(b, f, &hashed);

	if (r == 0 && f->done && !hashed && f->digest && !f->sparse) {
		ofs_sha256_final(b->whole, scrap);
		r = digest_file(b, f);
		hashed = r == 0;
		/* Damaged content has no hash; everything else is sealed nonetheless. */
		if (r == -EIO)
			r = 0;
	}
	/* Even if the version is still the same, the hash has to wait for another time. */
	if (r == -ESTALE)
		f->digest = false;
	f->has_sha = ofs_sha256_final(b->whole, hashed ? f->sha : scrap) == 0 && hashed;
	if (f->has_sha && is_one_chunk(f))
		memcpy(f->sha, f->blocks[0].sha, sizeof(f->sha));
	return r;
}

int ofs_seal_collect(struct ofs_store *s, const struct ofs_seal_when *when,
		     struct ofs_seal_batch **ret)
{
	struct ofs_seal_batch *b;
	int r, done = 0;

	r = batch_create(s, &b);
	if (r < 0)
		return r;
	batch_choose(b, when);
	for (size_t i = 0; i < b->nfiles && (i == 0 || b->bytes < b->max) && r == 0; i++) {
		r = seal_file(b, &b->files[i]);
		done += b->files[i].nsealed || (r == 0 && b->files[i].done);
		if (r == -ESTALE)
			r = 0;
	}
	if (r == 0 && ofs_packer_count(b->packer))
		r = ofs_packer_commit(b->packer, NULL, NULL);
	if (r < 0) {
		ofs_seal_batch_destroy(b);
		return r;
	}
	s->sealed_bytes += b->bytes;
	s->sealed_stored += ofs_packer_stored(b->packer);
	*ret = b;
	return done;
}

/* ---- installing */

static void install_block(struct ofs_seal_batch *b, struct ofs_inode *n, uint32_t class,
			  const struct sealed_block *block)
{
	uint64_t from = block->index * OFS_BLOCK_SIZE, to = from + OFS_BLOCK_SIZE;
	const struct ofs_index_chunk *c = &block->chunk;
	uint64_t epoch = b->store->epoch;

	/* The same hole may lie over another chunk by now, so that is compared as well. */
	if (!block->state.drafts ||
	    ofs_content_map_chunk(&n->content, block->index) != block->state.chunk ||
	    ofs_content_map_fingerprint(&n->content, from, to) != block->state.drafts)
		return;
	if (block->packed != NOT_PACKED)
		c = ofs_packer_chunk(b->packer, block->packed);
	/* An existing chunk may lie where content is shorter-lived. */
	if (c->id && c->class < class)
		ofs_class_move_add(b->store, n->row.ino);
	ofs_content_map_set_block(&n->content, block->index, c, epoch);
	ofs_content_map_uncover(&n->content, from, to, epoch);
	for (size_t i = 0; i < block->state.nlost; i++)
		ofs_content_map_cover(&n->content, &block->state.lost[i], epoch);
	if (block->state.nlost)
		ofs_log(LOG_ERR,
			"inode %llu: some bytes from %llu to %llu cannot be read and are lost",
			(unsigned long long)n->row.ino, (unsigned long long)from,
			(unsigned long long)to - 1);
}

/* Sums the newlines of all blocks; -1: some content is lost. */
static int64_t sum_lines(const struct ofs_content_map *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->nextents; i++)
		if (c->extents[i].data.pos == OFS_LOST_POS)
			return -1;
	for (size_t i = 0; i < c->nblocks; i++)
		sum += c->blocks[i].chunk.lines;
	return sum;
}

static void install_file(struct ofs_seal_batch *b, const struct sealed_file *f)
{
	struct ofs_store *s = b->store;
	struct ofs_inode *n = ofs_map_get(&s->inodes, f->ino);
	uint64_t drafts = n ? n->content.draft_bytes : 0;

	if (!n || n->gone)
		return;
	for (size_t i = 0; i < f->nsealed; i++)
		install_block(b, n, f->class, &f->blocks[i]);
	/* A block of zeros has become a hole. */
	n->data_version = 0;
	/* Until the checkpoint learns its charge, the file is charged what its drafts took. */
	n->row.stored += drafts - OFS_MIN(drafts, n->content.draft_bytes);
	if (f->nsealed)
		ofs_store_touch(s, n);
	if (f->done && n->version == f->version && !ofs_content_map_has_drafts(&n->content)) {
		/* All of the content is in packs, so the facts about the whole hold now. */
		n->row.lines = sum_lines(&n->content);
		if (f->tokens >= 0)
			n->row.tokens = f->tokens;
		n->row.has_sha = f->has_sha;
		memcpy(n->row.sha, f->sha, sizeof(n->row.sha));
		ofs_store_touch(s, n);
		ofs_store_content_sealed(s, n);
		if (f->has_sha || f->digest || f->sparse) {
			n->on_draft_list = false;
			ofs_content_map_uncover(&n->content, OFS_CONTENT_END, UINT64_MAX, s->epoch);
			return;
		}
	}
	/* There is more to do, for which a change meanwhile may have left no draft. */
	ofs_content_map_mark(&n->content, s->epoch);
}

void ofs_seal_install(struct ofs_seal_batch *b)
{
	for (size_t i = 0; i < b->nfiles; i++)
		install_file(b, &b->files[i]);
}
