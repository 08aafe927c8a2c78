/* SPDX-License-Identifier: MIT */
/* How far the work has come, as outputs and the model's own words tell. */
#pragma once

#include "base/buf.h"

/*
 * Appends the last line of an output that counts tests: "245 tests, 0 failures", "3 failed, 12
 * passed in 0.5s". False: there is none.
 */
bool ofs_progress_tests(const char *text, size_t len, struct ofs_buf *ret_line);

/*
 * Appends the next commit that an output of git tells of, at or after *p, which is moved past it:
 * "[main 1a2b3c4] Fix the parser" as "1a2b3c4 Fix the parser". False: there is none before `end`.
 */
bool ofs_progress_commit(const char **p, const char *end, struct ofs_buf *ret);

/*
 * If a line only announces a step ("Let me look at the tests"), the length of the words that do so;
 * else 0.
 */
size_t ofs_progress_announces(const char *line, size_t len);

/* The length of a line without sentences at its end that only announce a step. */
size_t ofs_progress_said(const char *line, size_t len);
