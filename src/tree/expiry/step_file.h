/* SPDX-License-Identifier: MIT */
/* The files tasks/<task>/history/step_*.json, by their names. */
#ifndef OFS_TREE_EXPIRY_STEP_FILE_H
#define OFS_TREE_EXPIRY_STEP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The directory in a task's. */
#define OFS_STEP_DIR "history"

/* A longer file is not read as a step, nor is more than that of one task's. */
#define OFS_STEP_FILE_MAX ((uint64_t)1 << 20)
#define OFS_STEP_FILES_MAX ((uint64_t)16 << 20)

/* Whether a file of that name is a step. */
bool ofs_step_file_is(const char *name);

/* The order of steps, as of strcmp(): by number, and behind them by name those that have none. */
int ofs_step_file_compare(const char *a, const char *b);

#endif
