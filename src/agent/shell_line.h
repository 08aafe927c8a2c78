/* SPDX-License-Identifier: MIT */
/* Lines of a shell, and whether another shell would do the same with them. */
#pragma once

#include "base/util.h"

/*
 * Whether `bash -c LINE` does what the shell that the line is meant for would do, and leaves that
 * shell as it would be. Said only of what is certain: words, quotes, "|", "&&", "||", ";" and
 * redirections, with programs that are found in PATH. Nothing that is expanded ($, `, globs,
 * braces), that groups, repeats or decides, that goes on in the background, has a here-document or
 * a comment; and no command of the shell that changes it (cd, export, source, ...).
 */
bool ofs_shell_line_is_plain(const char *line);
