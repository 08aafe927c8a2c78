/* SPDX-License-Identifier: MIT */
/*
 * The options of the daemon beside the keys of its configuration (tree/config.h), for its command
 * line, its help, its manual page and completion.
 */
#pragma once

/* X(member of struct ofs_options, as it is typed, again or in another way, text): those with a dash. */
#define OFS_DAEMON_FLAGS(X)                                          \
	X(foreground, "-f", "-f", "stay in the foreground")          \
	X(debug, "-d", "-d", "debug output of libfuse (implies -f)") \
	X(read_only, "--read-only", "--read-only",                   \
	  "write nothing, neither to the tree nor in STORE")         \
	X(help, "-h", "--help", "this text")                         \
	X(version, "-V", "--version", "the version")

/* The same of words for -o. */
#define OFS_DAEMON_WORDS(X)                                                                     \
	X(debug, "debug", "debug", "The same as -d")                                            \
	X(supervise, "supervise", "supervise", "In the background, restart a daemon that died") \
	X(follow, "follow", "follow",                                                           \
	  "STORE is a URL: show read-only what another host replicates there")

struct ofs_daemon_option {
	const char *name; /* "-h", or a word for -o */
	const char *other; /* "--help"; the same or NULL: none */
	const char *value; /* "FILE"; NULL: it takes none */
	const char *text;
};

/* Each up to one without a name; of the words, all that are no keys of the configuration. */
extern const struct ofs_daemon_option ofs_daemon_flags[];
extern const struct ofs_daemon_option ofs_daemon_words[];
