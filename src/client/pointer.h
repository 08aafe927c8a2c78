/* SPDX-License-Identifier: MIT */
/*
 * A pointer: the text that stays in a prompt in place of offloaded content. It is made for a
 * language model: what it is, how much, how to read it, and an outline of what is in it.
 *
 * Deterministic: nothing in it depends on when or how fast something ran. Paths in it are absolute,
 * and a command is printed as it works.
 */
#pragma once

#include <stdio.h>

#include "client/access.h"
#include "client/content.h"
#include "client/deposit.h"

/* Output and results over this size may be offloaded, files that were read over that. */
#define OFS_OFFLOAD_BYTES ((uint64_t)4096)
#define OFS_OFFLOAD_READ_BYTES ((uint64_t)16384)

/* All borrowed. */
struct ofs_pointer {
	const char *what; /* title, command or category; any bytes */
	bool has_exit;
	int exit_code; /* as a shell gives it */
	int signal; /* that ended the command, or 0 */
	const struct ofs_content *content;
	/* Text that follows the ref, so that the pointer can be undone. NULL: none. */
	const char *mark;
	bool brief; /* one line, without an outline */
	bool by_call; /* for who has the calls of services, and perhaps no shell */
	const char *outline; /* as of ofs_pointer_outline(); NULL: to be made */

	/* Where it is; ofs_pointer_make() sets them. */
	const char *ref;
	const char *mount; /* the absolute path of the tree's root; NULL: not mounted */
	const char *hint; /* as of ofs_target */
};

/* 0 or -errno; then the printed text is incomplete. */
int ofs_pointer_print(const struct ofs_pointer *p, FILE *out);

/* Allocated: the pointer to the file of that ref in the tree of `access`. 0 or -errno. */
int ofs_pointer_make(struct ofs_pointer p, const struct ofs_access *access, const char *ref,
		     struct ofs_error *err, char **ret);

/* Allocated: the outline of a content as pointers have it; nothing for a binary one. 0 or -errno. */
int ofs_pointer_outline(const struct ofs_content *c, char **ret);

/* Whether a pointer of `pointer` tokens in place of `content` tokens is worth a look elsewhere. */
bool ofs_pointer_pays(uint64_t content, uint64_t pointer);

/* Whether any pointer does in place of so many bytes, so that none need be counted. */
bool ofs_pointer_certainly_pays(uint64_t bytes);

struct ofs_offloaded {
	struct ofs_deposited file;
	char *pointer; /* the text, ended by a newline */
};

void ofs_offloaded_finish(struct ofs_offloaded *o);

/*
 * Stores p->content in a tree, which is opened if need be, and makes the pointer to it, a brief one
 * where another would not pay; a missing store is made. 0 or -errno with the reason in `err`.
 */
int ofs_offload(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret);

/*
 * The same where a pointer pays: 1. 0: it would not, and nothing was stored.
 */
int ofs_offload_if_it_pays(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
			   struct ofs_access *access, struct ofs_error *err,
			   struct ofs_offloaded *ret);
