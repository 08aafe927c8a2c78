/* SPDX-License-Identifier: MIT */
/*
 * Repacking moves content long after it was sealed.
 *
 *   marks     A rename may have taken content to where it lives longer: it moves into frames of
 *             that class, and archived content becomes dense on the way.
 *   loose     Frames that hold little, because they were small or because most of their content was
 *             removed, are joined with others of their class.
 *   archive   Content written into the archive was sealed like any other and becomes dense.
 *   idle      Content that was not used for some time becomes dense where it is, while the machine
 *             is at rest.
 *
 * A copy is written first and the index switched to it in one transaction; the old frame, which
 * then has no live chunk, is reclaimed like any other.
 */
#include "store/cycle.h"

#include <sys/stat.h>

#include "base/log.h"
#include "io/file.h"
#include "store/packer.h"
#include "store/read.h"
#include "store/store_state.h"

#define STEP_BYTES (8u << 20) /* of content moved by one step, about */
#define STEP_BYTES_DENSE (1u << 20) /* of content that it compresses densely */
#define LOOSE_MANY 8 /* loose frames of a class that are joined without waiting for more */
#define MARKS_MAX 256
#define WALK_MAX 4096 /* frames that one step visits in the index, */
#define LOOK_MAX 64 /* and reads to check their use */

struct repack {
	struct ofs_store *store;
	struct ofs_packer *packer;
	struct ofs_map seen; /* chunks in the packer */
	int64_t unused_since; /* on the age clock; content used later stays */
	uint64_t room; /* bytes that this step may still move */
	uint32_t class; /* of the frame being rewritten */
	const uint8_t *data; /* its content */
	int error; /* of the packer, rather than of a frame */
	struct ofs_u64_list marks; /* to be deleted */
	struct ofs_u64_list children; /* to be marked */
};

static void repack_finish(struct repack *rp)
{
	ofs_packer_destroy(rp->packer);
	ofs_map_finish(&rp->seen);
	ofs_u64_list_finish(&rp->marks);
	ofs_u64_list_finish(&rp->children);
}

/* Copies a live chunk into a frame of `class`. */
static int move_chunk(struct repack *rp, uint32_t class, const struct ofs_index_chunk *c,
		      const void *data)
{
	bool dense = ofs_packer_is_dense(rp->packer, class);
	uint64_t cost = dense ? (uint64_t)c->len * (STEP_BYTES / STEP_BYTES_DENSE) : c->len;

	if (ofs_map_get(&rp->seen, c->id))
		return 0;
	ofs_map_put(&rp->seen, c->id, rp);
	rp->room -= OFS_MIN(rp->room, cost);
	rp->error = ofs_packer_add(rp->packer, class, true, c, data);
	return rp->error;
}

/* A frame that cannot be read, or is not on this disk, stays as it is. */
static bool is_left(int r)
{
	return r == -EIO || r == -OFS_EREAD || r == -OFS_EAWAY;
}

/* ---- marks */

/* Notes the children of a directory, or lists the chunks of a file. */
static int mark_look(struct repack *rp, uint64_t ino, struct ofs_u64_list *ret)
{
	struct ofs_store *s = rp->store;
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&s->lock);
	r = ofs_store_inode(s, ino, &n);
	if (r == 0 && S_ISDIR(n->row.mode)) {
		r = ofs_store_dir(s, ino, &n);
		for (size_t i = 0; r == 0 && i < n->dir->norder; i++)
			if (n->dir->order[i].entry)
				ofs_u64_list_add(&rp->children, n->dir->order[i].entry->ino);
	} else if (r == 0 && S_ISREG(n->row.mode)) {
		r = ofs_store_file(s, ino, &n);
		for (size_t i = 0; r == 0 && i < n->content.nblocks; i++)
			if (n->content.blocks[i].chunk.id)
				ofs_u64_list_add(ret, n->content.blocks[i].chunk.id);
	}
	return r == -ENOENT ? 0 : r;
}

/* Moves a chunk if the index, which memory may be ahead of, has it in too low a class. */
static int move_known(struct repack *rp, uint64_t id, uint32_t class)
{
	struct ofs_index_chunk c;
	struct ofs_frame_loc loc;
	struct ofs_frame *frame;
	int r = ofs_index_get_chunk(rp->store->index, id, &c);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!c.bearer || c.bad || c.class >= class)
		return 0;
	loc = ofs_loc_of_chunk(&c);
	r = ofs_packset_read(rp->store->packs, &loc, false, &frame);
	/* A frame that cannot be read stays: verifying is the scrub's task. */
	if (r < 0)
		return is_left(r) ? 0 : r;
	r = move_chunk(rp, class, &c, ofs_frame_data(frame) + c.off);
	ofs_frame_unref(frame);
	return r;
}

/* Works off a mark, which stays if the step is full before its end. */
static int repack_mark(struct repack *rp, uint64_t ino)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list chunks = { 0 };
	uint32_t class;
	int r = mark_look(rp, ino, &chunks);

	class = chunks.n ? ofs_store_class(rp->store, ino) : 0;
	for (size_t i = 0; i < chunks.n && r == 0; i++) {
		if (!rp->room)
			return 0;
		r = move_known(rp, chunks.at[i], class);
	}
	if (r == 0)
		ofs_u64_list_add(&rp->marks, ino);
	return r;
}

/* ---- loose frames */

struct frame_list {
	struct ofs_index_frame *list;
	size_t n, cap;
};

/* The frame is dense although its class is not. */
static bool is_idle(const struct ofs_index_frame *f)
{
	return f->dense && f->class < OFS_CLASS_DENSE;
}

/* Of idle frames notes only those that have lost most of their content: others stay dense. */
static int note_loose(void *arg, const struct ofs_index_frame *f)
{
	struct frame_list *l = arg;

	if (!is_idle(f) || f->held < f->raw / 2)
		*ofs_append(l->list, l->n, l->cap) = *f;
	return 0;
}

static int move_to_bearer(void *arg, const struct ofs_index_chunk *c)
{
	struct repack *rp = arg;
	uint32_t class = ofs_store_class(rp->store, c->bearer);

	return move_chunk(rp, OFS_MAX(class, rp->class), c, rp->data + c->off);
}

static int move_rest(void *arg, const struct ofs_index_chunk *c)
{
	struct repack *rp = arg;

	return move_chunk(rp, rp->class, c, rp->data + c->off);
}

/* Moves the live chunks of a frame to the classes of the files that bear them. */
static int repack_frame(struct repack *rp, const struct ofs_index_frame *f)
{
	OFS_CLEANUP(ofs_frame_content_finish) struct ofs_frame_content content = { 0 };
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	struct ofs_store *s = rp->store;
	uint64_t found = 0;
	int r = ofs_packset_load(s->packs, &loc, &content);

	rp->class = f->class;
	rp->data = content.data;
	if (r == 0)
		r = ofs_store_compare_frame(s, f, &content, move_to_bearer, rp, &found);
	/* Some chunks have their content elsewhere a second time. */
	if (r == 0 && found < f->live)
		r = ofs_index_list_chunks(s->index, f->id, move_rest, rp);
	if (rp->error)
		return r;
	/* Marks a damaged frame as bad, so that the next step passes over it. */
	if (r == -EIO && ofs_store_check_frame(s, f, &found) == -EIO)
		ofs_log(LOG_ERR, "packs/%08x.pack: the frame at %llu is damaged", f->pack,
			(unsigned long long)f->off);
	return is_left(r) ? 0 : r;
}

/* Rewriting these frames, all of one class, is worthwhile. */
static bool group_is_due(const struct ofs_index_frame *f, size_t n, bool settle)
{
	uint64_t held = 0, raw = 0, thin = 0;
	bool dense = f->class >= OFS_CLASS_DENSE;
	uint64_t full = dense ? OFS_FRAME_FULL_DENSE : OFS_FRAME_FULL;

	for (size_t i = 0; i < n; i++) {
		held += f[i].held;
		raw += f[i].raw;
		thin += dense && !f[i].dense;
	}
	if (held >= full || n >= LOOSE_MANY)
		return true;
	return settle && (n > 1 || thin || held < raw / 2);
}

static int repack_loose(struct repack *rp, bool settle)
{
	struct frame_list due = { 0 };
	size_t i, n, k;
	int r = ofs_index_list_due(rp->store->index, note_loose, &due);

	for (i = 0; i < due.n && r == 0; i += n) {
		for (n = 1; i + n < due.n && due.list[i + n].class == due.list[i].class; n++)
			;
		if (!group_is_due(&due.list[i], n, settle))
			continue;
		for (k = 0; k < n && r == 0 && rp->room; k++)
			r = repack_frame(rp, &due.list[i + k]);
	}
	free(due.list);
	return r;
}

/* ---- idle frames */

static int note_idle(void *arg, const struct ofs_index_frame *f)
{
	struct frame_list *l = arg;

	if (is_idle(f))
		*ofs_append(l->list, l->n, l->cap) = *f;
	return 0;
}

/* Joins the small frames that earlier steps have made. */
static int join_idle(struct repack *rp)
{
	struct frame_list l = { 0 };
	int r = ofs_index_list_due(rp->store->index, note_idle, &l);

	for (size_t i = 0; i < l.n && r == 0 && rp->room; i++)
		if ((i && l.list[i - 1].class == l.list[i].class) ||
		    (i + 1 < l.n && l.list[i + 1].class == l.list[i].class))
			r = repack_frame(rp, &l.list[i]);
	free(l.list);
	return r;
}

/* The frame may become smaller, and its content stays for a while. */
static bool is_worthwhile(const struct ofs_index_frame *f)
{
	return f->live && !f->bad && !f->dense && f->class > OFS_CLASS_BRIEF &&
	       f->class < OFS_CLASS_DENSE && f->stored < f->raw - f->raw / 8;
}

/* -EAGAIN: the file that bears the chunk was used too recently. */
static int check_unused(void *arg, const struct ofs_index_chunk *c)
{
	struct repack *rp = arg;
	struct ofs_inode *n;
	int r;

	OFS_LOCKED(&rp->store->lock);
	r = ofs_store_inode(rp->store, c->bearer, &n);
	if (r == 0 && n->row.used > rp->unused_since)
		r = -EAGAIN;
	return r == -ENOENT ? 0 : r;
}

static int repack_unused(struct repack *rp, const struct ofs_index_frame *f)
{
	OFS_CLEANUP(ofs_frame_content_finish) struct ofs_frame_content content = { 0 };
	struct ofs_frame_loc loc = ofs_loc_of_frame(f);
	uint64_t found;
	int r = ofs_packset_load(rp->store->packs, &loc, &content);

	if (r == 0)
		r = ofs_store_compare_frame(rp->store, f, &content, check_unused, rp, &found);
	/* Of content that lies elsewhere a second time the use is unknown; damage is for the scrub. */
	if (r == -EAGAIN || is_left(r) || (r == 0 && found < f->live))
		return 0;
	return r < 0 ? r : repack_frame(rp, f);
}

/* ---- the step */

static int commit_marks(void *arg)
{
	struct repack *rp = arg;
	struct ofs_index *ix = rp->store->index;
	int r = 0;

	for (size_t i = 0; i < rp->marks.n && r == 0; i++)
		r = ofs_index_delete_mark(ix, rp->marks.at[i]);
	for (size_t i = 0; i < rp->children.n && r == 0; i++)
		r = ofs_index_put_mark(ix, rp->children.at[i]);
	return r;
}

/* 1; or 0: there was nothing to do. */
static int repack_commit(struct repack *rp)
{
	bool any = ofs_packer_count(rp->packer) || rp->marks.n;
	struct ofs_store *s = rp->store;
	int r = any ? ofs_packer_commit(rp->packer, commit_marks, rp) : 0;

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	ofs_store_evict(s);
	pthread_mutex_unlock(&s->lock);
	if (any)
		ofs_store_refresh_charges(s);
	return any;
}

int ofs_store_repack(struct ofs_store *s, bool settle)
{
	OFS_CLEANUP(repack_finish) struct repack rp = { .store = s, .room = STEP_BYTES };
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list marks = { 0 };
	int r = ofs_packer_create(s, false, &rp.packer);

	if (r == 0)
		r = ofs_index_list_marks(s->index, MARKS_MAX, ofs_u64_list_collect, &marks);
	for (size_t i = 0; i < marks.n && r == 0 && rp.room; i++)
		r = repack_mark(&rp, marks.at[i]);
	if (r == 0 && rp.room)
		r = repack_loose(&rp, settle);
	return r < 0 ? r : repack_commit(&rp);
}

int ofs_store_densify(struct ofs_store *s, int64_t unused_since)
{
	OFS_CLEANUP(repack_finish) struct repack rp = { .store = s, .room = STEP_BYTES };
	bool more = true;
	int r = ofs_packer_create(s, true, &rp.packer);

	rp.unused_since = unused_since;
	if (r == 0 && !s->densified)
		r = join_idle(&rp);
	/* A step fills about one dense frame. */
	for (int n = 0, looked = 0;
	     r == 0 && more && rp.room > STEP_BYTES / 8 && n < WALK_MAX && looked < LOOK_MAX; n++) {
		struct ofs_index_frame f = { 0 };

		r = ofs_index_next_frame(s->index, s->densified, &f);
		more = r != -ENOENT;
		s->densified = f.id;
		if (r == 0 && is_worthwhile(&f)) {
			looked++;
			r = repack_unused(&rp, &f);
		}
	}
	if (r == 0 || !more)
		r = repack_commit(&rp);
	return r < 0 ? r : more;
}
