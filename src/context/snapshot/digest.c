/* SPDX-License-Identifier: MIT */
#include "context/snapshot/digest.h"

#include <limits.h>

#include "base/tokens.h"
#include "codec/hash.h"
#include "context/snapshot/prose.h"

#define REF_MIN 6 /* letters and digits */
#define REF_MAX 8
#define ALSO "also stored in " /* before refs without a description, for which there is no room */
#define OVER " (went well later)"
#define LINE_TOKENS 2 /* for "- " and the end of the line */
#define TITLE_TOKENS 4
#define IN " in " /* in a title, before the folder of its items */
#define NAMES_LINE 400 /* bytes */

static const struct {
	const char *title;
	size_t max; /* limit of items; those of OFS_WORTH_MOST and more may exceed it */
	enum ofs_worth worth; /* that of items from an earlier snapshot */
} topics[OFS_TOPICS] = {
	[OFS_TOPIC_GOAL] = { "Goal:", 24, OFS_WORTH_MOST },
	[OFS_TOPIC_DECISIONS] = { "Decisions:", 12, OFS_WORTH_LITTLE },
	[OFS_TOPIC_COMMITS] = { "Commits:", 30, OFS_WORTH_SOME },
	[OFS_TOPIC_TESTS] = { "Tests, last state:", 1, OFS_WORTH_MUCH },
	[OFS_TOPIC_DONE] = { "Done:", 40, OFS_WORTH_MUCH },
	[OFS_TOPIC_LOOKED] = { "Looked up:", 20, OFS_WORTH_LITTLE },
	[OFS_TOPIC_FILES] = { "Files touched:", 60, OFS_WORTH_LITTLE },
	[OFS_TOPIC_ERRORS] = { "Errors:", 20, OFS_WORTH_MUCH },
	[OFS_TOPIC_OPEN] = { "Open ends:", 16, OFS_WORTH_SOME },
	[OFS_TOPIC_NAMES] = { "Names:", 200, OFS_WORTH_SOME },
	[OFS_TOPIC_REFERENCES] = { "References:", 40, OFS_WORTH_SOME },
};

void ofs_digest_finish(struct ofs_digest *d)
{
	for (size_t t = 0; t < OFS_TOPICS; t++) {
		struct ofs_item_list *l = &d->topics[t];

		for (size_t i = 0; i < l->n; i++)
			free(l->items[i].text);
		free(l->items);
		ofs_map_finish(&l->by_key);
	}
	*d = (struct ofs_digest){ 0 };
}

static struct ofs_item *add(struct ofs_digest *d, enum ofs_topic topic, uint64_t key,
			    enum ofs_worth worth, uint64_t order, const void *text, size_t len)
{
	struct ofs_item_list *l = &d->topics[topic];
	size_t number = (size_t)(uintptr_t)ofs_map_get(&l->by_key, key);
	struct ofs_item *item = number ? &l->items[number - 1] : NULL;

	if (item) {
		item->times++;
		item->worth = OFS_MAX(item->worth, worth);
		return item;
	}
	if (l->n >= topics[topic].max && worth < OFS_WORTH_MOST)
		return NULL;
	item = ofs_append(l->items, l->n, l->cap);
	*item = (struct ofs_item){
		.text = ofs_strndup(text, len),
		.key = key,
		.order = order,
		.worth = worth,
		.times = 1,
	};
	ofs_map_put(&l->by_key, key, (void *)(uintptr_t)l->n);
	return item;
}

struct ofs_item *ofs_digest_add(struct ofs_digest *d, enum ofs_topic topic, enum ofs_worth worth,
				uint64_t order, const void *text, size_t len)
{
	return add(d, topic, ofs_checksum(text, len, 0), worth, order, text, len);
}

/* Returns where the last component of a path starts. */
static const char *base_of(const char *path, size_t len)
{
	const char *slash = memrchr(path, '/', len);

	return slash ? slash + 1 : path;
}

void ofs_digest_refer(struct ofs_digest *d, uint64_t order, const char *path, size_t path_len,
		      const char *what, size_t what_len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *ref = base_of(path, path_len);
	size_t ref_len = (size_t)(path + path_len - ref);
	struct ofs_item *item;

	ofs_buf_append(&text, path, path_len);
	if (what_len)
		ofs_buf_printf(&text, ": %.*s", (int)what_len, what);
	item = add(d, OFS_TOPIC_REFERENCES, ofs_checksum(ref, ref_len, 0), OFS_WORTH_FIXED, order,
		   text.data, text.len);
	if (item->ref_end) { /* known already, maybe by another path */
		if (item->text[item->ref_end] || !what_len)
			return;
		/* Until now only the ref was known. */
		free(item->text);
		item->text = ofs_strndup((const char *)text.data, text.len);
	}
	item->ref = (size_t)(ref - path);
	item->ref_end = path_len;
}

/* ---- reading */

static bool cut_end(const char *p, size_t *len, const char *end)
{
	size_t n = strlen(end);

	if (*len < n || memcmp(p + *len - n, end, n) != 0)
		return false;
	*len -= n;
	return true;
}

/* Returns whether items of a topic say how often they occurred. */
static bool is_counted(enum ofs_topic topic)
{
	return topic == OFS_TOPIC_DONE || topic == OFS_TOPIC_LOOKED || topic == OFS_TOPIC_ERRORS;
}

/* Cuts " x12" off the end, and returns 12; or returns 1. */
static uint32_t cut_times(const char *p, size_t *len)
{
	size_t i = *len;
	uint32_t times = 0, unit = 1;

	for (; i && ofs_prose_is_digit(p[i - 1]) && *len - i < 9; unit *= 10)
		times += unit * (uint32_t)(p[--i] - '0');
	if (times < 2 || p[i] == '0' || i < 2 || p[i - 1] != 'x' || p[i - 2] != ' ')
		return 1;
	*len = i - 2;
	return times;
}

/* Returns `len` if a path ends with a ref, else 0. */
static size_t ref_path(const char *p, size_t len)
{
	const char *ref = base_of(p, len);
	size_t n = (size_t)(p + len - ref);

	if (n < REF_MIN || n > REF_MAX || ref - p < 5 || memcmp(ref - 5, "refs/", 5) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!ofs_prose_is_digit(ref[i]) && !(ref[i] >= 'a' && ref[i] <= 'z'))
			return 0;
	}
	return len;
}

/* Calls take() for each part of "a, b, c", with `before` put in front. */
static void read_list(struct ofs_digest *d, uint64_t order, const char *before, size_t before_len,
		      const char *p, size_t len,
		      void (*take)(struct ofs_digest *d, uint64_t order, const char *p, size_t len))
{
	for (size_t at = 0; at < len;) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf part = OFS_BUF_INIT;
		const char *comma = memmem(p + at, len - at, ", ", 2);
		size_t end = comma ? (size_t)(comma - p) : len;

		ofs_buf_append(&part, before, before_len);
		ofs_buf_append(&part, p + at, end - at);
		take(d, order, ofs_buf_str(&part), part.len);
		at = end + 2;
	}
}

static void read_name(struct ofs_digest *d, uint64_t order, const char *p, size_t len)
{
	ofs_digest_add(d, OFS_TOPIC_NAMES, topics[OFS_TOPIC_NAMES].worth, order, p, len);
}

static void read_ref(struct ofs_digest *d, uint64_t order, const char *p, size_t len)
{
	if (ref_path(p, len))
		ofs_digest_refer(d, order, p, len, "", 0);
}

/* Reads "PATH: WHAT" or "also stored in DIR/: k3f9x2, k3f9x3". */
static void read_reference(struct ofs_digest *d, uint64_t order, const char *p, size_t len)
{
	const char *colon = memmem(p, len, ": ", 2);
	size_t path = colon ? (size_t)(colon - p) : len, also = strlen(ALSO);

	if (colon && path >= also && memcmp(p, ALSO, also) == 0)
		read_list(d, order, p + also, path - also, colon + 2, len - path - 2, read_ref);
	else if (ref_path(p, path))
		ofs_digest_refer(d, order, p, path, colon ? colon + 2 : "",
				 colon ? len - path - 2 : 0);
}

static void read_item(struct ofs_digest *d, enum ofs_topic topic, uint64_t order, const char *p,
		      size_t len)
{
	bool over = cut_end(p, &len, OVER), both = cut_end(p, &len, " (written, read)");
	bool written = both || cut_end(p, &len, " (written)");
	bool read = both || cut_end(p, &len, " (read)");
	uint32_t times = is_counted(topic) ? cut_times(p, &len) : 1;
	struct ofs_item *item;

	if (topic == OFS_TOPIC_REFERENCES) {
		read_reference(d, order, p, len);
		return;
	}
	if (topic == OFS_TOPIC_NAMES) {
		read_list(d, order, "", 0, p, len, read_name);
		return;
	}
	if (!len)
		return;
	item = ofs_digest_add(d, topic, over ? OFS_WORTH_LITTLE : topics[topic].worth, order, p,
			      len);
	if (!item)
		return;
	item->times += times - 1;
	item->over |= over;
	item->written |= written;
	item->read |= read;
}

/* Returns the topic of "Goal:" or "Files touched in /home/a/:", and the folder of its items. */
static enum ofs_topic read_title(const char *p, size_t len, struct ofs_buf *ret_folder)
{
	ret_folder->len = 0;
	for (size_t topic = 0; len && topic < OFS_TOPICS; topic++) {
		const char *title = topics[topic].title;
		size_t n = strlen(title) - 1; /* without the colon */

		if (len <= n || memcmp(p, title, n) != 0 || p[len - 1] != ':')
			continue;
		if (len == n + 1)
			return (enum ofs_topic)topic;
		if (len <= n + strlen(IN) + 1 || memcmp(p + n, IN, strlen(IN)) != 0)
			continue;
		ofs_buf_append(ret_folder, p + n + strlen(IN), len - n - strlen(IN) - 1);
		return (enum ofs_topic)topic;
	}
	return OFS_TOPICS;
}

/* Reads an item. Relative paths start in the folder. */
static void read_item_in(struct ofs_digest *d, enum ofs_topic topic, uint64_t order,
			 const struct ofs_buf *folder, const char *p, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;

	if (!folder->len || *p == '/' ||
	    (len > strlen(ALSO) && memcmp(p, ALSO, strlen(ALSO)) == 0)) {
		read_item(d, topic, order, p, len);
		return;
	}
	ofs_buf_append(&whole, folder->data, folder->len);
	ofs_buf_append(&whole, p, len);
	read_item(d, topic, order, ofs_buf_str(&whole), whole.len);
}

void ofs_digest_read(struct ofs_digest *d, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf folder = OFS_BUF_INIT;
	const char *end = text + len, *eol;
	enum ofs_topic topic = OFS_TOPICS;
	uint64_t order = 0;

	for (const char *p = text; p < end; p = eol + 1) {
		size_t n;

		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		n = (size_t)(eol - p);
		if (n > 2 && p[0] == '-' && p[1] == ' ') {
			if (topic < OFS_TOPICS && ofs_prose_is_line(p, n))
				read_item_in(d, topic, order++, &folder, p + 2, n - 2);
			continue;
		}
		topic = ofs_prose_is_line(p, n) ? read_title(p, n, &folder) : OFS_TOPICS;
	}
}

/* ---- writing */

/* An item in the form to be written. */
struct draft {
	const struct ofs_item *item;
	struct ofs_buf line;
	uint64_t tokens;
	enum ofs_topic topic;
	bool shown;
	bool brief; /* a ref without its description, in a list */
};

struct drafts {
	struct draft *list; /* by topic, then by order */
	size_t n;
	/* For files and references: the start of an item's text, a folder shared with others. */
	const char *folder[OFS_TOPICS];
	size_t folder_len[OFS_TOPICS];
	size_t shown[OFS_TOPICS];
	uint64_t tokens;
};

static void drafts_finish(struct drafts *d)
{
	for (size_t i = 0; i < d->n; i++)
		ofs_buf_finish(&d->list[i].line);
	free(d->list);
}

static bool is_in(const struct ofs_item *item, const char *folder, size_t len)
{
	return len && strncmp(item->text, folder, len) == 0;
}

/* Finds the folder that saves the most bytes when it is named once. */
static void find_folder(const struct ofs_digest *d, enum ofs_topic topic, struct drafts *ret)
{
	OFS_CLEANUP(ofs_map_finish) struct ofs_map folders = OFS_MAP_INIT; /* -> items in it */
	const struct ofs_item_list *l = &d->topics[topic];
	size_t best = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *path = l->items[i].text, *slash = path;
		size_t end = topic == OFS_TOPIC_FILES ? strlen(path) : l->items[i].ref;

		if (*path != '/') { /* it would look as if it were in the folder */
			ret->folder_len[topic] = 0;
			return;
		}
		end = OFS_MIN(end, (size_t)PATH_MAX);
		while ((slash = strchr(slash + 1, '/')) && (size_t)(slash - path) < end) {
			size_t len = (size_t)(slash + 1 - path);
			uint64_t key = ofs_checksum(path, len, 0);
			size_t others = (size_t)(uintptr_t)ofs_map_get(&folders, key);

			ofs_map_put(&folders, key, (void *)(uintptr_t)(others + 1));
			if (others * len > best) {
				best = others * len;
				ret->folder[topic] = path;
				ret->folder_len[topic] = len;
			}
		}
	}
}

static void write_item(const struct drafts *d, enum ofs_topic topic, const struct ofs_item *item,
		       struct ofs_buf *out)
{
	bool in = is_in(item, d->folder[topic], d->folder_len[topic]);

	ofs_buf_append_str(out, item->text + (in ? d->folder_len[topic] : 0));
	if (item->written || item->read)
		ofs_buf_printf(out, " (%s%s%s)", item->written ? "written" : "",
			       item->written && item->read ? ", " : "", item->read ? "read" : "");
	if (item->times > 1 && is_counted(topic))
		ofs_buf_printf(out, " x%u", item->times);
	if (item->over)
		ofs_buf_append_str(out, OVER);
}

static int compare_order(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;

	if (x->topic != y->topic)
		return x->topic < y->topic ? -1 : 1;
	return x->item->order < y->item->order ? -1 : x->item->order > y->item->order;
}

static void make_drafts(const struct ofs_digest *d, struct drafts *ret)
{
	size_t n = 0;

	for (size_t t = 0; t < OFS_TOPICS; t++)
		n += d->topics[t].n;
	ret->list = ofs_alloc((n + 1) * sizeof(*ret->list));
	find_folder(d, OFS_TOPIC_FILES, ret);
	find_folder(d, OFS_TOPIC_REFERENCES, ret);
	for (size_t t = 0; t < OFS_TOPICS; t++) {
		for (size_t i = 0; i < d->topics[t].n; i++) {
			struct draft *draft = &ret->list[ret->n++];

			draft->item = &d->topics[t].items[i];
			draft->topic = (enum ofs_topic)t;
			draft->shown = true;
			write_item(ret, draft->topic, draft->item, &draft->line);
			draft->tokens =
				ofs_tokens_count(draft->line.data, draft->line.len) + LINE_TOKENS;
			ret->tokens += draft->tokens;
		}
		ret->shown[t] = d->topics[t].n;
		ret->tokens += d->topics[t].n ? TITLE_TOKENS : 0;
	}
	qsort(ret->list, ret->n, sizeof(*ret->list), compare_order);
}

/* The least worth first, and of that the oldest; of the goal, its end first. */
static int compare_worth(const void *a, const void *b)
{
	const struct draft *x = *(const struct draft *const *)a;
	const struct draft *y = *(const struct draft *const *)b;
	bool x_first = x->item->worth == OFS_WORTH_MOST, y_first = y->item->worth == OFS_WORTH_MOST;

	if (x->item->worth != y->item->worth)
		return x->item->worth < y->item->worth ? -1 : 1;
	if (x_first && y_first) /* its start is kept longest */
		return x->item->order > y->item->order ? -1 : 1;
	return x->item->order < y->item->order ? -1 : x->item->order > y->item->order;
}

/* Reduces a reference to its ref, in a list. */
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

/* Shortens or drops items in the order of their worth until the rest fits. */
static void fit(struct drafts *d, uint64_t max_tokens)
{
	OFS_FREE struct draft **ranked = ofs_alloc((d->n + 1) * sizeof(struct draft *));

	for (size_t i = 0; i < d->n; i++)
		ranked[i] = &d->list[i];
	qsort(ranked, d->n, sizeof(struct draft *), compare_worth);
	for (size_t i = 0; i < d->n && d->tokens > max_tokens; i++) {
		struct draft *draft = ranked[i];

		if (draft->item->worth == OFS_WORTH_FIXED) {
			shorten(d, draft);
			continue;
		}
		draft->shown = false;
		d->tokens -= draft->tokens;
		if (--d->shown[draft->topic] == 0)
			d->tokens -= TITLE_TOKENS;
	}
}

/* Writes all refs without a description, grouped by directory. */
static void write_brief(const struct drafts *d, struct ofs_buf *out)
{
	const struct ofs_item *last = NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct ofs_item *item = d->list[i].item;

		if (!d->list[i].brief)
			continue;
		if (last && last->ref == item->ref &&
		    memcmp(last->text, item->text, item->ref) == 0)
			ofs_buf_append_str(out, ", ");
		else
			ofs_buf_printf(out, "%s- " ALSO "%.*s: ", last ? "\n" : "", (int)item->ref,
				       item->text);
		ofs_buf_append(out, item->text + item->ref, item->ref_end - item->ref);
		last = item;
	}
	if (last)
		ofs_buf_append_str(out, "\n");
}

static void write_topic(const struct drafts *d, enum ofs_topic topic, struct ofs_buf *out)
{
	size_t line = 0;

	if (!d->shown[topic])
		return;
	ofs_buf_append(out, topics[topic].title, strlen(topics[topic].title) - 1);
	if (d->folder_len[topic])
		ofs_buf_printf(out, IN "%.*s", (int)d->folder_len[topic], d->folder[topic]);
	ofs_buf_append_str(out, ":\n");
	for (size_t i = 0; i < d->n; i++) {
		const struct draft *draft = &d->list[i];

		if (draft->topic != topic || !draft->shown || draft->brief)
			continue;
		if (topic == OFS_TOPIC_NAMES && line && out->len - line < NAMES_LINE) {
			out->len--;
			ofs_buf_append_str(out, ", ");
		} else {
			line = out->len;
			ofs_buf_append_str(out, "- ");
		}
		ofs_buf_append(out, draft->line.data, draft->line.len);
		ofs_buf_append_str(out, "\n");
	}
	if (topic == OFS_TOPIC_REFERENCES)
		write_brief(d, out);
}

void ofs_digest_write(const struct ofs_digest *d, uint64_t max_tokens, struct ofs_buf *out)
{
	OFS_CLEANUP(drafts_finish) struct drafts drafts = { 0 };

	make_drafts(d, &drafts);
	fit(&drafts, max_tokens);
	for (size_t t = 0; t < OFS_TOPICS; t++)
		write_topic(&drafts, (enum ofs_topic)t, out);
}
