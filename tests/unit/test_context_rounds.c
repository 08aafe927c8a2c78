/* SPDX-License-Identifier: MIT */
/*
 * Chats of every form and formatting that continue and are managed again and again. Restoring gives
 * the original list, and what is sent to a model is a chat that a service accepts.
 */
#include "test_context_fixture.h"
#include "test_draw.h"

TestSuite(context_rounds, .init = begin, .fini = finish);

enum form {
	OPENAI,
	ANTHROPIC,
	RESPONSES,
	FORMS
};

/* A chat as its harness keeps it, and as it was last sent. Both lists lack their brackets. */
struct talk {
	enum form form;
	uint32_t style;
	struct ofs_buf original;
	struct ofs_buf managed;
	char *system;
	char *managed_system;
	int ids, requests;
	long long fetched; /* number of slices in all rounds */
};

static void put(struct ofs_buf *b, const char *text)
{
	ofs_buf_append_str(b, text);
}

static void put_blank(struct ofs_buf *b)
{
	static const char *const blanks[] = { "", " ", "", "\n\t", "  ", "\r\n" };

	put(b, blanks[draw(OFS_ARRAY_SIZE(blanks))]);
}

/* Returns a piece of text in the style of the chat's program. */
static const char *piece(uint32_t style)
{
	static const char *const pieces[][5] = {
		{ "\\u00e4", "\\ud83d\\ude00", "/", "<b>", "\\u0000" },
		{ "\xc3\xa4", "\xf0\x9f\x98\x80", "/", "<b>", "\\u0000" },
		{ "\\u00E4", "\\uD83D\\uDE00", "\\/", "<b>", "\\u001F" },
		{ "\xc3\xa4", "\\u2028", "/", "\\u003cb\\u003e", "\\ud800" },
		{ "\\u00e4", "\xf0\x9f\x98\x80", "\\/", "/", "\\u0041" }, /* of no program */
	};

	return pieces[style][draw(5)];
}

static void put_text(struct ofs_buf *b, uint32_t style)
{
	uint32_t n = draw(4) ? draw(3) : 20 + draw(50);

	for (uint32_t i = 0; i < n; i++) {
		ofs_buf_printf(b, "line %u of %u: see \\\"x\\\" in C:\\\\ ", i, draw(100000));
		put(b, piece(style));
		put(b, draw(9) ? "\\n" : "\\r\\n\\t");
	}
}

static void put_string(struct ofs_buf *b, uint32_t style)
{
	put(b, "\"");
	put_text(b, style);
	put(b, "\"");
}

/* Unknown members. */
static void put_unknown(struct ofs_buf *b)
{
	static const char *const members[] = {
		"",
		"",
		",\"big\": 123456789012345678901234567890.5e+7",
		" , \"a\":1,\"a\" :{ \"a\":[ null,true ] }",
		",\"half\":\"\\udc00\\u0000\"",
		",\"\": {}, \"cache_control\": {\"type\": \"ephemeral\"}",
	};

	put(b, members[draw(OFS_ARRAY_SIZE(members))]);
}

static void begin_message(struct ofs_buf *b, const char *role)
{
	put(b, "{");
	put_blank(b);
	ofs_buf_printf(b, "\"role\":%s\"%s\"", draw(2) ? " " : "", role);
	put_unknown(b);
}

static void end_message(struct ofs_buf *b)
{
	put_unknown(b);
	put_blank(b);
	put(b, "}");
}

static void put_separator(struct ofs_buf *b)
{
	put_blank(b);
	put(b, ",");
	put_blank(b);
}

static void put_request(struct talk *t, struct ofs_buf *b)
{
	begin_message(b, "user");
	ofs_buf_printf(b, ", \"content\": \"REQ%d: needle%u ", ++t->requests,
		       1 + draw((uint32_t)t->ids));
	put_text(b, t->style);
	put(b, "\"");
	end_message(b);
}

static void put_words(struct talk *t, struct ofs_buf *b)
{
	begin_message(b, "assistant");
	put(b, ",\"content\" :");
	put_string(b, t->style);
	end_message(b);
}

/* A tool's output: a text, blocks, or something odd. */
static void put_output(struct talk *t, struct ofs_buf *b)
{
	static const char *const odd[] = { "null", "\"\"", "[]",
					   "[ {\"type\": \"image\", \"source\": {}} ]" };

	if (!draw(5)) {
		put(b, odd[draw(OFS_ARRAY_SIZE(odd))]);
	} else if (!draw(4)) {
		put(b, "[{\"type\": \"text\", \"text\": ");
		put_string(b, t->style);
		put(b, "},{\"text\":");
		put_string(b, t->style);
		put(b, ",\"type\":\"text\"}]");
	} else { /* with a word that a request may ask for */
		ofs_buf_printf(b, "\"needle%d found\\n", t->ids);
		put_text(b, t->style);
		put(b, "\"");
	}
}

static void put_calls_openai(struct talk *t, struct ofs_buf *b, int first, int n)
{
	begin_message(b, "assistant");
	put(b, ", \"content\": null, \"tool_calls\": [");
	for (int i = 0; i < n; i++)
		ofs_buf_printf(b,
			       "%s{\"id\": \"t%d\", \"type\": \"function\", \"function\": "
			       "{\"name\": \"shell\", \"arguments\": \"{\\\"n\\\": %u}\"}}",
			       i ? ", " : "", first + i, draw(100));
	put(b, "]");
	end_message(b);
	for (int i = 0; i < n; i++) {
		put_separator(b);
		begin_message(b, "tool");
		ofs_buf_printf(b, ", \"tool_call_id\": \"t%d\", \"content\": ", first + i);
		put_output(t, b);
		end_message(b);
	}
}

static void put_calls_anthropic(struct talk *t, struct ofs_buf *b, int first, int n)
{
	begin_message(b, "assistant");
	put(b, ", \"content\": [{\"type\": \"text\", \"text\": \"I look.\"}");
	for (int i = 0; i < n; i++)
		ofs_buf_printf(b,
			       " ,{\"type\": \"tool_use\", \"id\": \"t%d\", \"name\": \"shell\", "
			       "\"input\": {\"n\": %u}}",
			       first + i, draw(100));
	put(b, "]");
	end_message(b);
	put_separator(b);
	begin_message(b, "user");
	put(b, ", \"content\": [");
	for (int i = 0; i < n; i++) {
		ofs_buf_printf(
			b, "%s{\"type\": \"tool_result\", \"tool_use_id\": \"t%d\", \"content\": ",
			i ? "," : "", first + i);
		put_output(t, b);
		put(b, "}");
	}
	put(b, "]");
	end_message(b);
}

static void put_calls_responses(struct talk *t, struct ofs_buf *b, int first, int n)
{
	if (draw(2)) {
		ofs_buf_printf(b, "{\"type\": \"reasoning\", \"id\": \"rs%d\", \"summary\": []}",
			       first);
		put_separator(b);
	}
	for (int i = 0; i < n; i++) {
		ofs_buf_printf(
			b,
			"%s{\"type\":\"function_call\",\"call_id\":\"t%d\",\"name\":\"shell\","
			"\"arguments\":\"{}\"}",
			i ? "," : "", first + i);
	}
	for (int i = n; i-- > 0;) {
		put_separator(b);
		ofs_buf_printf(
			b,
			"{\"type\": \"function_call_output\", \"call_id\": \"t%d\", \"output\": ",
			first + i);
		put_output(t, b);
		put(b, "}");
	}
}

static void put_turn(struct talk *t, struct ofs_buf *b)
{
	static void (*const put_calls[FORMS])(struct talk *, struct ofs_buf *, int,
					      int) = { put_calls_openai, put_calls_anthropic,
						       put_calls_responses };
	int n = 1 + (int)draw(3);

	if (!draw(4)) {
		put_words(t, b);
		put_separator(b);
		put_request(t, b);
		return;
	}
	put_calls[t->form](t, b, t->ids, n);
	t->ids += n;
}

static void go_on(struct talk *t)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf more = OFS_BUF_INIT;

	for (uint32_t n = 1 + draw(6); n; n--) {
		put_separator(&more);
		put_turn(t, &more);
	}
	if (draw(4)) { /* slices may be fetched for it */
		put_separator(&more);
		put_request(t, &more);
	}
	put_blank(&more);
	ofs_buf_append(&t->original, more.data, more.len);
	ofs_buf_append(&t->managed, more.data, more.len);
}

static void start(struct talk *t, enum form form)
{
	static const char *const systems[] = { "\"Be good.\"",
					       "[{\"type\": \"text\", \"text\": \"Be good.\"}]",
					       "\"\"", "[ ]" };

	*t = (struct talk){ .form = form, .style = draw(5), .ids = 1 };
	put_blank(&t->original);
	if (form == ANTHROPIC && draw(3)) {
		t->system = strdup(systems[draw(OFS_ARRAY_SIZE(systems))]);
		t->managed_system = strdup(t->system);
	} else if (form != ANTHROPIC && draw(3)) {
		begin_message(&t->original, draw(2) ? "system" : "developer");
		put(&t->original, ", \"content\": ");
		put(&t->original, systems[draw(OFS_ARRAY_SIZE(systems))]);
		end_message(&t->original);
		put_separator(&t->original);
	}
	put_request(t, &t->original);
	ofs_buf_append(&t->managed, t->original.data, t->original.len);
}

static void end(struct talk *t)
{
	ofs_buf_finish(&t->original);
	ofs_buf_finish(&t->managed);
	free(t->system);
	free(t->managed_system);
}

static char *in_brackets(const struct ofs_buf *inner)
{
	char *text = NULL;

	cr_assert_gt(asprintf(&text, "[%.*s]", (int)inner->len, inner->data), 0);
	return text;
}

/* ---- checks of a list that is sent to a model */

static void expect_pairs(const struct talk *t, const char *list)
{
	for (int i = 1; i < t->ids; i++) {
		char id[16];
		size_t n;

		snprintf(id, sizeof(id), "\"t%d\"", i);
		n = count_of(list, id);
		cr_assert(n == 0 || n == 2, "call %d is there %zu times: %s", i, n, list);
	}
}

static void expect_order(const struct talk *t, const char *list)
{
	struct ofs_chat chat;
	size_t first = 0;

	read_chat(list, &chat);
	for (size_t i = 0; i < chat.n_results; i++) {
		const struct ofs_chat_result *r = &chat.results[i];
		size_t call;

		cr_assert_neq(r->call, SIZE_MAX, "a result without a call: %s", list);
		call = chat.calls[r->call].message;
		cr_assert_lt(call, r->message);
		if (t->form == ANTHROPIC)
			cr_assert_eq(call + 1, r->message, "%s", list);
		for (size_t j = call + 1; t->form == OPENAI && j < r->message; j++)
			cr_assert(chat.messages[j].answers, "%s", list);
	}
	while (first < chat.n && chat.messages[first].role == OFS_ROLE_SYSTEM)
		first++;
	cr_assert_lt(first, chat.n);
	cr_assert_eq(chat.messages[first].role, OFS_ROLE_USER, "%s", list);
	cr_assert(chat.messages[first].speaks && !chat.messages[first].answers);
	for (size_t i = first; i < chat.n; i++)
		cr_assert_neq(chat.messages[i].role, OFS_ROLE_SYSTEM);
	for (size_t i = 0; i < chat.n; i++)
		cr_assert(!chat.messages[i].leads ||
			  (i + 1 < chat.n &&
			   ofs_span_is(ofs_span_member(chat.messages[i + 1].whole, "type"),
				       "function_call")));
	ofs_chat_finish(&chat);
}

static void expect_request(const struct talk *t, const char *list)
{
	char request[24];

	snprintf(request, sizeof(request), "\"REQ%d: ", t->requests);
	cr_assert_eq(count_of(list, request), 1, "%s is missing: %s", request, list);
}

/* ---- rounds */

static void manage(struct talk *t)
{
	static const enum ofs_manage_mode modes[] = { OFS_MANAGE_COMPACT, OFS_MANAGE_COMPRESS,
						      OFS_MANAGE_AUTO };
	static const char *const keeps[] = { "", ", \"keep_recent_count\": 0",
					     ", \"keep_recent_count\": 1",
					     ", \"keep_recent_count\": 3",
					     ", \"keep_recent_count\": 7" };
	OFS_FREE char *list = in_brackets(&t->managed);
	OFS_FREE char *original = in_brackets(&t->original);
	OFS_FREE char *more = NULL;
	OFS_FREE char *first = NULL;
	OFS_FREE char *managed = NULL;
	enum ofs_manage_mode mode = modes[draw(OFS_ARRAY_SIZE(modes))];
	bool prefetch = !draw(3);

	cr_assert_gt(
		asprintf(
			&more,
			"%s%s%s, \"max_tool_message_tokens\": %u, \"max_total_tokens\": %u, \"group_token_threshold\": %u",
			keeps[draw(OFS_ARRAY_SIZE(keeps))],
			t->form == ANTHROPIC ? ", \"format\": \"anthropic\"" : "",
			prefetch ? ", \"prefetch\": true" : "", 20 + draw(300), 100 + draw(3000),
			draw(2) ? 0 : draw(200)),
		0);
	must(ask(mode, list, t->managed_system, more));
	cr_assert(told("prefetched") || told("tokens_after") <= told("tokens_before"), "%s", list);
	t->fetched += told("prefetched");
	first = strndup((char *)answer.data, answer.len);
	must(ask(mode, list, t->managed_system, more));
	cr_assert_eq(answer.len, strlen(first));
	cr_assert_eq(memcmp(answer.data, first, answer.len), 0);
	managed = answered("messages");
	free(t->managed_system);
	t->managed_system = answered("system");
	t->managed.len = 0;
	ofs_buf_append(&t->managed, managed + 1, strlen(managed) - 2);
	expect_pairs(t, managed);
	expect_order(t, managed);
	expect_request(t, managed);
	expect_restored(managed, t->managed_system, original, t->system);
}

static void rounds(enum form form, uint64_t seed, int chats)
{
	long long fetched = 0;

	settings.snapshot_tokens = 100;
	draw_state = seed;
	for (int i = 0; i < chats; i++) {
		struct talk t;

		start(&t, form);
		for (uint32_t n = 1 + draw(6); n; n--) {
			go_on(&t);
			manage(&t);
		}
		fetched += t.fetched;
		end(&t);
	}
	cr_expect_gt(fetched, 0);
}

Test(context_rounds, openai)
{
	rounds(OPENAI, 0x2545f4914f6cdd1d, 80);
}

Test(context_rounds, anthropic)
{
	rounds(ANTHROPIC, 0x9e3779b97f4a7c15, 60);
}

Test(context_rounds, responses)
{
	rounds(RESPONSES, 0xd1b54a32d192ed03, 80);
}
