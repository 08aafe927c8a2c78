/* SPDX-License-Identifier: MIT */
#include "context/chat/chat.h"

#include "base/map.h"
#include "base/tokens.h"
#include "codec/hash.h"

/* The approximate cost of a picture: services count 85 to 1,600 tokens, depending on its size. */
#define PICTURE_TOKENS 800
/* Longer blocks of unknown kinds are data, not text. */
#define BLOCK_TEXT_MAX 65536

/* ---- tokens */

static void count_string(struct ofs_tokens *t, struct ofs_span string)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (!memchr(string.p, '\\', string.len))
		ofs_tokens_add(t, string.p + 1, string.len - 2);
	else {
		ofs_span_decode(string, &text);
		ofs_tokens_add(t, text.data, text.len);
	}
}

uint64_t ofs_span_tokens(struct ofs_span string)
{
	struct ofs_tokens t;

	if (!ofs_span_is_string(string))
		return 0;
	ofs_tokens_init(&t);
	count_string(&t, string);
	return ofs_tokens_total(&t);
}

/* Returns the tokens of arguments: a string, or the text of an object. */
static uint64_t value_tokens(struct ofs_span value)
{
	if (ofs_span_is_string(value))
		return ofs_span_tokens(value);
	return value.p ? ofs_tokens_count(value.p, value.len) : 0;
}

/* ---- reading */

struct reading {
	struct ofs_chat *chat;
	struct ofs_message *message; /* the message being read */
	struct ofs_map by_id; /* checksum of a call's id -> its index + 1 */
	size_t next; /* the call that the next result without an id answers, if there is one */
};

static uint64_t id_key(struct ofs_span id)
{
	return ofs_checksum(id.p, id.len, 0);
}

static bool same_text(struct ofs_span a, struct ofs_span b)
{
	return a.p && b.p && a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

static void add_call(struct reading *r, struct ofs_span id, struct ofs_span name,
		     struct ofs_span args)
{
	struct ofs_chat *c = r->chat;

	if (!c->n_calls || c->calls[c->n_calls - 1].message != c->n)
		r->next = c->n_calls;
	*ofs_append(c->calls, c->n_calls, c->cap_calls) =
		(struct ofs_chat_call){ .id = id, .name = name, .args = args, .message = c->n };
	r->message->tokens += value_tokens(name) + value_tokens(args);
	if (ofs_span_is_string(id))
		ofs_map_put(&r->by_id, id_key(id), (void *)(uintptr_t)c->n_calls);
}

/*
 * Returns the index of the call with the id. Without ids, results answer the calls of the latest
 * message that has some, in their order; further ones answer the last of them.
 */
static size_t find_call(struct reading *r, struct ofs_span id)
{
	struct ofs_chat *c = r->chat;
	size_t number;

	if (!ofs_span_is_string(id)) {
		if (!c->n_calls)
			return SIZE_MAX;
		number = OFS_MIN(r->next, c->n_calls - 1);
		r->next = number + 1;
		return number;
	}
	number = (size_t)(uintptr_t)ofs_map_get(&r->by_id, id_key(id));
	return number && same_text(c->calls[number - 1].id, id) ? number - 1 : SIZE_MAX;
}

/* Notes that the call's message and the current one belong together. */
static void pair(struct reading *r, size_t call)
{
	struct ofs_chat *c = r->chat;
	size_t asked = call == SIZE_MAX ? c->n : c->calls[call].message;

	if (asked == c->n)
		return;
	r->message->asked = OFS_MIN(r->message->asked, asked);
	c->messages[asked].answered = c->n;
}

static void add_result(struct reading *r, struct ofs_span text, size_t call, struct ofs_span name)
{
	struct ofs_chat *c = r->chat;
	uint64_t tokens = ofs_span_tokens(text);

	r->message->tokens += tokens;
	*ofs_append(c->results, c->n_results, c->cap_results) = (struct ofs_chat_result){
		.text = text, .name = name, .message = c->n, .call = call, .tokens = tokens
	};
}

/* Returns whether a block holds or names data: a picture, a recording or a document in base64. */
static bool is_data(struct ofs_span block)
{
	static const char *const types[] = { "image", "image_url",  "input_image", "input_audio",
					     "file",  "input_file", "audio" };
	struct ofs_span type = ofs_span_member(block, "type");
	struct ofs_span source = ofs_span_member(block, "source"); /* Anthropic's documents */

	for (size_t i = 0; i < OFS_ARRAY_SIZE(types); i++)
		if (ofs_span_is(type, types[i]))
			return true;
	return ofs_span_is(ofs_span_member(source, "type"), "base64");
}

/* Returns the tokens of a block that is neither text nor a call nor a result. */
static uint64_t block_tokens(struct ofs_span block)
{
	if (is_data(block))
		return PICTURE_TOKENS;
	return block.len <= BLOCK_TEXT_MAX ? value_tokens(block) : PICTURE_TOKENS;
}

static struct ofs_span block_text(struct ofs_span block)
{
	struct ofs_span text = ofs_span_member(block, "text");

	return ofs_span_is_string(text) ? text : (struct ofs_span){ 0 };
}

/* Reads the result of a tool: a string, or blocks, some of which have text. */
static void read_result(struct reading *r, struct ofs_span content, struct ofs_span id,
			struct ofs_span name)
{
	struct ofs_span_cursor cursor = ofs_span_elements(content);
	struct ofs_span block;
	size_t call = find_call(r, id);

	r->message->answers = true;
	pair(r, call);
	if (ofs_span_is_string(content))
		add_result(r, content, call, name);
	while (ofs_span_next(&cursor, &block)) {
		struct ofs_span text = block_text(block);

		if (text.p)
			add_result(r, text, call, name);
		else
			r->message->tokens += block_tokens(block);
	}
}

static void read_block(struct reading *r, struct ofs_span block)
{
	struct ofs_span type = ofs_span_member(block, "type"), text;

	if (ofs_span_is(type, "tool_result")) {
		read_result(r, ofs_span_member(block, "content"),
			    ofs_span_member(block, "tool_use_id"), (struct ofs_span){ 0 });
		r->chat->anthropic = true;
		return;
	}
	r->message->speaks = true;
	if (ofs_span_is(type, "tool_use")) {
		add_call(r, ofs_span_member(block, "id"), ofs_span_member(block, "name"),
			 ofs_span_member(block, "input"));
		r->chat->anthropic = true;
		return;
	}
	text = block_text(block);
	r->message->tokens += text.p ? ofs_span_tokens(text) : block_tokens(block);
}

static void read_content(struct reading *r, struct ofs_span content)
{
	struct ofs_span_cursor cursor = ofs_span_elements(content);
	struct ofs_span block;

	if (ofs_span_is_string(content)) {
		r->message->tokens += ofs_span_tokens(content);
		r->message->speaks = true;
	}
	while (ofs_span_next(&cursor, &block))
		read_block(r, block);
}

static const char *const member_names[] = { "role",	    "type",	  "content",
					    "name",	    "tool_calls", "function_call",
					    "tool_call_id", "call_id",	  "arguments",
					    "output",	    "input",	  "action" };

/* Tools that are not functions have `input` or `action` instead of `arguments`. */
union members {
	struct ofs_span all[OFS_ARRAY_SIZE(member_names)];
	struct {
		struct ofs_span role, type, content, name, calls, function;
		struct ofs_span tool_call_id, call_id, arguments, output, input, action;
	};
};

/* Returns whether a string ends with `end`, which needs no escapes. */
static bool ends_with(struct ofs_span s, const char *end)
{
	size_t n = strlen(end);

	return ofs_span_is_string(s) && s.len >= n + 2 && memcmp(s.p + s.len - 1 - n, end, n) == 0;
}

/* Matches "function_call", "custom_tool_call", "local_shell_call", ... */
static bool is_call(const union members *m)
{
	return ends_with(m->type, "_call");
}

static bool is_reasoning(const union members *m)
{
	return ofs_span_is(m->type, "reasoning");
}

static enum ofs_role role_of(const union members *m)
{
	static const struct {
		const char *name;
		enum ofs_role role;
	} roles[] = {
		{ "system", OFS_ROLE_SYSTEM }, { "developer", OFS_ROLE_SYSTEM },
		{ "user", OFS_ROLE_USER },     { "assistant", OFS_ROLE_ASSISTANT },
		{ "tool", OFS_ROLE_TOOL },     { "function", OFS_ROLE_TOOL },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(roles); i++) {
		if (ofs_span_is(m->role, roles[i].name))
			return roles[i].role;
	}
	/* An item of OpenAI's responses. */
	if (ends_with(m->type, "_call_output"))
		return OFS_ROLE_TOOL;
	return is_call(m) || is_reasoning(m) ? OFS_ROLE_ASSISTANT : OFS_ROLE_OTHER;
}

static struct ofs_span arguments_of(const union members *m)
{
	if (m->arguments.p)
		return m->arguments;
	return m->input.p ? m->input : m->action;
}

static void read_calls(struct reading *r, struct ofs_span calls)
{
	struct ofs_span_cursor cursor = ofs_span_elements(calls);
	struct ofs_span call;

	r->message->tokens += ofs_span_tokens(calls); /* some programs write them as a string */
	while (ofs_span_next(&cursor, &call)) {
		struct ofs_span function = ofs_span_member(call, "function");

		add_call(r, ofs_span_member(call, "id"), ofs_span_member(function, "name"),
			 ofs_span_member(function, "arguments"));
	}
}

static void read_message(struct reading *r, struct ofs_span object)
{
	struct ofs_message message = { .whole = object,
				       .tokens = OFS_MESSAGE_TOKENS,
				       .asked = r->chat->n,
				       .answered = r->chat->n };
	union members m;
	struct ofs_span id;

	r->message = &message;
	ofs_span_members(object, member_names, OFS_ARRAY_SIZE(member_names), m.all);
	id = m.call_id.p ? m.call_id : m.tool_call_id;
	message.role = role_of(&m);
	message.leads = is_reasoning(&m);
	if (is_call(&m))
		add_call(r, id, m.name, arguments_of(&m));
	else if (message.role == OFS_ROLE_TOOL)
		read_result(r, m.output.p ? m.output : m.content, id, m.name);
	else
		read_content(r, m.content);
	read_calls(r, m.calls);
	if (ofs_span_is_object(m.function))
		add_call(r, (struct ofs_span){ 0 }, ofs_span_member(m.function, "name"),
			 ofs_span_member(m.function, "arguments"));
	r->chat->messages = ofs_grow(r->chat->messages, &r->chat->cap, r->chat->n + 1,
				     sizeof(*r->chat->messages));
	r->chat->messages[r->chat->n++] = message;
}

static uint64_t content_tokens(struct ofs_span content)
{
	struct ofs_span_cursor cursor = ofs_span_elements(content);
	struct ofs_span block;
	uint64_t tokens = ofs_span_tokens(content);

	while (ofs_span_next(&cursor, &block))
		tokens += ofs_span_tokens(block_text(block));
	return tokens;
}

int ofs_chat_read(struct ofs_span list, struct ofs_span system, struct ofs_error *err,
		  struct ofs_chat *ret)
{
	struct ofs_chat chat = { .list = list, .system = system };
	struct reading r = { .chat = &chat, .by_id = OFS_MAP_INIT };
	struct ofs_span_cursor cursor = ofs_span_elements(list);
	struct ofs_span object;
	int e = 0;

	if (!ofs_span_is_array(list))
		return ofs_error_set(err, EINVAL, "\"messages\" is not an array of messages");
	while (e == 0 && ofs_span_next(&cursor, &object)) {
		if (!ofs_span_is_object(object))
			e = ofs_error_set(err, EINVAL, "message %zu is not an object", chat.n + 1);
		else
			read_message(&r, object);
	}
	ofs_map_finish(&r.by_id);
	if (e < 0) {
		ofs_chat_finish(&chat);
		return e;
	}
	chat.anthropic |= ofs_span_is_string(system) || ofs_span_is_array(system);
	chat.system_tokens = content_tokens(system);
	*ret = chat;
	return 0;
}

void ofs_chat_finish(struct ofs_chat *c)
{
	free(c->messages);
	free(c->calls);
	free(c->results);
	*c = (struct ofs_chat){ 0 };
}

uint64_t ofs_chat_tokens(const struct ofs_chat *c)
{
	uint64_t tokens = c->system_tokens;

	for (size_t i = 0; i < c->n; i++)
		tokens += c->messages[i].tokens;
	return tokens;
}

/* ---- texts */

int ofs_message_texts(const struct ofs_message *m, int (*fn)(void *arg, struct ofs_span string),
		      void *arg)
{
	struct ofs_span content = ofs_span_member(m->whole, "content"), block;
	struct ofs_span_cursor cursor = ofs_span_elements(content);
	int r = 0;

	if (m->role == OFS_ROLE_TOOL)
		return 0;
	if (ofs_span_is_string(content))
		return fn(arg, content);
	while (r == 0 && ofs_span_next(&cursor, &block)) {
		struct ofs_span text = block_text(block);

		if (text.p && !ofs_span_is(ofs_span_member(block, "type"), "tool_result"))
			r = fn(arg, text);
	}
	return r;
}

struct ofs_span ofs_content_last_text(struct ofs_span content)
{
	struct ofs_span_cursor cursor = ofs_span_elements(content);
	struct ofs_span last = { 0 }, block;

	if (ofs_span_is_string(content))
		return content;
	while (ofs_span_next(&cursor, &block))
		last = block_text(block);
	return last;
}
