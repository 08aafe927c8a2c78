/* SPDX-License-Identifier: MIT */
/* Summaries of older messages that the user's command, or a language model, makes. */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

/* How summaries are made; all borrowed. */
struct ofs_summarizer {
	const char *command; /* for the shell: messages come in, a summary goes out; NULL: none */
	const char *
		url; /* base URL of an OpenAI-compatible endpoint ("https://host/v1"); NULL: none */
	const char *key; /* sent as a bearer token, and shown nowhere; NULL: none */
	const char *model;
	uint64_t timeout_s; /* 0: none */
	uint64_t max_tokens; /* of the summary, asked for; 0: not said */
};

/* Asks for the endpoint of the environment where a command could stand. */
#define OFS_SUMMARIZER_ENDPOINT "endpoint"

/*
 * Sets command or endpoint by what the user asks for: "endpoint", or a command. The environment
 * alone never makes an endpoint be asked; it says which one. Its variables are
 * OFFLOAD_SUMMARIZER_URL, _KEY and _MODEL. Where there is no such URL, OPENAI_BASE_URL, and then
 * OPENAI_API_KEY goes to it if there is no key of ours: a key goes to no other host than it was set
 * for. OPENAI_MODEL is used where there is no such model. -EINVAL: URL or model is missing, and
 * `err` says what to set.
 */
int ofs_summarizer_choose(struct ofs_summarizer *s, const char *asked, struct ofs_error *err);

/*
 * Makes a summary of `messages`, which are JSON in UTF-8. A command gets them on standard input,
 * and what is asked for in $OFFLOAD_SUMMARIZER_INSTRUCTION. The summary, without the white space
 * around it, is a text in UTF-8 without NUL, not empty, of 1 MiB at most; `ret_summary` (an empty
 * buffer) gets it. Else -errno, and `err` says in one line who failed how: then the messages should
 * stay as they are. What others say may stand in that line, without the endpoint's key.
 */
int ofs_summarizer_run(const struct ofs_summarizer *s, const void *messages, size_t len,
		       struct ofs_error *err, struct ofs_buf *ret_summary);
