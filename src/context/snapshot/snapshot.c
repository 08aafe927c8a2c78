/* SPDX-License-Identifier: MIT */
/*
 * Goes through the messages once, and through the calls and results that are in the same order. Each text is decoded
 * once, of a long one the two ends only, into a buffer that serves for all.
 */
#include "context/snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "codec/hash.h"
#include "context/snapshot/asked.h"
#include "context/snapshot/called.h"
#include "context/snapshot/digest.h"
#include "context/snapshot/named.h"
#include "context/snapshot/prose.h"
#include "context/snapshot/said.h"
#include "context/snapshot/touched.h"
#include "context/snapshot/trouble.h"

/* Of a string, as it is written, what is looked at when it is longer than both. */
#define HEAD_BYTES 12288
#define TAIL_BYTES 8192
/* To find a place where a string may be cut. */
#define CUT_SEARCH 4096
#define LINE_CHARS 200
#define TOOL_NAME_MAX 128
/* An output in JSON that is larger is a list rather than a thing. */
#define OBJECT_MAX 16384
#define GOAL_TITLE "Goal:\n"

struct making {
	const struct ofs_chat *chat;
	struct ofs_digest digest;
	struct ofs_said said;
	struct ofs_touched touched;
	struct ofs_buf text; /* being looked at */
	struct ofs_buf command; /* the last that was written in a text */
	struct ofs_touch_kind command_kind;
	struct call_state {
		bool answered;
		bool noted; /* as done; a result may have several parts */
		struct ofs_touch_kind kind;
	} * calls;
};

static void making_finish(struct making *m)
{
	ofs_digest_finish(&m->digest);
	ofs_said_finish(&m->said);
	ofs_touched_finish(&m->touched);
	ofs_buf_finish(&m->text);
	ofs_buf_finish(&m->command);
	free(m->calls);
}

/* ---- texts */

/* Whether a string can be cut before p: that is within no escape, and no character. */
static bool is_cut(const char *p)
{
	if (*p == '\\')
		return p[-1] != '\\';
	return !ofs_prose_is_word(*p) && *p != '"' && *p != '/';
}

/* Decodes [p, p + len) of a string; the bytes around it are there, and are left alone. */
static void decode_part(const char *p, size_t len, struct ofs_buf *out)
{
	ofs_span_decode((struct ofs_span){ p - 1, len + 2 }, out);
}

/* Appends what a string says; of a long one its two ends, on lines of their own. */
static void append_text(struct ofs_span string, struct ofs_buf *out)
{
	const char *p = string.p + 1;
	size_t len = string.len - 2, head = HEAD_BYTES, tail = len - TAIL_BYTES;

	if (len <= HEAD_BYTES + TAIL_BYTES + 2 * CUT_SEARCH) {
		ofs_span_decode(string, out);
		return;
	}
	while (head > HEAD_BYTES - CUT_SEARCH && !is_cut(p + head))
		head--;
	while (tail < len && !is_cut(p + tail))
		tail++;
	if (is_cut(p + head))
		decode_part(p, head, out);
	ofs_buf_append_str(out, "\n");
	if (tail < len)
		decode_part(p + tail, len - tail, out);
}

static int take_text(void *arg, struct ofs_span string)
{
	struct ofs_buf *text = arg;

	if (text->len)
		ofs_buf_append_str(text, "\n\n");

	append_text(string, text);
	return 0;
}

/* ---- results */

static uint64_t call_key(const struct ofs_chat_call *c)
{
	return ofs_checksum(c->args.p ? c->args.p : "", c->args.len,
			    ofs_checksum(c->name.p ? c->name.p : "", c->name.len, 0));
}

/* Where an output comes from. */
struct origin {
	const struct ofs_chat_call *call; /* NULL: not known */
	const struct ofs_buf *command; /* one that was written in a text; NULL: none */
	uint64_t key; /* the same for the same call */
	struct ofs_touch_kind kind;
	bool failed; /* the chat says so */
};

static void write_label(const struct origin *o, struct ofs_buf *ret)
{
	size_t before = ret->len;

	if (o->command && o->command->len)
		ofs_called_command(o->command->data, o->command->len, OFS_CALLED_LABEL_CHARS, ret);
	else if (o->call)
		ofs_called_label(o->call, ret);
	if (!(ret->len > before))
		return;
	ofs_buf_append_str(ret, ": ");
}

/* What failed before and went well now is worth less. */
static void note_success(struct making *m, const struct origin *o)
{
	struct ofs_item_list *errors = &m->digest.topics[OFS_TOPIC_ERRORS];

	for (size_t i = 0; i < errors->n; i++) {
		if (o->key && errors->items[i].cause == o->key) {
			errors->items[i].over = true;
			errors->items[i].worth = OFS_WORTH_SOME;
		}
	}
}

static void note_error(struct making *m, const struct origin *o, const struct ofs_buf *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT, text = OFS_BUF_INIT;
	struct ofs_item *item;

	write_label(o, &all);
	ofs_buf_append(&all, line->data, line->len);
	ofs_prose_line((const char *)all.data, all.len, LINE_CHARS, &text);
	if (!text.len)
		return;
	item = ofs_digest_add(&m->digest, OFS_TOPIC_ERRORS, ofs_digest_key(text.data, text.len),
			      OFS_WORTH_MUCH, text.data, text.len);
	item->cause = o->key;
	item->over = false;
	item->worth = OFS_WORTH_MUCH;
}

/* The exit code in the title of a pointer: "[offloaded] make: exit 2, 48,213 bytes". */
static bool pointer_failed(const char *text, size_t len, struct ofs_buf *ret_line)
{
	const char *eol = memchr(text, '\n', len), *at, *ref;
	size_t title = eol ? (size_t)(eol - text) : len;

	at = memmem(text, title, ": exit ", 7);
	if (!at || at + 7 == text + title || at[7] == '0')
		return false;
	if (eol && ofs_trouble_find(eol + 1, len - title - 1, false, ret_line))
		return true;
	ref = memmem(at, title - (size_t)(at - text), ", ", 2);
	if (!ref)
		return false;
	ofs_prose_line(at + 2, (size_t)(ref - at - 2), LINE_CHARS, ret_line);
	return true;
}

/* What went well. A reference tells of it already when the output is stored. */
static void note_done(struct making *m, const struct origin *o, bool stored)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	enum ofs_topic topic = o->kind.looks ? OFS_TOPIC_LOOKED : OFS_TOPIC_DONE;
	struct ofs_item *item;
	int r = -ENOENT;

	if (o->kind.told || stored)
		return;
	if (o->command && o->command->len) {
		ofs_called_command(o->command->data, o->command->len, OFS_CALLED_COMMAND_CHARS,
				   &line);
		r = 0;
	} else if (o->call) {
		ofs_called_whole(o->call, &line);
		r = 0;
	}
	if (r == 0)
		ofs_called_answer((const char *)m->text.data, m->text.len, &line);
	if (r < 0 || !line.len)
		return;
	item = ofs_digest_add(&m->digest, topic, ofs_digest_key(line.data, line.len),
			      o->kind.looks ? OFS_WORTH_LITTLE
					    : ofs_digest_worth_done((const char *)line.data),
			      line.data, line.len);
	item->order = ++m->digest.order; /* the last time counts */
}

static void look_at_output(struct making *m, const struct origin *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const char *text = (const char *)m->text.data;
	size_t len = m->text.len;
	bool stored = len && ofs_named_pointer(text, len) == text, failed;
	struct ofs_span object;

	if (stored)
		failed = pointer_failed(text, len, &line);
	else
		failed = len && ofs_trouble_find(text, len, o->kind.shows && !o->failed, &line);
	if (o->failed && !failed)
		ofs_prose_line(text, len, LINE_CHARS, &line);
	if (failed || o->failed) {
		note_error(m, o, &line);
	} else {
		note_success(m, o);
		note_done(m, o, stored);
	}
	if (!len)
		return;
	ofs_named_pointers(&m->digest, text, len);
	ofs_named_commit(&m->digest, text, len);
	if (*text == '{' && len <= OBJECT_MAX && ofs_span_parse(text, len, NULL, &object) == 0)
		ofs_named_result(&m->digest, object);
	ofs_touched_output(&m->touched, text, len);
}

/* Whether the block that a result is in says that it failed. */
static bool says_failed(struct ofs_span message, struct ofs_span text)
{
	struct ofs_span content = ofs_span_member(message, "content"), block;
	struct ofs_span_cursor cursor = ofs_span_enter(content);

	while (ofs_span_is_array(content) && ofs_span_next(&cursor, &block)) {
		struct ofs_span flag;

		if (text.p < block.p || text.p >= block.p + block.len)
			continue;
		flag = ofs_span_member(block, "is_error");
		return flag.len == 4 && memcmp(flag.p, "true", 4) == 0;
	}
	return false;
}

static void take_result(struct making *m, const struct ofs_chat_result *r)
{
	const struct ofs_message *message = &m->chat->messages[r->message];
	struct origin o = { 0 };

	if (r->call != SIZE_MAX) {
		o.call = &m->chat->calls[r->call];
		o.key = call_key(o.call);
		o.kind = m->calls[r->call].kind;
		o.kind.told |= m->calls[r->call].noted;
		m->calls[r->call].noted = true;
	}
	o.failed = message->role == OFS_ROLE_USER && says_failed(message->whole, r->text);
	m->text.len = 0;
	append_text(r->text, &m->text);
	look_at_output(m, &o);
}

/* ---- calls */

static int take_call(struct making *m, size_t number)
{
	const struct ofs_chat_call *c = &m->chat->calls[number];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *name = ofs_span_text(c->name);
	struct ofs_span args = ofs_called_args(c, &text);
	char tool[TOOL_NAME_MAX] = "";

	if (name)
		memcpy(tool, name, strnlen(name, sizeof(tool) - 1));
	m->calls[number].kind = ofs_touched_call(&m->touched, tool, args);
	if (!args.p)
		return 0;
	ofs_named_args(&m->digest, args);
	ofs_said_tasks(&m->said, args);
	return 0;
}

static void note_unanswered(struct making *m, size_t number)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_buf_append_str(&line, "Called, no result yet: ");
	ofs_called_label(&m->chat->calls[number], &line);
	ofs_digest_add(&m->digest, OFS_TOPIC_OPEN, ofs_digest_key(line.data, line.len),
		       OFS_WORTH_MORE, line.data, line.len);
}

/* ---- messages */

static bool is_example(const struct ofs_message *message, const struct ofs_buf *text)
{
	struct ofs_span flag = ofs_span_member(message->whole, "is_demo");

	return (flag.len == 4 && memcmp(flag.p, "true", 4) == 0) ||
	       ofs_asked_is_example((const char *)text->data, text->len);
}

static void take_user(struct making *m, size_t number)
{
	const char *text = (const char *)m->text.data;
	size_t len = m->text.len;

	if (is_example(&m->chat->messages[number], &m->text))
		return;
	if (ofs_asked_is_output(text, len)) {
		struct origin o = { .command = &m->command, .kind = m->command_kind };

		o.key = m->command.len ? ofs_checksum(m->command.data, m->command.len, 0) : 0;
		look_at_output(m, &o);
		return;
	}
	ofs_named_pointers(&m->digest, text, len);
	ofs_named_urls(&m->digest, text, len);
	ofs_touched_output(&m->touched, text, len);
	ofs_said_by_user(&m->said, text, len, number);
}

static void take_model(struct making *m, size_t number, bool has_calls)
{
	const char *text = (const char *)m->text.data, *command;
	size_t len = m->text.len, command_len;

	ofs_named_pointers(&m->digest, text, len);
	ofs_named_urls(&m->digest, text, len);
	ofs_said_by_model(&m->said, text, len, number);
	m->command.len = 0;
	m->command_kind = (struct ofs_touch_kind){ 0 };
	if (has_calls || !ofs_asked_command(text, len, &command, &command_len))
		return;
	m->command_kind = ofs_touched_command(&m->touched, command, command_len);
	ofs_buf_append(&m->command, command, command_len);
}

static int take_message(struct making *m, size_t number, bool has_calls)
{
	const struct ofs_message *message = &m->chat->messages[number];
	int r;

	if (message->role != OFS_ROLE_USER && message->role != OFS_ROLE_ASSISTANT)
		return 0;
	m->text.len = 0;
	r = ofs_message_texts(message, take_text, &m->text);
	if (r < 0 || !m->text.len)
		return r;
	if (message->role == OFS_ROLE_ASSISTANT) {
		take_model(m, number, has_calls);
		return 0;
	}
	take_user(m, number);
	return 0;
}

static int take_all(struct making *m, const bool gone[])
{
	const struct ofs_chat *c = m->chat;
	size_t call = 0, result = 0, first;
	int r = 0;

	for (size_t i = 0; i < c->n && r == 0; i++) {
		for (first = call; call < c->n_calls && c->calls[call].message == i; call++)
			;
		/* What a message answers comes before what it says. */
		for (; result < c->n_results && c->results[result].message == i; result++) {
			if (gone[i])
				take_result(m, &c->results[result]);
		}
		if (gone[i])
			r = take_message(m, i, call > first);
		for (; first < call && gone[i] && r == 0; first++)
			r = take_call(m, first);
	}
	return r;
}

static void add_open_ends(struct making *m, const bool gone[])
{
	const struct ofs_chat *c = m->chat;
	size_t user = 0, model = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->messages[i].role == OFS_ROLE_USER && c->messages[i].speaks)
			user = i + 1;
		if (c->messages[i].role == OFS_ROLE_ASSISTANT)
			model = i + 1;
	}
	ofs_said_open(&m->said, user, model);
	for (size_t i = 0; i < c->n_calls; i++) {
		if (gone[c->calls[i].message] && !m->calls[i].answered)
			note_unanswered(m, i);
	}
}

static bool has_goal(const char *snapshot, size_t len)
{
	const char *at = snapshot ? memmem(snapshot, len, GOAL_TITLE, strlen(GOAL_TITLE)) : NULL;

	return at && (at == snapshot || at[-1] == '\n');
}

int ofs_snapshot_write(const struct ofs_chat *chat, const bool gone[], const char *earlier,
		       size_t earlier_len, uint64_t max_tokens, struct ofs_buf *out)
{
	OFS_CLEANUP(making_finish) struct making m = { .chat = chat };
	int r;

	ofs_digest_init(&m.digest);
	ofs_said_init(&m.said, &m.digest, has_goal(earlier, earlier_len));
	m.touched.digest = &m.digest;
	m.calls = ofs_alloc((chat->n_calls + 1) * sizeof(*m.calls));
	for (size_t i = 0; i < chat->n_results; i++) {
		if (chat->results[i].call != SIZE_MAX)
			m.calls[chat->results[i].call].answered = true;
	}
	if (earlier)
		ofs_digest_read(&m.digest, earlier, earlier_len);
	r = take_all(&m, gone);
	if (r == 0)
		add_open_ends(&m, gone);
	return r < 0 ? r : ofs_digest_write(&m.digest, max_tokens, out);
}
