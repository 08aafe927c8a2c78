/* SPDX-License-Identifier: MIT */
/*
 * Verification: the index against itself, every frame against the index, every draft, and every
 * file of more than one block against the hash of its whole. `cycle` is held for the index and then
 * for one frame at a time, so that the store can be used meanwhile.
 */
#include <fcntl.h>
#include <stdio.h>

#include "io/file.h"
#include "store/cycle.h"
#include "store/packer.h"
#include "store/read.h"
#include "store/replay.h"
#include "store/store_state.h"

struct verification {
	struct ofs_store *store;
	const struct ofs_verify *how;
	struct ofs_verify_counts counts;
	bool at_rest; /* nobody uses the store: the index itself may be repaired */
	struct ofs_sha256 *whole;
	uint8_t *buf; /* one block */
};

static void report(void *arg, uint64_t ino, const char *what, bool repaired)
{
	struct verification *v = arg;

	v->counts.problems++;
	v->counts.repaired += repaired;
	v->how->problem(v->how->arg, ino, what, repaired);
}

static int progress(struct verification *v)
{
	if (v->how->progress && v->how->progress(v->how->arg, &v->counts))
		return -ECANCELED;
	return 0;
}

/* ---- the index */

/*
 * Loads memory anew after a repair of the index. Nothing is dirty, so that nothing is lost and no
 * later checkpoint undoes the repair. `cycle` held.
 */
static int reload(struct ofs_store *s)
{
	struct ofs_index_meta meta;
	int r = ofs_index_get_meta(s->index, &meta);

	pthread_mutex_lock(&s->lock);
	ofs_store_free_inodes(s);
	s->drafts.n = 0;
	if (r == 0) {
		s->counts = meta.counts;
		s->next_ino = OFS_MAX(s->next_ino, meta.next_ino);
		s->ino_ahead = 0;
		s->next_chunk = OFS_MAX(s->next_chunk, meta.next_chunk);
	}
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		r = ofs_store_load_drafts(s);
	/* Without the drafts nobody knows which parts of the journal are needed. */
	if (r < 0)
		ofs_store_break(s, "the index can no longer be read");
	return r;
}

static int repair_index(struct verification *v)
{
	struct ofs_store *s = v->store;
	uint64_t before = v->counts.repaired;
	int r = ofs_index_begin(s->index);

	if (r < 0)
		return r;
	r = ofs_index_check(s->index, true, v->how->lost_dir, report, v);
	if (r == 0 && v->counts.repaired > before)
		r = ofs_index_recount(s->index);
	/* Frames are repaired even if the index cannot be read in full. */
	if (r == -EUCLEAN)
		ofs_index_rollback(s->index);
	else
		r = ofs_index_end(s->index, r);
	return r == 0 && v->counts.repaired > before ? reload(s) : r;
}

static int verify_index(struct verification *v)
{
	struct ofs_store *s = v->store;
	bool repair = v->how->repair && v->at_rest;
	uint64_t before = v->counts.problems;
	int r = 0;

	/* Commits memory first: a checkpoint must not change what is repaired. */
	if (ofs_store_is_dirty(s))
		r = s->broken ? -EIO : ofs_store_checkpoint(s, NULL);
	if (r < 0 && repair)
		return r;
	r = repair ? repair_index(v) : ofs_index_check(s->index, false, 0, report, v);
	if (r == -EUCLEAN) {
		report(v, 0, "the index cannot be read in full", false);
		r = 0;
	}
	if (r == 0 && v->how->repair && !v->at_rest && v->counts.problems > before)
		report(v, 0,
		       "the index is repaired only while nothing is mounted: unmount, and repair "
		       "again",
		       false);
	return r;
}

/* ---- the journal */

/* Reports damage that earlier recoveries noted, and what a read-only one has just found. */
static int verify_journal(struct verification *v)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_store *s = v->store;
	int r = ofs_damage_read(s->dirfd, &text);

	if (r < 0 && r != -ENOENT)
		return r;
	if (s->read_only && s->damage.found)
		ofs_damage_describe(&s->damage, &text);
	ofs_buf_append(&text, "", 1);
	if (v->how->repair && r == 0) {
		r = ofs_damage_retire(s->dirfd);
		if (r < 0)
			return r;
		s->journal_damaged = false;
	}
	for (char *rest = (char *)text.data, *line; (line = strsep(&rest, "\n"));)
		if (*line)
			report(v, 0, line, v->how->repair);
	return 0;
}

/* ---- frames */

static int note_chunk(void *arg, const struct ofs_index_chunk *c)
{
	return ofs_u64_list_collect(arg, c->id);
}

/* Reports every file that has a chunk in the frame. */
static int name_holders(struct verification *v, const struct ofs_index_frame *f, const char *what)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list chunks = { 0 }, files = { 0 };
	struct ofs_index *ix = v->store->index;
	int r = ofs_index_list_chunks(ix, f->id, note_chunk, &chunks);

	for (size_t i = 0; i < chunks.n && r == 0; i++)
		r = ofs_index_list_holders(ix, chunks.at[i], ofs_u64_list_collect, &files);
	ofs_u64_list_sort_unique(&files);
	for (size_t i = 0; i < files.n && r == 0; i++)
		report(v, files.at[i], what, false);
	return r;
}

/* Copies the frame's bytes to quarantine/, for anybody who wants to get more out of them. */
static int quarantine(struct ofs_store *s, const struct ofs_index_frame *f)
{
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	OFS_FREE uint8_t *bytes = NULL;
	OFS_CLOSE int dir = -1;
	char name[64];
	size_t len;
	int r = ofs_packset_copy(s->packs, &loc, &bytes, &len);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	dir = ofs_damage_open_quarantine(s->dirfd);
	if (dir < 0)
		return dir;
	snprintf(name, sizeof(name), "%08x-%llu.frame", f->pack, (unsigned long long)f->off);
	return ofs_io_write_file(dir, name, bytes, len);
}

struct rescue {
	struct ofs_packer *packer;
	const uint8_t *content;
	uint32_t class;
};

static int rescue_chunk(void *arg, const struct ofs_index_chunk *c)
{
	struct rescue *rs = arg;
	uint8_t sha[OFS_SHA256_SIZE];
	int r = ofs_sha256(rs->content + c->off, c->len, sha);

	if (r < 0 || memcmp(sha, c->sha, sizeof(sha)) != 0)
		return -EIO;
	return ofs_packer_add(rs->packer, rs->class, true, c, rs->content + c->off);
}

/* Writes a frame anew if the cache still has its content, read before it was damaged. */
static int rescue_frame(struct ofs_store *s, const struct ofs_index_frame *f)
{
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	struct rescue rs = { .class = f->class };
	struct ofs_frame *frame;
	int r = ofs_packset_read(s->packs, &loc, false, &frame);

	if (r < 0)
		return r;
	rs.content = ofs_frame_data(frame);
	r = ofs_packer_create(s, false, &rs.packer);
	if (r == 0)
		r = ofs_index_list_chunks(s->index, f->id, rescue_chunk, &rs);
	if (r == 0)
		r = ofs_packer_commit(rs.packer, NULL, NULL);
	ofs_packer_destroy(rs.packer);
	ofs_frame_unref(frame);
	return r;
}

static int frame_is_bad(struct verification *v, const struct ofs_index_frame *f, int error)
{
	struct ofs_store *s = v->store;
	char what[128];
	int r;

	snprintf(what, sizeof(what), "packs/%08x.pack: the frame at %llu %s", f->pack,
		 (unsigned long long)f->off, error == -EIO ? "is damaged" : "cannot be read");
	if (v->how->repair && error == -EIO) {
		r = quarantine(s, f);
		if (r < 0)
			return r;
		if (rescue_frame(s, f) == 0) {
			report(v, 0, what, true);
			return 0;
		}
	}
	return name_holders(v, f, what);
}

static int verify_frames(struct verification *v)
{
	struct ofs_store *s = v->store;
	struct ofs_index_frame f = { .id = 0 };
	int r = 0;

	while (r == 0) {
		pthread_mutex_lock(&s->cycle);
		r = ofs_index_next_frame(s->index, f.id, &f);
		if (r == 0 && f.live) {
			r = ofs_store_check_frame(s, &f, &v->counts.chunks);
			v->counts.frames++;
			v->counts.bytes += f.raw;
			v->counts.done += f.raw;
			if (r == -EIO || r == -OFS_EREAD)
				r = frame_is_bad(v, &f, r);
			if (r == -OFS_EAWAY)
				r = 0;
		}
		pthread_mutex_unlock(&s->cycle);
		if (r == 0)
			r = progress(v);
	}
	return r == -ENOENT ? 0 : r;
}

/* ---- files */

/* Reads and hashes a whole file. -ESTALE: it was written or removed meanwhile. */
static int read_file(struct verification *v, uint64_t ino, uint64_t size, uint64_t version,
		     uint8_t ret_sha[OFS_SHA256_SIZE])
{
	uint64_t off, now = 0;
	int r = 0;

	for (off = 0; off < size && r == 0; off += OFS_BLOCK_SIZE) {
		ssize_t n = ofs_store_read_version(v->store, ino, v->buf, OFS_BLOCK_SIZE, off, true,
						   &now);

		if (n >= 0 && now != version)
			n = -ESTALE;
		r = n < 0 ? (int)n : ofs_sha256_update(v->whole, v->buf, (size_t)n);
		v->counts.done += OFS_MIN(OFS_BLOCK_SIZE, size - off);
		if (r == 0)
			r = progress(v);
	}
	if (ofs_sha256_final(v->whole, ret_sha) < 0 && r == 0)
		r = -EIO;
	return r == -ENOENT || r == -ENODATA ? -ESTALE : r;
}

/* Without `draft`, damaged content is not reported: verify_frames() has done so. */
static int verify_file(struct verification *v, uint64_t ino, bool draft)
{
	struct ofs_store *s = v->store;
	uint8_t sha[OFS_SHA256_SIZE];
	struct ofs_content_hash digest;
	struct ofs_attr attr;
	int r = ofs_store_getattr(s, ino, &attr);

	if (r == 0)
		r = ofs_store_get_hash(s, ino, &digest);
	/* -EUCLEAN: the check of the index has reported it. */
	if (r < 0)
		return r == -ENOENT || r == -EUCLEAN ? 0 : r;
	r = read_file(v, ino, attr.size, attr.version, sha);
	if (r == -EIO && draft)
		report(v, ino, "some of its content is damaged or lost", false);
	else if (r == -OFS_EREAD)
		report(v, ino, "the content cannot be read: Input/output error", false);
	else if (r == 0 && digest.has_sha && memcmp(sha, digest.sha, sizeof(sha)) != 0)
		report(v, ino, "the content does not match its SHA-256", false);
	return r == -EIO || r == -OFS_EREAD || r == -OFS_EAWAY || r == -ESTALE || r == -EUCLEAN ? 0
												: r;
}

static int verify_long_files(struct verification *v)
{
	uint64_t ino = 0;
	int r = 0;

	while (r == 0) {
		r = ofs_index_next_long(v->store->index, ino, &ino);
		if (r == 0)
			r = verify_file(v, ino, false);
	}
	return r == -ENOENT ? 0 : r;
}

/* Files with lost content are in memory as well, even if nothing of them is left to seal. */
static int verify_drafts(struct verification *v)
{
	struct ofs_store *s = v->store;
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	struct ofs_inode *node;
	size_t pos = 0, i;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while ((node = ofs_map_next(&s->inodes, &pos)))
		if (node->content.nextents && !node->gone) {
			ofs_u64_list_add(&files, node->row.ino);
			v->counts.total += node->row.size;
			v->counts.bytes += node->content.draft_bytes;
		}
	pthread_mutex_unlock(&s->lock);
	for (i = 0; i < files.n && r == 0; i++)
		r = verify_file(v, files.at[i], true);
	return r;
}

/* ---- all of it */

static int verify_all(struct verification *v)
{
	struct ofs_store *s = v->store;
	uint64_t frames = 0, long_files = 0, bytes;
	int r;

	pthread_mutex_lock(&s->cycle);
	r = verify_index(v);
	pthread_mutex_unlock(&s->cycle);
	if (r == 0)
		r = ofs_index_totals(s->index, OFS_BLOCK_SIZE, &frames, &long_files);
	if (r == 0)
		r = ofs_index_count(s->index, &v->counts.files, &bytes);
	v->counts.total = frames + long_files;
	if (r == 0)
		r = verify_journal(v);
	if (r == 0)
		r = verify_drafts(v);
	if (r == 0)
		r = verify_frames(v);
	if (r == 0)
		r = verify_long_files(v);
	v->counts.done = r == 0 ? v->counts.total : v->counts.done;
	return r;
}

int ofs_store_verify(struct ofs_store *s, const struct ofs_verify *how,
		     struct ofs_verify_counts *ret)
{
	struct verification v = { .store = s, .how = how, .at_rest = !s->sealer.runs };
	int r;

	if (s->follow && how->repair)
		return -EROFS;
	if (atomic_exchange(&s->verifying, true))
		return -EBUSY;
	v.buf = ofs_alloc(OFS_BLOCK_SIZE);
	v.whole = ofs_sha256_create();
	r = verify_all(&v);
	ofs_store_refresh_charges(s);
	ofs_store_tell(s);
	free(v.buf);
	ofs_sha256_destroy(v.whole);
	s->verifying = false;
	*ret = v.counts;
	return r;
}
