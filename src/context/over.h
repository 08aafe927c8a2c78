/* SPDX-License-Identifier: MIT */
/* Creates a context (<offloadfs/context.h>) for a tree that is already open. */
#pragma once

#include <offloadfs/context.h>

#include "client/access.h"

/*
 * `access` is borrowed; ofs_access_find() must have succeeded on it. Returns 0, or -errno with a
 * message in `err`.
 */
int ofs_context_over(struct ofs_access *access, struct ofs_error *err, struct ofs_context **ret);
