/* SPDX-License-Identifier: MIT */
/* .offload/list/<request>: a file with a page of an inventory, made by its lookup. */
#include "tree/virtual/inventory.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/thread.h"
#include "tree/core/changes.h"
#include "tree/core/label.h"
#include "tree/expiry/gc.h"
#include "tree/expiry/lifetime.h"
#include "tree/search/search.h"

#define PAGE_BYTES ((size_t)12 << 20) /* about; fewer files if their lines are long */
#define KEPT_MAX 8
#define CLOCK_EVERY 64 /* files between two looks at the clock */
#define AGAIN_NS (2 * OFS_NS_PER_S) /* a first page may be repeated: programs look names up twice */
#define PORTION_NS (300 * OFS_NS_PER_MS) /* of work; then the answer says that there is more */
#define KEPT_BYTES_MAX ((size_t)64 << 20) /* of all kept lists, except the latest */

/* A file of a page and its line, which is empty if the file is gone. */
struct row {
	const struct ofs_inventory_entry *entry;
	size_t at, len;
};

/* A page in the making; each request does a portion of the work. */
struct page {
	size_t first; /* index in the inventory */
	uint64_t max; /* files at most */
	struct row *rows; /* NULL: no page */
	struct row **order; /* `rows` by inode */
	size_t n, done;
	struct ofs_buf lines; /* in the order of inodes */
};

/* An inventory kept from page to page. It is gathered once, a portion with each request. */
struct kept {
	struct ofs_root *root;
	struct ofs_inventory_request request; /* `what` NULL: this entry is unused */
	struct ofs_inventory v;
	struct ofs_gathering *more; /* NULL: gathering is complete */
	struct page page; /* the latest; it may be looked up again */
	uint64_t page_max; /* files per page; reduced when their lines were too long */
	int64_t changed; /* last change of the tree when gathering began */
	int64_t used; /* monotonic */
	bool over; /* the last page was made */
};

struct ofs_inventories {
	pthread_mutex_t lock; /* held while a portion of a page is made */
	struct kept list[KEPT_MAX];
};

struct ofs_inventories *ofs_inventories_create(void)
{
	struct ofs_inventories *v = ofs_alloc(sizeof(*v));

	pthread_mutex_init(&v->lock, NULL);
	return v;
}

static void page_finish(struct page *p)
{
	free(p->rows);
	free(p->order);
	ofs_buf_finish(&p->lines);
	*p = (struct page){ 0 };
}

static void drop(struct kept *k)
{
	page_finish(&k->page);
	ofs_gathering_destroy(k->more);
	ofs_inventory_request_finish(&k->request);
	ofs_inventory_finish(&k->v);
	*k = (struct kept){ 0 };
}

void ofs_inventories_destroy(struct ofs_inventories *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < KEPT_MAX; i++)
		drop(&v->list[i]);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

/* Whether the request continues this inventory, or repeats the request for its first page. */
static bool is_meant(const struct kept *k, const struct ofs_root *root,
		     const struct ofs_inventory_request *q)
{
	if (!k->request.what || k->root != root || strcmp(k->request.what, q->what) != 0 ||
	    k->v.max < q->max)
		return false;
	return q->resumed ? k->request.began == q->began
			  : k->changed == ofs_changes_last(root->changes) &&
				    ofs_clock_monotonic() - k->used < AGAIN_NS;
}

/* Returns NULL if there is none. Of those that were read to their end, drops all others. */
static struct kept *find_kept(struct ofs_inventories *v, const struct ofs_root *root,
			      const struct ofs_inventory_request *q)
{
	struct kept *found = NULL;

	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &v->list[i];

		if (is_meant(k, root, q))
			found = k;
		else if (k->over)
			drop(k);
		else if (k->page.done == k->page.n)
			page_finish(&k->page);
	}
	return found;
}

/* Returns how many entries are of this agent, with the agents in it, or of the tree at the root. */
static size_t count_of(const struct ofs_inventories *v, const struct ofs_root *agent)
{
	size_t n = 0;

	for (size_t i = 0; i < KEPT_MAX; i++)
		n += v->list[i].root && ofs_root_agent(v->list[i].root) == agent;
	return n;
}

/*
 * Returns an unused entry, for which the least recently used of the agent that has most is dropped:
 * no agent keeps others from ever getting to the end of a list.
 */
static struct kept *make_room(struct ofs_inventories *v)
{
	struct kept *found = NULL;
	size_t bytes = 0, most = 0;

	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &v->list[i];
		size_t n = k->root ? count_of(v, ofs_root_agent(k->root)) : SIZE_MAX;

		bytes += k->v.cap * sizeof(*k->v.list) + k->v.names.cap;
		if (n > most || (n == most && k->used < found->used)) {
			found = k;
			most = n;
		}
	}
	for (size_t i = 0; bytes > KEPT_BYTES_MAX && i < KEPT_MAX; i++)
		drop(&v->list[i]);
	drop(found);
	return found;
}

/* Sets *ret to the inventory of request `q`, called `name`, kept or begun. Returns 0 or -errno. */
static int get(struct ofs_tree *t, struct ofs_root *root, const char *name,
	       const struct ofs_inventory_request *q, struct kept **ret)
{
	struct kept *k = find_kept(t->inventories, root, q);
	int r = 0;

	if (!k) {
		k = make_room(t->inventories);
		k->root = root;
		k->changed = ofs_changes_last(root->changes);
		k->page_max = OFS_INVENTORY_PAGE;
		r = ofs_inventory_parse(t, name, q->began, NULL, &k->request);
		if (r == 0)
			r = ofs_gathering_create(t, root, &k->request, &k->v, &k->more);
	}
	if (r == 0 && k->more)
		r = ofs_gathering_run(k->more, ofs_clock_monotonic() + PORTION_NS);
	if (r == 0) {
		ofs_gathering_destroy(k->more);
		k->more = NULL;
	}
	k->used = ofs_clock_monotonic();
	if (r < 0)
		drop(k);
	*ret = k;
	return OFS_MIN(r, 0);
}

/*
 * Finds where the page begins. A position is valid even if its file is gone, unless it is a place
 * in an earlier list.
 */
static int seek(const struct kept *k, const struct ofs_inventory_request *q, size_t *ret)
{
	const struct ofs_inventory_entry *after = &q->after, *list = k->v.list;
	size_t i;

	*ret = 0;
	if (!after->ino)
		return 0;
	if (q->order != OFS_ORDER_PATH || !k->request.after.ino) {
		*ret = OFS_BISECT(m, k->v.n,
				  list[m].key < after->key ||
					  (list[m].key == after->key && list[m].ino <= after->ino));
		return 0;
	}
	for (i = 0; i < k->v.n && list[i].ino != after->ino; i++)
		;
	*ret = i + 1;
	return i < k->v.n ? 0 : -ESTALE;
}

/* ---- the line of a file */

/* Appends a member with a string of UTF-8, or null if it is empty. */
static void append_string(struct ofs_buf *out, const char *name, const char *text)
{
	ofs_buf_append_str(out, ",\"");
	ofs_buf_append_str(out, name);
	ofs_buf_append_str(out, "\":");
	if (text && *text)
		ofs_json_append_string(text, out);
	else
		ofs_buf_append_str(out, "null");
}

/* Appends a member with any bytes: unchanged if they are UTF-8, else made readable. */
static void append_bytes(struct ofs_buf *out, const char *name, const char *bytes)
{
	bool exact = !bytes || ofs_text_is_utf8(bytes);
	OFS_FREE char *readable = exact ? NULL : ofs_text_readable(bytes);

	append_string(out, name, exact ? bytes : readable);
}

static void append_time(struct ofs_buf *out, const char *name, int64_t at)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (at != OFS_TTL_NEVER && ofs_text_time(at, &text) == 0)
		append_string(out, name, ofs_buf_str(&text));
	else
		append_string(out, name, NULL);
}

static void append_redacted(struct ofs_buf *out, const char *name, const char *text)
{
	OFS_FREE char *readable = text ? ofs_text_readable(text) : NULL;
	OFS_FREE char *shown = readable ? ofs_redact_string(readable) : NULL;

	append_string(out, name, shown);
}

static void note_important(void *arg, const struct ofs_label *l)
{
	*(bool *)arg = l && l->important;
}

static void append_file(struct ofs_tree *t, const struct ofs_answer *a, struct ofs_buf *out)
{
	const struct ofs_attr *file = &a->attr;
	struct ofs_lifetime_place in;
	int64_t end = OFS_TTL_NEVER;
	const char *state = NULL;
	bool important = false;
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, file->ino, ref);
	ofs_labels_with(t, file->ino, note_important, &important);
	if (ofs_lifetime_place_in(t, a->place.dir, &in) == 0) {
		ofs_lifetime_end(t, file, &in, &end);
		ofs_gc_word(t->gc, file, &in, &state);
	}
	ofs_buf_printf(out, "{\"ref\":\"%s\"", ref);
	append_bytes(out, "path", (const char *)a->place.path.data);
	ofs_buf_printf(out, ",\"size\":%" PRIu64 ",\"tokens\":%" PRIu64, file->size,
		       ofs_source_tokens(t, file));
	if (file->region == OFS_ROOT_INO)
		ofs_buf_printf(out, ",\"stored_bytes\":%" PRIu64, file->occupied);
	else
		ofs_buf_append_str(out, ",\"stored_bytes\":null");
	append_string(out, "tier", ofs_tier_names[ofs_place_tier(&a->place)]);
	append_bytes(out, "category", a->place.category);
	append_bytes(out, "task", a->place.task);
	append_bytes(out, "origin_task", a->place.origin.task);
	append_bytes(out, "origin_category", a->place.origin.category);
	append_redacted(out, "title", a->title);
	append_redacted(out, "tags", a->tags);
	ofs_buf_printf(out, ",\"important\":%s", important ? "true" : "false");
	append_time(out, "created", file->btime);
	append_time(out, "modified", file->mtime);
	append_time(out, "used", ofs_lifetime_used_time(t, file->used));
	append_time(out, "expires", end);
	append_string(out, "state", state);
	ofs_buf_append_str(out, "}\n");
}

/* ---- pages */

/* Whether the file is still below that path; it may have been moved since it was gathered. */
static bool is_below(const struct ofs_answer *a, const char *below)
{
	const char *path = (const char *)a->place.path.data;
	size_t len = strlen(below);

	return !len || (strncmp(path, below, len) == 0 && (!path[len] || path[len] == '/'));
}

static int compare_inodes(const void *a, const void *b)
{
	const struct row *const *x = a, *const *y = b;

	return (*x)->entry->ino < (*y)->entry->ino ? -1 : (*x)->entry->ino > (*y)->entry->ino;
}

/*
 * Begins a page at index `first`. Its lines are made in the order of inodes, since loading one
 * inode loads its neighbours, too.
 */
static void page_begin(struct page *p, const struct ofs_inventory *v, size_t first, uint64_t max)
{
	page_finish(p);
	p->first = first;
	p->max = max;
	p->n = (size_t)OFS_MIN(max, (uint64_t)(v->n - OFS_MIN(first, v->n)));
	p->rows = ofs_realloc(NULL, p->n + 1, sizeof(*p->rows));
	p->order = ofs_realloc(NULL, p->n + 1, sizeof(*p->order));
	for (size_t i = 0; i < p->n; i++) {
		p->rows[i].entry = &v->list[first + i];
		p->order[i] = &p->rows[i];
	}
	qsort(p->order, p->n, sizeof(*p->order), compare_inodes);
}

/* Makes lines until the deadline. Returns true if all are made, or PAGE_BYTES is exceeded. */
static bool page_run(struct ofs_tree *t, struct ofs_root *root,
		     const struct ofs_inventory_request *q, const struct ofs_inventory *v,
		     struct page *p, int64_t deadline)
{
	struct ofs_search search = { .tree = t, .query = q->query, .in = &root, .n_in = 1 };
	const char *names = (const char *)v->names.data;

	while (p->done < p->n && p->lines.len <= PAGE_BYTES) {
		struct row *row = p->order[p->done++];
		const struct ofs_inventory_entry *e = row->entry;
		struct ofs_answer a;

		row->at = p->lines.len;
		if (ofs_answer_load(&search, e->ino, names + e->name, &a) > 0 &&
		    is_below(&a, q->below))
			append_file(t, &a, &p->lines);
		ofs_answer_finish(&a);
		row->len = p->lines.len - row->at;
		if (p->done % CLOCK_EVERY == 0 && ofs_clock_monotonic() >= deadline)
			return false;
	}
	return true;
}

/* Returns 1 if the page at `first` is complete, 0 if there is more to do. */
static int make_lines(struct ofs_tree *t, struct ofs_root *root,
		      const struct ofs_inventory_request *q, struct kept *k, size_t first)
{
	uint64_t max = OFS_MIN(OFS_MIN(q->page, q->max), k->page_max);
	int64_t deadline = ofs_clock_monotonic() + PORTION_NS;
	struct page *p = &k->page;

	if (!p->rows || p->first != first || p->max != max)
		page_begin(p, &k->v, first, max);
	while (page_run(t, root, q, &k->v, p, deadline)) {
		if (p->done == p->n)
			return 1;
		k->page_max = max = p->done - p->done / 4;
		page_begin(p, &k->v, first, max);
	}
	return 0;
}

/* Appends a position. It names the file by its ref, since inode numbers show how many there are. */
static void append_position(struct ofs_tree *t, struct ofs_buf *out, int64_t began,
			    struct ofs_inventory_entry after)
{
	char ref[OFS_REF_SIZE] = "0";

	if (after.ino)
		ofs_ref_format(t, after.ino, ref);
	ofs_buf_printf(out, "\"next\":\"%" PRIx64 ".%" PRIx64 ".%s\"}\n", (uint64_t)began,
		       (uint64_t)after.key, ref);
}

static void append_sums(struct ofs_buf *out, const struct ofs_inventory *v)
{
	ofs_buf_printf(out,
		       "{\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"stored_bytes\":%" PRIu64
		       ",\"tokens\":%" PRIu64 ",\"uncounted\":%" PRIu64 ",",
		       v->files, v->bytes, v->stored, v->tokens, v->uncounted);
}

static void append_group(struct ofs_buf *out, const struct ofs_inventory_group *g)
{
	ofs_buf_printf(out, "{\"tier\":\"%s\"", ofs_tier_names[g->tier]);
	append_bytes(out, "category", g->category);
	ofs_buf_printf(out,
		       ",\"files\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"stored_bytes\":%" PRIu64
		       ",\"tokens\":%" PRIu64 "}\n",
		       g->files, g->bytes, g->stored, g->tokens);
}

static int make_page(struct ofs_tree *t, void *arg, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_inventory_request_finish) struct ofs_inventory_request q = { 0 };
	const struct ofs_asked *asked = arg;
	struct kept *k = NULL;
	size_t first = 0, end;
	bool is_last;
	OFS_LOCKED(&t->inventories->lock);
	int r = ofs_inventory_parse(t, asked->name, ofs_clock_wall(), NULL, &q);

	if (r == 0)
		r = get(t, asked->root, asked->name, &q, &k);
	if (r == 0 && !k->more)
		r = seek(k, &q, &first);
	if (r < 0)
		return r;
	if (k->more || !make_lines(t, asked->root, &q, k, first)) {
		ofs_buf_append_str(out, "{");
		append_position(t, out, k->request.began, q.after);
		return 1;
	}
	append_sums(out, &k->v);
	end = first + k->page.n;
	is_last = end >= k->v.n || k->page.n >= q.max;
	if (!is_last)
		append_position(t, out, k->request.began, k->v.list[end - 1]);
	else
		ofs_buf_append_str(out, "\"next\":null}\n");
	for (size_t i = 0; i < k->page.n; i++)
		if (k->page.rows[i].entry->ino != q.after.ino)
			ofs_buf_append(out, k->page.lines.data + k->page.rows[i].at,
				       k->page.rows[i].len);
	for (size_t i = 0; i < k->v.n_groups; i++)
		append_group(out, &k->v.groups[i]);
	k->over = is_last;
	return 0;
}

static uint64_t last_change(struct ofs_tree *t, struct ofs_root *root)
{
	return (uint64_t)ofs_changes_last(root->changes);
}

int ofs_inventory_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			 const struct ofs_cred *cred, struct ofs_entry *ret)
{
	static const struct ofs_answers answers = { OFS_KEPT_LIST, last_change, make_page };

	return ofs_made_answer(t, parent, name, cred, &answers, ret);
}
