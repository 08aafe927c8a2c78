/* SPDX-License-Identifier: MIT */
/* The daemon's command line. */
#ifndef OFS_FUSE_OPTIONS_H
#define OFS_FUSE_OPTIONS_H

#include <fuse_lowlevel.h>
#include <stdio.h>

#include <offloadfs/config.h>
#include <offloadfs/error.h>

#include "context/settings.h"

/* Values of the key io_uring. */
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
	int help;
	int version;
	struct ofs_config *config; /* what options have set; the file, once it is configured */
	char *config_file; /* absolute; NULL: that of the store */
	struct ofs_settings context; /* of the context engine, once it is configured */
	struct fuse_args mount; /* what is libfuse's: -o allow_other and the like */
};

/*
 * Returns 0; -EINVAL with a message for a wrong command line. `ret` is to be finished in either
 * case.
 */
int ofs_options_parse(int argc, char **argv, struct ofs_options *ret, struct ofs_error *err);
void ofs_options_finish(struct ofs_options *o);

/* Takes the files of the configuration and of the context engine in. 0 or -errno with a message. */
int ofs_options_configure(struct ofs_options *o, struct ofs_error *err);

/*
 * What libfuse says from here on goes into `err`, as one line; NULL ends it. Needs nothing else to
 * be running.
 */
void ofs_options_listen(struct ofs_error *err);

void ofs_options_print_usage(FILE *out);

#endif
