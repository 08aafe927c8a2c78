/* SPDX-License-Identifier: MIT */
/* A digest as text, and back. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tokens.h"
#include "base/util.h"
#include "context/snapshot/digest.h"
#include "context/snapshot/prose.h"

/* Refs have 6 to 8 letters and digits. */
#define REF_MIN 6
#define REF_MAX 8
/* Of paths alone, when there is no room for what they are. */
#define ALSO "also stored in "
#define OVER " (went well later)"
#define LINE_TOKENS 2 /* "- " and the end of the line */
#define TITLE_TOKENS 4
/* Decisions of little worth: what was about to be done, which is told by what came of it. */
#define INTENTIONS_MAX 5

static const char *const titles[OFS_TOPICS] = {
	[OFS_TOPIC_GOAL] = "Goal:",	      [OFS_TOPIC_DECISIONS] = "Decisions:",
	[OFS_TOPIC_DONE] = "Done:",	      [OFS_TOPIC_LOOKED] = "Looked up:",
	[OFS_TOPIC_FILES] = "Files touched:", [OFS_TOPIC_ERRORS] = "Errors:",
	[OFS_TOPIC_OPEN] = "Open ends:",      [OFS_TOPIC_REFERENCES] = "References:",
};

static const char *const touches[OFS_TOUCHES] = { "created", "written", "read", "run", "deleted" };

/* ---- reading */

static void cut_front(const char **p, size_t *len, size_t n)
{
	*p += n;
	*len -= n;
}

/* " x12" at the end, or 1. */
static uint32_t cut_times(const char *p, size_t *len)
{
	size_t i = *len;
	uint32_t times = 0, unit = 1;

	while (i && ofs_prose_is_digit(p[i - 1]) && *len - i < 9) {
		times += unit * (uint32_t)(p[--i] - '0');
		unit *= 10;
	}
	if (i == *len || i < 2 || p[i - 1] != 'x' || p[i - 2] != ' ')
		return 1;
	*len = i - 2;
	return OFS_MAX(times, 1u);
}

/* "PATH (created, written x2)" */
static void read_file(struct ofs_digest *d, const char *p, size_t len)
{
	const char *open = memrchr(p, '(', len);
	size_t path_len, at;

	if (!open || open - p < 2 || open[-1] != ' ' || p[len - 1] != ')')
		return;
	path_len = (size_t)(open - 1 - p);
	at = path_len + 2;
	while (at < len - 1) {
		const char *comma = memchr(p + at, ',', len - 1 - at);
		size_t next = comma ? (size_t)(comma - p) : len - 1, n = next - at;
		uint32_t times = cut_times(p + at, &n);

		for (size_t i = 0; i < OFS_TOUCHES; i++) {
			if (n == strlen(touches[i]) && memcmp(p + at, touches[i], n) == 0)
				ofs_digest_touch(d, p, path_len, (enum ofs_touch)i, times);
		}
		at = next + 2;
	}
}

static bool ends_with(const char *p, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(p + len - n, end, n) == 0;
}

static void read_counted(struct ofs_digest *d, enum ofs_topic topic, const char *p, size_t len,
			 enum ofs_worth worth)
{
	bool over = ends_with(p, len, OVER);
	uint32_t times;
	struct ofs_item *item;

	len -= over ? strlen(OVER) : 0;
	times = cut_times(p, &len);
	item = ofs_digest_add(d, topic, ofs_digest_key(p, len), worth, p, len);
	item->times += times - 1;
	item->over = over;
	if (over)
		item->worth = OFS_WORTH_SOME;
}

/* The length of a path that ends with a ref; 0: it is none. */
static size_t ref_path(const char *p, size_t len)
{
	size_t n;
	const char *ref = ofs_digest_base(p, len, &n);

	if (n < REF_MIN || n > REF_MAX || ref - p < 5 || memcmp(ref - 5, "refs/", 5) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!ofs_prose_is_digit(ref[i]) && !(ref[i] >= 'a' && ref[i] <= 'z'))
			return 0;
	}
	return len;
}

/* "also stored in DIR/: k3f9x2, k3f9x3" */
static void read_more_refs(struct ofs_digest *d, const char *p, size_t len)
{
	const char *colon = memmem(p, len, ": ", 2);
	size_t dir, at;

	dir = colon ? (size_t)(colon - p) : len;
	for (at = dir + 2; at < len;) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
		const char *comma = memchr(p + at, ',', len - at);
		size_t end = comma ? (size_t)(comma - p) : len;

		ofs_buf_append(&path, p, dir);
		ofs_buf_append(&path, p + at, end - at);
		if (ref_path((const char *)path.data, path.len))
			ofs_digest_refer(d, (const char *)path.data, path.len, "", 0);
		at = end + 2;
	}
}

static void read_reference(struct ofs_digest *d, const char *p, size_t len)
{
	const char *colon = memmem(p, len, ": ", 2);
	size_t path = colon ? (size_t)(colon - p) : len;

	if (len > strlen(ALSO) && memcmp(p, ALSO, strlen(ALSO)) == 0)
		read_more_refs(d, p + strlen(ALSO), len - strlen(ALSO));
	else if (ref_path(p, path))
		ofs_digest_refer(d, p, path, colon ? colon + 2 : "", colon ? len - path - 2 : 0);
	else
		read_counted(d, OFS_TOPIC_REFERENCES, p, len, OFS_WORTH_SOME);
}

static void read_item(struct ofs_digest *d, enum ofs_topic topic, const char *p, size_t len)
{
	static const enum ofs_worth worth[OFS_TOPICS] = {
		[OFS_TOPIC_GOAL] = OFS_WORTH_MOST,     [OFS_TOPIC_DECISIONS] = OFS_WORTH_SOME,
		[OFS_TOPIC_LOOKED] = OFS_WORTH_LITTLE, [OFS_TOPIC_ERRORS] = OFS_WORTH_MUCH,
		[OFS_TOPIC_OPEN] = OFS_WORTH_LITTLE,
	};

	if (!len)
		return;
	if (topic == OFS_TOPIC_FILES)
		read_file(d, p, len);
	else if (topic == OFS_TOPIC_REFERENCES)
		read_reference(d, p, len);
	else if (topic == OFS_TOPIC_DONE)
		read_counted(d, topic, p, len, ofs_digest_worth_done(p));
	else if (topic == OFS_TOPIC_ERRORS || topic == OFS_TOPIC_LOOKED)
		read_counted(d, topic, p, len, worth[topic]);
	else if (topic == OFS_TOPIC_GOAL && d->topics[topic].n >= OFS_GOAL_LINES)
		ofs_digest_add(d, topic, ofs_digest_key(p, len), OFS_WORTH_MUCH, p, len);
	else
		ofs_digest_add(d, topic, ofs_digest_key(p, len), worth[topic], p, len);
}

void ofs_digest_read(struct ofs_digest *d, const char *text, size_t len)
{
	size_t topic = OFS_TOPICS;

	while (len) {
		const char *eol = memchr(text, '\n', len);
		size_t n = eol ? (size_t)(eol - text) : len;

		if (n > 2 && text[0] == '-' && text[1] == ' ') {
			if (ofs_prose_is_line(text, n) && topic < OFS_TOPICS)
				read_item(d, (enum ofs_topic)topic, text + 2, n - 2);
		} else if (n) {
			for (topic = 0; topic < OFS_TOPICS; topic++) {
				if (n == strlen(titles[topic]) &&
				    memcmp(text, titles[topic], n) == 0)
					break;
			}
		}
		cut_front(&text, &len, eol ? n + 1 : n);
	}
}

/* ---- writing */

static void write_touches(const struct ofs_item *item, struct ofs_buf *out)
{
	const char *before = " (";

	for (size_t i = 0; i < OFS_TOUCHES; i++) {
		if (!item->touches[i])
			continue;
		ofs_buf_printf(out, "%s%s", before, touches[i]);
		if (item->touches[i] > 1)
			ofs_buf_printf(out, " x%u", item->touches[i]);
		before = ", ";
	}
	if (*before == ',')
		ofs_buf_append_str(out, ")");
}

/* An item as it is written, and whether it is. */
struct draft {
	const struct ofs_item *item;
	struct ofs_buf line;
	uint64_t tokens;
	enum ofs_topic topic;
	bool shown;
	bool brief; /* a ref, named in a list */
};

struct drafts {
	struct draft *list; /* by topic, in order */
	size_t n;
	size_t shown[OFS_TOPICS];
	uint64_t tokens;
};

static void drafts_finish(struct drafts *d)
{
	for (size_t i = 0; i < d->n; i++)
		ofs_buf_finish(&d->list[i].line);
	free(d->list);
}

/* Whether it says how often there was such an item. */
static bool is_counted(enum ofs_topic topic)
{
	return topic == OFS_TOPIC_DONE || topic == OFS_TOPIC_LOOKED || topic == OFS_TOPIC_ERRORS ||
	       topic == OFS_TOPIC_REFERENCES;
}

static void write_item(enum ofs_topic topic, const struct ofs_item *item, struct ofs_buf *out)
{
	ofs_buf_append_str(out, item->text);
	if (topic == OFS_TOPIC_FILES) {
		write_touches(item, out);
		return;
	}
	if (item->times > 1 && !item->ref_end && is_counted(topic))
		ofs_buf_printf(out, " x%u", item->times);
	if (item->over)
		ofs_buf_append_str(out, OVER);
}

static void make_drafts(const struct ofs_digest *d, struct drafts *ret)
{
	size_t n = 0;

	for (size_t t = 0; t < OFS_TOPICS; t++)
		n += d->topics[t].n;
	ret->list = ofs_alloc((n + 1) * sizeof(*ret->list));
	for (size_t t = 0; t < OFS_TOPICS; t++) {
		for (size_t i = 0; i < d->topics[t].n; i++) {
			struct draft *draft = &ret->list[ret->n++];

			draft->item = &d->topics[t].items[i];
			draft->topic = (enum ofs_topic)t;
			draft->shown = true;
			write_item(draft->topic, draft->item, &draft->line);
			draft->tokens =
				ofs_tokens_count(draft->line.data, draft->line.len) + LINE_TOKENS;
			ret->tokens += draft->tokens;
			ret->shown[t]++;
		}
		ret->tokens += d->topics[t].n ? TITLE_TOKENS : 0;
	}
}

static void hide(struct drafts *d, struct draft *draft)
{
	draft->shown = false;
	d->tokens -= draft->tokens;
	if (--d->shown[draft->topic] == 0)
		d->tokens -= TITLE_TOKENS;
}

/* A ref is then named in a list only. */
static void shorten(struct drafts *d, struct draft *draft)
{
	uint64_t tokens = 1 + ofs_tokens_count(draft->item->text + draft->item->ref,
					       draft->item->ref_end - draft->item->ref);

	if (tokens >= draft->tokens)
		return;
	draft->brief = true;
	d->tokens -= draft->tokens - tokens;
	draft->tokens = tokens;
}

/* What refs are is worth as much as other things that can be done without. */
static enum ofs_worth worth_of(const struct draft *draft)
{
	return draft->item->worth == OFS_WORTH_FIXED ? OFS_WORTH_MORE : draft->item->worth;
}

static int compare_drafts(const void *a, const void *b)
{
	const struct draft *x = *(const struct draft *const *)a;
	const struct draft *y = *(const struct draft *const *)b;
	bool inverted = x->topic == OFS_TOPIC_GOAL && x->item->worth == OFS_WORTH_MOST;

	if (worth_of(x) != worth_of(y))
		return worth_of(x) < worth_of(y) ? -1 : 1;
	if (worth_of(x) == OFS_WORTH_MOST && x->topic != y->topic)
		return x->topic == OFS_TOPIC_GOAL ? 1 : -1;
	/* The goal is told from its beginning. */
	if (x->item->order == y->item->order)
		return 0;
	return (x->item->order < y->item->order) != inverted ? -1 : 1;
}

static bool is_intention(const struct draft *draft)
{
	return draft->topic == OFS_TOPIC_DECISIONS && draft->item->worth == OFS_WORTH_LITTLE;
}

/* Leaves out, or shortens, what there is no room for. */
static void fit(struct drafts *d, uint64_t max_tokens)
{
	OFS_FREE struct draft **ranked = ofs_alloc((d->n + 1) * sizeof(struct draft *));
	size_t left[OFS_TOPICS], intentions = 0;

	for (size_t i = 0; i < d->n; i++) {
		ranked[i] = &d->list[i];
		intentions += is_intention(&d->list[i]);
	}
	qsort(ranked, d->n, sizeof(struct draft *), compare_drafts);
	for (size_t t = 0; t < OFS_TOPICS; t++) {
		left[t] = 0;
		for (size_t i = 0; i < d->n; i++)
			left[t] += d->list[i].topic == t && !d->list[i].item->ref_end;
	}
	for (size_t i = 0; i < d->n; i++) {
		struct draft *draft = ranked[i];
		bool crowded = left[draft->topic] > ofs_topic_max[draft->topic] ||
			       (is_intention(draft) && intentions-- > INTENTIONS_MAX);

		if (draft->item->worth == OFS_WORTH_FIXED) {
			if (d->tokens > max_tokens)
				shorten(d, draft);
		} else if (crowded || d->tokens > max_tokens) {
			hide(d, draft);
			left[draft->topic]--;
		}
	}
}

/* All refs that are named only, by the directories that they are in. */
static void write_brief(const struct drafts *d, struct ofs_buf *out)
{
	const struct ofs_item *last = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct ofs_item *item = d->list[i].item;
		bool same = last && last->ref == item->ref &&
			    memcmp(last->text, item->text, item->ref) == 0;

		if (!d->list[i].brief)
			continue;
		if (!same)
			ofs_buf_printf(out, "%s- " ALSO "%.*s: ", last ? "\n" : "", (int)item->ref,
				       item->text);
		else
			ofs_buf_append_str(out, ", ");
		ofs_buf_append(out, item->text + item->ref, item->ref_end - item->ref);
		last = item;
	}
	if (last)
		ofs_buf_append_str(out, "\n");
}

static int write_topic(const struct drafts *d, enum ofs_topic topic, struct ofs_buf *out)
{
	int r;

	if (!d->shown[topic])
		return 0;
	ofs_buf_printf(out, "%s\n", titles[topic]);
	r = 0;
	for (size_t i = 0; i < d->n && r == 0; i++) {
		const struct draft *draft = &d->list[i];

		if (draft->topic != topic || !draft->shown || draft->brief)
			continue;
		ofs_buf_append_str(out, "- ");
		ofs_buf_append(out, draft->line.data, draft->line.len);
		ofs_buf_append_str(out, "\n");
	}
	if (!(r == 0 && topic == OFS_TOPIC_REFERENCES))
		return r;
	write_brief(d, out);
	return 0;
}

int ofs_digest_write(const struct ofs_digest *d, uint64_t max_tokens, struct ofs_buf *out)
{
	OFS_CLEANUP(drafts_finish) struct drafts drafts = { 0 };
	int r;

	make_drafts(d, &drafts);
	fit(&drafts, max_tokens);
	r = 0;
	for (size_t t = 0; t < OFS_TOPICS && r == 0; t++)
		r = write_topic(&drafts, (enum ofs_topic)t, out);
	return r;
}
