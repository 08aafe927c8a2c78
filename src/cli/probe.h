/* SPDX-License-Identifier: MIT */
/* Calls that may wait for somebody who never answers, made in a child that is given up then. */
#ifndef OFS_CLI_PROBE_H
#define OFS_CLI_PROBE_H

#include <stddef.h>

#include "io/mounts.h"

#define OFS_PROBE_TEXT 512

/*
 * Runs fn(arg, text) in a child with what it starts, and waits for two seconds at most. What it
 * writes into `text`, of OFS_PROBE_TEXT bytes and at first "", is copied to `ret_text` (may be
 * NULL). Returns what it returned, from 0 to 255; -ETIMEDOUT: it was given up; or -errno.
 */
int ofs_probe_run(int (*fn)(const void *arg, char *text), const void *arg, char *ret_text);

enum ofs_probe_mount {
	OFS_PROBE_ALIVE,
	OFS_PROBE_DEAD, /* its daemon was killed */
	OFS_PROBE_SILENT, /* its daemon is there and does not answer */
};

enum ofs_probe_mount ofs_probe_mount(const struct ofs_mount *m);

#endif
