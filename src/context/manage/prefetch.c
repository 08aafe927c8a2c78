/* SPDX-License-Identifier: MIT */
#include "context/manage/prefetch.h"

#include "base/map.h"
#include "base/text.h"
#include "codec/hash.h"
#include "tree/search/finder.h"
#include "tree/search/passage.h"

#define SLICE_BYTES 6000
/* The least share of the best passage's score. */
#define SHARE 0.5
/* The least share of all terms. */
#define COVERAGE 0.4
/* Bytes in which a NUL shows that content is not text. */
#define BINARY_PROBE 8192

#define OPEN "<offloaded_context id=\""
#define AFTER_ID "\">\n"
#define CLOSE "</offloaded_context>"
#define ID_LEN 16

/* Limit of all texts in memory, in bytes. */
#define TEXTS_MAX (UINT64_C(64) << 20)

/* Words of talk that ask for nothing by themselves, in addition to common words. */
static const char talk[] =
	" actually again agree alright already always another anything ask away back check come "
	"continue different done each either else even ever every everything explain few find fine "
	"first further give good great hello help hey however instead keep know last let look looks "
	"make many may maybe mean much must need never new next nice nothing okay ok once one only "
	"other perfect please possible proceed really right same say see seem shall show since "
	"something sorry sounds still stop sure take tell thank thanks thing things think try use "
	"used using want way well without work works wrong yeah yes yet ";

/* A stored text, and the path for its slices. */
struct source {
	char *path;
	struct ofs_buf text;
};

struct fetching {
	struct ofs_query *query;
	uint32_t asked; /* words that ask for something, as a bit set */
	struct source *sources;
	size_t nsources, cap_sources;
	uint64_t bytes; /* size of all texts */
	struct ofs_passages passages;
	uint64_t found[OFS_QUERY_WORDS], all; /* blocks with each word, and all blocks */
	struct ofs_map seen; /* checksums of refs and texts */
};

static void fetching_finish(struct fetching *f)
{
	for (size_t i = 0; i < f->nsources; i++) {
		free(f->sources[i].path);
		ofs_buf_finish(&f->sources[i].text);
	}
	free(f->sources);
	ofs_query_destroy(f->query);
	ofs_passages_finish(&f->passages);
	ofs_map_finish(&f->seen);
}

/* ---- the query */

/* Returns whether a stem is a word of talk. Few of those differ from their stems. */
static bool is_talk(const struct ofs_form *form)
{
	char key[OFS_WORD_MAX + 2] = " ";

	memcpy(key + 1, form->text, form->len);
	return strstr(talk, key);
}

static uint32_t words_asked(const struct ofs_query *q)
{
	uint32_t asked = 0;

	for (size_t i = 0; i < q->nforms; i++)
		if (q->words[q->forms[i].word].weight > OFS_WEIGHT_COMMON && q->forms[i].len > 2 &&
		    !is_talk(&q->forms[i]))
			asked |= UINT32_C(1) << q->forms[i].word;
	return asked;
}

/* Returns whether a word is specific enough by itself: a name or a number. */
static bool is_specific(const struct ofs_query *q, const struct ofs_form *form)
{
	for (size_t i = 0; i < form->len; i++)
		if (form->text[i] >= '0' && form->text[i] <= '9')
			return true;
	return !q->words[form->word].in_order;
}

/* Returns whether a passage has what was asked for, rather than just one word of it. */
static bool answers(const struct fetching *f, const struct ofs_passage *p)
{
	const struct ofs_query *q = f->query;
	uint32_t has = p->words & f->asked;
	int n = __builtin_popcount(has);

	for (size_t i = 0; i < q->nforms; i++)
		if (has >> q->forms[i].word & 1 && is_specific(q, &q->forms[i]))
			return true;
	return n >= COVERAGE * __builtin_popcount(f->asked) &&
	       (n > 1 || n == __builtin_popcount(f->asked));
}

/* ---- slices */

/* Appends a text, with U+FFFD for what is not UTF-8. */
static void append_valid(const char *text, size_t len, struct ofs_buf *out)
{
	while (len) {
		size_t n = ofs_text_utf8_prefix(text, len);

		ofs_buf_append(out, text, n);
		if (n < len)
			ofs_buf_append_str(out, "\xef\xbf\xbd");
		n += n < len;
		text += n;
		len -= n;
	}
}

/* A passage and the lines around it, up to the limits of a slice. */
struct range {
	size_t off, end;
	uint64_t first, last;
};

static struct range range_of(const struct ofs_passage *p, const char *text, size_t len)
{
	const char *newline = memrchr(text, '\n', p->off);
	/* A passage may be part of a line. */
	size_t from = newline ? (size_t)(newline - text) + 1 : 0;
	struct range r = { from, from, p->first, p->first - 1 };
	bool up = true, down = true;

	while ((up || down) && r.last + 1 - r.first < OFS_PREFETCH_LINES) {
		const char *eol = memchr(text + r.end, '\n', len - r.end), *before;
		size_t end = eol ? (size_t)(eol - text) + 1 : len, start;

		down = r.end < len && end - r.off <= SLICE_BYTES;
		if (down) {
			r.end = end;
			r.last++;
		}
		/* The lines of the passage itself come first. */
		up = r.off && (r.last >= p->last || !down) &&
		     r.last + 1 - r.first < OFS_PREFETCH_LINES;
		if (!up)
			continue;
		before = memrchr(text, '\n', r.off - 1);
		start = before ? (size_t)(before + 1 - text) : 0;
		up = r.end - start <= SLICE_BYTES;
		r.off = up ? start : r.off;
		r.first -= up;
	}
	return r;
}

/* Writes a slice. Returns false if its first line is too long. */
static bool write_slice(const struct source *source, const struct ofs_passage *p,
			struct ofs_buf *out)
{
	const char *text = (const char *)source->text.data;
	struct range r = range_of(p, text, source->text.len);

	if (r.end == r.off)
		return false;
	ofs_buf_printf(out, "<slice path=\"%s:%llu-%llu\">\n", source->path,
		       (unsigned long long)r.first, (unsigned long long)r.last);
	append_valid(text + r.off, r.end - r.off, out);
	if (out->data[out->len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	ofs_buf_append_str(out, "</slice>\n");
	return true;
}

/* Returns whether the key was seen before, and notes it. */
static bool is_seen(struct fetching *f, uint64_t key)
{
	if (ofs_map_get(&f->seen, key))
		return true;
	ofs_map_put(&f->seen, key, f);
	return false;
}

/* ---- sources */

/* Adds a source, unless it was seen, is unreadable, or is not text. */
static void add_source(struct fetching *f, struct ofs_shelf *shelf, const struct ofs_mark *mark)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (f->bytes > TEXTS_MAX || is_seen(f, ofs_checksum(mark->ref, strlen(mark->ref), 1)) ||
	    ofs_shelf_get_text(shelf, mark->ref, NULL, &text) < 0 || !text.len ||
	    memchr(text.data, 0, OFS_MIN(text.len, (size_t)BINARY_PROBE)) ||
	    is_seen(f, ofs_checksum(text.data, text.len, 2)))
		return;
	f->bytes += text.len;
	*ofs_append(f->sources, f->nsources, f->cap_sources) =
		(struct source){ ofs_shelf_ref_path(shelf, mark->ref), ofs_buf_steal(&text) };
}

/* Adds the parts of a text that contain words, with their surroundings, as regions. */
static void find_regions(struct fetching *f, struct ofs_finder *finder, struct source *source)
{
	const char *text = (const char *)source->text.data;
	size_t len = source->text.len, at, end, from = SIZE_MAX;
	struct ofs_text_region r = { .owner = source };

	for (at = 0; at < len; at = end) {
		uint32_t words;

		end = OFS_MIN(at + OFS_FINDER_BLOCK, len);
		words = ofs_finder_words(finder, text, len, at, end);
		f->all++;
		ofs_query_count(f->found, words | ofs_finder_unsought(finder));
		if (words & f->asked && from == SIZE_MAX)
			from = at;
		if (from == SIZE_MAX || (words & f->asked && end < len))
			continue;
		/* Extend it to whole lines. */
		for (; from && text[from - 1] != '\n' && at - from < OFS_FINDER_BLOCK; from--)
			;
		for (; end < len && text[end - 1] != '\n'; end++)
			;
		r.line = r.line ? r.line + ofs_text_newlines(r.text, from - r.off)
				: 1 + ofs_text_newlines(text, from);
		r.text = text + from;
		r.off = from;
		r.len = end - from;
		ofs_passages_add(&f->passages, &r);
		from = SIZE_MAX;
	}
}

/* Writes the best passages that no earlier slice contains. Returns their number. */
static int write_best(struct fetching *f, struct ofs_buf *out)
{
	struct range seen[OFS_PREFETCH_SLICES];
	const struct source *of[OFS_PREFETCH_SLICES];
	int n = 0;

	for (size_t i = 0; i < f->passages.n && n < OFS_PREFETCH_SLICES; i++) {
		const struct ofs_passage *p = &f->passages.list[i];
		const struct source *source = f->passages.regions[p->region].owner;
		bool stands = !answers(f, p);

		if (p->score < SHARE * f->passages.list[0].score)
			break;
		for (int k = 0; k < n; k++)
			stands = stands ||
				 (of[k] == source && p->off >= seen[k].off && p->off < seen[k].end);
		if (stands || !write_slice(source, p, out))
			continue;
		of[n] = source;
		seen[n++] = range_of(p, (const char *)source->text.data, source->text.len);
	}
	return n;
}

int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_mark sources[], size_t n,
		       const char *query, size_t query_len, struct ofs_buf *out)
{
	OFS_CLEANUP(fetching_finish) struct fetching f = { 0 };
	double weights[OFS_QUERY_WORDS];
	struct ofs_finder *finder;

	f.query = ofs_query_of_words(query, query_len);
	f.asked = words_asked(f.query);
	if (!f.asked)
		return 0;
	for (size_t i = 0; i < n; i++)
		add_source(&f, shelf, &sources[i]);
	finder = ofs_finder_create(f.query);
	for (size_t i = 0; i < f.nsources; i++)
		find_regions(&f, finder, &f.sources[i]);
	ofs_finder_destroy(finder);
	ofs_passages_weigh(f.query, f.found, f.all, weights);
	ofs_passages_rank(&f.passages, f.query, weights);
	return write_best(&f, out);
}

/* ---- the message */

static bool make_id(const void *slices, size_t len, char ret[65])
{
	uint8_t sha[OFS_SHA256_SIZE];

	if (ofs_sha256(slices, len, sha) < 0)
		return false;
	ofs_sha256_hex(sha, ret);
	ret[ID_LEN] = '\0';
	return true;
}

void ofs_prefetch_message(const void *slices, size_t len, const struct ofs_literal_style *style,
			  struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char id[65];

	make_id(slices, len, id);
	ofs_buf_printf(&text, OPEN "%s" AFTER_ID, id);
	ofs_buf_append(&text, slices, len);
	ofs_buf_append_str(&text, CLOSE);
	ofs_buf_append_str(out, "{\"role\": \"user\", \"content\": ");
	ofs_literal_encode(style, text.data, text.len, out);
	ofs_buf_append_str(out, "}, ");
}

bool ofs_prefetch_is(const struct ofs_message *message)
{
	static const size_t before = sizeof(OPEN AFTER_ID) - 1 + ID_LEN, after = sizeof(CLOSE) - 1;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span content = ofs_span_member(message->whole, "content");
	char id[65];

	/* The first letter, which some programs escape, rules out most messages at once. */
	if (message->role != OFS_ROLE_USER || !ofs_span_is_string(content) ||
	    (content.p[1] != *OPEN && content.p[1] != '\\'))
		return false;
	ofs_span_decode(content, &text);
	if (text.len < before + after || memcmp(text.data, OPEN, strlen(OPEN)) != 0 ||
	    memcmp(text.data + text.len - after, CLOSE, after) != 0)
		return false;
	return make_id(text.data + before, text.len - before - after, id) &&
	       memcmp(text.data + strlen(OPEN), id, ID_LEN) == 0;
}
