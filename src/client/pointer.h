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

#include "client/content.h"

struct ofs_pointer {
	const char *what; /* title, command or category; any bytes */
	bool has_exit;
	int exit_code; /* as a shell gives it */
	int signal; /* that ended the command, or 0 */
	const struct ofs_content *content;
	const char *path; /* in the tree */
	const char *ref;
	/* The mountpoint as it may be written in the current directory; NULL: not mounted. */
	const char *mount;
	const char *hint; /* as of ofs_target */
	/*
	 * Text that follows the ref, so that the pointer can be undone. Such a pointer is shorter:
	 * it names its file by the ref alone, and does not say how to keep it. NULL: none.
	 */
	const char *mark;
};

/* 0 or -errno; then the printed text is incomplete. */
int ofs_pointer_print(const struct ofs_pointer *p, FILE *out);
