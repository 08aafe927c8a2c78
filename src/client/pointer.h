/* SPDX-License-Identifier: MIT */
/*
 * A pointer is the text that replaces offloaded content in a prompt. It tells a language model what
 * the content is, how much there is and how to read it, and has an outline.
 *
 * Pointers are deterministic: nothing in them depends on time or speed. Their paths are absolute,
 * and their commands work as printed.
 */
#pragma once

#include <stdio.h>

#include "client/access.h"
#include "client/content.h"
#include "client/deposit.h"

/* Output and results of more bytes may be offloaded; so may larger files that were read. */
#define OFS_OFFLOAD_BYTES ((uint64_t)4096)
#define OFS_OFFLOAD_READ_BYTES ((uint64_t)16384)

/* All borrowed. */
struct ofs_pointer {
	const char *what; /* title, command or category; any bytes */
	bool has_exit;
	int exit_code; /* as a shell reports it */
	int signal; /* that ended the command, or 0 */
	const struct ofs_content *content;
	/* Text after the ref, by which the pointer can be undone. NULL: none. */
	const char *mark;
	bool brief; /* one line, without an outline */
	bool by_call; /* for a reader that has the calls of services, but perhaps no shell */
	const char *outline; /* from ofs_pointer_outline(); NULL: make it */

	/* The place of the content; set by ofs_pointer_make(). */
	const char *ref;
	const char *mount; /* the absolute path of the tree's root; NULL: not mounted */
	const char *hint; /* as in struct ofs_target */
};

/* Prints the pointer. 0, or -errno after incomplete text. */
int ofs_pointer_print(const struct ofs_pointer *p, FILE *out);

/* Sets *ret to the pointer to the file `ref` in the tree of `access`, allocated. 0 or -errno. */
int ofs_pointer_make(struct ofs_pointer p, const struct ofs_access *access, const char *ref,
		     struct ofs_error *err, char **ret);

/* Sets *ret to the outline for a pointer, allocated; "" for binary content. 0 or -errno. */
int ofs_pointer_outline(const struct ofs_content *c, char **ret);

/* True if replacing `content` tokens by `pointer` tokens saves enough to justify a later read. */
bool ofs_pointer_pays(uint64_t content, uint64_t pointer);

/* True if a pointer to that many bytes always pays, so that no tokens need be counted. */
bool ofs_pointer_certainly_pays(uint64_t bytes);

struct ofs_offloaded {
	struct ofs_deposited file;
	char *pointer; /* the text, ended by a newline */
};

void ofs_offloaded_finish(struct ofs_offloaded *o);

/*
 * Stores p->content in the tree and makes the pointer to it, a brief one if a full one does not
 * pay. Opens the tree if necessary, and makes a missing store. 0, or -errno with `err` set.
 */
int ofs_offload(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret);

/* As ofs_offload(), but returns 1 if a pointer pays, and 0 and stores nothing if not. */
int ofs_offload_if_it_pays(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
			   struct ofs_access *access, struct ofs_error *err,
			   struct ofs_offloaded *ret);
