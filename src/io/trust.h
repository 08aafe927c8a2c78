/* SPDX-License-Identifier: MIT */
/*
 * Decides which files and directories the user can trust. Settings, commands and content that
 * somebody else could have written are not used unless the user allows it.
 */
#pragma once

#include <sys/types.h>

#include <offloadfs/error.h>

#include "base/util.h"

/*
 * Returns $XDG_CONFIG_HOME/offloadfs/NAME (by default in ~/.config), or NULL. The caller frees it.
 */
char *ofs_trust_user_file(const char *name);

/*
 * Checks a file of the user's configuration. Returns 1 if it can be used, 0 if it does not exist,
 * or -EPERM if another user owns it or its directory or may write to one of them, with the reason
 * in *err (`err` may be NULL).
 */
int ofs_trust_check_file(const char *path, struct ofs_error *err);

/*
 * Checks that the store `path`, whose directory is open as `fd`, may be used: the caller owns it
 * and its parts and nobody else may write to them, or the user's file `trusted_stores` names it.
 * Returns 0, or -EPERM with the reason in *err (`err` may be NULL).
 */
int ofs_trust_check_store(int fd, const char *path, struct ofs_error *err);

/*
 * Checks a store by path, for readers that need not open it as a store. Returns its directory,
 * opened with O_PATH so that it cannot be exchanged, or -errno.
 */
int ofs_trust_open_store(const char *path, struct ofs_error *err);

/* Checks a tree that the user `owner` has mounted at `point`. Root's mounts are trusted, too. */
int ofs_trust_check_mount(const char *point, uid_t owner, struct ofs_error *err);
