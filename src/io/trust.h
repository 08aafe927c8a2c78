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
 * user owns it, or may write to it, with the reason in `err` (may be NULL).
 */
int ofs_trust_check_file(const char *path, struct ofs_error *err);

/*
 * Whether a store may be opened: it is the caller's and only he may write to it, or the user's file
 * `trusted_stores` names it. 0, also where there is no store; or -EPERM with the reason in `err`
 * (may be NULL).
 */
int ofs_trust_check_store(const char *path, struct ofs_error *err);

/*
 * The same for a tree that is mounted at `point` by the user `owner`: root's is trusted, too.
 */
int ofs_trust_check_mount(const char *point, uid_t owner, struct ofs_error *err);
