/* SPDX-License-Identifier: MIT */
/* A file with settings: lines KEY = VALUE, perhaps in sections, with every error said by line. */
#ifndef OFS_IO_INI_H
#define OFS_IO_INI_H

#include <offloadfs/error.h>

/* A line that says something. */
struct ofs_ini_line {
	unsigned int number; /* from 1 */
	const char *section; /* that it stands in; NULL: in none */
	const char *name; /* NULL: the section begins here */
	const char *value; /* without blanks around it */
};

/*
 * Takes a line in. Anything but 0 ends the reading; what is wrong with the line is then said in
 * `err`, to which path and line are added.
 */
typedef int (*ofs_ini_fn)(void *arg, const struct ofs_ini_line *line, struct ofs_error *err);

/*
 * Reads the regular file `path`, in UTF-8 with or without a byte order mark, and calls `fn` for its
 * lines in order. A ';' or '#' at the start of a line, and a ';' behind a blank, begin a comment.
 * -EINVAL: it cannot be such a file, or `fn` says so; `err` (may be NULL) has "PATH:LINE: what is
 * wrong". -ENOENT and what reading says otherwise, with words in `err`, too.
 */
int ofs_ini_load(const char *path, ofs_ini_fn fn, void *arg, struct ofs_error *err);

#endif
