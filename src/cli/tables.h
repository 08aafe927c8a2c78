/* SPDX-License-Identifier: MIT */
/* The tables of commands, options and settings as JSON, from which manual pages are made. */
#pragma once

#include <jansson.h>

#include "cli/command.h"

/* Returns a command's texts, and its options with letter, name, value, text and words. */
json_t *ofs_tables_command(const struct ofs_command *command);

/*
 * Returns everything: commands; daemon, with flags and words (for -o); config and context, the keys
 * of the two files with section, name, value, text, words, default and zero. Members without a
 * meaning for an entry are null.
 */
json_t *ofs_tables_all(const struct ofs_command *const *commands, size_t n);
