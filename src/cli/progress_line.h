/* SPDX-License-Identifier: MIT */
/* A line on standard error that shows the progress of long work, if that is a terminal. */
#pragma once

#include "base/util.h"

struct ofs_progress {
	const char *doing; /* "Verifying" */
	const char *unit; /* in the plural; NULL: bytes */
	int64_t start;
	bool drawn; /* the line is on the terminal */
};

/* Starts the line of work that begins now. Strings are borrowed. */
void ofs_progress_begin(struct ofs_progress *p, const char *doing, const char *unit);

void ofs_progress_draw(struct ofs_progress *p, uint64_t done, uint64_t total);

/* Clears the line: before anything else is printed, and at the end. */
void ofs_progress_clear(struct ofs_progress *p);
