/* SPDX-License-Identifier: MIT */
/*
 * A workspace: the folder that somebody works in, the place of its mountpoint and of its store.
 */
#pragma once

#include <offloadfs/error.h>

#include "io/mounts.h"

/* The name of the mountpoint in the workspace. */
#define OFS_WORKSPACE_MOUNT ".offload"

/*
 * The workspace that `start` (absolute, without symbolic links) lies in, allocated: the nearest
 * folder from `start` upwards that has .offload or .git, else `start`. Other users' do not count,
 * but for root's and, if root asks, those of SUDO_UID. A path in a mounted tree belongs to the
 * workspace that holds the mountpoint: a tree has a folder .offload itself.
 */
char *ofs_workspace_find(const char *start, const struct ofs_mounts *mounts);

/* That of the current directory. 0 or -errno with the reason in `err`. */
int ofs_workspace_here(struct ofs_error *err, char **ret);

/*
 * The store of a workspace (absolute, without symbolic links), allocated in `ret`:
 * ${XDG_DATA_HOME:-$HOME/.local/share}/offloadfs/<name>-<12 hex digits of the SHA-256 of its path>.
 * It is not made here.
 */
int ofs_workspace_store(const char *workspace, struct ofs_error *err, char **ret);

/*
 * Where a copy of the store at a URL is kept that is followed, likewise:
 * ${XDG_CACHE_HOME:-$HOME/.cache}/offloadfs/<name>-<12 hex digits of the SHA-256 of the URL>.
 */
int ofs_workspace_copy(const char *url, struct ofs_error *err, char **ret);
