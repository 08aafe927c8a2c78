/* SPDX-License-Identifier: MIT */
#include "tree/expiry/promote.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/name.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/thread.h"
#include "base/u64_list.h"
#include "tree/core/entry_list.h"
#include "tree/core/label.h"
#include "tree/core/move.h"
#include "tree/core/place.h"
#include "tree/core/ref.h"

#define READS_MAX 1000000
#define OCCASION (60 * OFS_NS_PER_S) /* reads within it count as one */
#define NOTED_MAX 4096 /* reads waiting to be counted; more are ignored */
#define DIR_MODE 0700
#define OPEN_MODE 01777 /* if the directory above is open to all */

/* ---- the rule */

enum what {
	WHAT_NAME, /* CATEGORY/NAME */
	WHAT_TAG,
	WHAT_TITLE,
	WHATS
};

static const char *const prefixes[WHATS] = { "", "tag:", "title:" };

struct pattern {
	enum what what;
	char *text;
};

/* A file that was read, which the kernel must release again so that later reads are seen. */
struct watch {
	uint64_t ino;
	int64_t due; /* age clock */
};

struct ofs_promoter {
	struct pattern *patterns;
	size_t n, cap;
	uint32_t reads;
	struct watch *watches; /* only for the thread that counts */
	size_t nwatches, cap_watches;
	pthread_mutex_t lock; /* guards the rest; the store is not called under it */
	struct ofs_u64_list noted; /* files that were read */
	struct ofs_u64_list sealed; /* files that the kernel may still cache from their writing */
};

static bool is_pattern(enum what what, const char *text)
{
	const char *slash = strchr(text, '/');

	if (what != WHAT_NAME)
		return *text;
	return slash && slash > text && slash[1] && !strchr(slash + 1, '/');
}

/* Returns the next pattern, allocated; NULL: there are no more. */
static char *next_pattern(const char **at, enum what *ret)
{
	const char *from = *at ? *at + strspn(*at, " \t") : NULL;
	size_t len = from ? strcspn(from, ",") : 0, skip;

	if (!from)
		return NULL;
	*at = from[len] ? from + len + 1 : NULL;
	while (len && (from[len - 1] == ' ' || from[len - 1] == '\t'))
		len--;
	for (*ret = WHAT_TITLE; *ret > WHAT_NAME; (*ret)--)
		if (strncmp(from, prefixes[*ret], strlen(prefixes[*ret])) == 0)
			break;
	skip = OFS_MIN(len, strlen(prefixes[*ret]));
	return ofs_strndup(from + skip, len - skip);
}

int ofs_promote_check_match(const char *text, struct ofs_error *must)
{
	char *pattern;
	enum what what;
	bool good;

	while ((pattern = next_pattern(&text, &what))) {
		good = is_pattern(what, pattern);
		free(pattern);
		if (!good)
			return ofs_error_set(
				must, EINVAL,
				"patterns separated by commas, each CATEGORY/NAME, "
				"tag:NAME or title:TITLE, such as reports/*, tag:decision");
	}
	return 0;
}

int ofs_promote_parse_when(const char *text, uint32_t *ret, struct ofs_error *must)
{
	unsigned int n = 0;
	int end = 0;

	if (strcmp(text, "task done") == 0) {
		*ret = 0;
		return 0;
	}
	if (sscanf(text, "after %7u read%n", &n, &end) < 1 || !end ||
	    (strcmp(text + end, "s") != 0 && text[end]) || !n || n > READS_MAX)
		return ofs_error_set(must, EINVAL,
				     "'task done', or 'after N reads' with N from 1 to %d",
				     READS_MAX);
	*ret = n;
	return 0;
}

struct ofs_promoter *ofs_promoter_create(const char *match, uint32_t reads)
{
	struct ofs_promoter *p;
	enum what what;
	char *text;

	if (!match || !*match)
		return NULL;
	p = ofs_alloc(sizeof(*p));
	p->reads = reads;
	pthread_mutex_init(&p->lock, NULL);
	while ((text = next_pattern(&match, &what)))
		*ofs_append(p->patterns, p->n, p->cap) = (struct pattern){ what, text };
	return p;
}

void ofs_promoter_destroy(struct ofs_promoter *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free(p->patterns[i].text);
	free(p->patterns);
	free(p->watches);
	ofs_u64_list_finish(&p->noted);
	ofs_u64_list_finish(&p->sealed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- matching */

static const char *last_name(const struct ofs_place *place)
{
	const char *path = (const char *)place->path.data, *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool matches(struct ofs_tree *t, uint64_t ino)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_FREE char *tags = ofs_label_text(t, ino, OFS_LABEL_TAGS);
	OFS_FREE char *title = ofs_label_text(t, ino, OFS_LABEL_TITLE);
	OFS_FREE char *name = NULL;
	bool found = false;

	if (ofs_place_labelled(t, ino, &place) < 0 || ofs_place_is_kept(&place))
		return false;
	name = ofs_format("%s/%s", place.category, last_name(&place));
	for (size_t i = 0; i < t->promoter->n && !found; i++) {
		const struct pattern *p = &t->promoter->patterns[i];

		if (p->what == WHAT_TAG)
			found = ofs_label_has_tag(tags, p->text);
		else if (p->what == WHAT_TITLE)
			found = title && fnmatch(p->text, title, 0) == 0;
		else
			found = fnmatch(p->text, name, FNM_PATHNAME) == 0;
	}
	return found;
}

static void take_reads(void *arg, const struct ofs_label *l)
{
	*(uint32_t *)arg = l ? l->reads : 0;
}

bool ofs_promote_wants(struct ofs_tree *t, uint64_t ino, bool ended)
{
	uint32_t reads = 0;

	if (!t->promoter || (!t->promoter->reads && !ended))
		return false;
	if (t->promoter->reads &&
	    (ofs_labels_with(t, ino, take_reads, &reads) < 0 || reads < t->promoter->reads))
		return false;
	return matches(t, ino);
}

/* ---- counting reads */

static void release(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_attr attr;

	if (ofs_store_getattr(t->store, ino, &attr) == 0)
		ofs_tree_release(t, &attr);
}

/* Counts one read. Returns true if it is the last one needed. */
static bool count(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_reads reads = ofs_label_reads(t, ino);
	int64_t age = ofs_store_age(t->store);
	struct ofs_promoter *p = t->promoter;

	if ((reads.n && age - reads.last < OCCASION) || !matches(t, ino))
		return false;
	reads = (struct ofs_reads){ reads.n + 1, age };
	if (ofs_label_set_reads(t, ino, reads) < 0)
		return false;
	/* At once, and again when everything read on this occasion was read. */
	release(t, ino);
	if (t->background && p->nwatches < NOTED_MAX)
		*ofs_append(p->watches, p->nwatches, p->cap_watches) =
			(struct watch){ ino, age + OCCASION };
	return reads.n >= p->reads;
}

static void release_watched(struct ofs_tree *t)
{
	struct ofs_promoter *p = t->promoter;
	int64_t age = ofs_store_age(t->store);
	size_t n = 0;

	for (size_t i = 0; i < p->nwatches; i++) {
		if (p->watches[i].due > age)
			p->watches[n++] = p->watches[i];
		else
			release(t, p->watches[i].ino);
	}
	p->nwatches = n;
}

bool ofs_promote_note_read(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_promoter *p = t->promoter;
	struct ofs_attr attr;

	/* Uses are noted up to a minute ahead: a read until then belongs to the same occasion. */
	if (!p || !p->reads || ofs_store_getattr(t->store, ino, &attr) < 0 || !S_ISREG(attr.mode) ||
	    ofs_store_age(t->store) <= attr.used)
		return false;
	if (!t->background) {
		count(t, ino);
		return false;
	}
	OFS_LOCKED(&p->lock);
	if (p->noted.n < NOTED_MAX)
		ofs_u64_list_add(&p->noted, ino);
	return true;
}

void ofs_promote_note_sealed(struct ofs_tree *t, uint64_t ino)
{
	struct ofs_promoter *p = t->promoter;

	if (!p || !p->reads)
		return;
	OFS_LOCKED(&p->lock);
	if (p->sealed.n < NOTED_MAX)
		ofs_u64_list_add(&p->sealed, ino);
}

bool ofs_promote_settle(struct ofs_tree *t)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list noted = { 0 };
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list sealed = { 0 };
	struct ofs_promoter *p = t->promoter;
	bool reached = false;

	if (!p || !p->reads)
		return false;
	pthread_mutex_lock(&p->lock);
	noted = ofs_steal(p->noted);
	sealed = ofs_steal(p->sealed);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < noted.n; i++)
		reached = count(t, noted.at[i]) || reached;
	for (size_t i = 0; i < sealed.n; i++)
		if (matches(t, sealed.at[i]))
			release(t, sealed.at[i]);
	release_watched(t);
	return reached;
}

/* ---- the target */

struct target {
	uint64_t dir; /* 0: to be created */
	bool straight; /* `dir` is persistent/ itself */
};

/* Returns whether the directory belongs to the file's owner, or to the tree's owner or root. */
static bool is_usable(struct ofs_tree *t, const struct ofs_attr *dir, const struct ofs_attr *file)
{
	return S_ISDIR(dir->mode) && (dir->uid == file->uid || dir->uid == t->uid || !dir->uid);
}

static int find_dir(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_place *place,
		    struct target *ret)
{
	uint64_t above = place->root->tops[OFS_TOP_PERSISTENT];
	struct ofs_attr dir;
	int r = ofs_store_lookup(t->store, above, place->category, &dir);

	*ret = (struct target){ 0 };
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	ofs_store_forget(t->store, dir.ino, 1);
	ret->straight = !is_usable(t, &dir, file);
	ret->dir = ret->straight ? above : dir.ino;
	return 0;
}

static void tell_changed(struct ofs_tree *t, uint64_t dir)
{
	if (t->events.attr_changed)
		t->events.attr_changed(t->events.arg, dir);
}

/* A kernel that looked the name up before has cached its absence. */
static void tell_made(struct ofs_tree *t, uint64_t dir, const char *name)
{
	tell_changed(t, dir);
	if (t->events.release)
		t->events.release(t->events.arg, 0, dir, name);
}

static int make_dir(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_place *place,
		    uint64_t *ret)
{
	struct ofs_create what = { .mode = S_IFDIR | DIR_MODE, .uid = file->uid, .gid = file->gid };
	uint64_t above = place->root->tops[OFS_TOP_PERSISTENT];
	struct ofs_attr top, dir;
	int r = ofs_store_getattr(t->store, above, &top);

	if (r == 0 && (top.mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH))
		what = (struct ofs_create){ S_IFDIR | OPEN_MODE, top.uid, top.gid, 0, NULL };
	if (r == 0)
		r = ofs_store_create(t->store, above, place->category, &what, &dir);
	if (r < 0)
		return r;
	ofs_store_forget(t->store, dir.ino, 1);
	tell_made(t, above, place->category);
	*ret = dir.ino;
	return 0;
}

int ofs_promote_where(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_map *planned,
		      struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	char name[OFS_NAME_NUMBERED_MAX + 1];
	OFS_FREE char *path = NULL;
	struct target to;
	struct ofs_attr there;
	uint64_t key = 0, base = 0;
	unsigned int n, next;
	int r = ofs_place_labelled(t, file->ino, &place);

	if (r == 0)
		r = find_dir(t, file, &place, &to);
	for (n = 1; r == 0; n++) {
		ofs_name_number(last_name(&place), n, name);
		free(path);
		path = ofs_format("persistent/%s%s%s", to.straight ? "" : place.category,
				  to.straight ? "" : "/", name);
		key = ofs_entry_list_key(path) + place.root->ino;
		next = (unsigned int)(uintptr_t)ofs_map_get(planned, key);
		if (n == 1)
			base = key;
		if (n == 1 && next > 2)
			n = next - 1;
		if (next)
			continue;
		r = to.dir ? ofs_store_lookup(t->store, to.dir, name, &there) : -ENOENT;
		if (r == 0)
			ofs_store_forget(t->store, there.ino, 1);
	}
	if (r != -ENOENT)
		return r;
	ofs_map_put(planned, key, (void *)(uintptr_t)1);
	ofs_map_put(planned, base, (void *)(uintptr_t)n); /* n is one more than was used */
	ofs_buf_append_str(out, path);
	return 0;
}

int ofs_promote_file(struct ofs_tree *t, const struct ofs_attr *file, int64_t used,
		     const struct ofs_expire_guard *guard, struct ofs_map *numbers)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	char old[OFS_NAME_MAX + 1], name[OFS_NAME_NUMBERED_MAX + 1];
	struct ofs_move m = { .name = old,
			      .newname = name,
			      .flags = RENAME_NOREPLACE,
			      .ino = file->ino,
			      .used = used,
			      .guard = *guard };
	struct target to;
	unsigned int n;
	uint64_t key;
	int r = ofs_place_labelled(t, file->ino, &place);

	if (r == 0)
		r = ofs_store_name_of(t->store, file->ino, &m.dir, old);
	if (r == 0)
		r = find_dir(t, file, &place, &to);
	if (r == 0 && !to.dir)
		r = make_dir(t, file, &place, &to.dir);
	if (r < 0)
		return r;
	m.newdir = to.dir;
	key = ofs_entry_list_key(old) + to.dir;
	n = OFS_MAX((unsigned int)(uintptr_t)ofs_map_get(numbers, key), 1u);
	for (r = -EEXIST; r == -EEXIST; n++) {
		ofs_name_number(old, n, name);
		r = ofs_tree_move(t, &m);
	}
	if (r < 0)
		return r;
	ofs_map_put(numbers, key, (void *)(uintptr_t)n);
	if (file->held && t->events.release)
		t->events.release(t->events.arg, file->ino, m.dir, old);
	tell_made(t, m.newdir, name);
	tell_changed(t, m.dir);
	return 0;
}
