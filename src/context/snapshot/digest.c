/* SPDX-License-Identifier: MIT */
#include "context/snapshot/digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "codec/hash.h"

/* Of twice as many some are dropped early. */
const size_t ofs_topic_max[OFS_TOPICS] = {
	[OFS_TOPIC_GOAL] = 24,	 [OFS_TOPIC_DECISIONS] = 40,  [OFS_TOPIC_DONE] = 40,
	[OFS_TOPIC_LOOKED] = 10, [OFS_TOPIC_FILES] = 60,      [OFS_TOPIC_ERRORS] = 30,
	[OFS_TOPIC_OPEN] = 16,	 [OFS_TOPIC_REFERENCES] = 40,
};

/* ---- items */

void ofs_digest_init(struct ofs_digest *d)
{
	*d = (struct ofs_digest){ 0 };
}

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

uint64_t ofs_digest_key(const void *text, size_t len)
{
	return ofs_checksum(text, len, 0);
}

struct ofs_item *ofs_digest_find(struct ofs_digest *d, enum ofs_topic topic, uint64_t key)
{
	struct ofs_item_list *l = &d->topics[topic];
	size_t number = (size_t)(uintptr_t)ofs_map_get(&l->by_key, key);

	return number ? &l->items[number - 1] : NULL;
}

static int compare_worth(const void *a, const void *b)
{
	const struct ofs_item *x = *(const struct ofs_item *const *)a;
	const struct ofs_item *y = *(const struct ofs_item *const *)b;

	if (x->worth != y->worth)
		return x->worth < y->worth ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The items that are not fixed, what is worth least first. Allocated; returns how many. */
static size_t rank_items(const struct ofs_item_list *l, struct ofs_item ***ret)
{
	struct ofs_item **ranked = ofs_alloc((l->n + 1) * sizeof(struct ofs_item *));
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (l->items[i].worth != OFS_WORTH_FIXED)
			ranked[n++] = &l->items[i];
	}
	qsort(ranked, n, sizeof(*ranked), compare_worth);
	*ret = ranked;
	return n;
}

/* Only `max` items stay beside those that are fixed. */
static void prune(struct ofs_item_list *l, size_t max)
{
	OFS_FREE struct ofs_item **ranked = NULL;
	size_t n = rank_items(l, &ranked), kept = 0;

	for (size_t i = 0; i + max < n; i++) {
		free(ranked[i]->text);
		ranked[i]->text = NULL;
	}
	ofs_map_finish(&l->by_key);
	for (size_t i = 0; i < l->n; i++) {
		if (!l->items[i].text)
			continue;
		l->items[kept] = l->items[i];
		ofs_map_put(&l->by_key, l->items[kept].key, (void *)(uintptr_t)(kept + 1));
		kept++;
	}
	l->n = kept;
}

/* Whether to prune would make room for long: half of the items are not fixed. */
static bool is_loose(const struct ofs_item_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->items[i].worth != OFS_WORTH_FIXED;
	return n * 2 >= l->n;
}

static char *copy_text(const char *text, size_t len)
{
	char *copy = ofs_alloc(len + 1);

	memcpy(copy, text, len);
	return copy;
}

struct ofs_item *ofs_digest_add(struct ofs_digest *d, enum ofs_topic topic, uint64_t key,
				enum ofs_worth worth, const void *text, size_t len)
{
	struct ofs_item_list *l = &d->topics[topic];
	struct ofs_item *item = ofs_digest_find(d, topic, key);

	if (item) {
		item->times++;
		item->worth = OFS_MAX(item->worth, worth);
		return item;
	}
	if (l->n == l->cap && l->n >= 2 * ofs_topic_max[topic] && is_loose(l))
		prune(l, ofs_topic_max[topic]);
	l->items = ofs_grow(l->items, &l->cap, l->n + 1, sizeof(*l->items));
	item = &l->items[l->n++];
	*item = (struct ofs_item){
		.text = copy_text(text, len),
		.key = key,
		.order = ++d->order,
		.worth = worth,
		.times = 1,
	};
	ofs_map_put(&l->by_key, key, (void *)(uintptr_t)l->n);
	return item;
}

/* ---- files */

const char *ofs_digest_base(const char *path, size_t len, size_t *ret_len)
{
	const char *slash = memrchr(path, '/', len);

	*ret_len = slash ? len - (size_t)(slash + 1 - path) : len;
	return slash ? slash + 1 : path;
}

/* Whether `path` is absolute and ends with all of `end`. */
static bool is_end_of(const char *end, size_t end_len, const char *path, size_t len)
{
	return *path == '/' && *end != '/' && len > end_len && path[len - end_len - 1] == '/' &&
	       memcmp(path + len - end_len, end, end_len) == 0;
}

/* The file of that path, also where it is known by a longer or shorter one. */
static struct ofs_item *find_file(struct ofs_digest *d, const char *path, size_t len)
{
	struct ofs_item_list *l = &d->topics[OFS_TOPIC_FILES];
	struct ofs_item *item = ofs_digest_find(d, OFS_TOPIC_FILES, ofs_digest_key(path, len));
	size_t base_len;
	const char *base = ofs_digest_base(path, len, &base_len);

	/* There are at most some hundreds. */
	for (size_t i = 0; !item && i < l->n; i++) {
		size_t other_len = strlen(l->items[i].text);

		if (other_len >= base_len &&
		    memcmp(l->items[i].text + other_len - base_len, base, base_len) == 0 &&
		    (is_end_of(path, len, l->items[i].text, other_len) ||
		     is_end_of(l->items[i].text, other_len, path, len)))
			item = &l->items[i];
	}
	return item;
}

void ofs_digest_touch(struct ofs_digest *d, const char *path, size_t len, enum ofs_touch touch,
		      uint32_t times)
{
	bool changed = touch == OFS_TOUCH_CREATED || touch == OFS_TOUCH_WRITTEN ||
		       touch == OFS_TOUCH_DELETED;
	struct ofs_item *item = find_file(d, path, len);

	if (!item)
		item = ofs_digest_add(d, OFS_TOPIC_FILES, ofs_digest_key(path, len),
				      OFS_WORTH_LITTLE, path, len);
	item->touches[touch] += times;
	item->worth = OFS_MAX(item->worth, changed ? OFS_WORTH_MUCH : OFS_WORTH_LITTLE);
}

/* ---- references */

void ofs_digest_refer(struct ofs_digest *d, const char *path, size_t path_len, const char *what,
		      size_t what_len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	size_t len;
	const char *ref = ofs_digest_base(path, path_len, &len);
	uint64_t key = ofs_digest_key(ref, len);
	struct ofs_item *item = ofs_digest_find(d, OFS_TOPIC_REFERENCES, key);

	ofs_buf_append(&text, path, path_len);
	if (what_len)
		ofs_buf_append_str(&text, ": ");
	if (what_len)
		ofs_buf_append(&text, what, what_len);
	if (item && item->text[item->ref_end] == '\0' && what_len) {
		/* Until now it was known by its ref alone. */
		free(item->text);
		item->text = copy_text((const char *)text.data, text.len);
	} else {
		item = ofs_digest_add(d, OFS_TOPIC_REFERENCES, key, OFS_WORTH_FIXED, text.data,
				      text.len);
	}
	item->ref = (size_t)(ref - path);
	item->ref_end = path_len;
}
