/* SPDX-License-Identifier: MIT */
/*
 * Maps ReMe's paths to those of a tree. Its programs name directories of their own machine. One
 * outside the tree is mapped to a directory below cache/context/reme, in the same way for writing
 * and for reading.
 */
#pragma once

#include "client/access.h"

/*
 * Returns the directory in the tree for `dir` (NULL: not given), allocated. Sets *ret_mapped if
 * `dir` is not in the tree itself.
 */
char *ofs_reme_folder(const struct ofs_access *access, const char *dir, bool *ret_mapped);

/* Returns the path in the tree of a file, allocated. */
char *ofs_reme_file(const struct ofs_access *access, const char *path);
