/* SPDX-License-Identifier: MIT */
/*
 * Managing the context of a chat: reads a request with a list of messages, compacts and compresses
 * it, and writes the answer. Everything is stored before the first byte of the answer is written.
 */
#pragma once

#include "client/access.h"
#include "context/json/edit.h"
#include "context/settings.h"
#include "context/summarizer/summarizer.h"

enum ofs_manage_mode {
	OFS_MANAGE_UNSET, /* as the request says, else OFS_MANAGE_AUTO */
	OFS_MANAGE_COMPACT,
	OFS_MANAGE_COMPRESS,
	OFS_MANAGE_AUTO,
	OFS_MANAGE_RESTORE,
};

/* What is asked for beside the request; it goes before what that says. */
struct ofs_manage_options {
	enum ofs_manage_mode mode;
	const char *store_dir; /* NULL: not said */
	const char *chat_id; /* NULL: not said */
	const char *default_chat_id; /* where the request says none, either; NULL: none */
	int64_t keep; /* -1: not said */
	int64_t max_total_tokens; /* -1: not said */
	int64_t max_tool_message_tokens; /* -1: not said */
	bool has_format; /* of messages that do not tell it */
	bool anthropic; /* that it is; else OpenAI's */
	bool prefetch;
	bool list_only; /* the answer is the list of messages alone */
	const struct ofs_summarizer *summarizer; /* NULL: by rule */
};

#define OFS_MANAGE_OPTIONS_INIT                                                   \
	{                                                                         \
		.keep = -1, .max_total_tokens = -1, .max_tool_message_tokens = -1 \
	}

extern const char *const ofs_manage_modes[]; /* their names; NULL at the end */

/*
 * Reads a request (an object with "messages", or a list of messages alone), and writes the answer.
 * -EINVAL: the request is wrong, and nothing was stored; else -errno; with the reason in `err`.
 * Nothing was written then, unless the sink failed. `ret_note` (may be NULL) gets, allocated, what
 * the user should know though it went well; NULL: nothing.
 */
int ofs_manage(const void *text, size_t len, const struct ofs_manage_options *options,
	       const struct ofs_settings *settings, struct ofs_access *access,
	       const struct ofs_sink *sink, struct ofs_error *err, char **ret_note);
