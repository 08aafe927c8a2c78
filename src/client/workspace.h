/* SPDX-License-Identifier: MIT */
/*
 * A workspace is the folder that somebody works in. It determines the mountpoint and the store.
 */
#pragma once

#include <offloadfs/error.h>

#include "io/mounts.h"

/* The name of the mountpoint in the workspace. */
#define OFS_WORKSPACE_MOUNT ".offload"

/*
 * Returns the workspace that `start` (absolute, without symbolic links) lies in, allocated: the
 * nearest folder from `start` upwards that has .offload or .git, else `start`. Entries of other
 * users do not count, except for root's and, if root asks, those of SUDO_UID. A path in a mounted
 * tree, which has a folder .offload itself, belongs to the workspace that holds the mountpoint.
 */
char *ofs_workspace_find(const char *start, const struct ofs_mounts *mounts);

/* Sets *ret to the workspace of the current directory, allocated. 0, or -errno with `err` set. */
int ofs_workspace_here(struct ofs_error *err, char **ret);

/*
 * Sets *ret to the store of a workspace (absolute, without symbolic links), allocated:
 * ${XDG_DATA_HOME:-$HOME/.local/share}/offloadfs/<name>-<12 hex digits of the SHA-256 of its path>.
 * Does not make it. 0, or -errno with `err` set.
 */
int ofs_workspace_store(const char *workspace, struct ofs_error *err, char **ret);

/*
 * Sets *ret likewise to the directory for the local copy of a followed store at a URL:
 * ${XDG_CACHE_HOME:-$HOME/.cache}/offloadfs/<name>-<12 hex digits of the SHA-256 of the URL>.
 */
int ofs_workspace_copy(const char *url, struct ofs_error *err, char **ret);
