/* SPDX-License-Identifier: MIT */
/*
 * The listing behind `offload list`: the files that pass its filters, sorted and in pages. A page
 * is the content of a name in .offload/list/, so nothing is held for whoever reads them; see
 * ofs_inventory_lookup() for its form. A name is words with a blank between them:
 *
 *   tier: category: task: tag: after: before:    as in a search (tree/search/query.h)
 *   older: newer:     by the last use: an age or a time
 *   below:PATH        files in the directory PATH, or the file PATH
 *   sort:ORDER        one of ofs_inventory_orders; reverse:yes
 *   groups:yes        in place of files, the sums of those of each tier and category
 *   max:N             that many files and no further page, unless their lines are too long for one
 *   page:N            that many files to a page at most
 *   from:POSITION     the page that continues there
 *
 * Values are written as in an URL: %2F is a slash, %20 a blank.
 */
#pragma once

#include "tree/core/place.h"
#include "tree/search/query.h"
#include "tree/virtual/nodes.h"

#define OFS_INVENTORY_PAGE 16384 /* files to a page at most */

enum ofs_inventory_order {
	OFS_ORDER_USED, /* the latest use first */
	OFS_ORDER_MODIFIED, /* the latest first */
	OFS_ORDER_SIZE, /* the largest first */
	OFS_ORDER_TOKENS,
	OFS_ORDER_STORED,
	OFS_ORDER_EXPIRES, /* what goes first */
	OFS_ORDER_PATH, /* by the bytes of names, directory by directory */
	OFS_ORDERS
};

/* By enum ofs_inventory_order, then NULL. */
extern const char *const ofs_inventory_orders[];

/* A place in the order: of a file, by a key that grows along it. */
struct ofs_inventory_entry {
	int64_t key;
	uint64_t ino;
	size_t name; /* in ofs_inventory.names */
};

/* ---- inventory_request.c */

struct ofs_inventory_request {
	struct ofs_query *query; /* filters alone */
	enum ofs_inventory_order order;
	bool reverse;
	bool groups; /* sums are wanted, not files */
	char *below; /* a path; "": all files */
	int64_t used_from, used_before; /* the last use, by the wall clock, is in [from, before) */
	uint64_t max, page; /* UINT64_MAX: no limit */
	bool resumed; /* after the file `after`; its ino is 0: before the first, */
	int64_t began; /* and when the first page was made, by the wall clock; else now */
	struct ofs_inventory_entry after;
	char *what; /* the words but max:, page: and from: */
};

/*
 * Reads a name. -EINVAL: it is malformed; `err` (may be NULL) says why. Without a tree (NULL) the
 * position is not known.
 */
int ofs_inventory_parse(const struct ofs_tree *t, const char *name, int64_t now,
			struct ofs_error *err, struct ofs_inventory_request *ret);
void ofs_inventory_request_finish(struct ofs_inventory_request *q);

/* Appends a value as it is to be written in a name. */
void ofs_inventory_quote(const char *value, struct ofs_buf *out);

/* ---- inventory_gather.c */

/* The sums of the files of a tier and category. */
struct ofs_inventory_group {
	enum ofs_tier tier;
	char *category;
	uint64_t files, bytes, stored, tokens;
};

/* The files that a request asks for, as they were when it was gathered. */
struct ofs_inventory {
	struct ofs_inventory_entry *list; /* in order */
	size_t n, cap;
	size_t max; /* the list has so many of the first, if there are more */
	uint64_t files; /* all that belong in it */
	struct ofs_buf names; /* as they were found, each with its NUL */
	struct ofs_inventory_group *groups; /* in place of the list, if those are wanted */
	size_t n_groups, cap_groups;
	/* Of all of them. */
	uint64_t bytes, stored, tokens;
	uint64_t uncounted; /* files whose tokens are not among those */
};

struct ofs_gathering;

/*
 * Begins to gather the files of a tree into `to`, not those of the trees in it. Tree and request
 * are borrowed. -ENOENT: request->below is not there.
 */
int ofs_gathering_create(struct ofs_tree *t, struct ofs_root *root,
			 const struct ofs_inventory_request *request, struct ofs_inventory *to,
			 struct ofs_gathering **ret);

/* Gathers until `deadline`, of the monotonic clock. 1: there is more; 0: that was all; -errno. */
int ofs_gathering_run(struct ofs_gathering *g, int64_t deadline);
void ofs_gathering_destroy(struct ofs_gathering *g); /* NULL is allowed */

void ofs_inventory_finish(struct ofs_inventory *v);
