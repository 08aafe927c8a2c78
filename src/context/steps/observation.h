/* SPDX-License-Identifier: MIT */
/*
 * An observation in the making: what the rules (observe_*.c) read, what they write, and how. A rule
 * writes one line and some numbers; none stores anything.
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

/* A call, and what its step says about it. */
struct ofs_observing {
	const struct ofs_tool_call *call; /* borrowed, as are the settings */
	const struct ofs_settings *settings;
	enum ofs_tool_rule rule; /* that of the tool, or a better one for the arguments */
	const char *category; /* of what is offloaded by the rule; static */
	struct ofs_tool_result result;
	struct ofs_spool spool; /* of result.content */
	struct ofs_content content;

	struct ofs_buf observation;
	json_t *args; /* object: minimal_args */
	json_t *metadata; /* object */
	bool offload; /* the rule says that storing the result is worth it */
	bool failed;
	struct ofs_buf error; /* one line; empty unless `failed` */
};

/* Appends to the observation what is clean already. */
#define ofs_observe_say(o, ...) ofs_buf_printf(&(o)->observation, __VA_ARGS__)

/* Appends "812 bytes", "4.2KB", "50KB". */
void ofs_observe_say_size(struct ofs_observing *o, uint64_t bytes);

/* Appends ": ANSWER" if the result's text is short. */
void ofs_observe_say_answer(struct ofs_observing *o);

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n);

/* A value for minimal_args: a text is cut, a container becomes its count. */
json_t *ofs_observe_scalar(struct ofs_span value);

/*
 * Puts the text that the object has under one of `names` into minimal_args as `as`; borrowed, or
 * NULL.
 */
const char *ofs_observe_take(struct ofs_observing *o, struct ofs_span from, const char *names,
			     const char *as);

/* The same for a text from elsewhere. */
const char *ofs_observe_set_arg(struct ofs_observing *o, const char *as, const char *text,
				size_t len);

/* Marks the call as failed. Only the first reason that is not empty is kept. */
void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len);

/*
 * Looks for a failure in what the harness and the result say, and with `by_text` also in how the
 * text starts (failure.c).
 */
void ofs_failure_find(struct ofs_observing *o, bool by_text);

struct ofs_filetype {
	const char *name; /* for a sentence: "JSON", "Python", "PNG image", "text"; static */
	const char *mime; /* static */
};

/*
 * The kind of a file (filetype.c). `path` (may be NULL) decides, unless the content contradicts it;
 * then `content` and the text do. Unknown types are "text" or "binary".
 */
struct ofs_filetype ofs_filetype_find(const char *path, const struct ofs_content *content,
				      const char *text, size_t len);

/* Over the limits for any tool. */
bool ofs_observe_is_large(const struct ofs_observing *o);

#define OFS_OBSERVE_PATH_NAMES                                                              \
	"path filepath file filename absolutepath targetfile relativeworkspacepath fspath " \
	"notebookpath fileuri uri filepaths files paths"
