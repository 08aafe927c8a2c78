/* SPDX-License-Identifier: MIT */
/* Stores spooled content in a tree; the same content in the same folder only once. */
#pragma once

#include <offloadfs/error.h>

#include "client/backend.h"
#include "client/content.h"

/* The caller has checked the names by client/naming.h. All strings are borrowed. */
struct ofs_deposit {
	const char *category;
	const char *task; /* NULL: none */
	const char *folder; /* in the tree; NULL: the folder of category and task */
	const char *name; /* NULL: an automatic one */
	const char *title; /* NULL: none */
	const char *ttl; /* NULL: the category's */
	/* For the ledger, as in struct ofs_usage. */
	const char *way;
	const char *agent;
};

struct ofs_deposited {
	char *path; /* in the tree */
	char *ref;
	bool is_new; /* false: an existing file is reused */
};

void ofs_deposited_finish(struct ofs_deposited *d);

/*
 * Stores the content, or reuses a file with the same bytes: under an automatic name any such file
 * in the folder, under a given name the file of that name. A file is reused only if it is the
 * caller's and nobody else may write to it. A failure leaves no new file. -EEXIST: the given name
 * is taken. -ENOTSUP: the store takes no title or ttl. -EPERM: see ofs_backend_mkdirs().
 */
int ofs_deposit_store(const struct ofs_deposit *d, const struct ofs_content *content,
		      struct ofs_backend *backend, struct ofs_error *err,
		      struct ofs_deposited *ret);
