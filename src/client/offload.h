/* SPDX-License-Identifier: MIT */
/* From spooled bytes to a pointer: stores the content in a tree and writes the text. */
#pragma once

#include <offloadfs/error.h>

#include "client/access.h"
#include "client/content.h"
#include "client/deposit.h"
#include "client/pointer.h"

/* All borrowed. */
struct ofs_offload_request {
	const struct ofs_deposit *deposit;
	/* For the pointer. */
	const char *what;
	bool has_exit;
	int exit_code;
	int signal;
	/* Makes the `mark` of struct ofs_pointer, allocated, for the file's ref. NULL: there is none. */
	int (*mark)(void *arg, const char *ref, struct ofs_error *err, char **ret);
	void *mark_arg;
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

/* Opens the tree if need be, making a missing store. 0 or -errno with the reason in `err`. */
int ofs_offload(const struct ofs_offload_request *request, const struct ofs_content *content,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret);
