/* SPDX-License-Identifier: MIT */
/* user.offload.*: what the store knows of a file, and on the root what it is asked to do. */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/clock.h"
#include "base/util.h"
#include "codec/hash.h"
#include "tree/internal.h"

#define PREFIX "user.offload."
#define VERIFY PREFIX "verify"
#define SNIFF_SIZE 512

/* Each appends its value as text; -ENODATA: the file has none. */
typedef int (*attr_fn)(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out);

static int attr_ref(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	char ref[OFS_REF_SIZE];

	(void)t;
	if (!S_ISREG(file->mode))
		return -ENODATA;
	ofs_ref_format(file->ino, ref);
	return ofs_buf_append_str(out, ref);
}

static int attr_sha256(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	char hex[2 * OFS_SHA256_SIZE + 1];
	struct ofs_digest digest;
	int r;

	if (!S_ISREG(file->mode))
		return -ENODATA;
	r = ofs_store_digest(t->store, file->ino, &digest);
	if (r < 0)
		return r;
	if (!file->size)
		r = ofs_sha256("", 0, digest.sha);
	else if (!digest.has_sha)
		r = -ENODATA;
	if (r < 0)
		return r;
	ofs_sha256_hex(digest.sha, hex);
	return ofs_buf_append_str(out, hex);
}

static int attr_place(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out,
		      const char *(*pick)(const struct ofs_place *p))
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	const char *text;
	int r;

	r = ofs_place_of(t, file->ino, &place);
	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	text = pick(&place);
	return text[0] ? ofs_buf_append_str(out, text) : -ENODATA;
}

static const char *pick_category(const struct ofs_place *p)
{
	return p->category;
}

static const char *pick_task(const struct ofs_place *p)
{
	return p->task;
}

static const char *pick_path(const struct ofs_place *p)
{
	return (const char *)p->path.data;
}

static int attr_tier(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	return attr_place(t, file, out, ofs_place_tier);
}

static int attr_category(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	return attr_place(t, file, out, pick_category);
}

static int attr_task(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	return attr_place(t, file, out, pick_task);
}

static int attr_path(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	return attr_place(t, file, out, pick_path);
}

static int attr_created(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	time_t seconds = (time_t)(file->btime / OFS_NS_PER_S);
	char text[32];
	struct tm tm;

	(void)t;
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -ENODATA;
	return ofs_buf_append_str(out, text);
}

static int attr_lines(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	uint64_t lines;
	int r;

	if (!S_ISREG(file->mode))
		return -ENODATA;
	r = ofs_lines_count(t, file, &lines);
	return r < 0 ? r : ofs_buf_printf(out, "%" PRIu64, lines);
}

/* A guess from the first bytes, sure enough for a preview or a viewer. */
static const char *sniff(const char *head, size_t len)
{
	size_t at = 0;

	if (memchr(head, 0, len))
		return "application/octet-stream";
	while (at < len && strchr(" \t\r\n", head[at]))
		at++;
	if (at < len && (head[at] == '{' || head[at] == '['))
		return "application/json";
	if (len - at >= 5 &&
	    (strncasecmp(head + at, "<html", 5) == 0 || strncasecmp(head + at, "<!doc", 5) == 0))
		return "text/html";
	if (len - at >= 5 && strncmp(head + at, "%PDF-", 5) == 0)
		return "application/pdf";
	return "text/plain";
}

static int attr_mime(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	char head[SNIFF_SIZE];
	ssize_t n;

	if (!S_ISREG(file->mode))
		return -ENODATA;
	n = ofs_store_read(t->store, file->ino, head, sizeof(head), 0);
	return n < 0 ? (int)n : ofs_buf_append_str(out, sniff(head, (size_t)n));
}

static int attr_stored(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out)
{
	(void)t;
	if (!S_ISREG(file->mode))
		return -ENODATA;
	return ofs_buf_printf(out, "%" PRIu64, file->occupied);
}

static const struct {
	const char *name;
	attr_fn get;
} attrs[] = {
	{ "ref", attr_ref },	       { "sha256", attr_sha256 }, { "tier", attr_tier },
	{ "category", attr_category }, { "task", attr_task },	  { "created", attr_created },
	{ "lines", attr_lines },       { "mime", attr_mime },	  { "stored_bytes", attr_stored },
	{ "path", attr_path },
};

/* What not every file has is listed only where it is there; the rest costs too much to find out. */
static bool attr_is_listed(struct ofs_tree *t, const struct ofs_attr *file, attr_fn get)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;

	return (get != attr_task && get != attr_sha256) || get(t, file, &value) == 0;
}

static ssize_t give(const struct ofs_buf *value, void *buf, size_t size)
{
	if (!size)
		return (ssize_t)value->len;
	if (value->len > size)
		return -ERANGE;
	if (value->len)
		memcpy(buf, value->data, value->len);
	return (ssize_t)value->len;
}

static int attr_get(struct ofs_tree *t, ofs_node node, const char *name, struct ofs_buf *out)
{
	struct ofs_attr file;
	size_t i;
	int r;

	if (ofs_node_is_virtual(node) || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return -ENODATA;
	if (node == OFS_NODE_ROOT && strncmp(name, VERIFY, strlen(VERIFY)) == 0)
		return ofs_tree_verify_get(t->verify, name + strlen(VERIFY), out);
	for (i = 0; i < OFS_ARRAY_SIZE(attrs); i++)
		if (strcmp(name + strlen(PREFIX), attrs[i].name) == 0)
			break;
	if (i == OFS_ARRAY_SIZE(attrs))
		return -ENODATA;
	r = ofs_store_getattr(t->store, node, &file);
	if (r < 0)
		return r;
	if (!S_ISREG(file.mode) && !S_ISDIR(file.mode))
		return -ENODATA;
	return attrs[i].get(t, &file, out);
}

ssize_t ofs_tree_getxattr(struct ofs_tree *t, ofs_node node, const char *name, void *buf,
			  size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	int r = attr_get(t, node, name, &value);

	return r < 0 ? r : give(&value, buf, size);
}

int ofs_tree_setxattr(struct ofs_tree *t, ofs_node node, const char *name, const void *value,
		      size_t size, int flags)
{
	if (node != OFS_NODE_ROOT || strcmp(name, VERIFY) != 0)
		return -EOPNOTSUPP;
	if (flags & XATTR_CREATE)
		return -EEXIST;
	return ofs_tree_verify_set(t->verify, value, size);
}

ssize_t ofs_tree_listxattr(struct ofs_tree *t, ofs_node node, char *buf, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	struct ofs_attr file;
	size_t i;
	int r;

	if (ofs_node_is_virtual(node))
		return 0;
	r = ofs_store_getattr(t->store, node, &file);
	if (r < 0)
		return r;
	/*
	 * Directories and links would only be louder for it: `cp -a` and `ls -l` ask for the list
	 * of everything.
	 */
	for (i = 0; S_ISREG(file.mode) && i < OFS_ARRAY_SIZE(attrs); i++) {
		if (!attr_is_listed(t, &file, attrs[i].get))
			continue;
		r = ofs_buf_printf(&names, PREFIX "%s", attrs[i].name);
		if (r == 0)
			r = ofs_buf_append(&names, "", 1);
		if (r < 0)
			return r;
	}
	return give(&names, buf, size);
}
