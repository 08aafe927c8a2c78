/* SPDX-License-Identifier: MIT */
#include "context/compression.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/tokens.h"
#include "base/util.h"
#include "context/seam.h"
#include "context/snapshot.h"

/* A compression being planned. */
struct planning {
	const struct ofs_compression_request *request;
	const struct ofs_chat *chat;
	struct ofs_shelf *shelf;
	struct ofs_error *err;
	size_t head; /* messages of the system */
	size_t end; /* those from here on stay */
	struct ofs_buf system; /* what the system's text says */
	struct ofs_snapshot_place earlier; /* the snapshot that ends it */
	bool has_earlier;
	struct ofs_compression *plan;
};

void ofs_compression_finish(struct ofs_compression *c)
{
	free(c->gone);
	ofs_buf_finish(&c->system);
	ofs_shelved_finish(&c->file);
	*c = (struct ofs_compression){ 0 };
}

/* ---- which messages */

/* Whether a message from `end` on holds the result of a call that was made before it. */
static bool parts_pairs(const struct ofs_chat *chat, size_t *end)
{
	size_t least = *end;

	while (least > 0 && chat->messages[least].answers)
		least--;
	for (size_t i = 0; i < chat->n_results; i++) {
		const struct ofs_result *result = &chat->results[i];

		if (result->message >= least && result->call != SIZE_MAX)
			least = OFS_MIN(least, chat->calls[result->call].message);
	}
	if (least == *end)
		return false;
	*end = least;
	return true;
}

static size_t find_end(const struct ofs_chat *chat, size_t keep)
{
	size_t end = chat->n - OFS_MIN(OFS_MAX(keep, (size_t)1), chat->n);

	while (end && parts_pairs(chat, &end))
		;
	return end;
}

static bool is_request(const struct ofs_message *m)
{
	return m->role == OFS_ROLE_USER && m->speaks && !m->answers;
}

/* The last request of the user, when what stays has none: a chat without one is refused by most services. */
static size_t find_request(const struct planning *p)
{
	for (size_t i = p->chat->n; i-- > p->end;) {
		if (is_request(&p->chat->messages[i]))
			return SIZE_MAX;
	}
	for (size_t i = p->end; i-- > p->head;) {
		if (is_request(&p->chat->messages[i]))
			return i;
	}
	return SIZE_MAX;
}

/* Behind the group that begins at `start`: a message, or calls and their results, which stay together. */
static size_t group_end(const struct planning *p, size_t start)
{
	const struct ofs_message *messages = p->chat->messages;
	size_t i = start + 1;

	while (i < p->end && (messages[i].answers || (messages[i].role == OFS_ROLE_ASSISTANT &&
						      messages[i - 1].role == OFS_ROLE_ASSISTANT)))
		i++;
	return i;
}

static void choose(struct planning *p)
{
	size_t request, next;

	p->plan->gone = ofs_alloc(p->chat->n + 1);
	p->head = ofs_seam_head(p->chat);
	p->end = find_end(p->chat, p->request->keep);
	request = find_request(p);
	for (size_t i = p->head; i < p->end; i = next) {
		uint64_t tokens = 0;

		next = group_end(p, i);
		for (size_t j = i; j < next; j++)
			tokens += p->request->message_tokens[j];
		if (tokens <= p->request->group_tokens)
			continue;
		for (size_t j = i; j < next; j++)
			p->plan->gone[j] = j != request;
	}
	for (size_t i = 0; i < p->end; i++)
		p->plan->removed += p->plan->gone[i];
}

/* ---- the summary */

static bool blank(const struct ofs_buf *b)
{
	return !b->len;
}

/* The summary of what went before, as a message. */
static int write_earlier(const struct planning *p, struct ofs_buf *out)
{
	int r = ofs_buf_append_str(out, "\n{\"role\": \"system\", \"content\": ");

	if (r == 0)
		r = ofs_literal_encode(&p->request->style, p->system.data + p->earlier.inside,
				       p->earlier.inside_len, out);
	return r < 0 ? r : ofs_buf_append_str(out, "}");
}

/* The messages that go, as an array, behind the summary of those that went before. */
static int write_gone(const struct planning *p, struct ofs_buf *out)
{
	struct ofs_sink sink = ofs_sink_to_buf(out);
	bool first = !p->has_earlier;
	int r = ofs_buf_append_str(out, "[");

	if (r == 0 && p->has_earlier)
		r = write_earlier(p, out);

	for (size_t i = 0; i < p->end && r == 0; i++) {
		struct ofs_span whole = p->chat->messages[i].whole;

		if (!p->plan->gone[i])
			continue;
		r = ofs_buf_append_str(out, first ? "\n" : ",\n");
		if (r == 0)
			r = ofs_edits_write(p->request->edits, whole.p, whole.p + whole.len, &sink);
		first = false;
	}
	return r < 0 ? r : ofs_buf_append_str(out, "\n]\n");
}

/* 1, or 0 with the reason when the summarizer did not do it. */
static int summarize(struct planning *p, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf messages = OFS_BUF_INIT;
	const char *earlier = p->has_earlier ? (char *)p->system.data + p->earlier.inside : NULL;
	int r;

	if (!p->request->summarizer) {
		r = ofs_snapshot_write(p->chat, p->plan->gone, earlier,
				       p->has_earlier ? p->earlier.inside_len : 0,
				       p->request->snapshot_tokens, out);
		return r < 0 ? ofs_error_set(p->err, ENOMEM, "out of memory") : 1;
	}
	if (write_gone(p, &messages) < 0)
		return ofs_error_set(p->err, ENOMEM, "out of memory");
	r = ofs_summarizer_run(p->request->summarizer, messages.data, messages.len, p->err, out);
	return r < 0 ? 0 : 1;
}

/* ---- its place */

/* What the system says now, and the snapshot at its end. */
static int read_system(struct planning *p)
{
	p->plan->system_part = ofs_seam_system(p->chat);
	if (!p->plan->system_part.p)
		return 0;
	if (ofs_span_decode(p->plan->system_part, &p->system) < 0)
		return ofs_error_set(p->err, ENOMEM, "out of memory");
	p->has_earlier = ofs_seam_find(p->system.data, p->system.len, &p->earlier);
	if (p->has_earlier)
		p->system.len = p->earlier.start;
	return 0;
}

/* Where a new system's text is put in, and with what around it; nothing: beside the list. */
static int put_in(struct planning *p, const struct ofs_buf *string)
{
	struct ofs_compression *plan = p->plan;
	struct ofs_span first = p->chat->messages[0].whole, content;
	int r;

	content = p->head ? ofs_span_member(p->chat->messages[p->head - 1].whole, "content")
			  : p->chat->system;
	if (ofs_span_is_array(content)) { /* its last block is no text */
		plan->system_part = (struct ofs_span){ content.p + content.len - 1, 0 };
		r = ofs_buf_append_str(&plan->system, ", {\"type\": \"text\", \"text\": ");
		if (r == 0)
			r = ofs_buf_append(&plan->system, string->data, string->len);
		return r < 0 ? r : ofs_buf_append_str(&plan->system, "}");
	}
	if (p->chat->anthropic)
		return ofs_buf_append(&plan->system, string->data, string->len);
	plan->system_part = (struct ofs_span){ first.p, 0 };
	r = ofs_buf_append_str(&plan->system, "{\"role\": \"system\", \"content\": ");
	if (r == 0)
		r = ofs_buf_append(&plan->system, string->data, string->len);
	return r < 0 ? r : ofs_buf_append_str(&plan->system, "}, ");
}

static int place_snapshot(struct planning *p, const struct ofs_buf *inside)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf string = OFS_BUF_INIT;
	uint64_t before = ofs_tokens_count(p->system.data, p->system.len);
	int r;

	if (p->has_earlier)
		before = ofs_span_tokens(p->plan->system_part);
	r = ofs_seam_write_snapshot(inside->data, inside->len, p->plan->removed, p->plan->file.path,
				    blank(&p->system), &p->system);
	if (r == 0)
		r = ofs_literal_encode(&p->request->style, p->system.data, p->system.len, &string);
	if (r == 0 && p->plan->system_part.p)
		r = ofs_buf_append(&p->plan->system, string.data, string.len);
	else if (r == 0)
		r = put_in(p, &string);
	p->plan->tokens += ofs_tokens_count(p->system.data, p->system.len) - before;
	return r < 0 ? ofs_error_set(p->err, ENOMEM, "out of memory") : 0;
}

/* ---- the whole */

/* Whether the system's text is put into the list as a message of its own. */
static bool adds_message(const struct planning *p)
{
	return !p->plan->system_part.p && !p->head && !p->chat->anthropic;
}

static int shelve(struct planning *p)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf file = OFS_BUF_INIT;
	size_t kept = p->end - p->plan->removed + adds_message(p);

	if (ofs_seam_write_file(p->chat, p->request->edits, p->end, kept,
				!p->head && p->chat->system.p, &file) < 0)
		return ofs_error_set(p->err, ENOMEM, "out of memory");
	return ofs_shelf_put_text(p->shelf, file.data, file.len, "messages", p->err,
				  &p->plan->file);
}

/* The summary without secrets: they are in the messages that are stored, if they are needed. */
static int summarize_safely(struct planning *p, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	int r = summarize(p, &said);

	if (r <= 0)
		return r;
	if (ofs_redact_text(out, (const char *)said.data, said.len) < 0)
		return ofs_error_set(p->err, ENOMEM, "out of memory");
	return 1;
}

static int plan(struct planning *p)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf inside = OFS_BUF_INIT;
	uint64_t gone = 0, all = p->chat->system_tokens, summary;
	int r;

	choose(p);
	if (!p->plan->removed) {
		ofs_error_set(p->err, ENODATA, "there are no older messages to sum up");
		return 0;
	}
	r = read_system(p);
	if (r == 0)
		r = summarize_safely(p, &inside);
	if (r <= 0)
		return r;
	for (size_t i = 0; i < p->chat->n; i++) {
		all += p->request->message_tokens[i];
		gone += p->plan->gone[i] ? p->request->message_tokens[i] : 0;
	}
	summary = ofs_tokens_count(inside.data, inside.len);
	if (summary >= gone) {
		ofs_error_set(
			p->err, ENODATA,
			"nothing would be gained: the summary has %llu tokens, the messages %llu",
			(unsigned long long)summary, (unsigned long long)gone);
		return 0;
	}
	r = shelve(p);
	if (r < 0)
		return r;
	p->plan->tokens = all - gone;
	r = place_snapshot(p, &inside);
	return r < 0 ? r : 1;
}

int ofs_compression_plan(const struct ofs_compression_request *request, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compression *ret)
{
	struct ofs_compression made = { 0 };
	struct planning p = {
		.request = request, .chat = request->chat, .shelf = shelf, .err = err, .plan = &made
	};
	int r = plan(&p);

	ofs_buf_finish(&p.system);
	if (r == 1)
		*ret = made;
	else
		ofs_compression_finish(&made);
	return r;
}

/* Whether the system's text is a message that comes before all others. */
static bool is_message(const struct ofs_compression *c, const struct ofs_chat *chat)
{
	return c->system_part.p == chat->messages[0].whole.p && !c->system_part.len;
}

void ofs_compression_apply(struct ofs_compression *c, const struct ofs_chat *chat,
			   struct ofs_edits *edits)
{
	if (c->system_part.p && !is_message(c, chat))
		ofs_edits_replace(edits, c->system_part, &c->system);
}

int ofs_compression_write(const struct ofs_compression *c, const struct ofs_chat *chat,
			  const struct ofs_edits *edits, const struct ofs_sink *sink)
{
	const char *start = chat->list.p + 1, *end = chat->list.p + chat->list.len - 1;
	int r;

	if (!c || !c->gone)
		return ofs_edits_write(edits, start, end, sink);
	/* What is put in before the first message stands where that begins. */
	r = sink->write(sink->arg, start, (size_t)(chat->messages[0].whole.p - start));
	if (r == 0 && is_message(c, chat))
		r = sink->write(sink->arg, c->system.data, c->system.len);
	for (size_t i = 0; i < chat->n && r == 0; i++) {
		const char *next = i + 1 < chat->n ? chat->messages[i + 1].whole.p : end;

		if (!c->gone[i])
			r = ofs_edits_write(edits, chat->messages[i].whole.p, next, sink);
	}
	return r;
}
