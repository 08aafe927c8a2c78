/* SPDX-License-Identifier: MIT */
/*
 * The rules: what a step says of a call, by the kind of tool. Each reads the arguments and the result and writes one
 * line and some numbers; none stores anything.
 */
#ifndef OFS_CONTEXT_STEPS_OBSERVE_H
#define OFS_CONTEXT_STEPS_OBSERVE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "client/content.h"
#include "context/settings.h"
#include "context/steps/call.h"
#include "context/steps/filetype.h"
#include "context/steps/result.h"
#include "context/tool.h"

/* In characters. */
#define OFS_OBSERVATION_MAX 400
#define OFS_OBSERVATION_ARG_MAX 200

/* One call being looked at, and what was found. */
struct ofs_observing {
	/* Borrowed. */
	const struct ofs_tool_call *call;
	const struct ofs_tool_result *result;
	const struct ofs_content *content; /* of result->content */
	const struct ofs_settings *settings;
	enum ofs_tool_rule rule;

	struct ofs_buf observation;
	json_t *args; /* object: minimal_args */
	json_t *metadata; /* object */
	bool offload; /* worth it, as the rule has it */
	bool failed;
	struct ofs_buf error; /* one line; empty: none is known */
	bool no_memory; /* what could not be made is missing */
};

/* Begins; what is borrowed must outlive it. `rule` becomes what the arguments make of the tool's. */
void ofs_observe_init(struct ofs_observing *o, enum ofs_tool_rule rule,
		      const struct ofs_tool_call *call);
void ofs_observe_finish(struct ofs_observing *o);

/* Applies the rule. Members of `o` down to `settings` are set. 0 or -ENOMEM. */
int ofs_observe(struct ofs_observing *o);

/* The category of what is offloaded by a rule; static. */
const char *ofs_observe_category(enum ofs_tool_rule rule);

/* ---- for the rules (observe_*.c) */

void ofs_observe_file(struct ofs_observing *o); /* OFS_TOOL_READ */
void ofs_observe_write(struct ofs_observing *o);
void ofs_observe_list(struct ofs_observing *o);
void ofs_observe_grep(struct ofs_observing *o);
void ofs_observe_search(struct ofs_observing *o);
void ofs_observe_visit(struct ofs_observing *o);
void ofs_observe_shell(struct ofs_observing *o);

/* Appends to the observation; texts of tools go through ofs_observe_say_text(), or a value already cleaned. */
void ofs_observe_say(struct ofs_observing *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void ofs_observe_say_text(struct ofs_observing *o, const char *text, size_t len, size_t max);

/* "812 bytes", "4.2KB", "50KB": as short as it can be said. */
void ofs_observe_say_size(struct ofs_observing *o, uint64_t bytes);

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n);
void ofs_observe_note_text(struct ofs_observing *o, const char *name, const char *text, size_t len);

/* A scalar as minimal_args have it: a text is cut, a container is counted. NULL: no memory. */
json_t *ofs_observe_scalar(struct ofs_span value);

/*
 * Puts the argument that has one of `names` into minimal_args as `as`; what it says, borrowed, or NULL when there
 * is none.
 */
const char *ofs_observe_take(struct ofs_observing *o, const char *names, const char *as);

/* Puts the arguments that have one of the names into minimal_args under their own names. */
void ofs_observe_keep(struct ofs_observing *o, const char *names);

/* The call has failed, for this reason (may be empty); only the first counts. */
void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len);

/* Says ": failed: REASON" if it has failed, and whether. */
bool ofs_observe_say_failure(struct ofs_observing *o);

/* The kind of file that the result's text is. */
struct ofs_filetype ofs_observe_filetype(const struct ofs_observing *o, const char *path);

/* Over the limits for any tool. */
bool ofs_observe_is_large(const struct ofs_observing *o);

#define OFS_OBSERVE_PATH_NAMES                                                              \
	"path filepath file filename absolutepath targetfile relativeworkspacepath fspath " \
	"notebookpath fileuri uri filepaths files paths"
#define OFS_OBSERVE_DIR_NAMES                                                               \
	"path dirpath directory dir directorypath folder folderpath relativeworkspacepath " \
	"targetdirectory absolutepath searchdirectory searchpath root uri filepath file cwd"

#endif
