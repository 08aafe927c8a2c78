/* SPDX-License-Identifier: MIT */
/*
 * What people write for a slice, as the suffix that the tree understands; whether it is a good one,
 * the tree decides.
 */
#ifndef OFS_CLI_SLICE_PATH_H
#define OFS_CLI_SLICE_PATH_H

#include <stdbool.h>

/*
 * Allocated: ":10-20" for "10-20", ":10-20" and "L10-L20"; NULL for what cannot be part of a name.
 */
char *ofs_slice_suffix(const char *spec);

/* True when `spec` counts bytes, not lines. */
bool ofs_slice_is_bytes(const char *spec);

#endif
