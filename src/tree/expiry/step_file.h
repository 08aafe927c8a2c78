/* SPDX-License-Identifier: MIT */
/* The files tasks/<task>/history/step_*.json, by their names. */
#ifndef OFS_TREE_EXPIRY_STEP_FILE_H
#define OFS_TREE_EXPIRY_STEP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The directory in a task's. */
#define OFS_STEP_DIR "history"

/* Limits in bytes: of a file that is read as a step, and of all that are read of one task. */
#define OFS_STEP_FILE_MAX ((uint64_t)1 << 20)
#define OFS_STEP_FILES_MAX ((uint64_t)16 << 20)

bool ofs_step_file_is(const char *name);

/* The order of steps, as of strcmp(): by number, then by name those without one. */
int ofs_step_file_compare(const char *a, const char *b);

#endif
