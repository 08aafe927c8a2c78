/* SPDX-License-Identifier: MIT */
/*
 * Hooks of Claude Code: an event comes as JSON before or after a tool is used, and an answer as JSON
 * may change what the tool is given, or what the model reads of its result. Nothing is printed here.
 */
#ifndef OFS_CONTEXT_HOOK_H
#define OFS_CONTEXT_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include <offloadfs/error.h>

#include "base/buf.h"
#include "client/access.h"
#include "context/json/span.h"

/*
 * What Read gives is in a file already, and an agent needs its lines to edit them: only what is as
 * large as nobody edits whole is offloaded.
 */
#define OFS_HOOK_READ_BYTES ((uint64_t)64 << 10)

enum ofs_hook_kind {
	OFS_HOOK_OTHER, /* an event that nothing is to be done about */
	OFS_HOOK_PRE, /* PreToolUse */
	OFS_HOOK_POST, /* PostToolUse */
};

/* In what form a PostToolUse is answered. */
enum ofs_hook_form {
	OFS_HOOK_TEXT, /* the pointer as a string */
	/*
	 * The tool's response with the pointer in place of its text. Claude Code takes nothing else for
	 * its own tools: what has not the shape of the tool's output is dropped.
	 */
	OFS_HOOK_TOOL,
};

/* All strings borrowed. */
struct ofs_hook_options {
	const char *task; /* of what is stored; checked already; NULL: none */
	bool task_is_session; /* the session is the task */
	const char *ttl; /* of what is stored; NULL: the category's */
	uint64_t max_bytes; /* output over one of these is offloaded */
	uint64_t max_lines;
	uint64_t read_bytes; /* that of Read over this */
	enum ofs_hook_form form;
	const char *run; /* what a rewritten command begins with: "offload run", and its options */
};

struct ofs_hook_event {
	enum ofs_hook_kind kind;
	/* Each NULL where the event has none. */
	char *tool;
	char *session;
	char *cwd;
	/* They lie in the text of the event. */
	struct ofs_span input;
	struct ofs_span response;
};

void ofs_hook_event_finish(struct ofs_hook_event *e);

/*
 * Reads an event from `text`, which must stay as long as the event is used. One without a name is a
 * PostToolUse. -EINVAL: it is no event, and `err` says what is wrong.
 */
int ofs_hook_event_read(const char *text, size_t len, struct ofs_error *err,
			struct ofs_hook_event *ret);

/*
 * Appends the answer to `ret`, or nothing where all stays as it is. The current directory must be that
 * of the event, as far as it can be: pointers are relative to it. 0; or -errno with the reason in
 * `err`: something could not be stored or taken in, and `ret` is as it was.
 */
int ofs_hook_answer(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		    struct ofs_access *access, struct ofs_error *err, struct ofs_buf *ret);

#endif
