/* SPDX-License-Identifier: MIT */
/*
 * Trees of other hosts, which are followed (offloadfs(8)) and mounted at peers/NAME in a tree. The
 * store's config.ini lists them: peers = NAME=URL ...
 */
#pragma once

#include "client/target.h"

/* Adds or changes a peer ("NAME=URL"), or removes it ("NAME="). 0, or -errno with a message. */
int ofs_peers_change(const char *store, const char *peer, struct ofs_error *err);

/* Mounts the missing peers of `target`, a mounted tree. Reports failures. Returns an exit code. */
int ofs_peers_up(const struct ofs_target *target);

/* Unmounts all peers in the tree at `mountpoint`. 0, or -errno with the reason in `err`. */
int ofs_peers_down(const char *mountpoint, struct ofs_error *err);

/* Returns the paths at which peers are mounted, in order. Allocated; ends with NULL. */
char **ofs_peers_mounted(const char *mountpoint);
void ofs_peers_free(char **list);
