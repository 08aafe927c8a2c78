/* SPDX-License-Identifier: MIT */
#include "tree/tombstone.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/util.h"
#include "base/xattr.h"
#include "codec/hash.h"

#define VALUE_MAX 4096

/* In the order in which they are reported. */
static const struct {
	const char *name;
	bool number;
} fields[] = {
	{ "path", false }, { "size", true },	 { "lines", true },	{ "sha256", false },
	{ "tier", false }, { "task", false },	 { "category", false }, { "title", false },
	{ "tags", false }, { "created", false }, { "used", false },	{ "reason", false },
	{ "why", false },
};

static void put(struct ofs_buf *list, const char *name, const char *value)
{
	if (value && value[0])
		ofs_xattr_set(list, name, value, OFS_MIN(strlen(value), (size_t)VALUE_MAX));
}

static void put_number(struct ofs_buf *list, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	put(list, name, text);
}

static void put_time(struct ofs_buf *list, const char *name, int64_t ns)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_text_time(ns, &text) == 0 && ofs_buf_append(&text, "", 1) == 0)
		put(list, name, (const char *)text.data);
}

static void put_label(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind, const char *name,
		      struct ofs_buf *list)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;

	if (ofs_label_get(t, ino, kind, &value) == 0 && ofs_buf_append(&value, "", 1) == 0)
		put(list, name, (const char *)value.data);
}

static void put_digest(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *list)
{
	char hex[2 * OFS_SHA256_SIZE + 1];
	struct ofs_digest digest;

	if (ofs_store_digest(t->store, file->ino, &digest) < 0)
		return;
	if (digest.lines >= 0)
		put_number(list, "lines", (uint64_t)digest.lines);
	if (!digest.has_sha)
		return;
	ofs_sha256_hex(digest.sha, hex);
	put(list, "sha256", hex);
}

int ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			 const struct ofs_place *place, int64_t used, enum ofs_verdict verdict,
			 const char *why, struct ofs_buf *out)
{
	static const char *const reasons[] = {
		[OFS_REMOVE_EXPIRED] = "expired",
		[OFS_REMOVE_ENDED] = "task ended",
		[OFS_REMOVE_SURPLUS] = "size limit",
	};

	put(out, "path", (const char *)place->path.data);
	put_number(out, "size", file->size);
	put_digest(t, file, out);
	put(out, "tier", ofs_tier_names[ofs_place_tier(place)]);
	put(out, "task", place->task);
	put(out, "category", place->category);
	put_label(t, file->ino, OFS_LABEL_TITLE, "title", out);
	put_label(t, file->ino, OFS_LABEL_TAGS, "tags", out);
	put_time(out, "created", file->btime);
	put_time(out, "used", used);
	put(out, "reason", reasons[verdict]);
	put(out, "why", why);
	return 0;
}

bool ofs_tombstone_exists(struct ofs_tree *t, const char *ref)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;
	ofs_node ino = ofs_ref_parse(ref);
	int64_t removed;

	return ino && ofs_store_get_tombstone(t->store, ino, &list, &removed) == 0;
}

/* Of a text that is not UTF-8 what can be shown. */
static json_t *value_json(const struct ofs_xattr *x, bool number)
{
	OFS_FREE char *text = strndup(x->value, x->size);
	OFS_FREE char *shown = text ? ofs_text_readable(text) : NULL;

	if (!shown)
		return NULL;
	return number ? json_integer(strtoll(shown, NULL, 10)) : json_string(shown);
}

static json_t *tombstone_json(const char *ref, const struct ofs_buf *list, int64_t removed)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf when = OFS_BUF_INIT;
	json_t *json = json_object();
	struct ofs_xattr x;
	int r = json_object_set_new(json, "ref", json_string(ref));

	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields) && r == 0; i++)
		r = json_object_set_new(json, fields[i].name,
					ofs_xattr_find(list, fields[i].name, &x)
						? value_json(&x, fields[i].number)
						: json_null());
	if (r == 0 && ofs_text_time(removed, &when) == 0)
		r = json_object_set_new(json, "removed",
					json_stringn((const char *)when.data, when.len));
	if (r == 0)
		return json;
	json_decref(json);
	return NULL;
}

int ofs_tombstone_report(struct ofs_tree *t, const char *ref, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;
	OFS_FREE char *text = NULL;
	ofs_node ino = ofs_ref_parse(ref);
	json_t *json;
	int64_t removed;
	int r = ino ? ofs_store_get_tombstone(t->store, ino, &list, &removed) : -ENOENT;

	if (r < 0)
		return r;
	if (!ofs_xattr_is_list(list.data, list.len))
		return -EIO;
	json = tombstone_json(ref, &list, removed);
	text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	json_decref(json);
	return text ? ofs_buf_printf(out, "%s\n", text) : -ENOMEM;
}
