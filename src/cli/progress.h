/* SPDX-License-Identifier: MIT */
/*
 * How far long work is: one line on standard error, redrawn in place; nothing where that is no
 * terminal.
 */
#ifndef OFS_CLI_PROGRESS_H
#define OFS_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct ofs_progress {
	const char *what; /* static storage */
	const char *unit; /* of what is counted: static storage; NULL: bytes */
	bool terminal;
	bool drawn; /* the line is there */
	int64_t began;
};

/* Draws it at 0 %. `unit`: what is counted, in the plural; NULL: bytes. */
void ofs_progress_begin(struct ofs_progress *p, const char *what, const char *unit);

/* `done` of `total` of them; a total of 0 is not known yet. */
void ofs_progress_update(struct ofs_progress *p, uint64_t done, uint64_t total);

/* Takes the line away: at the end, and before anything else is printed. */
void ofs_progress_clear(struct ofs_progress *p);

#endif
