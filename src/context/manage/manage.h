/* SPDX-License-Identifier: MIT */
/*
 * Manages the context of a chat: reads a request with a list of messages, compacts and compresses
 * it, and writes the answer. Everything is stored before the first byte of the answer is written.
 */
#pragma once

#include "client/access.h"
#include "context/json/edit.h"
#include "context/settings.h"
#include "context/summarizer/summarizer.h"

enum ofs_manage_mode {
	OFS_MANAGE_UNSET, /* the request's, or else OFS_MANAGE_AUTO */
	OFS_MANAGE_COMPACT,
	OFS_MANAGE_COMPRESS,
	OFS_MANAGE_AUTO,
	OFS_MANAGE_RESTORE,
};

/* Options beside the request. They take precedence over it. */
struct ofs_manage_options {
	enum ofs_manage_mode mode;
	const char *store_dir; /* where to store; NULL: not given */
	const char *chat_id; /* NULL: not given */
	const char *default_chat_id; /* used if the request has none either; NULL: none */
	int64_t keep; /* messages or results that stay; -1: not given */
	int64_t max_total_tokens; /* -1: not given */
	int64_t max_tool_message_tokens; /* -1: not given */
	bool has_format; /* `anthropic` is given, for messages that do not tell their form */
	bool anthropic; /* the form is Anthropic's; else OpenAI's */
	bool prefetch;
	bool list_only; /* the answer is only the list of messages */
	const struct ofs_summarizer *summarizer; /* NULL: by rule */
};

#define OFS_MANAGE_OPTIONS_INIT                                                   \
	{                                                                         \
		.keep = -1, .max_total_tokens = -1, .max_tool_message_tokens = -1 \
	}

extern const char *const ofs_manage_modes[]; /* names of the modes; NULL at the end */

/*
 * Reads a request (an object with "messages", or just a list of messages), and writes the answer.
 * Returns 0, or -errno with the reason in `err`; then nothing was written unless the sink failed.
 * -EINVAL: the request is invalid, and nothing was stored. `ret_note` (may be NULL) is set on
 * success: something that the user should know, allocated, or NULL.
 */
int ofs_manage(const void *text, size_t len, const struct ofs_manage_options *options,
	       const struct ofs_settings *settings, struct ofs_access *access,
	       const struct ofs_sink *sink, struct ofs_error *err, char **ret_note);
