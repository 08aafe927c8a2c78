/* SPDX-License-Identifier: MIT */
/* A request to manage a chat: its JSON, options and settings combined. */
#pragma once

#include "context/json/span.h"
#include "context/manage/manage.h"

struct ofs_request {
	struct ofs_span messages; /* within the text */
	struct ofs_span system; /* beside them, as in Anthropic's form; or no value */
	enum ofs_manage_mode mode;
	uint64_t max_total_tokens;
	uint64_t max_tool_message_tokens;
	uint64_t group_token_threshold;
	int64_t keep; /* -1: the mode's default */
	char *store_dir; /* NULL: not given */
	char *chat_id; /* NULL: not given */
	bool anthropic; /* the request gives this as its form */
	bool prefetch;
	bool list_only;
};

/*
 * Reads a request; spans point into `text`. Unknown members are ignored. Returns -EINVAL with the
 * reason in `err` if the text is not JSON or a member has an invalid value.
 */
int ofs_request_read(const void *text, size_t len, const struct ofs_manage_options *options,
		     const struct ofs_settings *settings, struct ofs_error *err,
		     struct ofs_request *ret);
void ofs_request_finish(struct ofs_request *r);
