/* SPDX-License-Identifier: MIT */
/*
 * The options of the daemon other than the keys of its configuration (tree/config.h). The command
 * line, --help, the manual page and completion are made from them.
 */
#pragma once

/* Options with a dash: X(member of struct ofs_options, spelling, other or same spelling, text). */
#define OFS_DAEMON_FLAGS(X)                                          \
	X(foreground, "-f", "-f", "stay in the foreground")          \
	X(debug, "-d", "-d", "debug output of libfuse (implies -f)") \
	X(read_only, "--read-only", "--read-only",                   \
	  "write nothing, neither to the tree nor in STORE")         \
	X(help, "-h", "--help", "this text")                         \
	X(version, "-V", "--version", "the version")

/* Words for -o, in the same form. */
#define OFS_DAEMON_WORDS(X)                                                                     \
	X(debug, "debug", "debug", "The same as -d")                                            \
	X(supervise, "supervise", "supervise", "In the background, restart a daemon that died") \
	X(follow, "follow", "follow",                                                           \
	  "STORE is a URL: show read-only what another host replicates there")

struct ofs_daemon_option {
	const char *name; /* "-h", or a word for -o */
	const char *other; /* "--help"; equal to `name`, or NULL: none */
	const char *value; /* "FILE"; NULL: takes no value */
	const char *text;
};

/* Both end with an entry whose name is NULL. The words leave out the keys of the configuration. */
extern const struct ofs_daemon_option ofs_daemon_flags[];
extern const struct ofs_daemon_option ofs_daemon_words[];
