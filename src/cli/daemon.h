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
 * Mounts the store; returns once that is done. The daemon's messages go to our standard error; when
 * they have said why it failed, the text of `err` is empty.
 */
int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err);

/* Unmounts. -EBUSY: somebody uses the tree. */
int ofs_daemon_unmount(const char *mountpoint, struct ofs_error *err);

/* The mount's status.json; NULL when it cannot be read. */
json_t *ofs_daemon_status(const char *mountpoint);

/* Waits until nobody owns the store. -ETIMEDOUT: somebody still does. */
int ofs_daemon_wait(const char *store, struct ofs_error *err);
