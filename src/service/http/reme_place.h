/* SPDX-License-Identifier: MIT */
/*
 * Where ReMe's paths are in a tree. Its programs name directories of their own machine; what is not
 * in the tree stands for a directory below cache/context/reme, so the same name leads there when it
 * is written and when it is read.
 */
#pragma once

#include "client/access.h"

/*
 * Allocated: the directory in the tree that `dir` (NULL: none was named) stands for; *ret_mapped: it
 * is another one.
 */
char *ofs_reme_folder(const struct ofs_access *access, const char *dir, bool *ret_mapped);

/* Allocated: the path in the tree of a file. */
char *ofs_reme_file(const struct ofs_access *access, const char *path);
