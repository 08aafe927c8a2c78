/* SPDX-License-Identifier: MIT */
/* Finds progress in outputs (tests, commits) and announcements in the words of the model. */
#pragma once

#include "base/buf.h"

/*
 * Appends the last line of an output that counts tests: "245 tests, 0 failures", "3 failed, 12
 * passed in 0.5s". Returns false if there is none.
 */
bool ofs_progress_tests(const char *text, size_t len, struct ofs_buf *ret_line);

/*
 * Appends the next commit in the output of git: "[main 1a2b3c4] Fix the parser" as "1a2b3c4 Fix the
 * parser". Starts at *p, and moves it past the commit. Returns false if there is none before `end`.
 */
bool ofs_progress_commit(const char **p, const char *end, struct ofs_buf *ret);

/*
 * Returns the length of the opening words if a line only announces a step ("Let me look at the
 * tests"), else 0.
 */
size_t ofs_progress_announces(const char *line, size_t len);

/* Returns the length of a line without an announcement of a step at its end. */
size_t ofs_progress_said(const char *line, size_t len);
