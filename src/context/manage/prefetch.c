/* SPDX-License-Identifier: MIT */
#include "context/manage/prefetch.h"

#include <ctype.h>

#include "base/map.h"
#include "base/text.h"
#include "codec/hash.h"
#include "tree/search/passage.h"

#define TERMS_MAX 24
#define TERM_MAX 100 /* bytes */
#define SLICE_BYTES 6000
/* Of the best passage's score, what others must have. */
#define SHARE 0.5
/* Of all terms, what a passage must have. */
#define COVERAGE 0.4
/* What has a NUL in its first bytes is no text. */
#define BINARY_PROBE 8192

#define OPEN "<offloaded_context id=\""
#define AFTER_ID "\">\n"
#define CLOSE "</offloaded_context>"
#define ID_LEN 16

/* Words that ask for nothing by themselves. */
static const char stops[] =
	" about above actually after again agree all alright already also always and another any "
	"anything are ask away back because been before being below between both but can cannot "
	"check come continue could did does doing don done down during each either else even ever "
	"every everything explain few find fine first for from further get give going good got "
	"great had has have having hello help her here hers hey him his how however instead into "
	"its just keep know last let like look looks make many may maybe mean might more most "
	"much must need never new next nice not nothing now off okay once one only other our out "
	"over own perfect please possible proceed really right same say see seem shall she should "
	"show since some something sorry sounds still stop such sure take tell than thank thanks "
	"that the their them then there these they thing things think this those through too try "
	"under until use used using very want was way well were what when where which while who "
	"whom whose why will with without work works would wrong yeah yes yet you your yours ";

/* A passage that was found, as it will be written. */
struct found {
	double score;
	struct ofs_buf text;
};

struct fetching {
	struct ofs_query *query;
	struct found best[OFS_PREFETCH_SLICES]; /* best first */
	size_t n;
	struct ofs_map seen; /* refs and texts */
};

static void fetching_finish(struct fetching *f)
{
	for (size_t i = 0; i < OFS_PREFETCH_SLICES; i++)
		ofs_buf_finish(&f->best[i].text);
	ofs_query_destroy(f->query);
	ofs_map_finish(&f->seen);
}

/* ---- the query */

static bool is_wide(char c)
{
	return (unsigned char)c >= 0xe3;
}

static bool is_part(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || strchr("_./:-", c);
}

static bool is_stop(const char *word, size_t len)
{
	char key[TERM_MAX + 3] = " ";

	if (len < 3)
		return true;
	for (size_t i = 0; i < len; i++)
		key[i + 1] = (char)tolower((unsigned char)word[i]);
	key[len + 1] = ' ';
	return strstr(stops, key);
}

static void add_term(struct ofs_buf *out, const char *word, size_t len)
{
	if (len > 3 && word[len - 1] == 's' && word[len - 2] != 's')
		len--; /* of several things; a term is found within longer words */
	ofs_buf_printf(out, "%.*s ", (int)len, word);
}

/* The words of a question as a query; text without blanks counts as words of three characters. */
static size_t make_query(const char *text, size_t len, struct ofs_buf *ret)
{
	size_t n = 0;

	for (size_t at = 0, end; at < len && n < TERMS_MAX; at = end) {
		size_t start = at, stop;

		for (end = at + 1;
		     end < len && text[end] && is_part(text[end]) && is_part(text[at]); end++)
			;
		while (start < end && !isalnum((unsigned char)text[start]) && text[start] != '_' &&
		       (unsigned char)text[start] < 0x80)
			start++;
		for (stop = end; stop > start && strchr("./:-", text[stop - 1]);)
			stop--;
		if (stop - start > TERM_MAX ||
		    ofs_text_utf8_prefix(text + start, stop - start) < stop - start)
			continue;
		if (stop > start + 9 && is_wide(text[start])) {
			for (; start + 9 <= stop && n < TERMS_MAX; start += 3, n++)
				add_term(ret, text + start, 9);
		} else if (!is_stop(text + start, stop - start) &&
			   !memchr(text + start, ':', stop - start)) {
			add_term(ret, text + start, stop - start);
			n++;
		}
	}
	return n;
}

/* Whether what a passage has is what was asked for, rather than a word of it. */
static bool answers(const struct ofs_query *q, const char *passage)
{
	size_t has = 0;

	for (size_t i = 0; i < q->wanted; i++) {
		if (ofs_match_best(&q->terms[i], passage) == OFS_MATCH_NONE)
			continue;
		/* A path, an identifier or a number says enough. */
		if (strpbrk(q->terms[i].text, "0123456789_/."))
			return true;
		has++;
	}
	return (double)has >= COVERAGE * (double)q->wanted && (has > 1 || q->wanted == 1);
}

/* ---- slices */

/* Appends a text; what is not UTF-8 in it is shown as U+FFFD. */
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

/* The lines of a passage and those around it, as many as a slice may have. */
struct range {
	size_t off, end;
	uint64_t first, last;
};

static struct range range_of(const struct ofs_passage *p, const char *text, size_t len)
{
	struct range r = { (size_t)p->off, (size_t)p->off, p->first, p->first - 1 };
	bool up = true, down = true;

	while ((up || down) && r.last + 1 - r.first < OFS_PREFETCH_LINES) {
		const char *eol = memchr(text + r.end, '\n', len - r.end), *before;
		size_t end = eol ? (size_t)(eol - text) + 1 : len, start;

		down = r.end < len && end - r.off <= SLICE_BYTES;
		if (down) {
			r.end = end;
			r.last++;
		}
		/* The passage itself comes first. */
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

/* Writes a slice. False: it is not what was asked for. */
static bool write_slice(const struct ofs_query *q, const char *path, const struct ofs_passage *p,
			const char *text, size_t len, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct range r = range_of(p, text, len);

	if (r.end == r.off) /* the line is too long */
		return false;
	ofs_buf_printf(out, "<slice path=\"%s:%llu-%llu\">\n", path, (unsigned long long)r.first,
		       (unsigned long long)r.last);
	append_valid(text + r.off, r.end - r.off, &body);
	if (!answers(q, ofs_buf_str(&body)))
		return false;
	ofs_buf_append(out, body.data, body.len);
	if (body.data[body.len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	ofs_buf_append_str(out, "</slice>\n");
	return true;
}

/* Keeps a slice if it is among the best; of equal ones, the earlier. */
static void keep(struct fetching *f, double score, struct ofs_buf *text)
{
	size_t i = f->n;

	while (i && f->best[i - 1].score < score)
		i--;
	if (i == OFS_PREFETCH_SLICES)
		return;
	if (f->n == OFS_PREFETCH_SLICES)
		ofs_buf_finish(&f->best[--f->n].text);
	memmove(&f->best[i + 1], &f->best[i], (f->n - i) * sizeof(*f->best));
	f->best[i] = (struct found){ score, ofs_buf_steal(text) };
	f->n++;
}

static void look_at(struct fetching *f, const char *path, const char *text, size_t len)
{
	struct ofs_passages passages = { 0 };
	struct range seen = { 0 };

	ofs_passages_scan(&passages, f->query, text, len, 0, 1);
	for (size_t i = 0; i < passages.n; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf slice = OFS_BUF_INIT;
		const struct ofs_passage *p = &passages.list[i];

		if (p->off >= seen.off && p->off < seen.end)
			continue; /* it stands in the slice before */
		if (write_slice(f->query, path, p, text, len, &slice)) {
			seen = range_of(p, text, len);
			keep(f, p->score, &slice);
		}
	}
	ofs_passages_finish(&passages);
}

/* Whether it was there before. */
static bool is_seen(struct fetching *f, uint64_t key)
{
	if (ofs_map_get(&f->seen, key))
		return true;
	ofs_map_put(&f->seen, key, f);
	return false;
}

int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_mark sources[], size_t n,
		       const char *query, size_t query_len, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf words = OFS_BUF_INIT, text = OFS_BUF_INIT;
	OFS_CLEANUP(fetching_finish) struct fetching f = { 0 };
	int written = 0;

	if (!make_query(query, query_len, &words) ||
	    ofs_query_parse(ofs_buf_str(&words), 0, NULL, &f.query) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		OFS_FREE char *path = ofs_shelf_ref_path(shelf, sources[i].ref);

		text.len = 0;
		if (is_seen(&f, ofs_checksum(sources[i].ref, strlen(sources[i].ref), 1)) ||
		    ofs_shelf_get_text(shelf, sources[i].ref, NULL, &text) < 0 || !text.len ||
		    memchr(text.data, 0, OFS_MIN(text.len, (size_t)BINARY_PROBE)) ||
		    is_seen(&f, ofs_checksum(text.data, text.len, 2)))
			continue;
		look_at(&f, path, (const char *)text.data, text.len);
	}
	for (size_t i = 0; i < f.n && f.best[i].score >= SHARE * f.best[0].score; i++, written++)
		ofs_buf_append(out, f.best[i].text.data, f.best[i].text.len);
	return written;
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

	/* A look at its first letter, which some escape, spares most messages the rest. */
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
