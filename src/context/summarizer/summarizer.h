/* SPDX-License-Identifier: MIT */
/* Summaries of older messages, made by the user's command or by a language model. */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

/* How summaries are made. All members are borrowed. */
struct ofs_summarizer {
	const char *command; /* shell command: messages in, a summary out; NULL: none */
	const char *url; /* base URL of an OpenAI-compatible API; NULL: none */
	const char *key; /* sent as a bearer token, never shown; NULL: none */
	const char *model;
	uint64_t timeout_s; /* 0: no limit */
	uint64_t max_tokens; /* requested length of the summary; 0: not requested */
};

/* In place of a command, selects the endpoint of the environment. */
#define OFS_SUMMARIZER_ENDPOINT "endpoint"

/*
 * Sets command or endpoint as the user asks: "endpoint", or a command. The environment never
 * selects an endpoint by itself; it only defines it, by OFFLOAD_SUMMARIZER_URL, _KEY and _MODEL.
 * Without the URL, OPENAI_BASE_URL is used, and, unless our key is set, OPENAI_API_KEY with it:
 * that key is never sent to another host. Without the model, OPENAI_MODEL is used. Returns -EINVAL
 * if URL or model is missing; `err` says what to set.
 */
int ofs_summarizer_choose(struct ofs_summarizer *s, const char *asked, struct ofs_error *err);

/*
 * Summarizes `messages`, JSON in UTF-8. A command gets them on standard input, and the instruction
 * in $OFFLOAD_SUMMARIZER_INSTRUCTION. `ret_summary` (an empty buffer) gets the trimmed summary:
 * UTF-8 without NUL, not empty, at most 1 MiB. Otherwise returns -errno with a line in `err` that
 * says who failed and how; it may quote others, but never the endpoint's key. The messages should
 * then stay as they are.
 */
int ofs_summarizer_run(const struct ofs_summarizer *s, const void *messages, size_t len,
		       struct ofs_error *err, struct ofs_buf *ret_summary);
