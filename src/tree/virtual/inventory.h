/* SPDX-License-Identifier: MIT */
/*
 * The listing behind `offload list`: files that pass filters, sorted and in pages. A page is the
 * content of a name in .offload/list/, so its readers hold no state in the tree. The form of pages
 * is described at ofs_inventory_lookup(). A name consists of words with blanks between them:
 *
 *   tier: category: task: tag: after: before:    as in a search (tree/search/query.h)
 *   older: newer:     last use before or after an age or a time
 *   below:PATH        files in the directory PATH, or the file PATH
 *   sort:ORDER        one of ofs_inventory_orders; reverse:yes
 *   groups:yes        sums per tier and category instead of files
 *   max:N             a single page of at most N files, unless their lines are too long for one
 *   page:N            at most N files per page
 *   from:POSITION     the page that starts after that position
 *
 * Values are percent-encoded: %2F is a slash, %20 a blank.
 */
#pragma once

#include "tree/core/place.h"
#include "tree/search/query.h"
#include "tree/virtual/nodes.h"

#define OFS_INVENTORY_PAGE 16384 /* largest number of files in a page */

enum ofs_inventory_order {
	OFS_ORDER_USED, /* latest use first */
	OFS_ORDER_MODIFIED, /* latest first */
	OFS_ORDER_SIZE, /* largest first, as for the next two */
	OFS_ORDER_TOKENS,
	OFS_ORDER_STORED,
	OFS_ORDER_EXPIRES, /* earliest first */
	OFS_ORDER_PATH, /* by the bytes of names, directory by directory */
	OFS_ORDERS
};

/* Names of the orders by enum ofs_inventory_order, then NULL. */
extern const char *const ofs_inventory_orders[];

/* A file in the list, or a position between pages. Entries are sorted by key, then inode. */
struct ofs_inventory_entry {
	int64_t key;
	uint64_t ino;
	size_t name; /* offset in ofs_inventory.names */
};

/* ---- inventory_request.c */

struct ofs_inventory_request {
	struct ofs_query *query; /* its filters only */
	enum ofs_inventory_order order;
	bool reverse;
	bool groups; /* sums instead of files */
	char *below; /* a path; "": all files */
	int64_t used_from, used_before; /* last use in [from, before), wall clock */
	uint64_t max, page; /* UINT64_MAX: no limit */
	bool resumed; /* a position was given, in the next two */
	int64_t began; /* wall clock when the first page was made; else now */
	struct ofs_inventory_entry after; /* the page starts after it; ino 0: at the first file */
	char *what; /* the words except max:, page: and from: */
};

/*
 * Parses a name. Fails with -EINVAL and sets *err (may be NULL) if it is malformed. Without a tree
 * (NULL) `after` is not set. On success the caller calls ofs_inventory_request_finish().
 */
int ofs_inventory_parse(const struct ofs_tree *t, const char *name, int64_t now,
			struct ofs_error *err, struct ofs_inventory_request *ret);
void ofs_inventory_request_finish(struct ofs_inventory_request *q);

/* Appends a value in the form in which a name has it. */
void ofs_inventory_quote(const char *value, struct ofs_buf *out);

/* ---- inventory_gather.c */

/* The sums of the files of a tier and category. */
struct ofs_inventory_group {
	enum ofs_tier tier;
	char *category;
	uint64_t files, bytes, stored, tokens;
};

/* The files that match a request, as of the time they were gathered. */
struct ofs_inventory {
	struct ofs_inventory_entry *list; /* in order */
	size_t n, cap;
	size_t max; /* `list` is cut to the first `max` entries */
	uint64_t files; /* all that match, even beyond `max` */
	struct ofs_buf names; /* the files' names when gathered, each with its NUL */
	struct ofs_inventory_group *groups; /* instead of `list` */
	size_t n_groups, cap_groups;
	/* Sums over all that match. */
	uint64_t bytes, stored, tokens;
	uint64_t uncounted; /* files whose tokens are unknown and not in the sum */
};

struct ofs_gathering;

/*
 * Begins to gather the files of a tree, without the trees in it, into `to`. All but `ret` is
 * borrowed until ofs_gathering_destroy(). -ENOENT: request->below does not exist.
 */
int ofs_gathering_create(struct ofs_tree *t, struct ofs_root *root,
			 const struct ofs_inventory_request *request, struct ofs_inventory *to,
			 struct ofs_gathering **ret);

/* Works until `deadline` (monotonic). Returns 1 if there is more to do, 0 at the end, or -errno. */
int ofs_gathering_run(struct ofs_gathering *g, int64_t deadline);
void ofs_gathering_destroy(struct ofs_gathering *g); /* NULL is a no-op */

void ofs_inventory_finish(struct ofs_inventory *v);
