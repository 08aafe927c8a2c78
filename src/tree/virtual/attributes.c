/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes: user.offload.*, which describe a file, and the user's own. On the root,
 * user.offload.verify and remote start jobs and report on them. On any tree's directory gc does the
 * same, ledger adds to the ledger, log gives the bounds of the log, and key the key of pointers.
 * On any directory user.offload.ending.TEXT finds files by the end of their names.
 */
#include <inttypes.h>
#include <linux/limits.h>
#include <strings.h>
#include <sys/xattr.h>

#include "base/text.h"
#include "tree/core/category.h"
#include "tree/core/changes.h"
#include "tree/core/label.h"
#include "tree/core/replicate.h"
#include "tree/core/place.h"
#include "tree/core/walk.h"
#include "tree/expiry/gc.h"
#include "tree/expiry/lifetime.h"
#include "tree/expiry/task.h"
#include "tree/virtual/nodes.h"

#define PREFIX "user.offload."
#define VERIFY PREFIX "verify"
#define REMOTE PREFIX "remote"
#define GC PREFIX "gc"
#define LEDGER PREFIX "ledger"
#define KEY PREFIX "key"
#define LOG PREFIX "log"
#define STATE PREFIX "state"
#define RANGE PREFIX "range"
#define ENDING PREFIX "ending."
#define SNIFF_SIZE 512

/* Appends the value that the caller may know, as text. -ENODATA or -ENOENT: there is none. */
typedef int (*attr_fn)(struct ofs_tree *t, const struct ofs_attr *file, int which,
		       const struct ofs_cred *cred, struct ofs_buf *out);

static int attr_ref(struct ofs_tree *t, const struct ofs_attr *file, int which,
		    const struct ofs_cred *cred, struct ofs_buf *out)
{
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, file->ino, ref);
	ofs_buf_append_str(out, ref);
	return 0;
}

static int attr_sha256(struct ofs_tree *t, const struct ofs_attr *file, int which,
		       const struct ofs_cred *cred, struct ofs_buf *out)
{
	char hex[2 * OFS_SHA256_SIZE + 1];
	struct ofs_content_hash digest;
	int r = ofs_store_get_hash(t->store, file->ino, &digest);

	if (r < 0)
		return r;
	if (!file->size)
		r = ofs_sha256("", 0, digest.sha);
	else if (!digest.has_sha)
		r = -ENODATA;
	if (r < 0)
		return r;
	ofs_sha256_hex(digest.sha, hex);
	ofs_buf_append_str(out, hex);
	return 0;
}

enum {
	PLACE_TIER,
	PLACE_CATEGORY,
	PLACE_TASK,
	PLACE_ORIGIN_TASK,
	PLACE_ORIGIN_CATEGORY,
	PLACE_PATH
};

/* `which` is the part of the place. */
static int attr_place(struct ofs_tree *t, const struct ofs_attr *file, int which,
		      const struct ofs_cred *cred, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	const char *text;
	int r = which == PLACE_TIER ? 0 : ofs_place_check(t, ofs_root_of_attr(t, file), file, cred);

	if (r == 0)
		r = ofs_place_of(t, file->ino, &place);
	if (r == 0 && which == PLACE_CATEGORY)
		r = ofs_place_label(t, file->ino, &place);
	if (r < 0)
		return r;
	text = which == PLACE_TIER		? ofs_tier_names[ofs_place_tier(&place)]
	       : which == PLACE_CATEGORY	? place.category
	       : which == PLACE_TASK		? place.task
	       : which == PLACE_ORIGIN_TASK	? place.origin.task
	       : which == PLACE_ORIGIN_CATEGORY ? place.origin.category
						: (const char *)place.path.data;
	if (!text[0])
		return -ENODATA;
	ofs_buf_append_str(out, text);
	return 0;
}

enum {
	TIME_CREATED,
	TIME_EXPIRES,
	TIME_USED
};

/* `which` is one of the times. */
static int attr_time(struct ofs_tree *t, const struct ofs_attr *file, int which,
		     const struct ofs_cred *cred, struct ofs_buf *out)
{
	int64_t at = which == TIME_CREATED ? file->btime : ofs_lifetime_wall_time(t, file->seen);
	int r = which == TIME_EXPIRES ? ofs_lifetime_end(t, file, NULL, &at) : 0;

	if (r < 0)
		return r;
	if (which == TIME_EXPIRES && at == OFS_TTL_NEVER)
		ofs_buf_append_str(out, "never");
	else if (ofs_text_time(at, out) < 0)
		return -ENODATA;
	return 0;
}

/* The agent in whose tree the file is. */
static int attr_agent(struct ofs_tree *t, const struct ofs_attr *file, int which,
		      const struct ofs_cred *cred, struct ofs_buf *out)
{
	const struct ofs_root *root = ofs_root_of_attr(t, file);

	return root->above ? ofs_root_name(t, root, t->root, out) : -ENODATA;
}

static int attr_lifecycle(struct ofs_tree *t, const struct ofs_attr *file, int which,
			  const struct ofs_cred *cred, struct ofs_buf *out)
{
	return ofs_gc_explain(t->gc, file, cred, out);
}

static int attr_state(struct ofs_tree *t, const struct ofs_attr *file, int which,
		      const struct ofs_cred *cred, struct ofs_buf *out)
{
	return ofs_task_get_state(t, file, out);
}

static int attr_lines(struct ofs_tree *t, const struct ofs_attr *file, int which,
		      const struct ofs_cred *cred, struct ofs_buf *out)
{
	const struct ofs_source src = { .tree = t, .attr = *file };
	uint64_t lines;
	int r = ofs_source_lines(&src, &lines);

	if (r == 0)
		ofs_buf_printf(out, "%" PRIu64, lines);
	return r;
}

static int attr_tokens(struct ofs_tree *t, const struct ofs_attr *file, int which,
		       const struct ofs_cred *cred, struct ofs_buf *out)
{
	ofs_buf_printf(out, "%" PRIu64, ofs_source_tokens(t, file));
	return 0;
}

/* Guesses from the first bytes; good enough for a preview or a viewer. */
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

static int attr_mime(struct ofs_tree *t, const struct ofs_attr *file, int which,
		     const struct ofs_cred *cred, struct ofs_buf *out)
{
	char head[SNIFF_SIZE];
	ssize_t n = ofs_store_read(t->store, file->ino, head, sizeof(head), 0);

	if (n < 0)
		return (int)n;
	ofs_buf_append_str(out, sniff(head, (size_t)n));
	return 0;
}

static int attr_stored(struct ofs_tree *t, const struct ofs_attr *file, int which,
		       const struct ofs_cred *cred, struct ofs_buf *out)
{
	/* For the owner only, as it reveals shared content. A nameless file may be an agent's. */
	if (file->region != OFS_ROOT_INO || (!file->nlink && ofs_roots_are_many(t)) ||
	    !ofs_root_is_owner(t, t->root, cred))
		return -ENODATA;
	ofs_buf_printf(out, "%" PRIu64, file->occupied);
	return 0;
}

/* The lifetime that was set, else the default of the category. */
static int attr_ttl(struct ofs_tree *t, const struct ofs_attr *file, int which,
		    const struct ofs_cred *cred, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	int r = ofs_place_of(t, file->ino, &place);

	if (r < 0)
		return r;
	if (ofs_place_tier(&place) != OFS_TIER_WORKING) {
		ofs_buf_append_str(out, "never");
		return 0;
	}
	r = ofs_label_get(t, file->ino, OFS_LABEL_TTL, out);
	if (r != -ENODATA)
		return r;
	r = ofs_place_label(t, file->ino, &place);
	if (r == 0)
		ofs_ttl_format(ofs_categories_ttl(t->categories, place.category), out);
	return r;
}

/* `which` is the kind of label. */
static int attr_label(struct ofs_tree *t, const struct ofs_attr *file, int which,
		      const struct ofs_cred *cred, struct ofs_buf *out)
{
	int r = ofs_label_get(t, file->ino, (enum ofs_label_kind)which, out);

	if (r != -ENODATA || which != OFS_LABEL_IMPORTANT)
		return r;
	ofs_buf_append_str(out, "0");
	return 0;
}

static const struct {
	const char *name;
	attr_fn get;
	int which; /* argument of `get` */
	bool of_dirs; /* directories may have it, too */
	/* Listed only where it is set: not all files have it, or copies must not take a default. */
	bool optional;
	bool discreet; /* listed only for the owner of the tree */
	bool reads; /* content, which may have to be fetched */
} attrs[] = {
	{ "ref", attr_ref, 0, false, false },
	{ "sha256", attr_sha256, 0, false, true },
	{ "tier", attr_place, PLACE_TIER, true, false },
	{ "category", attr_place, PLACE_CATEGORY, true, false, true },
	{ "task", attr_place, PLACE_TASK, true, true },
	{ "agent", attr_agent, 0, true, true },
	{ "origin_task", attr_place, PLACE_ORIGIN_TASK, true, true },
	{ "origin_category", attr_place, PLACE_ORIGIN_CATEGORY, true, true },
	{ "created", attr_time, TIME_CREATED, true, false },
	{ "expires", attr_time, TIME_EXPIRES, false, false },
	{ "used", attr_time, TIME_USED, false, false },
	{ "lifecycle", attr_lifecycle, 0, false, false },
	{ "state", attr_state, 0, true, true },
	{ "lines", attr_lines, .reads = true },
	{ "tokens", attr_tokens, .reads = true },
	{ "mime", attr_mime, .reads = true },
	{ "stored_bytes", attr_stored, 0, false, false, true },
	{ "path", attr_place, PLACE_PATH, true, false, true },
	{ "ttl", attr_ttl, 0, false, true },
	{ "important", attr_label, OFS_LABEL_IMPORTANT, false, true },
	{ "tags", attr_label, OFS_LABEL_TAGS, false, true },
	{ "title", attr_label, OFS_LABEL_TITLE, false, true },
};

/* Optional attributes are listed only if they exist. Checking the others would cost too much. */
static bool attr_is_listed(struct ofs_tree *t, const struct ofs_attr *file, size_t i,
			   const struct ofs_cred *cred)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	enum ofs_label_kind kind = ofs_label_find(attrs[i].name);

	if (!attrs[i].optional && !attrs[i].discreet)
		return true;
	if (attrs[i].discreet)
		return ofs_root_is_owner(t, ofs_root_of_attr(t, file), cred) &&
		       (attrs[i].get != attr_stored || file->region == OFS_ROOT_INO);
	if (kind != OFS_LABELS)
		return ofs_label_get(t, file->ino, kind, &value) == 0;
	return attrs[i].get(t, file, attrs[i].which, cred, &value) == 0;
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

static bool is_ours(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

/* Whether it is an attribute of the user's own. Namespaces other than user.* are not supported. */
static bool is_users(const char *name)
{
	return strncmp(name, "user.", 5) == 0 && name[5] && !is_ours(name);
}

/* The key of pointers, different for each user. It is not listed, so copies do not take it. */
static int get_key(struct ofs_tree *t, const struct ofs_root *root, const struct ofs_cred *cred,
		   struct ofs_buf *out)
{
	char key[2 * OFS_SHA256_SIZE + 1], purpose[96] = "pointers";
	size_t len;
	int r;

	if (root->above)
		snprintf(purpose, sizeof(purpose), "pointers of agent %" PRIu64, root->ino);
	len = strlen(purpose);
	if (!ofs_root_is_owner(t, root, cred))
		snprintf(purpose + len, sizeof(purpose) - len, " of user %lu",
			 (unsigned long)cred->uid);
	r = ofs_store_key(t->store, purpose, key);

	if (r == 0)
		ofs_buf_append_str(out, key);
	return r;
}

struct ending {
	const char *text;
	size_t len;
	struct ofs_buf *out;
};

static int add_if_ends(void *arg, const char *name, const struct ofs_attr *attr)
{
	const struct ending *e = arg;
	size_t len = strlen(name);

	if (S_ISREG(attr->mode) && len >= e->len && strcmp(name + len - e->len, e->text) == 0)
		ofs_buf_printf(e->out, "%s\n", name);
	return e->out->len > XATTR_SIZE_MAX ? -E2BIG : 0;
}

/* Appends the files in a directory whose names end in `text`, one per line, oldest first. */
static int get_ending(struct ofs_tree *t, ofs_node dir, const char *text, struct ofs_buf *out)
{
	struct ending e = { text, strlen(text), out };
	int r = e.len ? ofs_walk_entries(t, dir, add_if_ends, &e) : -ENODATA;

	return r == -ENOTDIR ? -ENODATA : r;
}

static int attr_get(struct ofs_tree *t, ofs_node node, const char *name,
		    const struct ofs_cred *cred, struct ofs_buf *out)
{
	struct ofs_root *root;
	struct ofs_attr file;
	size_t i;
	int r;

	root = ofs_root_at(t, node);
	if (root && strcmp(name, KEY) == 0)
		return get_key(t, root, cred, out);
	if (root && strcmp(name, LOG) == 0)
		return ofs_root_is_owner(t, root, cred) ? ofs_log_file_bounds(t, root, out)
							: -ENODATA;
	if (node == OFS_NODE_ROOT && strncmp(name, VERIFY, strlen(VERIFY)) == 0)
		return ofs_verify_job_get(t->verify_job, name + strlen(VERIFY), out);
	if (node == OFS_NODE_ROOT && strcmp(name, REMOTE) == 0)
		return ofs_replicate_get(t, out);
	if (root && strncmp(name, GC, strlen(GC)) == 0)
		return ofs_gc_get(t->gc, root, name + strlen(GC), out);
	if (strncmp(name, ENDING, strlen(ENDING)) == 0)
		return get_ending(t, node, name + strlen(ENDING), out);
	for (i = 0; i < OFS_ARRAY_SIZE(attrs); i++)
		if (strcmp(name + strlen(PREFIX), attrs[i].name) == 0)
			break;
	if (i == OFS_ARRAY_SIZE(attrs))
		return -ENODATA;
	r = ofs_store_getattr(t->store, node, &file);
	if (r < 0)
		return r;
	if (!S_ISREG(file.mode) && !(S_ISDIR(file.mode) && attrs[i].of_dirs))
		return -ENODATA;
	if (attrs[i].reads && t->replicate && ofs_store_is_nonblocking())
		return -EAGAIN;
	r = attrs[i].get(t, &file, attrs[i].which, cred, out);
	return r == -ENOENT ? -ENODATA : r;
}

/* Of a slice, without its notice: the offset and the number of its bytes in the file. */
static int range_get(struct ofs_tree *t, ofs_node node, struct ofs_buf *out)
{
	struct ofs_made *m = ofs_made_get(t, node);
	int r = m && m->slice ? 0 : -ENODATA;

	if (r == 0)
		ofs_buf_printf(out, "%" PRIu64 " %" PRIu64, m->slice->range.off,
			       m->slice->range.len);
	ofs_made_put(t, m);
	return r;
}

ssize_t ofs_tree_getxattr_as(struct ofs_tree *t, ofs_node node, const char *name, void *buf,
			     size_t size, const struct ofs_cred *cred)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	int r;

	if (ofs_node_is_virtual(node)) {
		r = strcmp(name, RANGE) == 0 ? range_get(t, node, &value) : -ENODATA;
		return r < 0 ? r : give(&value, buf, size);
	}
	if (is_users(name))
		return ofs_store_getxattr(t->store, node, name, buf, size);
	if (!is_ours(name))
		return -EOPNOTSUPP;
	r = attr_get(t, node, name, cred, &value);
	return r < 0 ? r : give(&value, buf, size);
}

ssize_t ofs_tree_getxattr(struct ofs_tree *t, ofs_node node, const char *name, void *buf,
			  size_t size)
{
	return ofs_tree_getxattr_as(t, node, name, buf, size, NULL);
}

/* Returns 0 for the user's own attribute, 1 for a label (*ret), -errno if it cannot be changed. */
static int find_changeable(struct ofs_tree *t, ofs_node node, const char *name,
			   enum ofs_label_kind *ret)
{
	struct ofs_attr file;
	int r;

	if (ofs_node_is_virtual(node))
		return -EROFS;
	if (is_users(name))
		return 0;
	*ret = is_ours(name) ? ofs_label_find(name + strlen(PREFIX)) : OFS_LABELS;
	if (*ret == OFS_LABELS)
		return -EOPNOTSUPP;
	r = ofs_store_getattr(t->store, node, &file);
	return r < 0 ? r : S_ISREG(file.mode) ? 1 : -EOPNOTSUPP;
}

/* Returns `r`. On success notes a change, as views show a file's expiry in its times. */
static int changed(struct ofs_tree *t, ofs_node node, int r)
{
	if (r == 0)
		ofs_tree_touch(t, node);
	return r;
}

/* Sets or removes the end of a task. */
static int set_state(struct ofs_tree *t, ofs_node node, const void *value, size_t size)
{
	struct ofs_attr dir;
	int r = ofs_store_getattr(t->store, node, &dir);

	return r < 0 ? r : changed(t, node, ofs_task_set_state(t, &dir, value, size));
}

int ofs_attributes_set(struct ofs_tree *t, ofs_node node, const char *name, const void *value,
		       size_t size, int flags)
{
	bool verify = node == OFS_NODE_ROOT && strcmp(name, VERIFY) == 0;
	struct ofs_root *root = ofs_root_at(t, node);
	bool gc = root && strcmp(name, GC) == 0;
	bool remote = node == OFS_NODE_ROOT && strcmp(name, REMOTE) == 0;
	bool ledger = root && strcmp(name, LEDGER) == 0;
	bool state = !ofs_node_is_virtual(node) && strcmp(name, STATE) == 0;
	enum ofs_label_kind kind;
	int r;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	if ((verify || gc || remote || ledger || state) && flags & XATTR_CREATE)
		return -EEXIST;
	if (verify)
		return ofs_verify_job_set(t->verify_job, value, size);
	if (remote)
		return ofs_replicate_set(t, value, size);
	if (gc)
		return ofs_gc_set(t->gc, root, value, size);
	if (ledger)
		return ofs_ledger_file_add(t, root, value, size);
	if (state)
		return set_state(t, node, value, size);
	r = find_changeable(t, node, name, &kind);
	if (r < 0)
		return r;
	r = r ? ofs_label_set(t, node, kind, value, size, flags)
	      : ofs_store_setxattr(t->store, node, name, value, size, flags);
	return changed(t, node, r);
}

int ofs_tree_removexattr(struct ofs_tree *t, ofs_node node, const char *name)
{
	enum ofs_label_kind kind;
	int r;

	ofs_tree_count(t, OFS_TREE_CHANGE);
	r = find_changeable(t, node, name, &kind);
	if (r < 0)
		return r;
	r = r ? ofs_label_remove(t, node, kind) : ofs_store_removexattr(t->store, node, name);
	return changed(t, node, r);
}

/* Appends the names of the user's own attributes. */
static int list_users(struct ofs_tree *t, ofs_node node, struct ofs_buf *out)
{
	OFS_FREE char *names = ofs_realloc(NULL, OFS_XATTR_NAMES_ROOM, 1);
	ssize_t n = ofs_store_listxattr(t->store, node, names, OFS_XATTR_NAMES_ROOM);

	if (n < 0)
		return (int)n;
	for (const char *p = names; p < names + n; p += strlen(p) + 1)
		if (is_users(p))
			ofs_buf_append(out, p, strlen(p) + 1);
	return 0;
}

ssize_t ofs_tree_listxattr_as(struct ofs_tree *t, ofs_node node, char *buf, size_t size,
			      const struct ofs_cred *cred)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	struct ofs_attr file;
	int r;

	if (ofs_node_is_virtual(node))
		return 0;
	r = ofs_store_getattr(t->store, node, &file);
	if (r < 0)
		return r;
	/* Only for files, since `cp -a` and `ls -l` ask for the list of everything. */
	for (size_t i = 0; S_ISREG(file.mode) && i < OFS_ARRAY_SIZE(attrs); i++) {
		if (!attr_is_listed(t, &file, i, cred))
			continue;
		ofs_buf_printf(&names, PREFIX "%s", attrs[i].name);
		ofs_buf_append(&names, "", 1);
	}
	r = list_users(t, node, &names);
	return r < 0 ? r : give(&names, buf, size);
}

ssize_t ofs_tree_listxattr(struct ofs_tree *t, ofs_node node, char *buf, size_t size)
{
	return ofs_tree_listxattr_as(t, node, buf, size, NULL);
}
