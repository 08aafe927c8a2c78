/* SPDX-License-Identifier: MIT */
/*
 * An observation in the making: what the rules (observe_*.c) read and write, and their helpers. A
 * rule writes one line and some numbers; it stores nothing.
 */
#pragma once

#include "client/content.h"
#include "context/settings.h"
#include "context/steps/call.h"
#include "context/steps/result.h"
#include "context/tool.h"

/* In characters. */
#define OFS_OBSERVATION_MAX 400
#define OFS_OBSERVATION_ARG_MAX 200
#define OFS_OBSERVATION_COMMAND_MAX 100

/* A call and the parts of its step. */
struct ofs_observing {
	const struct ofs_tool_call *call; /* borrowed, as is `settings` */
	const struct ofs_settings *settings;
	enum ofs_tool_rule rule; /* the tool's, adjusted by the arguments */
	const char *category; /* the rule's category for offloaded output; static */
	struct ofs_tool_result result;
	struct ofs_spool spool; /* of result.content */
	struct ofs_content content;

	struct ofs_buf observation;
	json_t *args; /* object: minimal_args */
	json_t *metadata; /* object */
	bool offload; /* the rule considers the result worth storing */
	bool failed;
	struct ofs_buf error; /* one line; empty unless `failed` */
};

/* Appends to the observation text that is already clean. */
#define ofs_observe_say(o, ...) ofs_buf_printf(&(o)->observation, __VA_ARGS__)

/* Appends a size as "812 bytes", "4.2KB" or "50KB". */
void ofs_observe_say_size(struct ofs_observing *o, uint64_t bytes);

/* Appends ": ANSWER" if the text of the result is short. */
void ofs_observe_say_answer(struct ofs_observing *o);

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n);

/* Returns a new value for minimal_args: long texts are cut, containers become their size. */
json_t *ofs_observe_scalar(struct ofs_span value);

/*
 * Copies the first text that `from` has under one of `names` to minimal_args as `as`. Returns the
 * copy, borrowed, or NULL.
 */
const char *ofs_observe_take(struct ofs_observing *o, struct ofs_span from, const char *names,
			     const char *as);

/* Sets the argument `as` in minimal_args to a given text. Returns the copy, borrowed. */
const char *ofs_observe_set_arg(struct ofs_observing *o, const char *as, const char *text,
				size_t len);

/* Marks the call as failed. The first non-empty reason is kept. */
void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len);

/* Looks for a failure in the members of call and result; `by_text`: in the text's start, too. */
void ofs_failure_find(struct ofs_observing *o, bool by_text);

struct ofs_filetype {
	const char *name; /* as in a sentence: "JSON", "Python", "PNG image", "text"; static */
	const char *mime; /* static */
};

/*
 * Finds the type of a file. Known first bytes decide, then the ending of `path` (may be NULL)
 * unless the content is binary, then `content`. Unknown types are "text" or "binary".
 */
struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len);

/* Returns whether the result exceeds the limits for any tool. */
bool ofs_observe_is_large(const struct ofs_observing *o);

#define OFS_OBSERVE_PATH_NAMES                                                              \
	"path filepath file filename absolutepath targetfile relativeworkspacepath fspath " \
	"notebookpath fileuri uri filepaths files paths"
