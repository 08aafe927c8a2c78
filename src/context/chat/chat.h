/* SPDX-License-Identifier: MIT */
/*
 * A list of messages for a model, read in place. Three forms are known and may be mixed: OpenAI's
 * chat completions (role "tool", "tool_calls"), OpenAI's responses (items "function_call" and
 * "function_call_output", and similar ones of other tools) and Anthropic's messages (blocks
 * "tool_use" and "tool_result"). Anything else is passed through.
 */
#pragma once

#include "context/json/span.h"

enum ofs_role {
	OFS_ROLE_SYSTEM, /* or "developer" */
	OFS_ROLE_USER,
	OFS_ROLE_ASSISTANT,
	OFS_ROLE_TOOL, /* the result of a call, in a message of its own */
	OFS_ROLE_OTHER,
};

/* The cost of a message beside its text. */
#define OFS_MESSAGE_TOKENS 4

struct ofs_message {
	struct ofs_span whole;
	uint64_t tokens;
	enum ofs_role role;
	/* It holds results of earlier calls, from which it must not be separated. */
	bool answers;
	/* It has content other than results of calls. */
	bool speaks;
	/* A model's reasoning, which must not be separated from what follows it. */
	bool leads;
	size_t asked; /* first message whose call it answers; else its own number */
	size_t answered; /* last message that answers its calls; else its own number */
};

/* A call of a tool; members that the chat does not give are nothing. */
struct ofs_chat_call {
	struct ofs_span id; /* a string */
	struct ofs_span name; /* a string */
	struct ofs_span args; /* an object, or a string with one */
	size_t message;
};

/* A text in the result of a tool: a string that may be replaced. A result may have several. */
struct ofs_chat_result {
	struct ofs_span text;
	struct ofs_span name; /* a string: of the tool, where the result itself says it */
	size_t message;
	size_t call; /* in `calls`; SIZE_MAX: not known */
	uint64_t tokens;
};

struct ofs_chat {
	struct ofs_span list;
	struct ofs_span system; /* Anthropic's, beside the list: a string or blocks; or nothing */
	uint64_t system_tokens;
	bool anthropic; /* the system's text has no place in the list */
	struct ofs_message *messages;
	size_t n, cap;
	struct ofs_chat_call *calls;
	size_t n_calls, cap_calls;
	struct ofs_chat_result *results;
	size_t n_results, cap_results;
};

/*
 * Reads a list and the `system` prompt beside it (may be nothing). The text is borrowed and must
 * not move. -EINVAL with the reason in `err` if the list is not an array of objects.
 */
int ofs_chat_read(struct ofs_span list, struct ofs_span system, struct ofs_error *err,
		  struct ofs_chat *ret);
void ofs_chat_finish(struct ofs_chat *c);

/* Tokens of all messages and the system prompt beside them. */
uint64_t ofs_chat_tokens(const struct ofs_chat *c);

/*
 * Calls fn(arg, string) for each text of a message: its content and blocks of text, but not results
 * and calls. A nonzero return stops it and is returned.
 */
int ofs_message_texts(const struct ofs_message *m, int (*fn)(void *arg, struct ofs_span string),
		      void *arg);

/* The last string of the text of a message, to which more can be added; or nothing. */
struct ofs_span ofs_content_last_text(struct ofs_span content);

/* Estimated tokens of the decoded string. */
uint64_t ofs_span_tokens(struct ofs_span string);
