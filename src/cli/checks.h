/* SPDX-License-Identifier: MIT */
/* `offload doctor`: its checks, what they find, and probes of what may never answer. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <offloadfs/config.h>

#include "base/clock.h"

enum ofs_state {
	OFS_FINE,
	OFS_NOTE, /* works, and could be better or is not there yet */
	OFS_WARNING, /* works, and may cost something one day */
	OFS_PROBLEM, /* does not work, or breaks a promise */
	OFS_STATES
};

/*
 * Adds a finding: what was found and, after "\n-> ", what to do about it. Each becomes one line of
 * valid UTF-8, whatever names and paths are in it.
 */
void ofs_found(enum ofs_state state, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Borrowed: an object with name (of the check), state, found and advice (or null); NULL: none. */
const json_t *ofs_findings_get(const char *name);
size_t ofs_findings_count(enum ofs_state state);
void ofs_findings_print(bool json, FILE *out);
void ofs_findings_clear(void);

/*
 * The checks. Each adds its findings and changes nothing; none waits for a daemon that does not
 * answer.
 */

/*
 * Can this user mount here: kernel, device, daemon, transport, fusermount3? If the tree in question
 * is `mounted`, whatever is missing is a warning: the next mount will fail.
 */
void ofs_check_machine(bool mounted);

/* The store in the directory `store`, in use or not; `mounted`: a daemon serves it. */
void ofs_check_store(const char *store, bool mounted);

/* What would make a store faster or safer; `dirfd` is its directory. */
void ofs_check_choices(int dirfd, const struct ofs_config *config);

/* Programs that make life easier. */
void ofs_check_tools(void);

#define OFS_PROBE_TEXT ((size_t)1 << 18)

/* How long a check may take: it can itself wait for a mount (OFS_MOUNT_WAIT_NS). */
#define OFS_CHECK_WAIT_NS (5 * OFS_NS_PER_S)

/*
 * Runs fn(arg, text), which may wait for somebody who never answers, in a child, and gives it up
 * after `patience` nanoseconds. What it writes into `text`, of OFS_PROBE_TEXT bytes and at first
 * "", is allocated for `ret_text` (may be NULL), whatever is returned. Returns what
 * ofs_process_probe() does.
 */
int ofs_probe_run(int (*fn)(const void *arg, char *text), const void *arg, int64_t patience,
		  char **ret_text);

/*
 * Runs a check in a child and gives it up after OFS_CHECK_WAIT_NS, which is the finding `name`: a
 * problem.
 */
void ofs_probe_check(const char *name, void (*check)(const void *arg), const void *arg);
