/* SPDX-License-Identifier: MIT */
/* Starting the daemon, and seeing it off. Calls return 0, or -errno with `err` set. */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

/* Allocated: where PATH has a program; NULL: nowhere. */
char *ofs_program_find(const char *program);

/* Allocated: the daemon that belongs to this tool, or its bare name for PATH to find. */
char *ofs_daemon_program(void);

/*
 * Mounts the store; returns once that is done, and the daemon is supervised. Its messages go to our
 * standard error; when they have said why it failed, the text of `err` is empty.
 */
int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err);

/* The same for what another host replicates to a URL, which is followed. */
int ofs_daemon_follow(const char *url, const char *mountpoint, struct ofs_error *err);

/* Becomes the daemon, in the foreground; returns only if that fails. */
int ofs_daemon_become(const char *store, const char *mountpoint, struct ofs_error *err);

/* The mount's status.json; NULL when it cannot be read. */
json_t *ofs_daemon_status(const char *mountpoint);

/*
 * Unmounts the store, and waits until nobody owns it; also when a daemon that died is just being
 * replaced. 1: it has ended; 0: none was mounted there; -EBUSY: somebody uses the tree; -ETIMEDOUT:
 * somebody still owns the store.
 */
int ofs_daemon_end(const char *store, const char *mountpoint, struct ofs_error *err);
