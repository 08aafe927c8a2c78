/* SPDX-License-Identifier: MIT */
/* The files of steps, tasks/<task>/history/step_*.json: their names and limits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The directory of steps in a task's directory. */
#define OFS_STEP_DIR "history"

/* Limits in bytes: for a file that is read as a step, and for all that are read for one task. */
#define OFS_STEP_FILE_MAX ((uint64_t)1 << 20)
#define OFS_STEP_FILES_MAX ((uint64_t)16 << 20)

/* Values in the JSON of a step. They take up to a hundred times the memory of their text. */
#define OFS_STEP_VALUES_MAX 65536u

/* Returns an upper bound for the number of values in JSON text. */
size_t ofs_step_file_values(const char *text, size_t len);

/* Returns whether this is the name of a step's file. */
bool ofs_step_file_is(const char *name);

/* Compares names of steps like strcmp(): by number, then by name those without one. */
int ofs_step_file_compare(const char *a, const char *b);
