/* SPDX-License-Identifier: MIT */
/* A directory in which a store is put together. */
#pragma once

#include <offloadfs/error.h>

/* Makes BASE-XXXXXX, nobody else's to read; *ret is its path, allocated. */
int ofs_scratch_make(const char *base, char **ret, struct ofs_error *err);

/* Removes it with its files and folders, as far as that goes. */
void ofs_scratch_remove(const char *path);
