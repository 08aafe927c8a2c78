/* SPDX-License-Identifier: MIT */
/* A temporary directory in which a store is built. */
#pragma once

#include <offloadfs/error.h>

/* Creates BASE-XXXXXX, private to the user, and sets *ret to its path, which the caller frees. */
int ofs_scratch_make(const char *base, char **ret, struct ofs_error *err);

/* Removes the directory and what is in it, as far as possible. */
void ofs_scratch_remove(const char *path);
