/* SPDX-License-Identifier: MIT */
/* Starts and ends the daemon. Functions with `err` return 0, or -errno with `err` set. */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

/* Returns the allocated path of a program in PATH, or NULL. */
char *ofs_program_find(const char *program);

/* Returns the allocated path of the daemon that belongs to this tool, or its bare name for PATH. */
char *ofs_daemon_program(void);

/*
 * Mounts the store with a supervised daemon, and returns once it is mounted. The daemon's messages
 * go to our standard error. If they have said why it failed, the text of `err` is empty.
 */
int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err);

/* Does the same for what another host replicates to a URL, and follows it. */
int ofs_daemon_follow(const char *url, const char *mountpoint, struct ofs_error *err);

/* Becomes the daemon, in the foreground. Returns only if that fails. */
int ofs_daemon_become(const char *store, const char *mountpoint, struct ofs_error *err);

/* Returns the mount's status.json, which the caller owns, or NULL if it cannot be read. */
json_t *ofs_daemon_status(const char *mountpoint);

/*
 * Unmounts the store and waits until nobody owns it, even if a daemon that died is just being
 * replaced. Returns 1 if it has ended, 0 if none was mounted there, -EBUSY if somebody uses the
 * tree, or -ETIMEDOUT if somebody still owns the store.
 */
int ofs_daemon_end(const char *store, const char *mountpoint, struct ofs_error *err);
