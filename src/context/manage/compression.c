/* SPDX-License-Identifier: MIT */
#include "context/manage/compression.h"

#include "base/redact.h"
#include "base/tokens.h"
#include "context/manage/prefetch.h"
#include "context/manage/seam.h"
#include "context/snapshot/snapshot.h"

#define GATHERED_MAX ((size_t)256 << 10)

/* Placeholders of the greatest length, until there is a file. */
#define LONGEST_REF "k3f9x2k3"
#define LONGEST_TAG "000000"

/* The state of planning. */
struct planning {
	const struct ofs_compression_request *request;
	const struct ofs_chat *chat;
	struct ofs_shelf *shelf;
	struct ofs_error *err;
	size_t head; /* number of system messages */
	size_t end; /* messages from here on stay */
	struct ofs_buf system; /* the system's text, without a snapshot */
	struct ofs_buf earlier; /* the inside of that snapshot */
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

/* ---- selecting messages */

/* Returns whether the message must not be separated from the one before it. */
static bool belongs_to_last(const struct ofs_chat *chat, size_t i)
{
	return chat->messages[i].answers ||
	       (chat->messages[i].role == OFS_ROLE_ASSISTANT && chat->messages[i - 1].leads);
}

/* Returns the first of the messages that stay. No result among them belongs to an earlier call. */
static size_t find_end(const struct ofs_chat *chat, size_t keep)
{
	size_t end = chat->n - OFS_MIN(keep, chat->n);

	for (size_t i = chat->n;;) {
		while (end && belongs_to_last(chat, end))
			end--;
		if (i <= end)
			return end;
		i--;
		end = OFS_MIN(end, chat->messages[i].asked);
	}
}

size_t ofs_compression_end(const struct ofs_chat *chat, const uint64_t message_tokens[],
			   size_t keep, uint64_t max_tokens)
{
	size_t least = 1, most = OFS_MIN(keep, chat->n);

	/* The more messages are kept, the more tokens stay. */
	while (least < most) {
		size_t middle = most - (most - least) / 2;
		uint64_t tokens = 0;

		for (size_t i = find_end(chat, middle); i < chat->n; i++)
			tokens += message_tokens[i];
		if (tokens <= max_tokens)
			least = middle;
		else
			most = middle - 1;
	}
	return find_end(chat, least);
}

static bool is_request(const struct ofs_message *m)
{
	return m->role == OFS_ROLE_USER && m->speaks && !m->answers;
}

/*
 * Returns the user's last request, which stays, unless what stays starts with a message of the
 * user: most services refuse a chat that starts otherwise. SIZE_MAX if there is none.
 */
static size_t find_request(const struct planning *p)
{
	const struct ofs_message *messages = p->chat->messages;

	if (p->end < p->chat->n && messages[p->end].role == OFS_ROLE_USER)
		return SIZE_MAX;
	for (size_t i = p->end; i-- > p->head;) {
		if (is_request(&messages[i]))
			return i;
	}
	return SIZE_MAX;
}

/* Returns whether the message continues the one before it. */
static bool continues(const struct ofs_message *m)
{
	return m->answers || (m->role == OFS_ROLE_ASSISTANT && m[-1].role == OFS_ROLE_ASSISTANT);
}

/* Returns the end of the group at `start`: a message, or calls with their results. */
static size_t group_end(const struct planning *p, size_t start)
{
	const struct ofs_message *messages = p->chat->messages;
	size_t i = start, last = start;

	do {
		last = OFS_MAX(last, messages[i].answered);
		i++;
	} while (i < p->end && (i <= last || continues(&messages[i])));
	return i;
}

static void choose(struct planning *p)
{
	size_t request;

	p->plan->gone = ofs_alloc(p->chat->n + 1);
	p->head = ofs_seam_head(p->chat);
	p->end = p->request->end;
	request = find_request(p);
	for (size_t i = p->head; i < p->end; i++) {
		p->plan->gone[i] = i != request;
		p->plan->removed += p->plan->gone[i];
	}
}

/* ---- making the summary */

/* Appends the earlier summary as a message. */
static void write_earlier(const struct planning *p, struct ofs_buf *out)
{
	ofs_buf_append_str(out, "\n{\"role\": \"system\", \"content\": ");
	ofs_literal_encode(&p->request->style, p->earlier.data, p->earlier.len, out);
	ofs_buf_append_str(out, "}");
}

/*
 * Appends an array of the messages from `i` on that go, after the earlier summary if there is one.
 * Returns the first message that is left for another array.
 */
static size_t write_gone(const struct planning *p, size_t i, struct ofs_buf *out)
{
	struct ofs_sink sink = ofs_sink_to_buf(out);
	uint64_t max = p->request->group_tokens, tokens = 0;
	bool first = true;

	ofs_buf_append_str(out, "[");
	if (p->has_earlier && i == p->head) {
		write_earlier(p, out);
		first = false;
	}
	for (size_t next; i < p->end; i = next) {
		uint64_t own = 0;

		next = group_end(p, i);
		for (size_t j = i; j < next; j++)
			own += p->plan->gone[j] ? p->request->message_tokens[j] : 0;
		if (max && tokens && tokens + own > max)
			break;
		tokens += own;
		for (size_t j = i; j < next; j++) {
			struct ofs_span whole = p->chat->messages[j].whole;

			if (!p->plan->gone[j])
				continue;
			ofs_buf_append_str(out, first ? "\n" : ",\n");
			ofs_edits_write(p->request->edits, whole.p, whole.p + whole.len, &sink);
			first = false;
		}
	}
	ofs_buf_append_str(out, "\n]\n");
	return i;
}

/* Appends one summary for each group of messages. Returns 0 or -errno. */
static int ask_summarizer(const struct planning *p, struct ofs_buf *out)
{
	int r = 0;

	for (size_t i = p->head; i < p->end && r == 0;) {
		OFS_CLEANUP(ofs_buf_finish)
		struct ofs_buf messages = OFS_BUF_INIT, said = OFS_BUF_INIT;

		i = write_gone(p, i, &messages);
		r = ofs_summarizer_run(p->request->summarizer, messages.data, messages.len, p->err,
				       &said);
		if (out->len)
			ofs_buf_append_str(out, "\n\n");
		ofs_buf_append(out, said.data, said.len);
	}
	return r;
}

/*
 * Makes the summary, without secrets: those are in the stored messages. Returns 1, or 0 with the
 * reason in `err` if the summarizer failed.
 */
static int summarize(struct planning *p, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	const char *earlier = p->has_earlier ? (char *)p->earlier.data : NULL;

	if (!p->request->summarizer)
		ofs_snapshot_write(p->chat, p->plan->gone, earlier, p->earlier.len,
				   p->request->snapshot_tokens, &said);
	else if (ask_summarizer(p, &said) < 0)
		return 0;
	ofs_redact_text(out, (const char *)said.data, said.len);
	return 1;
}

/* ---- placing the snapshot */

/* Removes a snapshot from the system's text; the next one goes to the end. */
static void take_earlier(struct planning *p, const struct ofs_snapshot_place *place)
{
	uint8_t *text = p->system.data;

	ofs_buf_append(&p->earlier, text + place->inside, place->inside_len);
	memmove(text + place->start, text + place->end, p->system.len - place->end);
	p->system.len -= place->end - place->start;
	p->has_earlier = true;
}

/* Reads the system's text and the snapshot in it. */
static int read_system(struct planning *p)
{
	struct ofs_snapshot_place place;
	int r = 0;

	p->plan->system_part = ofs_seam_system(p->chat);
	if (!p->plan->system_part.p)
		return 0;
	ofs_span_decode(p->plan->system_part, &p->system);
	if (ofs_seam_find(p->system.data, p->system.len, &place))
		r = ofs_seam_is_ours(&place, p->shelf, p->err);
	if (r > 0)
		take_earlier(p, &place);
	return r < 0 ? r : 0;
}

/* Returns the system's content, which may not end with a string. */
static struct ofs_span system_content(const struct planning *p)
{
	return p->head ? ofs_span_member(p->chat->messages[p->head - 1].whole, "content")
		       : p->chat->system;
}

/* Returns whether the system's text becomes a new message of the list. */
static bool adds_message(const struct planning *p)
{
	return !p->plan->system_part.p && !ofs_span_is_array(system_content(p)) &&
	       (p->head || !p->chat->anthropic);
}

/* Appends a block to the system's content. */
static void put_block(struct ofs_compression *plan, struct ofs_span content,
		      const struct ofs_buf *string)
{
	struct ofs_span_cursor cursor = ofs_span_enter(content);
	struct ofs_span block;

	if (ofs_span_next(&cursor, &block))
		ofs_buf_append_str(&plan->system, ", ");

	plan->system_part = (struct ofs_span){ content.p + content.len - 1, 0 };
	ofs_buf_append_str(&plan->system, "{\"type\": \"text\", \"text\": ");
	ofs_buf_append(&plan->system, string->data, string->len);
	ofs_buf_append_str(&plan->system, "}");
}

/* Determines where a new system's text goes, and what encloses it. No value: beside the list. */
static void put_in(struct planning *p, const struct ofs_buf *string)
{
	struct ofs_compression *plan = p->plan;
	bool message = adds_message(p);

	if (!message && ofs_span_is_array(system_content(p))) {
		put_block(plan, system_content(p), string);
		return;
	}
	if (message) {
		plan->system_part = (struct ofs_span){ p->chat->messages[p->head].whole.p, 0 };
		ofs_buf_append_str(&plan->system, "{\"role\": \"system\", \"content\": ");
	}
	ofs_buf_append(&plan->system, string->data, string->len);
	if (message)
		ofs_buf_append_str(&plan->system, "}, ");
}

/* Appends the system's text with the snapshot. */
static void write_system(const struct planning *p, const struct ofs_buf *inside, const char *path,
			 const char *tag, struct ofs_buf *out)
{
	ofs_buf_append(out, p->system.data, p->system.len);
	ofs_seam_write_snapshot(inside->data, inside->len, p->plan->removed, path, tag,
				!p->system.len, out);
}

/* Returns the tokens that the new system's text adds to the chat. */
static int64_t system_tokens(const struct planning *p, const struct ofs_buf *text)
{
	uint64_t now = ofs_tokens_count(text->data, text->len);

	return (int64_t)now - (int64_t)ofs_span_tokens(p->plan->system_part) +
	       (adds_message(p) ? OFS_MESSAGE_TOKENS : 0);
}

static int place_snapshot(struct planning *p, const struct ofs_buf *inside)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, string = OFS_BUF_INIT;
	char tag[OFS_MARK_TAG + 1];
	int r = ofs_shelf_tag(p->shelf, p->plan->file.mark.ref, p->err, tag);

	if (r < 0)
		return r;
	write_system(p, inside, p->plan->file.path, tag, &text);
	ofs_literal_encode(&p->request->style, text.data, text.len, &string);
	p->plan->tokens += (uint64_t)system_tokens(p, &text);

	if (p->plan->system_part.p)
		ofs_buf_append(&p->plan->system, string.data, string.len);
	else
		put_in(p, &string);
	return 0;
}

/* ---- planning */

/* Returns the `kept` of the file: messages before the end that stay. */
static size_t count_kept(const struct planning *p)
{
	size_t n = adds_message(p);

	for (size_t i = 0; i < p->end; i++)
		n += !p->plan->gone[i] && !ofs_prefetch_is(&p->chat->messages[i]);
	return n;
}

/* A file being written. Small pieces are gathered, because each would cost a system call. */
struct writing {
	struct ofs_spool *file;
	struct ofs_buf gathered;
};

static int flush(struct writing *w)
{
	int r = ofs_spool_append(w->file, w->gathered.data, w->gathered.len);

	w->gathered.len = 0;
	return r;
}

static int gather(void *arg, const void *data, size_t len)
{
	struct writing *w = arg;
	int r = 0;

	if (w->gathered.len + len < GATHERED_MAX) {
		ofs_buf_append(&w->gathered, data, len);
		return 0;
	}
	r = flush(w);
	return r < 0 ? r : ofs_spool_append(w->file, data, len);
}

static int write_file(const struct ofs_seam_draft *draft, struct ofs_spool *file)
{
	struct writing w = { .file = file };
	const struct ofs_sink sink = { .write = gather, .arg = &w };
	int r = ofs_seam_write_file(draft, &sink);

	if (r == 0)
		r = flush(&w);
	ofs_buf_finish(&w.gathered);
	return r;
}

static int shelve(struct planning *p)
{
	/* The file may be as large as the chat, so it is not kept in memory as well. */
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool file = OFS_SPOOL_INIT;
	const struct ofs_seam_draft draft = {
		.chat = p->chat,
		.edits = p->request->edits,
		.end = p->end,
		.kept = count_kept(p),
		.earlier = p->has_earlier,
		.system = !p->head && p->chat->system.p,
	};
	int r = write_file(&draft, &file);

	if (r < 0)
		return ofs_error_set(p->err, -r, "cannot gather the messages: %s", strerror(-r));
	return ofs_shelf_put_text(p->shelf, &file, "messages", p->err, &p->plan->file);
}

/* Returns 1; 0 with the reason if the summary is as long as the messages gone; or -errno. */
static int check_gain(struct planning *p, const struct ofs_buf *inside, uint64_t gone)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *path = NULL;
	int64_t more;
	int r = ofs_access_find(p->shelf->access, p->err);

	if (r < 0)
		return r;
	path = ofs_shelf_ref_path(p->shelf, LONGEST_REF);
	write_system(p, inside, path, LONGEST_TAG, &text);
	more = system_tokens(p, &text);
	if (more < (int64_t)gone)
		return 1;
	ofs_error_set(p->err, ENODATA,
		      "nothing would be gained: the summary has %lld tokens, the messages %llu",
		      (long long)more, (unsigned long long)gone);
	return 0;
}

static int plan(struct planning *p)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf inside = OFS_BUF_INIT;
	uint64_t gone = 0, all = p->chat->system_tokens;
	int r;

	choose(p);
	if (!p->plan->removed) {
		ofs_error_set(p->err, ENODATA, "there are no older messages to summarize");
		return 0;
	}
	for (size_t i = 0; i < p->chat->n; i++) {
		all += p->request->message_tokens[i];
		gone += p->plan->gone[i] ? p->request->message_tokens[i] : 0;
	}
	r = read_system(p);
	if (r == 0)
		r = summarize(p, &inside);
	if (r > 0)
		r = check_gain(p, &inside, gone);
	if (r <= 0)
		return r;
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
	ofs_buf_finish(&p.earlier);
	if (r == 1)
		*ret = made;
	else
		ofs_compression_finish(&made);
	return r;
}

/* Returns whether the system's text is a new message after those of the system. */
static bool is_message(const struct ofs_compression *c, const struct ofs_chat *chat, size_t head)
{
	return !c->system_part.len && c->system_part.p == chat->messages[head].whole.p;
}

void ofs_compression_apply(struct ofs_compression *c, const struct ofs_chat *chat,
			   struct ofs_edits *edits)
{
	if (c->system_part.p && !is_message(c, chat, ofs_seam_head(chat)))
		ofs_edits_replace(edits, c->system_part, &c->system);
}

int ofs_compression_write(const struct ofs_compression *c, const struct ofs_chat *chat,
			  const struct ofs_edits *edits, const struct ofs_sink *sink)
{
	const char *start = chat->list.p + 1, *end = chat->list.p + chat->list.len - 1;
	size_t head;
	int r;

	if (!c || !c->gone)
		return ofs_edits_write(edits, start, end, sink);
	head = ofs_seam_head(chat);
	r = sink->write(sink->arg, start, (size_t)(chat->messages[0].whole.p - start));
	for (size_t i = 0; i < chat->n && r == 0; i++) {
		const char *next = i + 1 < chat->n ? chat->messages[i + 1].whole.p : end;

		/* Not an edit, since the message at this place may be gone. */
		if (i == head && is_message(c, chat, head))
			r = sink->write(sink->arg, c->system.data, c->system.len);
		if (r == 0 && !c->gone[i])
			r = ofs_edits_write(edits, chat->messages[i].whole.p, next, sink);
	}
	return r;
}
