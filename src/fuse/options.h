/* SPDX-License-Identifier: MIT */
/* The daemon's command line. */
#pragma once

#include <fuse_lowlevel.h>
#include <stdio.h>

#include <offloadfs/config.h>

#include "context/settings.h"

/* Values of the setting `io_uring`. */
enum ofs_uring {
	OFS_URING_AUTO,
	OFS_URING_ON,
	OFS_URING_OFF
};

struct ofs_options {
	char *store; /* absolute */
	char *mountpoint; /* absolute */
	int foreground;
	int debug;
	int read_only;
	int follow;
	char *url; /* given in place of the store, which is then its local copy; NULL: none was */
	bool allow_other; /* an option of libfuse, which also stays in `mount` */
	int supervise;
	int help;
	int version;
	struct ofs_config *config; /* set by options; completed by ofs_options_configure() */
	char *config_file; /* absolute; NULL: the one in the store */
	struct ofs_settings context; /* for the context engine; loaded by ofs_options_configure() */
	struct fuse_args mount; /* options for libfuse, such as -o allow_other */
};

/* Returns -EINVAL with a message if the command line is wrong. Finish `ret` in either case. */
int ofs_options_parse(int argc, char **argv, struct ofs_options *ret, struct ofs_error *err);
void ofs_options_finish(struct ofs_options *o);

/* Loads the configuration and the settings of the context engine. 0 or -errno with a message. */
int ofs_options_configure(struct ofs_options *o, struct ofs_error *err);

/*
 * Collects messages of libfuse in `err`, as one line, until called with NULL. No other thread may
 * be running.
 */
void ofs_options_listen(struct ofs_error *err);

void ofs_options_print_usage(FILE *out);
