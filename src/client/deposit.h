/* SPDX-License-Identifier: MIT */
/* Puts spooled content into a tree, at most once. */
#pragma once

#include <offloadfs/error.h>

#include "client/backend.h"
#include "client/content.h"

/* Names are checked by client/naming.h already; all strings borrowed. */
struct ofs_deposit {
	const char *category;
	const char *task; /* NULL: none */
	/* The folder in the tree; NULL: that of category and task. */
	const char *folder;
	const char *name; /* NULL: an automatic one */
	const char *title; /* NULL: none */
	const char *ttl; /* NULL: the category's */
	/* For the ledger, as of ofs_usage. */
	const char *way;
	const char *agent;
};

struct ofs_deposited {
	char *path; /* in the tree */
	char *ref;
	bool is_new; /* it was not there before */
};

void ofs_deposited_finish(struct ofs_deposited *d);

/*
 * Stores the content, or finds it: the same bytes in the same folder are the same file, under an
 * automatic name as under a given one, if it is the caller's and nobody else may write to it.
 * -EEXIST: the given name has another file. -ENOTSUP: the store takes no title or ttl. -EPERM: see
 * ofs_backend_mkdirs(). After a failure there is no new file.
 */
int ofs_deposit_store(const struct ofs_deposit *d, const struct ofs_content *content,
		      struct ofs_backend *backend, struct ofs_error *err,
		      struct ofs_deposited *ret);
