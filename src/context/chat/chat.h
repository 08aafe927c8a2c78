/* SPDX-License-Identifier: MIT */
/*
 * A list of messages for a model, read in place. It may mix three forms: OpenAI's chat completions
 * (role "tool", "tool_calls"), OpenAI's responses (items "function_call" and
 * "function_call_output", and similar ones of other tools) and Anthropic's messages (blocks
 * "tool_use" and "tool_result"). Anything else is passed through.
 */
#pragma once

#include "context/json/span.h"

enum ofs_role {
	OFS_ROLE_SYSTEM, /* or "developer" */
	OFS_ROLE_USER,
	OFS_ROLE_ASSISTANT,
	OFS_ROLE_TOOL, /* a separate message with the result of a call */
	OFS_ROLE_OTHER,
};

/* Tokens of a message in addition to its text. */
#define OFS_MESSAGE_TOKENS 4

struct ofs_message {
	struct ofs_span whole;
	uint64_t tokens;
	enum ofs_role role;
	/* It has results of earlier calls, from which it must not be separated. */
	bool answers;
	/* It has content other than results. */
	bool speaks;
	/* It is reasoning, which must not be separated from the message after it. */
	bool leads;
	size_t asked; /* index of the first message whose call it answers; else its own */
	size_t answered; /* index of the last message that answers its calls; else its own */
};

/* A tool call. Members that the chat lacks have no value. */
struct ofs_chat_call {
	struct ofs_span id; /* a string */
	struct ofs_span name; /* a string */
	struct ofs_span args; /* an object, or a string with one */
	size_t message;
};

/* A replaceable string in the result of a tool. A result may have several. */
struct ofs_chat_result {
	struct ofs_span text;
	struct ofs_span name; /* the tool's, a string, if the result itself has it */
	size_t message;
	size_t call; /* index in `calls`; SIZE_MAX: unknown */
	uint64_t tokens;
};

struct ofs_chat {
	struct ofs_span list;
	struct ofs_span system; /* Anthropic's, beside the list: a string or blocks; or no value */
	uint64_t system_tokens;
	bool anthropic; /* the system prompt does not belong in the list */
	struct ofs_message *messages;
	size_t n, cap;
	struct ofs_chat_call *calls;
	size_t n_calls, cap_calls;
	struct ofs_chat_result *results;
	size_t n_results, cap_results;
};

/*
 * Reads a list and the `system` prompt beside it (may be no value). The text is borrowed, and must
 * not move. Returns -EINVAL with the reason in `err` if the list is not an array of objects.
 */
int ofs_chat_read(struct ofs_span list, struct ofs_span system, struct ofs_error *err,
		  struct ofs_chat *ret);
void ofs_chat_finish(struct ofs_chat *c);

/* Returns the tokens of all messages and of the system prompt beside them. */
uint64_t ofs_chat_tokens(const struct ofs_chat *c);

/*
 * Calls fn(arg, string) for each text of a message: its content or blocks of text, but no results
 * and calls. A nonzero return value ends this, and is returned.
 */
int ofs_message_texts(const struct ofs_message *m, int (*fn)(void *arg, struct ofs_span string),
		      void *arg);

/* Returns the last string of a content, to which text can be appended, or no value. */
struct ofs_span ofs_content_last_text(struct ofs_span content);

/* Returns the estimated tokens of the decoded string; 0 for other values. */
uint64_t ofs_span_tokens(struct ofs_span string);
