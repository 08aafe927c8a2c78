/* SPDX-License-Identifier: MIT */
/*
 * Goes through the messages from the newest to the oldest. So a topic that is full has the newest
 * items, a failure is known to have been overcome, and the uses of names are seen before the
 * results that they come from. Only the two ends of a long text are read, and names are taken from
 * the newest results alone, since a chat has room for few.
 */
#include "context/snapshot/snapshot.h"

#include <strings.h>

#include "codec/hash.h"
#include "context/chat/mark.h"
#include "context/snapshot/called.h"
#include "context/snapshot/named.h"
#include "context/snapshot/progress.h"
#include "context/snapshot/prose.h"
#include "context/snapshot/trouble.h"
#include "context/json/args.h"
#include "context/tool.h"

/* Bytes of a string, as written, that are read at each end if it is longer. */
#define HEAD_BYTES 12288
#define TAIL_BYTES 8192
/* Bytes of results from which names are taken. */
#define NAMES_BYTES ((size_t)4 << 20)
/* Bytes searched for a position where a string may be cut. */
#define CUT_SEARCH 4096
#define LINE_CHARS 240
#define GOAL_LINES 6 /* for the first message of the user */
#define LATER_LINES 3 /* for later messages */
#define ANSWER_MAX 60 /* bytes of an answer that means nothing without its question */
/* Orders: those of an earlier snapshot are lower, and each message has room for its lines. */
#define FIRST_ORDER (UINT64_C(1) << 32)
#define MESSAGE_LINES 16
#define PATH_NAMES "path filepath file filename absolutepath targetfile notebookpath"
#define TASK_NAMES "todos plan tasks"
#define REMINDER "<system-reminder>"
#define REMINDER_END "</system-reminder>"

struct making {
	const struct ofs_chat *chat;
	struct ofs_digest digest;
	struct ofs_named names;
	size_t named; /* bytes of results searched for names so far */
	struct ofs_buf text; /* the text being read */
	struct ofs_map well; /* keys of calls that succeeded later */
	struct ofs_map rules; /* rule + 1 of each tool, by the hash of its name */
	bool *answered; /* for each call: a result was seen */
	bool announced; /* a newer text of the model was seen: older announcements are stale */
	size_t first_user; /* index of the message that sets the goal */
};

static void making_finish(struct making *m)
{
	ofs_digest_finish(&m->digest);
	ofs_named_finish(&m->names);
	ofs_buf_finish(&m->text);
	ofs_map_finish(&m->well);
	ofs_map_finish(&m->rules);
	free(m->answered);
}

static uint64_t order_of(size_t message)
{
	return FIRST_ORDER + (uint64_t)message * MESSAGE_LINES;
}

static struct ofs_item *add_line(struct making *m, enum ofs_topic topic, enum ofs_worth worth,
				 uint64_t order, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_prose_line(text, len, LINE_CHARS, &line);
	return line.len ? ofs_digest_add(&m->digest, topic, worth, order, line.data, line.len)
			: NULL;
}

static struct ofs_item *add_buf(struct making *m, enum ofs_topic topic, enum ofs_worth worth,
				uint64_t order, const struct ofs_buf *text)
{
	return add_line(m, topic, worth, order, (const char *)text->data, text->len);
}

/* ---- texts */

/* Returns whether a string can be cut before p, outside any escape or character. */
static bool is_cut(const char *p)
{
	if (*p == '\\')
		return p[-1] != '\\';
	return !ofs_prose_is_word(*p) && *p != '"' && *p != '/';
}

/* Decodes [p, p + len), a part of a string with a byte on either side. */
static void decode_part(const char *p, size_t len, struct ofs_buf *out)
{
	ofs_span_decode((struct ofs_span){ p - 1, len + 2 }, out);
}

/* Appends the decoded string; of a long one only its two ends, on separate lines. */
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

/* Replaces m->text by the texts of a message. */
static void take_texts(struct making *m, size_t number)
{
	m->text.len = 0;
	ofs_message_texts(&m->chat->messages[number], take_text, &m->text);
}

/* ---- results */

static uint64_t call_key(const struct ofs_chat_call *c)
{
	return ofs_checksum(c->args.p ? c->args.p : "", c->args.len,
			    ofs_checksum(c->name.p ? c->name.p : "", c->name.len, 0));
}

static enum ofs_tool_rule call_rule(struct making *m, const struct ofs_chat_call *c)
{
	uint64_t hash = ofs_checksum(c->name.p ? c->name.p : "", c->name.len, 0);
	uintptr_t rule = (uintptr_t)ofs_map_get(&m->rules, hash); /* rule + 1 */
	OFS_FREE char *name = NULL;

	if (rule)
		return (enum ofs_tool_rule)(rule - 1);
	name = ofs_span_text(c->name);
	rule = name ? ofs_tool_rule(name) : OFS_TOOL_OTHER;
	ofs_map_put(&m->rules, hash, (void *)(rule + 1));
	return (enum ofs_tool_rule)rule;
}

/* Returns whether a command line redirects output to a file. */
static bool writes(const char *line)
{
	while ((line = strchr(line, '>'))) {
		line++;
		if (*line != '&' && strncmp(line, "/dev/null", 9) != 0)
			return true;
	}
	return false;
}

/* Returns whether a command only reads, judged by its first word. */
static bool command_looks(const struct ofs_chat_call *c)
{
	static const char *const programs[] = { "cat",	"cd",	"curl", "file", "find",
						"grep", "head", "ls",	"pwd",	"rg",
						"stat", "tail", "tree", "wc",	"which" };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const char *p;
	size_t n;

	ofs_called_title(c, &line);
	p = ofs_buf_str(&line);
	n = strcspn(p, " |;&");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(programs); i++) {
		if (n == strlen(programs[i]) && memcmp(p, programs[i], n) == 0)
			return !writes(p) && !strstr(p, "&&") && !strchr(p, ';');
	}
	return strncmp(p, "git status", 10) == 0 || strncmp(p, "git log", 7) == 0 ||
	       strncmp(p, "git diff", 8) == 0 || strncmp(p, "git show", 8) == 0;
}

/* Returns whether a call only read something, judged by the tool's name or its command. */
static bool call_looks(const struct ofs_chat_call *c, enum ofs_tool_rule rule)
{
	static const char *const verbs[] = { "get",    "list",	"search",    "find",	"read",
					     "fetch",  "view",	"show",	     "check",	"query",
					     "lookup", "count", "calculate", "describe" };
	OFS_FREE char *name = ofs_span_text(c->name);
	const char *own = name ? ofs_tool_own_name(name) : "";

	for (size_t i = 0; rule == OFS_TOOL_OTHER && i < OFS_ARRAY_SIZE(verbs); i++) {
		if (strncasecmp(own, verbs[i], strlen(verbs[i])) == 0)
			return true;
	}
	if (rule == OFS_TOOL_SHELL)
		return command_looks(c);
	return rule != OFS_TOOL_OTHER && rule != OFS_TOOL_WRITE;
}

/* Returns whether the block that contains a result reports an error. */
static bool says_failed(struct ofs_span message, struct ofs_span text)
{
	struct ofs_span content = ofs_span_member(message, "content"), block;
	struct ofs_span_cursor cursor = ofs_span_enter(content);

	while (ofs_span_is_array(content) && ofs_span_next(&cursor, &block)) {
		struct ofs_span flag = ofs_span_member(block, "is_error");

		if (text.p >= block.p && text.p < block.p + block.len)
			return flag.len == 4 && memcmp(flag.p, "true", 4) == 0;
	}
	return false;
}

/*
 * Returns whether a pointer's title has a nonzero exit code: "[offloaded] make: exit 2, 48 bytes".
 */
static bool pointer_failed(const char *text, size_t len, struct ofs_buf *ret_line)
{
	const char *eol = memchr(text, '\n', len);
	size_t title = eol ? (size_t)(eol - text) : len;
	const char *at = memmem(text, title, ": exit ", 7);

	if (!at || at + 7 == text + title || at[7] == '0')
		return false;
	if (!eol || !ofs_trouble_find(eol + 1, len - title - 1, false, ret_line))
		ofs_prose_line(at + 2, strcspn(at + 2, ","), LINE_CHARS, ret_line);
	return true;
}

static void note_error(struct making *m, const struct ofs_chat_call *c, uint64_t order,
		       const struct ofs_buf *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	bool over = c && ofs_map_get(&m->well, call_key(c));
	struct ofs_item *item;

	if (c)
		ofs_called_whole(c, &text);
	if (text.len)
		ofs_buf_append_str(&text, ": ");
	ofs_buf_append(&text, line->data, line->len);
	item = add_buf(m, OFS_TOPIC_ERRORS, over ? OFS_WORTH_LITTLE : OFS_WORTH_MUCH, order, &text);
	if (item && item->times == 1)
		item->over = over;
}

/* Adds a call that succeeded, unless it appears as a file, a task list or a reference. */
static void note_done(struct making *m, const struct ofs_chat_call *c, uint64_t order, bool stored)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf args = OFS_BUF_INIT, line = OFS_BUF_INIT;
	enum ofs_tool_rule rule = call_rule(m, c);
	bool looks = call_looks(c, rule);
	struct ofs_span object = ofs_called_args(c, &args);

	ofs_map_put(&m->well, call_key(c), m);
	if (stored || ofs_span_is_array(ofs_args_find(object, TASK_NAMES)) ||
	    ((rule == OFS_TOOL_READ || rule == OFS_TOOL_WRITE) &&
	     ofs_args_find(object, PATH_NAMES).p))
		return;
	ofs_called_whole(c, &line);
	ofs_called_answer(ofs_buf_str(&m->text), m->text.len, &line);
	ofs_digest_add(&m->digest, looks ? OFS_TOPIC_LOOKED : OFS_TOPIC_DONE,
		       looks			? OFS_WORTH_LITTLE
		       : rule == OFS_TOOL_OTHER ? OFS_WORTH_MUCH
						: OFS_WORTH_SOME,
		       order, line.data, line.len);
}

/* Adds commits and test results in the output of a shell. Returns false if there are none. */
static bool note_progress(struct making *m, const struct ofs_chat_call *c, uint64_t order)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT, tests = OFS_BUF_INIT;
	const char *text = ofs_buf_str(&m->text), *end = text + m->text.len;
	bool found = false;

	for (; ofs_progress_commit(&text, end, &line); line.len = 0) {
		ofs_digest_add(&m->digest, OFS_TOPIC_COMMITS, OFS_WORTH_MUCH, order, line.data,
			       line.len);
		found = true;
	}
	if (!ofs_progress_tests(ofs_buf_str(&m->text), m->text.len, &tests))
		return found;
	ofs_called_whole(c, &line);
	ofs_buf_append_str(&line, ": ");
	ofs_buf_append(&line, tests.data, tests.len);
	ofs_digest_add(&m->digest, OFS_TOPIC_TESTS, OFS_WORTH_MUCH, order, line.data, line.len);
	return true;
}

static void take_result(struct making *m, const struct ofs_chat_result *r)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const struct ofs_message *message = &m->chat->messages[r->message];
	const struct ofs_chat_call *c = r->call == SIZE_MAX ? NULL : &m->chat->calls[r->call];
	bool first = !c || !m->answered[r->call], failed, stored, says, progress;
	enum ofs_tool_rule rule = c ? call_rule(m, c) : OFS_TOOL_OTHER;
	const char *text;
	size_t len;

	if (c)
		m->answered[r->call] = true;
	m->text.len = 0;
	append_text(r->text, &m->text);
	text = ofs_buf_str(&m->text);
	len = m->text.len;
	stored = ofs_mark_may_be(text, len);
	says = message->role == OFS_ROLE_USER && says_failed(message->whole, r->text);
	failed = stored ? pointer_failed(text, len, &line)
			: ofs_trouble_find(text, len, c && call_looks(c, rule) && !says, &line);
	if (says && !failed)
		ofs_prose_line(text, len, LINE_CHARS, &line);
	progress = rule == OFS_TOOL_SHELL && !call_looks(c, rule) &&
		   note_progress(m, c, order_of(r->message));
	if (failed || says)
		note_error(m, c, order_of(r->message), &line);
	else if (c && first)
		note_done(m, c, order_of(r->message), stored || progress);
	if (m->named >= NAMES_BYTES && !stored)
		return;
	m->named += len;
	text = ofs_buf_str(&m->text);
	ofs_named_pointers(&m->digest, order_of(r->message), text, len);
	ofs_named_in_result(&m->names, &m->digest, order_of(r->message), text, len);
}

/* ---- calls */

/* Adds the open tasks of a list that a tool of the harness keeps: [{"content", "status"}]. */
static void take_tasks(struct making *m, uint64_t order, struct ofs_span args)
{
	struct ofs_span list = ofs_args_find(args, TASK_NAMES), task;
	struct ofs_span_cursor cursor = ofs_span_enter(list);

	if (!ofs_span_is_array(list) || m->digest.topics[OFS_TOPIC_OPEN].n)
		return; /* only the newest list counts */
	while (ofs_span_next(&cursor, &task)) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
		struct ofs_span status = ofs_span_member(task, "status");
		struct ofs_span what = ofs_args_find(task, "content step title description");

		if (!ofs_span_is_string(what) || !ofs_span_is_string(status) ||
		    ofs_span_is(status, "completed") || ofs_span_is(status, "done"))
			continue;
		ofs_buf_append_str(&line, ofs_span_is(status, "in_progress") ? "In progress: "
									     : "To do: ");
		ofs_span_decode(what, &line);
		add_buf(m, OFS_TOPIC_OPEN, OFS_WORTH_SOME, order++, &line);
	}
}

static void take_call(struct making *m, size_t number)
{
	const struct ofs_chat_call *c = &m->chat->calls[number];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, line = OFS_BUF_INIT;
	struct ofs_span args = ofs_called_args(c, &text), path;
	enum ofs_tool_rule rule = call_rule(m, c);
	struct ofs_item *item;

	/* Calls without an id are mostly those that a service runs itself. */
	if (!m->answered[number] && c->id.p) {
		ofs_buf_append_str(&line, "Called, no result yet: ");
		ofs_called_whole(c, &line);
		add_buf(m, OFS_TOPIC_OPEN, OFS_WORTH_MUCH, order_of(c->message), &line);
	}
	if (!args.p)
		return;
	m->text.len = 0;
	append_text((struct ofs_span){ args.p, args.len }, &m->text);
	ofs_named_use(&m->names, order_of(c->message), ofs_buf_str(&m->text), m->text.len);
	take_tasks(m, order_of(c->message), args);
	path = ofs_args_find(args, PATH_NAMES);
	if (!ofs_span_is_string(path) || (rule != OFS_TOOL_READ && rule != OFS_TOOL_WRITE))
		return;
	m->text.len = 0;
	ofs_span_decode(path, &m->text);
	item = add_buf(m, OFS_TOPIC_FILES,
		       rule == OFS_TOOL_WRITE ? OFS_WORTH_SOME : OFS_WORTH_LITTLE,
		       order_of(c->message), &m->text);
	if (item && rule == OFS_TOOL_WRITE)
		item->written = true;
	else if (item)
		item->read = true;
}

/* ---- messages */

/* Finds the last sentence of a text. Returns its length if it is a question, else 0. */
static size_t last_question(const char *text, size_t len, const char **ret)
{
	const char *p;

	while (len && ofs_prose_is_blank(text[len - 1]))
		len--;
	if (!len || text[len - 1] != '?')
		return 0;
	for (p = text + len - 1; p > text; p--) {
		if (p[-1] == '\n' || (*p == ' ' && strchr(".!?", p[-1])))
			break;
	}
	*ret = p;
	return (size_t)(text + len - p);
}

/* Adds a short answer together with the model's question. Returns false if it is not one. */
static bool take_answer(struct making *m, size_t number)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT, answer = OFS_BUF_INIT;
	const char *question;
	size_t len;

	if (!number || m->chat->messages[number].role != OFS_ROLE_USER ||
	    m->chat->messages[number - 1].role != OFS_ROLE_ASSISTANT || m->text.len > ANSWER_MAX)
		return false;
	ofs_buf_append(&answer, m->text.data, m->text.len);
	take_texts(m, number - 1);
	len = last_question(ofs_buf_str(&m->text), m->text.len, &question);
	if (!len)
		return false;
	ofs_prose_line(question, len, LINE_CHARS, &line);
	ofs_buf_append_str(&line, " -> ");
	ofs_prose_line(ofs_buf_str(&answer), answer.len, ANSWER_MAX, &line);
	ofs_digest_add(&m->digest, OFS_TOPIC_DECISIONS, OFS_WORTH_MUCH, order_of(number), line.data,
		       line.len);
	return true;
}

/* Adds the first lines of the user's or system's text, without what a harness adds. */
static void take_user(struct making *m, size_t number)
{
	bool first = number == m->first_user;
	const char *text = ofs_buf_str(&m->text), *end = text + m->text.len, *eol;
	uint64_t order = order_of(number);
	size_t left = first ? GOAL_LINES : LATER_LINES;

	ofs_named_pointers(&m->digest, order, text, m->text.len);
	if (!first && take_answer(m, number))
		return;
	take_texts(m, number);
	text = ofs_buf_str(&m->text);
	end = text + m->text.len;
	for (const char *p = text; p < end && left; p = eol + 1) {
		struct ofs_item *item;

		if ((size_t)(end - p) > strlen(REMINDER) &&
		    memcmp(p, REMINDER, strlen(REMINDER)) == 0) {
			p = memmem(p, (size_t)(end - p), REMINDER_END, strlen(REMINDER_END));
			if (!p)
				return;
		}
		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		if (*p == '<')
			continue; /* the harness's tag */
		item = add_line(m, OFS_TOPIC_GOAL, first ? OFS_WORTH_MOST : OFS_WORTH_MUCH, order,
				p, (size_t)(eol - p));
		left -= item != NULL;
		order += item != NULL;
	}
}

/*
 * Adds the first line of the model's text, and its question if nobody answered. Of lines that only
 * announce a step, the newest tells what comes next.
 */
static void take_model(struct making *m, size_t number, bool last)
{
	const char *text = ofs_buf_str(&m->text), *question, *start = text;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	size_t len = m->text.len, announced;

	ofs_named_pointers(&m->digest, order_of(number), text, len);
	ofs_named_use(&m->names, order_of(number), text, len);
	len = last_question(text, m->text.len, &question);
	if (last && len) {
		ofs_buf_append_str(&line, "Not answered yet: ");
		ofs_buf_append(&line, question, len);
		add_buf(m, OFS_TOPIC_OPEN, OFS_WORTH_MUCH, order_of(number), &line);
	}
	if (len && question == start)
		return;
	while (ofs_prose_is_blank(*start))
		start++;
	len = ofs_progress_said(start, strcspn(start, "\n"));
	announced = ofs_progress_announces(start, len);
	if (announced && !m->announced) {
		line.len = 0;
		ofs_buf_append_str(&line, "Next: ");
		ofs_buf_append(&line, start + announced, len - announced);
		add_buf(m, OFS_TOPIC_OPEN, OFS_WORTH_LITTLE, order_of(number), &line);
	} else if (!announced) {
		add_line(m, OFS_TOPIC_DECISIONS, OFS_WORTH_LITTLE, order_of(number), start, len);
	}
	m->announced = true;
}

static void take_all(struct making *m, const bool gone[])
{
	const struct ofs_chat *c = m->chat;
	size_t call = c->n_calls, result = c->n_results;
	bool spoken = false;

	for (size_t i = c->n; i-- > 0;) {
		const struct ofs_message *message = &c->messages[i];
		bool user = message->role == OFS_ROLE_USER && message->speaks;
		/* Among the messages, the system's are instructions, too. */
		bool asks = user || message->role == OFS_ROLE_SYSTEM;

		for (; call && c->calls[call - 1].message == i; call--) {
			if (gone[i])
				take_call(m, call - 1);
		}
		if (gone[i] && (asks || message->role == OFS_ROLE_ASSISTANT))
			take_texts(m, i);
		if (gone[i] && asks && m->text.len)
			take_user(m, i);
		else if (gone[i] && message->role == OFS_ROLE_ASSISTANT && m->text.len)
			take_model(m, i, !spoken);
		spoken |= user;
		/* Results precede the text of their message, so here they follow it. */
		for (; result && c->results[result - 1].message == i; result--) {
			if (gone[i])
				take_result(m, &c->results[result - 1]);
			else if (c->results[result - 1].call != SIZE_MAX)
				m->answered[c->results[result - 1].call] = true;
		}
	}
}

void ofs_snapshot_write(const struct ofs_chat *chat, const bool gone[], const char *earlier,
			size_t earlier_len, uint64_t max_tokens, struct ofs_buf *out)
{
	OFS_CLEANUP(making_finish) struct making m = { .chat = chat, .first_user = SIZE_MAX };

	m.answered = ofs_alloc((chat->n_calls + 1) * sizeof(*m.answered));
	for (size_t i = 0; i < chat->n && !earlier && m.first_user == SIZE_MAX; i++) {
		if (chat->messages[i].role == OFS_ROLE_USER && chat->messages[i].speaks)
			m.first_user = i;
	}
	take_all(&m, gone);
	if (earlier)
		ofs_digest_read(&m.digest, earlier, earlier_len);
	ofs_digest_write(&m.digest, max_tokens, out);
}
