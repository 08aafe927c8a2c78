/* SPDX-License-Identifier: MIT */
/* Which files calls of tools and commands of a shell read and change, as far as their words show it. */
#ifndef OFS_CONTEXT_SNAPSHOT_TOUCHED_H
#define OFS_CONTEXT_SNAPSHOT_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"
#include "context/snapshot/digest.h"

/* What is known while a chat is gone through. */
struct ofs_touched {
	struct ofs_digest *digest;
	struct ofs_buf open; /* the file that an editor has open */
	struct ofs_buf dir; /* the working directory, without '/' at its end; empty: not known */
	size_t notes; /* how often a file was noted */
};

/* What the words of a call or a command say of it. */
struct ofs_touch_kind {
	bool shows; /* its result is the text of files, or their names */
	bool told; /* nothing need be said of it but for the files that were noted */
	bool looks; /* it changes nothing */
};

void ofs_touched_finish(struct ofs_touched *t);

/* Notes the files of a call. `args` is an object, or nothing. */
struct ofs_touch_kind ofs_touched_call(struct ofs_touched *t, const char *tool,
				       struct ofs_span args);

/* Notes the files of a command. */
struct ofs_touch_kind ofs_touched_command(struct ofs_touched *t, const char *command, size_t len);

/* Takes from an output which file is open, where the working directory is: "(Open file: PATH)". */
void ofs_touched_output(struct ofs_touched *t, const char *text, size_t len);

/* The command of a call of a shell, decoded (an array of words with blanks between them). False: it has none. */
bool ofs_touched_shell(struct ofs_span args, struct ofs_buf *ret);

#endif
