/* SPDX-License-Identifier: MIT */
/* What the tool says on standard error: one line a message, "offload: COMMAND: ...". */
#ifndef OFS_CLI_REPORT_H
#define OFS_CLI_REPORT_H

enum {
	OFS_EXIT_OK = 0,
	OFS_EXIT_FAILURE = 1,
	OFS_EXIT_USAGE = 2,
};

/* The command that messages name; static storage, NULL: none. */
void ofs_report_set_command(const char *name);

/*
 * Control characters in the message are replaced, so that a name can never forge a second line.
 * Returns OFS_EXIT_FAILURE.
 */
int ofs_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Adds where help is. Returns OFS_EXIT_USAGE. */
int ofs_report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Words for a positive errno, with those that have a meaning of their own in a tree. */
const char *ofs_report_errno(int code);

#endif
