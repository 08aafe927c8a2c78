/* SPDX-License-Identifier: MIT */
#include "tree/search/search.h"

#include <inttypes.h>
#include <limits.h>

#include "base/fold.h"
#include "base/redact.h"
#include "base/text.h"
#include "tree/core/slice.h"

#define HEAD_LINES 5 /* lines named if only the names match */
#define HEAD_READ 16384 /* bytes in which these are counted */
#define BINARY_READ 8192 /* a NUL within these bytes: not text */

struct ofs_hit {
	int64_t rank; /* the score in millionths; the highest comes first */
	int64_t mtime;
	uint64_t ino, dir;
	char *path;
	char suffix[48]; /* the slice, or "" */
	struct ofs_buf snippet;
	struct ofs_buf why; /* explanation line, if asked for */
};

void ofs_hits_finish(struct ofs_search *s)
{
	for (size_t i = 0; i < s->nhits; i++) {
		free(s->hits[i].path);
		ofs_buf_finish(&s->hits[i].snippet);
		ofs_buf_finish(&s->hits[i].why);
	}
	free(s->hits);
}

/* ---- the slice */

static void write_lines(struct ofs_hit *hit, uint64_t first, uint64_t last)
{
	if (first == last)
		snprintf(hit->suffix, sizeof(hit->suffix), ":%" PRIu64, first);
	else
		snprintf(hit->suffix, sizeof(hit->suffix), ":%" PRIu64 "-%" PRIu64, first, last);
}

/*
 * Chooses the slice: the passage's lines, or bytes around the match if the limits of a slice would
 * cut the match off.
 */
static void choose_slice(const struct ofs_search *s, const struct ofs_passage *p, uint64_t size,
			 struct ofs_hit *hit)
{
	uint64_t most = s->tree->slice_max_bytes ? s->tree->slice_max_bytes : UINT64_MAX;
	uint64_t lines = s->tree->slice_max_lines ? s->tree->slice_max_lines : UINT64_MAX;
	uint64_t from = p->off;
	/* A file that grew after its size was taken still has the match. */
	uint64_t to = OFS_MAX(OFS_MIN(p->end, size), p->match_end);

	if (p->whole && p->match_end - p->off <= most && p->last - p->first < lines) {
		write_lines(hit, p->first, p->last);
		return;
	}
	if (p->match_end - from > most)
		from = p->match - OFS_MIN(p->match - p->off, most / 4);
	to = from + OFS_MIN(to - from, most);
	snprintf(hit->suffix, sizeof(hit->suffix), ":b%" PRIu64 "-%" PRIu64, from, to - 1);
}

/* Chooses the first lines; none if the file is empty or not text. */
static int choose_head(const struct ofs_search *s, const struct ofs_attr *file, struct ofs_hit *hit)
{
	OFS_FREE char *text = ofs_alloc(HEAD_READ);
	ssize_t n = ofs_store_read(s->tree->store, file->ino, text, HEAD_READ, 0);
	uint64_t lines;

	if (n < 0)
		return n == -ENOENT || n == -EIO ? 0 : (int)n;
	if (!n || memchr(text, 0, OFS_MIN((size_t)n, (size_t)BINARY_READ)))
		return 0;
	lines = ofs_text_newlines(text, (size_t)n) + (text[n - 1] != '\n');
	write_lines(hit, 1, OFS_MIN(lines, (uint64_t)HEAD_LINES));
	return 0;
}

/* ---- adding */

static void list_words(const struct ofs_query *q, uint32_t words, struct ofs_buf *out)
{
	const char *comma = " ";

	for (size_t i = 0; i < q->nforms; i++) {
		const struct ofs_form *f = &q->forms[i];

		if (f->kind == OFS_FORM_TYPO || !(words >> f->word & 1))
			continue;
		ofs_buf_printf(out, "%s%.*s", comma, (int)f->len, f->text);
		comma = ", ";
		words &= ~(UINT32_C(1) << f->word);
	}
}

static void explain(const struct ofs_query *q, uint32_t label, const struct ofs_passage *p,
		    double score, struct ofs_buf *out)
{
	ofs_buf_printf(out, "\t%.2f", score);
	if (p && p->by_words) {
		ofs_buf_printf(out, "; by words no. %u:", p->by_words);
		list_words(q, p->words, out);
	}
	if (p && p->exact)
		ofs_buf_append_str(out, "; as written");
	if (p && p->by_meaning)
		ofs_buf_printf(out, "; by meaning no. %u: %.2f", p->by_meaning, p->cosine);
	if (label) {
		ofs_buf_append_str(out, "; names have");
		list_words(q, label, out);
	}
}

int ofs_hits_add(struct ofs_search *s, const struct ofs_answer *a, uint32_t label,
		 const struct ofs_passages *passages, const struct ofs_passage *p, double score)
{
	struct ofs_hit hit = { .rank = (int64_t)(score * 1e6),
			       .ino = a->attr.ino,
			       .mtime = a->attr.mtime };
	const char *path = (const char *)a->place.path.data, *slash = strrchr(path, '/');
	const char *shown = a->title && a->title[0] ? a->title : slash ? slash + 1 : path;
	char name[OFS_NAME_MAX + 1];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf full = OFS_BUF_INIT;
	int r = ofs_store_name_of(s->tree->store, hit.ino, &hit.dir, name);

	if (r == 0)
		r = ofs_root_path(s->tree, a->place.root, s->root, &full);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (p)
		choose_slice(s, p, a->attr.size, &hit);
	else
		r = choose_head(s, &a->attr, &hit);
	if (r < 0)
		return r;
	if (p) {
		ofs_passage_snippet(passages, p, &hit.snippet);
	} else {
		OFS_FREE char *text = ofs_redact_string(shown);

		ofs_snippet_append(&hit.snippet, text, strlen(text), 0);
	}
	if (s->query->why)
		explain(s->query, label, p, score, &hit.why);
	ofs_buf_append_str(&full, path);
	hit.path = ofs_buf_steal_str(&full);
	*ofs_append(s->hits, s->nhits, s->cap_hits) = hit;
	return 0;
}

/* ---- writing */

static int compare_hits(const void *a, const void *b)
{
	const struct ofs_hit *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	if (x->mtime != y->mtime)
		return x->mtime > y->mtime ? -1 : 1;
	return x->ino > y->ino ? -1 : x->ino < y->ino;
}

/* Whether the path is one line of UTF-8 without ": ". */
static bool is_plain(const char *path)
{
	size_t len = strlen(path), n;
	uint32_t c;

	if (len >= PATH_MAX - 512 || strstr(path, ": "))
		return false;
	for (; len; path += n, len -= n) {
		n = ofs_fold_decode(path, len, &c);
		if (c == OFS_FOLD_INVALID || ofs_fold_is_control(c))
			return false;
	}
	return true;
}

/* Whether PATH with the slice leads to the hit, and a reader can tell where it ends. */
static bool is_readable(const struct ofs_search *s, const struct ofs_hit *hit)
{
	const char *slash = strrchr(hit->path, '/');
	const char *base = slash ? slash + 1 : hit->path;
	OFS_FREE char *name = NULL;
	struct ofs_slice_spec spec;
	struct ofs_attr other;
	size_t len;

	if (!is_plain(hit->path) || strlen(base) + strlen(hit->suffix) > OFS_NAME_MAX)
		return false;
	if (!hit->suffix[0])
		return ofs_slice_parse(base, &len, &spec) == -ENOENT;
	name = ofs_format("%s%s", base, hit->suffix);
	/* If a file has that very name, it would be opened instead of the slice. */
	if (ofs_store_lookup(s->tree->store, hit->dir, name, &other) < 0)
		return true;
	ofs_store_forget(s->tree->store, other.ino, 1);
	return false;
}

static void write_hit(const struct ofs_search *s, const struct ofs_hit *hit, struct ofs_buf *out)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_format(s->tree, hit->ino, ref);
	if (is_readable(s, hit))
		ofs_buf_printf(out, "%s%s: ", hit->path, hit->suffix);
	else
		ofs_buf_printf(out, "refs/%s%s: ", ref, hit->suffix);
	ofs_buf_append(out, hit->snippet.data, hit->snippet.len);
	ofs_buf_append_str(out, "\n");
	if (!hit->why.len)
		return;
	ofs_buf_append(out, hit->why.data, hit->why.len);
	ofs_buf_append_str(out, "\n");
}

void ofs_hits_write(struct ofs_search *s, struct ofs_buf *out)
{
	if (s->nhits)
		qsort(s->hits, s->nhits, sizeof(*s->hits), compare_hits);
	for (size_t i = 0; i < s->nhits && i < OFS_HITS_MAX; i++)
		write_hit(s, &s->hits[i], out);
}
