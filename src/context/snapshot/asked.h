/* SPDX-License-Identifier: MIT */
/* What messages of the user are: a task, a request, a confirmation, or the output of a tool in another form. */
#ifndef OFS_CONTEXT_SNAPSHOT_ASKED_H
#define OFS_CONTEXT_SNAPSHOT_ASKED_H

#include <stdbool.h>
#include <stddef.h>

enum ofs_asked_kind {
	OFS_ASKED_NOTHING, /* thanks, or next to nothing */
	OFS_ASKED_TELLS,
	OFS_ASKED_WANTS, /* something done */
	OFS_ASKED_AGREES, /* with words of its own: "yes, with the credit card" */
	OFS_ASKED_CONFIRMS, /* "yes" alone */
};

/* Whether it is what a program said to a command: some harnesses have no role for that. */
bool ofs_asked_is_output(const char *text, size_t len);

/* Whether it is an example that a harness shows first. */
bool ofs_asked_is_example(const char *text, size_t len);

/*
 * The part of a text that is the task itself, where a harness has put it between instructions of its own: *ret lies
 * in the text.
 */
void ofs_asked_essence(const char *text, size_t len, const char **ret, size_t *ret_len);

enum ofs_asked_kind ofs_asked_judge(const char *text, size_t len);

/*
 * The command at the end of what a model wrote, in a code block or between tags. False: there is none; `ret`
 * lies in the text.
 */
bool ofs_asked_command(const char *text, size_t len, const char **ret, size_t *ret_len);

#endif
