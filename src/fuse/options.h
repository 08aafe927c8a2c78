/* SPDX-License-Identifier: MIT */
/* The daemon's command line. */
#ifndef OFS_FUSE_OPTIONS_H
#define OFS_FUSE_OPTIONS_H

#include <fuse_lowlevel.h>

#include <offloadfs/error.h>
#include <offloadfs/tree.h>

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
	unsigned int seal_delay; /* milliseconds */
	unsigned int journal_max; /* MiB; 0: the default */
	unsigned int scrub; /* milliseconds */
	unsigned int slice_max_lines;
	unsigned int slice_max_bytes;
	int uring; /* enum ofs_uring */
	struct fuse_args mount; /* what is libfuse's: -o allow_other and the like */
};

/*
 * Returns 0; -EINVAL with a message for a wrong command line. `ret` is to be finished in either
 * case.
 */
int ofs_options_parse(int argc, char **argv, struct ofs_options *ret, struct ofs_error *err);
void ofs_options_finish(struct ofs_options *o);

/*
 * What libfuse says from here on goes into `err`, as one line; NULL ends it. Needs nothing else to
 * be running.
 */
void ofs_options_listen(struct ofs_error *err);

extern const char ofs_options_usage[];

#endif
