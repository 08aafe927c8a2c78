/* SPDX-License-Identifier: MIT */
/* The token that clients over TCP must have, in a file of the user's own. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"
#include "client/target.h"

/*
 * Reads the token in a file, allocated. `make`: a missing file gets a new one, and *ret_made is set.
 * -EPERM: others may read it.
 */
int ofs_bearer_load(const char *path, bool make, struct ofs_error *err, bool *ret_made, char **ret);

/*
 * Allocated: the socket ("sock") or token ("token") of a tree in the user's folder for them, the
 * same at each start of a server; NULL: there is no place for such a folder.
 */
char *ofs_bearer_file(const struct ofs_target *t, const char *kind);
