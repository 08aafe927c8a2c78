/* SPDX-License-Identifier: MIT */
#include "tree/search/indexer_look.h"

#include "base/text.h"
#include "tree/core/label.h"
#include "tree/core/place.h"

#define PIECE ((size_t)256 << 10) /* bytes hashed at once */
#define HASHED_MAX (UINT64_C(1) << 30) /* a follower does not hash larger files itself */

/* Returns `r`, and if it is an error records that it came from the index. */
static int of_index(struct ofs_look *l, int r)
{
	l->failed = l->failed || r < 0;
	return r;
}

static int look_begin(struct ofs_look *l)
{
	int r = l->batch ? 0 : of_index(l, ofs_fts_begin(l->index));

	l->batch = l->batch || r == 0;
	return r;
}

/* Returns 1 and sets *ret if the index has the file, 0 if not, or -errno. */
static int look_up(struct ofs_look *l, uint64_t ino, struct ofs_fts_file *ret)
{
	int r = ofs_fts_get_file(l->index, ino, ret);

	return r == -ENOENT ? 0 : of_index(l, r) < 0 ? r : 1;
}

/* For an inode that is not, or no longer, a file of persistent/ or archive/. */
static int look_away(struct ofs_look *l, uint64_t ino)
{
	struct ofs_fts_file known;
	int r;

	if (!l->index)
		return -EAGAIN;
	r = look_up(l, ino, &known);
	if (r <= 0)
		return r < 0 ? r : OFS_LOOKED;
	r = look_begin(l);
	if (r == 0)
		r = of_index(l, ofs_fts_remove_file(l->index, ino));
	return r < 0 ? r : OFS_LOOKED;
}

/* A file being read for the index. */
struct reading {
	struct ofs_look *look;
	uint64_t ino;
	uint64_t version;
};

/*
 * Reads from the store and not through the tree, since this is no use of the file. Fails with
 * -ESTALE if the file has changed since the look began.
 */
static ssize_t read_content(void *arg, void *buf, size_t size, uint64_t off)
{
	struct reading *rd = arg;
	struct ofs_look *l = rd->look;
	struct ofs_attr attr;
	ssize_t n;
	int r;

	if (l->cancelled(l->arg))
		return -ECANCELED;
	n = ofs_store_scan(l->tree->store, rd->ino, buf, size, off);
	r = n < 0 ? 0 : ofs_store_getattr(l->tree->store, rd->ino, &attr);
	if (r == 0 && n >= 0 && attr.version != rd->version)
		r = -ESTALE;
	return r < 0 ? r : n;
}

static int get_label(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind,
		     struct ofs_buf *out)
{
	int r = ofs_label_get(t, ino, kind, out);

	return r == -ENODATA ? 0 : r;
}

static int put_file(struct ofs_look *l, const struct ofs_attr *file, const uint8_t *sha,
		    const char *path, int64_t stamp)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf title = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf tags = OFS_BUF_INIT;
	const char *slash = strrchr(path, '/');
	int r = get_label(l->tree, file->ino, OFS_LABEL_TITLE, &title);

	if (r == 0)
		r = get_label(l->tree, file->ino, OFS_LABEL_TAGS, &tags);
	if (r == 0)
		r = look_begin(l);
	if (r < 0)
		return r;
	return of_index(l, ofs_fts_put_file(l->index, file->ino, sha, slash ? slash + 1 : path,
					    ofs_buf_str(&title), ofs_buf_str(&tags), stamp));
}

/* Returns 1 if the content is in the index, 0 if it cannot be read, or -errno. */
static int put_content(struct ofs_look *l, const struct ofs_attr *file, const uint8_t sha[32])
{
	struct reading rd = { .look = l, .ino = file->ino, .version = file->version };
	int r = of_index(l, ofs_fts_has_content(l->index, sha));

	if (r != 0)
		return r;
	r = look_begin(l);
	if (r == 0)
		r = ofs_fts_put_content(l->index, sha, file->size, read_content, &rd);
	/* An error of the index recurs when the file is entered, and is reported then. */
	if (r == -EIO || r == -EUCLEAN)
		return 0;
	return r < 0 ? r : 1;
}

/*
 * A follower seals nothing, and gets a file's hash only with the other host's next index. Until
 * then it hashes the file itself, once it has not changed for a while. Returns 1 and sets *ret, 0
 * if the file cannot be read now, or -errno.
 */
static int find_hash(struct ofs_look *l, const struct ofs_attr *file, struct ofs_content_hash *ret)
{
	struct reading rd = { .look = l, .ino = file->ino, .version = file->version };
	OFS_FREE uint8_t *buf = ofs_alloc(PIECE);
	struct ofs_sha256 *sha = ofs_sha256_create();
	ssize_t n = 1;
	int r = 0;

	ret->lines = 0;
	for (uint64_t off = 0; r == 0 && n > 0; off += (uint64_t)n) {
		n = read_content(&rd, buf, PIECE, off);
		if (n < 0)
			r = (int)n;
		else
			r = ofs_sha256_update(sha, buf, (size_t)n);
		ret->lines += r == 0 ? (int64_t)ofs_text_newlines(buf, (size_t)n) : 0;
	}
	if (ofs_sha256_final(sha, ret->sha) < 0 && r == 0)
		r = -EIO;
	ofs_sha256_destroy(sha);
	if (r < 0)
		return r == -EIO || r == -EUCLEAN ? 0 : r;
	ret->has_sha = true;
	ofs_store_note_hash(l->tree->store, file->ino, file->version, ret);
	return 1;
}

/*
 * For a follower's file without a hash, which is computed if the file was looked at before. Returns
 * -errno, 0 with *ret set, or else an enum ofs_look_result.
 */
static int look_at_followed(struct ofs_look *l, const struct ofs_attr *file, const char *path,
			    enum ofs_look_how how, struct ofs_content_hash *ret)
{
	bool large = file->size > HASHED_MAX, first = how != OFS_LOOK_AGAIN;
	int r = large || first ? 0 : find_hash(l, file, ret);

	if (r)
		return OFS_MIN(r, 0);
	/* Stamp 0, so that the file is looked at again. */
	r = first ? put_file(l, file, NULL, path, 0) : 0;
	if (r < 0)
		return r;
	if (first || (large && !file->sealed))
		return OFS_LOOKED_EARLY;
	return large ? OFS_LOOKED : OFS_LOOKED_AWAY;
}

/* For a file of persistent/ or archive/. The caller holds a reference, so its version stays. */
static int look_at_kept(struct ofs_look *l, const struct ofs_attr *file, const char *path,
			enum ofs_look_how how)
{
	struct ofs_fts_file known = { 0 };
	struct ofs_content_hash digest;
	int r;

	if (!l->index)
		return -EAGAIN;
	r = look_up(l, file->ino, &known);
	if (r < 0)
		return r;
	/* The change time covers content, names and labels. */
	if (r > 0 && known.stamp && known.stamp == file->ctime)
		return OFS_LOOKED;
	r = ofs_store_get_hash(l->tree->store, file->ino, &digest);
	if (r == 0 && l->tree->follow && file->size && !digest.has_sha) {
		r = look_at_followed(l, file, path, how, &digest);
		if (r < 0 || !digest.has_sha)
			return r;
	}
	if (r < 0)
		return r;
	/* A file sealed without a hash never gets one: it is mostly holes, or damaged. */
	if (!file->size || (!digest.has_sha && file->sealed)) {
		r = put_file(l, file, NULL, path, file->ctime);
		return r < 0 ? r : OFS_LOOKED;
	}
	if (!digest.has_sha) {
		r = how == OFS_LOOK_AGAIN ? 0 : put_file(l, file, NULL, path, 0);
		return r < 0 ? r : OFS_LOOKED_EARLY;
	}
	r = put_content(l, file, digest.sha);
	if (r == 0 && l->tree->follow) {
		r = put_file(l, file, NULL, path, 0);
		return r < 0 ? r : OFS_LOOKED_AWAY;
	}
	if (r >= 0)
		r = put_file(l, file, r ? digest.sha : NULL, path, file->ctime);
	return r < 0 ? r : OFS_LOOKED;
}

static int look_at_file(struct ofs_look *l, const struct ofs_attr *file, enum ofs_look_how how)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	int r = ofs_place_of(l->tree, file->ino, &place);

	if (r < 0)
		return r == -ENOENT ? look_away(l, file->ino) : r;
	/* Agents' files are left out, since the index would reveal how many there are. */
	if (ofs_place_tier(&place) != OFS_TIER_WORKING && !place.root->above)
		return look_at_kept(l, file, (const char *)place.path.data, how);
	l->working = file->parent;
	return how == OFS_LOOK_CONTENT ? OFS_LOOKED : look_away(l, file->ino);
}

int ofs_look_at(struct ofs_look *l, uint64_t ino, enum ofs_look_how how)
{
	struct ofs_attr attr;
	int r = ofs_store_hold(l->tree->store, ino, &attr);

	l->working = 0;
	l->failed = false;
	if (r == -ENOENT)
		return how == OFS_LOOK_CONTENT ? OFS_LOOKED : look_away(l, ino);
	if (r < 0)
		return r;
	if (S_ISDIR(attr.mode))
		r = OFS_LOOKED_DIR;
	else if (S_ISREG(attr.mode))
		r = look_at_file(l, &attr, how);
	else
		r = OFS_LOOKED;
	ofs_store_forget(l->tree->store, ino, 1);
	return r;
}
