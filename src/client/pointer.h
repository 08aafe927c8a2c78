/* SPDX-License-Identifier: MIT */
/*
 * A pointer: the text that stays in a prompt in place of offloaded content. It is made for a
 * language model: what it is, how much, where, how to read more and how to keep it, then the first
 * and last lines.
 *
 * Deterministic: nothing in it depends on when or how fast something ran. Every command in it works
 * as printed.
 */
#pragma once

#include <stdio.h>

#include "client/access.h"
#include "client/content.h"
#include "client/deposit.h"

/* All borrowed. */
struct ofs_pointer {
	const char *what; /* title, command or category; any bytes */
	bool has_exit;
	int exit_code; /* as a shell gives it */
	int signal; /* that ended the command, or 0 */
	const struct ofs_content *content;
	/*
	 * Text that follows the ref, so that the pointer can be undone. Such a pointer is shorter:
	 * it names its file by the ref alone, and does not say how to keep it. NULL: none.
	 */
	const char *mark;

	/* Where it is; ofs_pointer_make() sets them. */
	const char *path; /* in the tree */
	const char *ref;
	/* The mountpoint as it may be written in the current directory; NULL: not mounted. */
	const char *mount;
	const char *hint; /* as of ofs_target */
};

/* 0 or -errno; then the printed text is incomplete. */
int ofs_pointer_print(const struct ofs_pointer *p, FILE *out);

/* Allocated: the pointer to a file that was stored in the tree of `access`. 0 or -errno. */
int ofs_pointer_make(struct ofs_pointer p, const struct ofs_access *access,
		     const struct ofs_deposited *file, struct ofs_error *err, char **ret);

struct ofs_offloaded {
	struct ofs_deposited file;
	char *pointer; /* the text, ended by a newline */
};

void ofs_offloaded_finish(struct ofs_offloaded *o);

/*
 * Stores p->content in a tree, which is opened if need be, and makes the pointer to it; a missing
 * store is made. 0 or -errno with the reason in `err`.
 */
int ofs_offload(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret);

/* ---- the first and last lines of content, in a size fit for a prompt */

#define OFS_PREVIEW_LINE_MAX 200
#define OFS_PREVIEW_MAX 2000

/* Lines as they are shown: without secrets, harmless, cut, each with its end. */
struct ofs_preview {
	uint64_t head; /* lines 1 to `head` are shown */
	uint64_t tail; /* and those from `tail` on, always after `head`; lines + 1: none */
	uint64_t first_missing; /* the first line that is not shown whole; 0: all are */
	char *first[OFS_CONTENT_LINES]; /* as many as there are */
	char *last[OFS_CONTENT_LINES]; /* the last of the others, by their place from the end */
};

/* Binary content has no preview: all of it is missing. 0 or -errno. */
int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret);
void ofs_preview_finish(struct ofs_preview *p);

/* Prints the lines under "--- lines 1-10 of 912 ---". */
void ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out);
