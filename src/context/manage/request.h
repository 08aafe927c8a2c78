/* SPDX-License-Identifier: MIT */
/* What a request to manage a chat asks for, from its JSON, the options and the settings. */
#pragma once

#include "context/json/span.h"
#include "context/manage/manage.h"

struct ofs_request {
	struct ofs_span messages; /* in the text */
	struct ofs_span system; /* beside them, as Anthropic has it; or nothing */
	enum ofs_manage_mode mode;
	uint64_t max_total_tokens;
	uint64_t max_tool_message_tokens;
	uint64_t group_token_threshold;
	int64_t keep; /* -1: as is usual for the mode */
	char *store_dir; /* NULL: not said */
	char *chat_id; /* NULL: not said */
	bool anthropic; /* the form is said to be that */
	bool prefetch;
	bool list_only;
};

/*
 * Reads it; spans are of `text`. Members that are not known are none of ours. -EINVAL: it is not
 * JSON, or a member has a value that has no meaning, with the reason in `err`.
 */
int ofs_request_read(const void *text, size_t len, const struct ofs_manage_options *options,
		     const struct ofs_settings *settings, struct ofs_error *err,
		     struct ofs_request *ret);
void ofs_request_finish(struct ofs_request *r);
