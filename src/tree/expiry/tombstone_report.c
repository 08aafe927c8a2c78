/* SPDX-License-Identifier: MIT */
/*
 * The format of tombstones. They are short, since there may be as many as there ever were files.
 * Little-endian: version u8 (2), reason u8, flags u8, 0 u8, size u64, lines u64, created i64, used
 * i64 (wall clock), lifetime i64 (all three in nanoseconds), SHA-256, inode of its tree's directory
 * u64; then path (in that tree), task, category, title, tags, agent, each preceded by its length
 * u16. Lines and SHA-256 are valid only with their flags. Version 1 has neither the tree nor the
 * agent: the file was in the store's own tree.
 */
#include "tree/expiry/tombstone_report.h"

#include <jansson.h>

#include "base/redact.h"
#include "base/text.h"
#include "codec/hash.h"
#include "tree/core/label.h"
#include "tree/core/ref.h"

#define VERSION 2
#define HEAD_1 OFS_TOMBSTONE_ROOT /* bytes before the strings in version 1 */
#define HEAD (HEAD_1 + 8)
#define FLAG_LINES 1u
#define FLAG_SHA 2u
#define STRING_MAX 4096u
#define HASHED_MAX ((uint64_t)1 << 20) /* bytes; hashing more would hold up the removal too long */
#define STRINGS 6

static const char *const string_names[STRINGS] = { "path",  "task", "category",
						   "title", "tags", "agent" };

/* On disk: never renumber. */
enum reason {
	REASON_EXPIRED,
	REASON_ENDED,
	REASON_SURPLUS,
	REASON_PRESSED,
	REASONS
};

static const char *const reason_names[REASONS] = { "expired", "task ended", "size limit",
						   "pressure" };

static enum reason reason_of(enum ofs_verdict v)
{
	return v == OFS_REMOVE_ENDED	 ? REASON_ENDED
	       : v == OFS_REMOVE_SURPLUS ? REASON_SURPLUS
	       : v == OFS_REMOVE_PRESSED ? REASON_PRESSED
					 : REASON_EXPIRED;
}

static void put_string(struct ofs_buf *out, const void *text, size_t len)
{
	uint8_t head[2];

	len = OFS_MIN(len, (size_t)STRING_MAX);
	ofs_put_le16(head, (uint16_t)len);
	ofs_buf_append(out, head, sizeof(head));
	if (len)
		ofs_buf_append(out, text, len);
}

static void put_label(struct ofs_tree *t, uint64_t ino, enum ofs_label_kind kind,
		      struct ofs_buf *out)
{
	OFS_FREE char *value = ofs_label_text(t, ino, kind);

	put_string(out, value, value ? strlen(value) : 0);
}

/* Hashes content that is not sealed yet, so that it can be recognised when it is imported again. */
static void find_hash(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_content_hash *ret)
{
	OFS_FREE uint8_t *buf = file->size <= HASHED_MAX ? ofs_alloc(file->size + 1) : NULL;
	ssize_t n = buf ? ofs_store_scan(t->store, file->ino, buf, file->size, 0) : -EFBIG;

	ret->has_sha = n == (ssize_t)file->size && ofs_sha256(buf, (size_t)n, ret->sha) == 0;
}

void ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			  const struct ofs_place *place, int64_t used, int64_t ttl,
			  enum ofs_verdict verdict, struct ofs_buf *out)
{
	const char *path = (const char *)place->path.data;
	struct ofs_content_hash digest = { .lines = -1 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf agent = OFS_BUF_INIT;
	uint8_t head[HEAD] = { VERSION, (uint8_t)reason_of(verdict) };
	int r = ofs_store_get_hash(t->store, file->ino, &digest);

	if (r == 0 && !digest.has_sha)
		find_hash(t, file, &digest);
	if (r == 0 && digest.lines >= 0)
		head[2] |= FLAG_LINES;
	if (r == 0 && digest.has_sha)
		head[2] |= FLAG_SHA;
	ofs_put_le64(head + 4, file->size);
	ofs_put_le64(head + 12, (uint64_t)digest.lines);
	ofs_put_le64(head + 20, (uint64_t)file->btime);
	ofs_put_le64(head + 28, (uint64_t)used);
	ofs_put_le64(head + 36, (uint64_t)ttl);
	memcpy(head + 44, digest.sha, OFS_SHA256_SIZE);
	ofs_put_le64(head + OFS_TOMBSTONE_ROOT, place->root->ino);
	ofs_buf_append(out, head, sizeof(head));
	put_string(out, path, strlen(path));
	put_string(out, place->task, strlen(place->task));
	put_string(out, place->category, strlen(place->category));
	put_label(t, file->ino, OFS_LABEL_TITLE, out);
	put_label(t, file->ino, OFS_LABEL_TAGS, out);
	ofs_root_name(t, place->root, t->root, &agent);
	put_string(out, agent.data, agent.len);
}

/* ---- as JSON */

/* Sets the strings, made readable. Returns false if the tombstone is cut short. */
static bool set_strings(json_t *json, const struct ofs_buf *stone)
{
	bool first = stone->data[0] == 1;
	size_t at = first ? HEAD_1 : HEAD, n = STRINGS - (first ? 1 : 0);

	for (size_t i = 0; i < n; i++) {
		OFS_FREE char *text = NULL, *readable = NULL, *shown = NULL;
		size_t len;

		if (stone->len - at < 2)
			return false;
		len = ofs_get_le16(stone->data + at);
		at += 2;
		if (stone->len - at < len)
			return false;
		text = ofs_format("%.*s", (int)len, (const char *)stone->data + at);
		readable = ofs_text_readable(text);
		/* The path, which comes first, is where the file was found: it is not redacted. */
		shown = i == 0 ? ofs_strdup(readable) : ofs_redact_string(readable);
		json_object_set_new(json, string_names[i], len ? json_string(shown) : json_null());
		at += len;
	}
	return true;
}

static void set_why(json_t *json, const uint8_t *head, int64_t removed)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf why = OFS_BUF_INIT;
	int64_t used = (int64_t)ofs_get_le64(head + 28), ttl = (int64_t)ofs_get_le64(head + 36);
	struct ofs_facts f = { .ended = head[1] == REASON_ENDED,
			       .shortage = head[1] == REASON_SURPLUS ? OFS_SHORTAGE_MAX
								     : OFS_SHORTAGE_NONE,
			       .used = used,
			       .ttl = ttl,
			       .now = removed };

	if (ttl > 0)
		ofs_lifetime_cause(&f, &why);
	if (ttl > 0 && head[1] == REASON_PRESSED)
		ofs_buf_append_str(&why, ", and room was needed");
	json_object_set_new(json, "why",
			    why.len ? json_stringn((const char *)why.data, why.len) : json_null());
}

static json_t *stone_json(const char *ref, const struct ofs_buf *stone, int64_t removed)
{
	const uint8_t *head = stone->data;
	char hex[2 * OFS_SHA256_SIZE + 1];
	json_t *json =
		json_pack("{s:s, s:s}", "ref", ref, "tier", ofs_tier_names[OFS_TIER_WORKING]);

	json_object_set_new(json, "removed", ofs_json_time(removed));
	/* On a full disk perhaps only the time was kept. */
	if (stone->len < HEAD_1 || (head[0] > 1 && stone->len < HEAD) || head[0] > VERSION)
		return json;
	json_object_set_new(json, "size", json_integer((json_int_t)ofs_get_le64(head + 4)));
	json_object_set_new(json, "lines",
			    head[2] & FLAG_LINES ? json_integer((json_int_t)ofs_get_le64(head + 12))
						 : json_null());
	ofs_sha256_hex(head + 44, hex);
	json_object_set_new(json, "sha256", head[2] & FLAG_SHA ? json_string(hex) : json_null());
	json_object_set_new(json, "created", ofs_json_time((int64_t)ofs_get_le64(head + 20)));
	json_object_set_new(json, "used", ofs_json_time((int64_t)ofs_get_le64(head + 28)));
	json_object_set_new(json, "reason", json_string(reason_names[head[1] % REASONS]));
	set_why(json, head, removed);
	if (set_strings(json, stone))
		return json;
	json_decref(json);
	return NULL;
}

/*
 * Sets path and agent as seen from `root`, which may contain the file's tree. For a tree that no
 * longer exists, which only the store's own can ask about, the agent is the one in the tombstone.
 */
static void set_place(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_buf *stone,
		      json_t *json)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT, agent = OFS_BUF_INIT;
	const char *was = json_string_value(json_object_get(json, "path"));
	const char *stored = json_string_value(json_object_get(json, "agent"));
	bool has_root = stone->len >= HEAD && stone->data[0] > 1;
	const struct ofs_root *in = ofs_root_at(
		t, has_root ? ofs_get_le64(stone->data + OFS_TOMBSTONE_ROOT) : OFS_ROOT_INO);

	if (in)
		ofs_root_name(t, in, root, &agent);
	else if (stored)
		ofs_buf_append_str(&agent, stored);
	for (const char *part = ofs_buf_str(&agent); *part;) {
		int len = (int)strcspn(part, "/");

		ofs_buf_printf(&path, "agents/%.*s/", len, part);
		part += len + (part[len] == '/');
	}
	if (was && path.len) {
		ofs_buf_append_str(&path, was);
		json_object_set_new(json, "path", json_string(ofs_buf_str(&path)));
	}
	json_object_set_new(json, "agent",
			    agent.len ? json_string(ofs_buf_str(&agent)) : json_null());
}

int ofs_tombstone_report(struct ofs_tree *t, const struct ofs_root *root, const char *ref,
			 struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stone = OFS_BUF_INIT;
	ofs_node ino = ofs_ref_parse(t, ref);
	int64_t removed;
	json_t *json;
	int r = ofs_ref_get_tombstone(t, root, ino, &stone, &removed);

	if (r < 0)
		return r;
	json = stone_json(ref, &stone, removed);
	if (!json)
		return -EIO;
	set_place(t, root, &stone, json);
	ofs_json_append(json, JSON_INDENT(2), out);
	ofs_buf_append_str(out, "\n");
	return 0;
}
