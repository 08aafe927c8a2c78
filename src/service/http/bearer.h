/* SPDX-License-Identifier: MIT */
/* The token that clients need over TCP, kept in a file of the user. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"
#include "client/target.h"

/*
 * Sets *ret to the token in a file, allocated. If the file is missing and `make` is set, makes it
 * with a new token and sets *ret_made. -EPERM: other users can read or change it; or -errno.
 */
int ofs_bearer_load(const char *path, bool make, struct ofs_error *err, bool *ret_made, char **ret);

/* Returns the user's folder for sockets and tokens, allocated. NULL: there is none. */
char *ofs_bearer_folder(void);

/*
 * Returns the path of the socket ("sock") or token ("token") of a tree in the user's folder for
 * them, allocated. It is the same at each start of a server. NULL: there is no such folder.
 */
char *ofs_bearer_file(const struct ofs_target *t, const char *kind);
