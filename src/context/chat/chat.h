/* SPDX-License-Identifier: MIT */
/*
 * A list of messages as it is sent to a model, read in place. Three forms are known, and may be mixed:
 * OpenAI's chat completions (role "tool", "tool_calls"), OpenAI's responses (items "function_call" and
 * "function_call_output", and the like of other tools) and Anthropic's messages (blocks "tool_use" and "tool_result"). What is not
 * known is passed through.
 */
#ifndef OFS_CONTEXT_CHAT_H
#define OFS_CONTEXT_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <offloadfs/error.h>

#include "context/json/span.h"

enum ofs_role {
	OFS_ROLE_SYSTEM, /* or "developer" */
	OFS_ROLE_USER,
	OFS_ROLE_ASSISTANT,
	OFS_ROLE_TOOL, /* the result of a call, in a message of its own */
	OFS_ROLE_OTHER,
};

/* What a message costs beside its text. */
#define OFS_MESSAGE_TOKENS 4

struct ofs_message {
	struct ofs_span whole;
	uint64_t tokens;
	enum ofs_role role;
	/* It holds results of calls that were made before it, and must not be parted from. */
	bool answers;
	/* There is something in it that is no result of a call. */
	bool speaks;
	/* A model's reasoning, which must not be parted from what follows it. */
	bool leads;
	size_t asked; /* the first message with a call that is answered in it; its own number: none */
	size_t answered; /* the last message with an answer to a call of its own; its own number: none */
};

/* What a tool was called with; nothing where the chat does not say it. */
struct ofs_chat_call {
	struct ofs_span id; /* a string */
	struct ofs_span name; /* a string */
	struct ofs_span args; /* an object, or a string with one */
	size_t message;
};

/* A text that a tool gave back: a string that may be replaced. A result of several parts is several of these. */
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
 * Reads a list, and `system`, which stands beside it (or is nothing). The text stays the caller's, and
 * in place. -EINVAL: it is not an array of objects, with the reason in `err`.
 */
int ofs_chat_read(struct ofs_span list, struct ofs_span system, struct ofs_error *err,
		  struct ofs_chat *ret);
void ofs_chat_finish(struct ofs_chat *c);

/* Tokens of all messages and what stands beside them. */
uint64_t ofs_chat_tokens(const struct ofs_chat *c);

/*
 * Calls fn(arg, string) for each text of a message that is meant to be read: its content, and what it says in
 * blocks; not results and calls. A nonzero return ends it and is returned.
 */
int ofs_message_texts(const struct ofs_message *m, int (*fn)(void *arg, struct ofs_span string),
		      void *arg);

/* The string that the text of a message ends with, or nothing: where more text can be added. */
struct ofs_span ofs_content_last_text(struct ofs_span content);

/* Estimated tokens of what a string says. */
uint64_t ofs_span_tokens(struct ofs_span string);

#endif
