/* SPDX-License-Identifier: MIT */
#include "tree/core/ref.h"

#include "base/map.h"
#include "base/thread.h"
#include "codec/hash.h"
#include "tree/core/place.h"

/*
 * Refs are inode numbers, scrambled and written in base 36. The scrambling is a bijection, so
 * nothing has to be stored. It makes neighbouring files look dissimilar, which keeps a language
 * model from confusing them. Each store has a seed of its own, so a ref of another store names a
 * file here only by chance, one in 36^8 for each file. A ref has eight characters, whose two halves
 * go through Feistel rounds. Stores older than seeds have 6 characters for numbers below 36^6, and
 * 8 for the rest.
 */

#define SHORT_LEN 6
#define LONG_LEN 8
#define SHORT_RANGE UINT64_C(2176782336) /* 36^6 */
#define LONG_RANGE UINT64_C(2821109907456) /* 36^8 */
#define HALF_RANGE UINT64_C(1679616) /* 36^4 */
#define ROUNDS 6
#define FACTOR \
	UINT64_C(1540483477) /* coprime to 36, so multiplying modulo a power of 36 can be undone */

static const char ref_digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t range)
{
	return (uint64_t)((__extension__(unsigned __int128) a) * b % range);
}

/* The inverse of FACTOR modulo `range`, by Euler: phi(36^n) = 12 * 36^(n-1) = range / 3. */
static uint64_t inverse(uint64_t range)
{
	uint64_t result = 1, base = FACTOR % range, e;

	for (e = range / 3 - 1; e; e >>= 1) {
		if (e & 1)
			result = multiply(result, base, range);
		base = multiply(base, base, range);
	}
	return result;
}

/* Returns what a round adds to one half, computed from the other; halves are below `range`. */
static uint64_t round_value(int64_t seed, uint64_t range, unsigned int number, uint64_t half)
{
	return ofs_checksum(&half, sizeof(half), (uint64_t)seed + number) % range;
}

/* Scrambles a number below the square of `range`. */
static uint64_t scramble(int64_t seed, uint64_t range, uint64_t n)
{
	uint64_t left = n / range, right = n % range;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t next = (left + round_value(seed, range, i, right)) % range;

		left = right;
		right = next;
	}
	return left * range + right;
}

static uint64_t unscramble(int64_t seed, uint64_t range, uint64_t n)
{
	uint64_t left = n / range, right = n % range;

	for (unsigned int i = ROUNDS; i-- > 0;) {
		uint64_t before = (right + range - round_value(seed, range, i, left)) % range;

		right = left;
		left = before;
	}
	return left * range + right;
}

void ofs_ref_write(int64_t seed, ofs_node ino, char ret[OFS_REF_SIZE])
{
	size_t len = !seed && ino < SHORT_RANGE ? SHORT_LEN : LONG_LEN, i;
	uint64_t range = len == SHORT_LEN ? SHORT_RANGE : LONG_RANGE;
	uint64_t n = seed ? scramble(seed, HALF_RANGE, ino % range)
			  : multiply(ino % range, FACTOR, range);

	for (i = len; i-- > 0; n /= 36)
		ret[i] = ref_digits[n % 36];
	ret[len] = 0;
}

ofs_node ofs_ref_read(int64_t seed, const char *ref)
{
	size_t len = strnlen(ref, LONG_LEN + 1), i;
	uint64_t range = len == SHORT_LEN ? SHORT_RANGE : LONG_RANGE, n = 0;

	if (len != LONG_LEN && (seed || len != SHORT_LEN))
		return 0;
	for (i = 0; i < len; i++) {
		const char *digit = strchr(ref_digits, ref[i]);

		if (!digit)
			return 0;
		n = n * 36 + (uint64_t)(digit - ref_digits);
	}
	if (seed)
		return unscramble(seed, HALF_RANGE, n);
	n = multiply(n, inverse(range), range);
	return len == LONG_LEN && n < SHORT_RANGE ? 0 : n;
}

void ofs_ref_format(const struct ofs_tree *t, ofs_node ino, char ret[OFS_REF_SIZE])
{
	ofs_ref_write(t->ref_seed, ino, ret);
}

ofs_node ofs_ref_parse(const struct ofs_tree *t, const char *ref)
{
	return ofs_ref_read(t->ref_seed, ref);
}

/*
 * ---- numbers as programs see them: the store's own reveal how much is created and written in it,
 * and so what others do
 */

#define MADE_RANGE (UINT64_C(1) << OFS_MADE_BITS / 2)
#define COOKIE_RANGE (UINT64_C(1) << 31) /* fits in an off_t */

/* Converts a number to the one shown, or `back`. */
static uint64_t turn(int64_t seed, uint64_t range, uint64_t n, bool back)
{
	if (!seed)
		return n;
	return back ? unscramble(seed, range, n) : scramble(seed, range, n);
}

/* Shows an inode number as its ref does, so that it reveals no more. The root keeps its own. */
static uint64_t turn_ino(const struct ofs_tree *t, uint64_t ino, bool back)
{
	if (ino <= OFS_ROOT_INO || ino >= LONG_RANGE)
		return ino;
	do
		ino = turn(t->ref_seed, HALF_RANGE, ino, back);
	while (ino <= OFS_ROOT_INO);
	return ino;
}

static ofs_node turn_node(const struct ofs_tree *t, ofs_node node, bool back)
{
	const ofs_node far = OFS_NODE_LINK | OFS_NODE_FAR, kind = ofs_node_kind(node);

	if (ofs_node_is_made(node))
		return OFS_NODE_DERIVED |
		       turn(t->ref_seed, MADE_RANGE, node & ~OFS_NODE_DERIVED, back);
	if (ofs_node_is_link(node))
		return (node & far) | turn_ino(t, node & ~far, back);
	return kind ? kind | turn_ino(t, (node & ~OFS_VIRTUAL) >> OFS_ROOT_SHIFT, back)
				       << OFS_ROOT_SHIFT
		    : turn_ino(t, node, back);
}

uint64_t ofs_tree_show_node(const struct ofs_tree *t, ofs_node node)
{
	return turn_node(t, node, false);
}

ofs_node ofs_tree_shown_node(const struct ofs_tree *t, uint64_t shown)
{
	return turn_node(t, shown, true);
}

/* Each directory has positions of its own. Those of virtual entries reveal nothing and stay. */
static uint64_t turn_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool back)
{
	int64_t seed = t->ref_seed ? (int64_t)ofs_checksum(&dir, sizeof(dir), (uint64_t)t->ref_seed)
				   : 0;

	if (cookie < OFS_COOKIE_MIN)
		return cookie;
	return OFS_COOKIE_MIN + turn(seed, COOKIE_RANGE, cookie - OFS_COOKIE_MIN, back);
}

uint64_t ofs_tree_show_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t cookie)
{
	return turn_cookie(t, dir, cookie, false);
}

uint64_t ofs_tree_shown_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t shown)
{
	return turn_cookie(t, dir, shown, true);
}

/* ---- files found by their refs */

struct ofs_refs {
	/* Held while the store forgets an inode, so that nobody takes a reference meanwhile. */
	pthread_mutex_t lock;
	struct ofs_map found; /* inode -> any value; guarded by `lock` */
};

struct ofs_refs *ofs_refs_create(void)
{
	struct ofs_refs *r = ofs_alloc(sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void ofs_refs_destroy(struct ofs_refs *r)
{
	if (!r)
		return;
	ofs_map_finish(&r->found);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void ofs_ref_forget(struct ofs_tree *t, uint64_t ino, uint64_t n)
{
	OFS_LOCKED(&t->refs->lock);
	if (ofs_store_forget(t->store, ino, n) == 0)
		ofs_map_remove(&t->refs->found, ino);
}

/* Releases the ref in `root` and in the trees around it. */
static void release_ref(struct ofs_tree *t, const struct ofs_root *root, uint64_t ino)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, ino, ref);
	for (; root; root = root->above)
		t->events.release(t->events.arg, ino, ofs_root_node(root, OFS_NODE_REFS), ref);
}

struct releasing {
	struct ofs_tree *tree;
	uint64_t ino;
};

static int release_name(void *arg, uint64_t dir, const char *name)
{
	const struct releasing *r = arg;

	r->tree->events.release(r->tree->events.arg, r->ino, dir, name);
	return 0;
}

void ofs_tree_release(struct ofs_tree *t, const struct ofs_attr *attr)
{
	struct releasing r = { .tree = t, .ino = attr->ino };

	if (!attr->held || !t->events.release)
		return;
	ofs_store_names(t->store, attr->ino, release_name, &r);
	if (S_ISREG(attr->mode))
		release_ref(t, ofs_root_of_attr(t, attr), attr->ino);
}

void ofs_ref_left(struct ofs_tree *t, uint64_t dir, uint64_t ino)
{
	struct ofs_root *root;
	bool found;

	if (!ino || !t->events.release)
		return;
	pthread_mutex_lock(&t->refs->lock);
	found = ofs_map_get(&t->refs->found, ino);
	pthread_mutex_unlock(&t->refs->lock);
	if (found && ofs_root_of(t, dir, &root) == 0)
		release_ref(t, root, ino);
}

int ofs_ref_get_tombstone(struct ofs_tree *t, const struct ofs_root *root, ofs_node ino,
			  struct ofs_buf *ret, int64_t *ret_removed)
{
	int r = ino ? ofs_store_get_tombstone(t->store, ino, ret, ret_removed) : -ENOENT;
	uint64_t in = OFS_ROOT_INO;

	if (r < 0 || !root->above)
		return r;
	if (ret->len >= OFS_TOMBSTONE_ROOT + 8 && ret->data[0] > 1)
		in = ofs_get_le64(ret->data + OFS_TOMBSTONE_ROOT);
	return ofs_root_is_in(ofs_root_at(t, in), root) ? 0 : -ENOENT;
}

static bool has_expired(struct ofs_tree *t, const struct ofs_root *root, ofs_node ino)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stone = OFS_BUF_INIT;
	int64_t removed;

	return ofs_ref_get_tombstone(t, root, ino, &stone, &removed) == 0;
}

int ofs_ref_lookup(struct ofs_tree *t, const struct ofs_root *root, const char *name,
		   const struct ofs_cred *cred, struct ofs_attr *ret)
{
	ofs_node ino = ofs_ref_parse(t, name);
	int r = ino ? ofs_store_hold(t->store, ino, ret) : -ENOENT;

	/* It is no longer known whether other users could have found the removed file. */
	if (r == -ENOENT && ofs_root_is_owner(t, root, cred) && has_expired(t, root, ino))
		return -EKEYEXPIRED;
	if (r < 0)
		return r;
	r = S_ISREG(ret->mode) ? ofs_place_check(t, root, ret, cred) : -ENOENT;
	if (r < 0)
		ofs_store_forget(t->store, ino, 1);
	return r;
}

/*
 * If the file loses its last name meanwhile, either this function sees that or ofs_ref_left() sees
 * the entry in `found`.
 */
int ofs_ref_lookup_name(struct ofs_tree *t, const struct ofs_root *root, const char *name,
			const struct ofs_cred *cred, struct ofs_attr *ret)
{
	int r = ofs_ref_lookup(t, root, name, cred, ret);

	if (r < 0)
		return r;
	pthread_mutex_lock(&t->refs->lock);
	ofs_map_put(&t->refs->found, ret->ino, t);
	pthread_mutex_unlock(&t->refs->lock);
	r = ofs_store_getattr(t->store, ret->ino, ret);
	if (r == 0 && !ret->nlink)
		r = -ENOENT;
	if (r < 0)
		ofs_ref_forget(t, ret->ino, 1);
	return r;
}
