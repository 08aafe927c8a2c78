/* SPDX-License-Identifier: MIT */
/* The tables of commands, options and settings as JSON, of which manual pages are made. */
#pragma once

#include <jansson.h>

#include "cli/command.h"

/* A command as name, synopsis, summary and options, of each letter, name, value, text and words. */
json_t *ofs_tables_command(const struct ofs_command *command);

/*
 * All: commands; daemon, with flags and words (for -o); config and context, the keys of the two
 * files, of each section, name, value, text, words, default and zero. What has no meaning for one is
 * null.
 */
json_t *ofs_tables_all(const struct ofs_command *const *commands, size_t n);
