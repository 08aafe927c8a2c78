/* SPDX-License-Identifier: MIT */
/*
 * Which files and directories the caller may take for his own. Settings, commands and content that
 * somebody else could have written are not used unless the user says so.
 */
#pragma once

#include <sys/types.h>

#include <offloadfs/error.h>

#include "base/util.h"

/* The file `name` of the user's own configuration: $XDG_CONFIG_HOME/offloadfs/NAME. Allocated. */
char *ofs_trust_user_file(const char *name);

/*
 * Whether a file of the user's own configuration can be used. 1; 0: there is none; -EPERM: another
 * user owns it or its folder, or may write to one of them, with the reason in `err` (may be NULL).
 */
int ofs_trust_check_file(const char *path, struct ofs_error *err);

/*
 * Checks that the store `path`, whose directory is open as `fd`, may be used: the caller owns it and
 * its parts and nobody else may write to them, or the user's file `trusted_stores` names it. 0; or
 * -EPERM with the reason in `err` (may be NULL).
 */
int ofs_trust_check_store(int fd, const char *path, struct ofs_error *err);

/*
 * The same by path, for what is read of a store that need not be opened: returns its directory,
 * opened with O_PATH, which nobody can put another in the place of; or -errno.
 */
int ofs_trust_open_store(const char *path, struct ofs_error *err);

/*
 * The same for a tree that is mounted at `point` by the user `owner`: root's is trusted, too.
 */
int ofs_trust_check_mount(const char *point, uid_t owner, struct ofs_error *err);
