/* SPDX-License-Identifier: MIT */

#include "tree/virtual/made.h"

#include <pthread.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/util.h"
#include "codec/hash.h"
#include "codec/zstd.h"
#include "tree/core/stat.h"
#include "tree/core/tree_state.h"

/* Sizes of texts that are compressed; not larger ones, since each read expands the whole text. */
#define PACK_MIN ((size_t)32 << 10)
#define PACK_MAX ((size_t)1 << 20)
#define PACK_LEVEL 1
#define SLICE_LOOKS_MAX 1000 /* nodes searched for the latest slices */
#define TEXTS_MAX 8 /* texts kept of a kind in a tree */
#define TEXT_MAX ((size_t)1 << 20) /* bytes of a text that is kept */
#define KEPT_MAX ((size_t)64 << 20) /* bytes of all texts of an agent, with agents in it */

/* A kept text is given again while one of these conditions holds. Ages are since it was made. */
static const struct rule {
	int64_t fresh; /* it is younger than this */
	int64_t settled, seen; /* it is younger than `settled`, and was given within `seen` */
	int64_t same; /* it is younger than this, and its state is the same */
} rules[OFS_KEPT_KINDS] = {
	[OFS_KEPT_STATUS] = { OFS_NS_PER_S, 10 * OFS_NS_PER_S, OFS_NS_PER_S / 4, 0 },
	/* Limited even in the same state: ages in a query are relative to now. */
	[OFS_KEPT_SEARCH] = { OFS_NS_PER_S, 2 * OFS_NS_PER_S, OFS_NS_PER_S / 10,
			      10 * OFS_NS_PER_S },
	[OFS_KEPT_LIST] = { 0, 0, 0, 2 * OFS_NS_PER_S },
	[OFS_KEPT_RECAP] = { 0, 0, 0, INT64_MAX },
};

struct text {
	char *name; /* NULL: unused */
	uint64_t state;
	struct ofs_buf buf;
	int64_t made, seen; /* monotonic */
};

/*
 * The texts of a kind. Each tree has its own, so that the time to get one does not reveal what
 * others ask for.
 */
struct texts {
	pthread_mutex_t lock; /* guards the list; held while a text is made */
	struct text list[TEXTS_MAX];
};

struct kept {
	struct ofs_root *root;
	size_t users; /* guarded by ofs_made_nodes.lock, as is `dropped` */
	bool dropped; /* the last user frees it */
	struct texts kinds[OFS_KEPT_KINDS];
};

struct ofs_made_nodes {
	/* Guards what follows; nothing else is called under it. */
	pthread_mutex_t lock;
	struct ofs_map nodes; /* node -> struct ofs_made */
	struct ofs_map emptied; /* node without content -> its number of references */
	TAILQ_HEAD(made_list, ofs_made) by_use; /* nodes with `bytes`, most recently used last */
	size_t bytes; /* their sum */
	struct ofs_map kept; /* inode of a tree's directory -> struct kept */

	uint8_t secret[OFS_SHA256_SIZE]; /* constant; see ofs_made_derive() */
};

struct ofs_made_nodes *ofs_made_nodes_create(void)
{
	struct ofs_made_nodes *n = ofs_alloc(sizeof(*n));

	if (getrandom(n->secret, sizeof(n->secret), 0) != sizeof(n->secret)) {
		free(n);
		return NULL;
	}
	pthread_mutex_init(&n->lock, NULL);
	TAILQ_INIT(&n->by_use);
	return n;
}

static void made_destroy(struct ofs_made *m)
{
	if (!m)
		return;
	if (m->slice) {
		free(m->slice->path);
		ofs_buf_finish(&m->slice->range.notice);
		free(m->slice);
	}
	ofs_buf_finish(&m->text);
	free(m);
}

/* Frees a text. */
static void text_drop(struct text *text, struct ofs_root *root)
{
	atomic_fetch_sub(&ofs_root_agent(root)->kept, text->buf.cap);
	ofs_buf_finish(&text->buf);
	free(ofs_steal(text->name));
}

static void kept_destroy(struct kept *kept)
{
	for (size_t i = 0; i < OFS_KEPT_KINDS; i++) {
		for (size_t k = 0; k < TEXTS_MAX; k++)
			text_drop(&kept->kinds[i].list[k], kept->root);
		pthread_mutex_destroy(&kept->kinds[i].lock);
	}
	free(kept);
}

void ofs_made_nodes_destroy(struct ofs_made_nodes *n)
{
	struct kept *kept;
	struct ofs_made *m;
	size_t pos = 0;

	if (!n)
		return;
	while ((m = ofs_map_next(&n->nodes, &pos)))
		made_destroy(m);
	ofs_map_finish(&n->nodes);
	ofs_map_finish(&n->emptied);
	pos = 0;
	while ((kept = ofs_map_next(&n->kept, &pos)))
		kept_destroy(kept);
	ofs_map_finish(&n->kept);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

uint64_t ofs_made_count(struct ofs_tree *t)
{
	OFS_LOCKED(&t->made->lock);

	return t->made->nodes.count + t->made->emptied.count;
}

static size_t size_of(const struct ofs_made *m)
{
	size_t slice =
		m->slice ? sizeof(*m->slice) + strlen(m->slice->path) + m->slice->range.notice.cap
			 : 0;

	return S_ISDIR(m->attr.mode) ? 0 : sizeof(*m) + m->text.cap + slice;
}

/* Removes a node from the table without freeing it. */
static void take_out(struct ofs_made_nodes *n, struct ofs_made *m)
{
	ofs_map_remove(&n->nodes, m->node);
	if (m->bytes)
		TAILQ_REMOVE(&n->by_use, m, by_use);
	n->bytes -= m->bytes;
}

/* Empties the least recently used nodes until the rest is within the limit. */
static void relieve(struct ofs_made_nodes *n)
{
	struct ofs_made *m = TAILQ_FIRST(&n->by_use), *next;

	for (; m && n->bytes > OFS_MADE_BYTES_MAX; m = next) {
		next = TAILQ_NEXT(m, by_use);
		if (m->users)
			continue;
		take_out(n, m);
		ofs_map_put(&n->emptied, m->node, (void *)(uintptr_t)m->refs);
		made_destroy(m);
	}
}

static void note_use(struct ofs_made_nodes *n, struct ofs_made *m)
{
	if (!m->bytes)
		return;
	TAILQ_REMOVE(&n->by_use, m, by_use);
	TAILQ_INSERT_TAIL(&n->by_use, m, by_use);
}

ofs_node ofs_made_share(struct ofs_tree *t, struct ofs_made *m)
{
	struct ofs_made_nodes *n = t->made;
	OFS_LOCKED(&n->lock);
	struct ofs_made *there;
	ofs_node node;

	while ((there = ofs_map_get(&n->nodes, m->node)) &&
	       memcmp(there->id, m->id, sizeof(m->id)) != 0)
		m->node = OFS_NODE_DERIVED | ((m->node + 1) & OFS_MADE_MASK);
	node = m->node;
	if (there) {
		there->refs++;
		note_use(n, there);
		if (there->slice)
			there->slice->asked = m->slice->asked;
		made_destroy(m);
		return node;
	}
	m->refs = 1 + (uintptr_t)ofs_map_remove(&n->emptied, m->node);
	m->attr.ino = m->node;
	m->bytes = size_of(m);
	n->bytes += m->bytes;
	ofs_map_put(&n->nodes, m->node, m);
	if (m->bytes)
		TAILQ_INSERT_TAIL(&n->by_use, m, by_use);
	relieve(n);
	return node;
}

struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node)
{
	OFS_LOCKED(&t->made->lock);
	struct ofs_made *m = ofs_map_get(&t->made->nodes, node);

	if (m) {
		m->refs++;
		m->users++;
		note_use(t->made, m);
	}
	return m;
}

/* `lock` held. Drops references of a node that has its content. */
static void unref(struct ofs_made_nodes *n, struct ofs_made *m, uint64_t refs)
{
	m->refs -= OFS_MIN(refs, m->refs);
	if (m->refs)
		return;
	take_out(n, m);
	made_destroy(m);
}

void ofs_made_put(struct ofs_tree *t, struct ofs_made *m)
{
	if (!m)
		return;
	OFS_LOCKED(&t->made->lock);
	m->users--;
	unref(t->made, m, 1);
}

void ofs_made_forget(struct ofs_tree *t, ofs_node node, uint64_t n)
{
	OFS_LOCKED(&t->made->lock);
	struct ofs_made *m = ofs_map_get(&t->made->nodes, node);
	uint64_t refs;

	if (m) {
		unref(t->made, m, n);
		return;
	}
	refs = (uintptr_t)ofs_map_remove(&t->made->emptied, node);
	if (refs > n)
		ofs_map_put(&t->made->emptied, node, (void *)(uintptr_t)(refs - n));
}

size_t ofs_made_list_slices(struct ofs_tree *t, struct ofs_slice_use *ret, size_t max)
{
	OFS_LOCKED(&t->made->lock);
	const struct ofs_made *m;
	size_t n = 0, looks = 0;

	TAILQ_FOREACH_REVERSE(m, &t->made->by_use, made_list, by_use)
	{
		if (n == max || ++looks > SLICE_LOOKS_MAX)
			break;
		if (m->slice)
			ret[n++] = (struct ofs_slice_use){ .base = m->slice->base,
							   .spec = m->slice->spec,
							   .bytes = m->slice->range.len,
							   .asked = m->slice->asked };
	}
	return n;
}

/*
 * Texts of all trees share the table, and an agent can choose its own: with a hash that it can
 * compute, or a weak one whose key it can infer from st_ino, it could look for the number of
 * another's text.
 */
ofs_node ofs_made_derive(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_attr *access, const void *what, size_t len,
			 uint8_t ret_id[OFS_SHA256_SIZE])
{
	const uint64_t head[] = { parent, access->mode & 0444, access->uid, access->gid };
	struct ofs_sha256 *h = ofs_sha256_create();
	uint64_t number;

	ofs_sha256_update(h, t->made->secret, sizeof(t->made->secret));
	ofs_sha256_update(h, head, sizeof(head));
	ofs_sha256_update(h, name, strlen(name) + 1);
	ofs_sha256_update(h, what, len);
	ofs_sha256_final(h, ret_id);
	ofs_sha256_destroy(h);
	memcpy(&number, ret_id, sizeof(number));
	return OFS_NODE_DERIVED | (number & OFS_MADE_MASK);
}

static bool is_known(struct ofs_made_nodes *n, ofs_node node)
{
	OFS_LOCKED(&n->lock);

	return ofs_map_get(&n->nodes, node);
}

/*
 * Compresses a long text if that halves it. Skips one whose node exists, since it is about to be
 * freed by ofs_made_share().
 */
static void pack(struct ofs_made_nodes *n, struct ofs_made *m)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf packed = OFS_BUF_INIT;
	struct ofs_compressor *c;

	if (m->text.len < PACK_MIN || m->text.len > PACK_MAX || is_known(n, m->node))
		return;
	c = ofs_compressor_create();
	if (ofs_compress(c, PACK_LEVEL, m->text.data, m->text.len, &packed) == 0 &&
	    packed.len < m->text.len / 2) {
		m->packed = true;
		ofs_buf_finish(&m->text);
		ofs_buf_append(&m->text, packed.data, packed.len); /* a buffer of the exact size */
	}
	ofs_compressor_destroy(c);
}

int ofs_made_get_text(const struct ofs_made *m, struct ofs_buf *out)
{
	size_t len = (size_t)m->attr.size;
	int r;

	if (!m->packed) {
		ofs_buf_append(out, m->text.data, m->text.len);
		return 0;
	}
	ofs_buf_reserve(out, len);
	r = ofs_decompress(m->text.data, m->text.len, out->data + out->len, len);
	if (r == 0)
		out->len += len;
	return r;
}

void ofs_made_text(struct ofs_tree *t, ofs_node parent, const char *name,
		   const struct ofs_attr *attr, struct ofs_buf *text, struct ofs_entry *ret)
{
	struct ofs_made *m = ofs_alloc(sizeof(*m));

	m->node = ofs_made_derive(t, parent, name, attr, text->data, text->len, m->id);
	m->attr = *attr;
	m->attr.ino = m->node;
	m->attr.mode = S_IFREG | (attr->mode & 0444);
	m->attr.nlink = 1;
	m->attr.size = text->len;
	m->attr.shown = 0;
	m->text = *text;
	*text = (struct ofs_buf)OFS_BUF_INIT;
	pack(t->made, m);
	ofs_stat_fill_entry(&m->attr, false, ret);
	ret->node = ret->attr.st_ino = ofs_made_share(t, m);
}

/* ---- texts that are kept */

static bool is_called(const struct text *text, const char *name)
{
	return text->name && strcmp(text->name, name) == 0;
}

/* Returns the text of that name, else the one given least recently, to be replaced. */
static struct text *find_text(struct texts *texts, const char *name)
{
	struct text *oldest = &texts->list[0];

	for (size_t i = 0; i < TEXTS_MAX; i++) {
		if (is_called(&texts->list[i], name))
			return &texts->list[i];
		if (texts->list[i].seen < oldest->seen)
			oldest = &texts->list[i];
	}
	return oldest;
}

static bool is_good(const struct rule *rule, const struct text *text, uint64_t state)
{
	int64_t now = ofs_clock_monotonic(), age = now - text->made;

	return age < rule->fresh || (age < rule->settled && now - text->seen < rule->seen) ||
	       (age < rule->same && text->state == state);
}

/* Returns the texts of a tree, to be given back to release_kept(). */
static struct kept *use_kept(struct ofs_tree *t, struct ofs_root *root)
{
	OFS_LOCKED(&t->made->lock);
	struct kept *kept = ofs_map_get(&t->made->kept, root->ino);

	if (!kept) {
		kept = ofs_alloc(sizeof(*kept));
		kept->root = root;
		for (size_t i = 0; i < OFS_KEPT_KINDS; i++)
			pthread_mutex_init(&kept->kinds[i].lock, NULL);
		ofs_map_put(&t->made->kept, root->ino, kept);
	}
	kept->users++;
	return kept;
}

static void release_kept(struct ofs_tree *t, struct kept *kept)
{
	bool last;

	pthread_mutex_lock(&t->made->lock);
	last = --kept->users == 0 && kept->dropped;
	pthread_mutex_unlock(&t->made->lock);
	if (last)
		kept_destroy(kept);
}

void ofs_made_drop_kept(struct ofs_tree *t, const struct ofs_root *root)
{
	struct kept *kept;

	pthread_mutex_lock(&t->made->lock);
	kept = ofs_map_remove(&t->made->kept, root->ino);
	if (kept) {
		kept->dropped = true;
		kept->users++;
	}
	pthread_mutex_unlock(&t->made->lock);
	if (kept)
		release_kept(t, kept);
}

static int keep(struct ofs_tree *t, struct kept *kept, enum ofs_kept_kind kind, const char *name,
		uint64_t state, ofs_kept_fn make, void *arg, struct ofs_buf *out)
{
	_Atomic size_t *sum = &ofs_root_agent(kept->root)->kept;
	struct texts *texts = &kept->kinds[kind];
	OFS_LOCKED(&texts->lock);
	struct text *text = find_text(texts, name);
	int r = 0;

	if (!is_called(text, name) || !is_good(&rules[kind], text, state)) {
		text_drop(text, kept->root);
		text->made = ofs_clock_monotonic();
		text->state = state;
		r = make(t, arg, &text->buf);
		atomic_fetch_add(sum, text->buf.cap);
	}
	if (r < 0)
		return r;
	ofs_buf_append(out, text->buf.data, text->buf.len);
	text->seen = ofs_clock_monotonic();
	if (r > 0 || text->buf.len > TEXT_MAX || atomic_load(sum) > KEPT_MAX)
		text_drop(text, kept->root);
	else if (!text->name)
		text->name = ofs_strdup(name);
	return 0;
}

int ofs_made_keep(struct ofs_tree *t, struct ofs_root *root, enum ofs_kept_kind kind,
		  const char *name, uint64_t state, ofs_kept_fn make, void *arg,
		  struct ofs_buf *out)
{
	struct kept *kept = use_kept(t, root);
	int r = keep(t, kept, kind, name, state, make, arg, out);

	release_kept(t, kept);
	return r;
}

int ofs_made_answer(struct ofs_tree *t, ofs_node parent, const char *name,
		    const struct ofs_cred *cred, const struct ofs_answers *answers,
		    struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_asked asked = { ofs_root_of_node(t, parent), name };
	struct ofs_attr attr;
	int r;

	if (!asked.root)
		return -ESTALE;
	if (!ofs_root_is_owner(t, asked.root, cred))
		return -EACCES;
	r = ofs_made_keep(t, asked.root, answers->kind, name, answers->state(t, asked.root),
			  answers->make, &asked, &text);
	if (r < 0)
		return r;
	ofs_stat_make_up(t, asked.root, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, parent, name, &attr, &text, ret);
	return 0;
}
