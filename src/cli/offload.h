/* SPDX-License-Identifier: MIT */
/* From spooled bytes to the pointer: finds the tree, stores the content and writes the text. */
#ifndef OFS_CLI_OFFLOAD_H
#define OFS_CLI_OFFLOAD_H

#include <stdbool.h>

#include <offloadfs/error.h>

#include "cli/target.h"
#include "client/content.h"
#include "client/deposit.h"

/* All borrowed. */
struct ofs_offload_request {
	const struct ofs_target_options *target;
	const struct ofs_deposit *deposit;
	/* For the pointer. */
	const char *what;
	bool has_exit;
	int exit_code;
	int signal;
};

struct ofs_offloaded {
	struct ofs_deposited file;
	/*
	 * The path as it may be written in the current directory; in the tree when it is not
	 * mounted.
	 */
	char *display;
	char *pointer; /* the text, ended by a newline */
};

void ofs_offloaded_finish(struct ofs_offloaded *o);

/* Makes the store where there is none. 0 or -errno with the reason in `err`. */
int ofs_offload(const struct ofs_offload_request *request, const struct ofs_content *content,
		struct ofs_error *err, struct ofs_offloaded *ret);

#endif
