/* SPDX-License-Identifier: MIT */
/* `offload doctor`: its checks, their findings, and probes of things that may never answer. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <offloadfs/config.h>

#include "base/clock.h"

enum ofs_state {
	OFS_FINE,
	OFS_NOTE, /* works, but could be better or is not there yet */
	OFS_WARNING, /* works, but may cost something one day */
	OFS_PROBLEM, /* does not work, or breaks a promise */
	OFS_STATES
};

/*
 * Adds a finding: what was found and, after "\n-> ", what to do about it. Each of the two becomes
 * one line of valid UTF-8, whatever names and paths are in it.
 */
void ofs_found(enum ofs_state state, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns a finding, borrowed: name (of the check), state, found, advice (or null). NULL: none. */
const json_t *ofs_findings_get(const char *name);
size_t ofs_findings_count(enum ofs_state state);
void ofs_findings_print(bool json, FILE *out);
void ofs_findings_clear(void);

/*
 * The checks. Each adds its findings and changes nothing. None waits for a daemon that does not
 * answer.
 */

/*
 * Checks if this user can mount here: kernel, device, daemon, transport, fusermount3. If the tree
 * in question is `mounted`, whatever is missing is only a warning: the next mount will fail.
 */
void ofs_check_machine(bool mounted);

/* Checks the store in the directory `store`, in use or not. `mounted`: a daemon serves it. */
void ofs_check_store(const char *store, bool mounted);

/* Checks what would make a store faster or safer. `dirfd` is its directory. */
void ofs_check_choices(int dirfd, const struct ofs_config *config);

/* Checks for programs that make life easier. */
void ofs_check_tools(void);

#define OFS_PROBE_TEXT ((size_t)1 << 18)

/* Time limit of a check, which may itself wait for a mount (OFS_MOUNT_WAIT_NS). */
#define OFS_CHECK_WAIT_NS (5 * OFS_NS_PER_S)

/*
 * Runs fn(arg, text), which may wait for something that never answers, in a child, and gives up
 * after `patience` nanoseconds. `text` has OFS_PROBE_TEXT bytes and starts as "". A copy is
 * allocated for `ret_text` (may be NULL), whatever is returned. Returns what ofs_process_probe()
 * does.
 */
int ofs_probe_run(int (*fn)(const void *arg, char *text), const void *arg, int64_t patience,
		  char **ret_text);

/*
 * Runs a check in a child. If that takes longer than OFS_CHECK_WAIT_NS or fails, reports a problem
 * called `name`.
 */
void ofs_probe_check(const char *name, void (*check)(const void *arg), const void *arg);
