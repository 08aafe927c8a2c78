/* SPDX-License-Identifier: MIT */
/*
 * Trees of other hosts, which are followed (offloadfs(8)) and mounted at peers/NAME in a tree. The
 * store's config.ini has them, as peers = NAME=URL ...
 */
#pragma once

#include "client/target.h"

/*
 * Enters "NAME=URL", or takes NAME out ("NAME="). -EINVAL: `err` says what is wrong with it.
 */
int ofs_peers_change(const char *store, const char *peer, struct ofs_error *err);

/*
 * Mounts those that are not, and says so; `target` is mounted. What fails is reported. An exit code.
 */
int ofs_peers_up(const struct ofs_target *target);

/* Unmounts all that are mounted in the tree at `mountpoint`. */
int ofs_peers_down(const char *mountpoint, struct ofs_error *err);

/* The directories in which they are mounted, in the order of their names: allocated, up to NULL. */
char **ofs_peers_mounted(const char *mountpoint);
void ofs_peers_free(char **list);
