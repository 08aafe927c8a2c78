/* SPDX-License-Identifier: MIT */
/*
 * Lists of messages, any other JSON, and text that only looks like JSON. The parts of accepted JSON
 * lie inside it, in order. A string whose style is recognised is written with the same bytes.
 * Messages, and any text as an earlier snapshot of them, become a snapshot.
 */
#include "base/text.h"
#include "context/chat/chat.h"
#include "context/json/literal.h"
#include "context/json/span.h"
#include "context/manage/seam.h"
#include "context/snapshot/snapshot.h"
#include "fuzz.h"

static bool is_within(struct ofs_span part, struct ofs_span whole)
{
	return part.p >= whole.p && part.len && part.p + part.len <= whole.p + whole.len;
}

static void check_style(struct ofs_span string, const struct ofs_buf *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf again = OFS_BUF_INIT;
	struct ofs_literal_style style = { 0 }, parsed;
	char name[OFS_LITERAL_NAME_MAX];

	if (!ofs_literal_style_find(string, text->data, text->len, &style))
		return;
	ofs_literal_encode(&style, text->data, text->len, &again);
	FUZZ_ASSERT(again.len == string.len && memcmp(again.data, string.p, string.len) == 0);
	ofs_literal_style_name(&style, name);
	FUZZ_ASSERT(ofs_literal_style_parse(name, &parsed));
}

/* Each style must write a string that decodes to the text. */
static void check_writing(const struct ofs_buf *text)
{
	for (unsigned int bits = 0; bits < 128; bits += 9) {
		const struct ofs_literal_style style = { bits & 1,  bits & 2,  bits & 4, bits & 8,
							 bits & 16, bits & 32, bits & 64 };
		OFS_CLEANUP(ofs_buf_finish)
		struct ofs_buf string = OFS_BUF_INIT, said = OFS_BUF_INIT;
		struct ofs_literal_style found = { 0 };
		struct ofs_span s;

		ofs_literal_encode(&style, text->data, text->len, &string);
		FUZZ_ASSERT(ofs_span_parse((char *)string.data, string.len, NULL, &s) == 0);
		ofs_span_decode(s, &said);
		FUZZ_ASSERT(said.len == text->len);
		FUZZ_ASSERT(!said.len || memcmp(said.data, text->data, said.len) == 0);
		FUZZ_ASSERT(ofs_literal_style_find(s, text->data, text->len, &found));
	}
}

static void check_string(struct ofs_span string)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	OFS_FREE char *text = ofs_span_text(string);

	FUZZ_ASSERT(text);
	ofs_span_decode(string, &said);
	FUZZ_ASSERT(said.len <= string.len - 2);
	FUZZ_ASSERT(!said.len || strncmp((char *)said.data, text, said.len) == 0);
	FUZZ_ASSERT(ofs_span_is(string, text) == (strlen(text) == said.len));
	check_style(string, &said);
	check_writing(&said);
}

/* Checks the value and everything in it, at most OFS_SPAN_DEPTH_MAX levels deep. */
static void check_value(struct ofs_span value)
{
	struct ofs_span_cursor c = ofs_span_enter(value);
	struct ofs_span part, name;
	const char *before = value.p;

	if (ofs_span_is_string(value))
		check_string(value);
	while (ofs_span_is_object(value) ? ofs_span_next_member(&c, &name, &part)
					 : ofs_span_next(&c, &part)) {
		FUZZ_ASSERT(is_within(part, value) && part.p > before);
		before = part.p + part.len - 1;
		if (ofs_span_is_object(value)) {
			OFS_FREE char *text = ofs_span_text(name);

			FUZZ_ASSERT(text && is_within(name, value) && name.p + name.len < part.p);
			check_string(name);
			FUZZ_ASSERT(!ofs_span_is(name, text) ||
				    ofs_span_member(value, text).p >= part.p);
		}
		check_value(part);
	}
}

static void check_results(const struct ofs_chat *chat)
{
	for (size_t i = 0; i < chat->n_results; i++) {
		const struct ofs_chat_result *r = &chat->results[i];

		FUZZ_ASSERT(r->message < chat->n &&
			    (!i || r->message >= chat->results[i - 1].message));
		FUZZ_ASSERT(ofs_span_is_string(r->text));
		FUZZ_ASSERT(is_within(r->text, chat->messages[r->message].whole));
		FUZZ_ASSERT(chat->messages[r->message].answers);
		FUZZ_ASSERT(r->call == SIZE_MAX || (r->call < chat->n_calls &&
						    chat->calls[r->call].message <= r->message));
	}
}

static int count_text(void *arg, struct ofs_span string)
{
	++*(size_t *)arg;
	return ofs_span_is_string(string) ? 0 : 1;
}

/* A snapshot is UTF-8 without NUL, with room for everything or for nothing. */
static void check_snapshot(const struct ofs_chat *chat, const char *earlier, size_t len)
{
	OFS_FREE bool *gone = fuzz_alloc(chat->n);

	memset(gone, true, chat->n);
	for (uint64_t tokens = 0; tokens < 20000; tokens += 10000) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

		ofs_snapshot_write(chat, gone, earlier, len, tokens, &out);
		FUZZ_ASSERT(strlen(ofs_buf_str(&out)) == out.len);
		FUZZ_ASSERT(ofs_text_is_utf8(ofs_buf_str(&out)));
	}
}

static void check_chat(struct ofs_span list, struct ofs_span system)
{
	struct ofs_error err = { "" };
	struct ofs_chat chat;
	size_t texts = 0;

	if (ofs_chat_read(list, system, &err, &chat) < 0) {
		FUZZ_ASSERT(err.text[0]);
		return;
	}
	check_results(&chat);
	check_snapshot(&chat, NULL, 0);
	for (size_t i = 0; i < chat.n; i++) {
		const struct ofs_message *m = &chat.messages[i];

		FUZZ_ASSERT(is_within(m->whole, list));
		FUZZ_ASSERT(m->asked <= i && m->answered >= i && m->answered < chat.n);
		FUZZ_ASSERT(ofs_message_texts(m, count_text, &texts) == 0);
	}
	ofs_chat_finish(&chat);
}

static void check_file(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_seam_file file;
	int r = ofs_seam_read_file(text, len, &file);

	FUZZ_ASSERT(r == 0 || r == -EINVAL);
	if (r == 0)
		r = ofs_seam_write_messages(&file, &out);
	FUZZ_ASSERT(r == 0 || r == -EINVAL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_FREE char *text = fuzz_copy(data, size);
	struct ofs_error err = { "" };
	struct ofs_span value, whole;
	size_t used = 0, at = 0;
	int r;

	while ((r = ofs_span_parse_at(text + at, size - at, 0, &err, &value, &used)) == 0) {
		FUZZ_ASSERT(used && used <= size - at && value.p + value.len == text + at + used);
		check_value(value);
		check_chat(value, (struct ofs_span){ 0 });
		check_chat(ofs_span_member(value, "messages"), ofs_span_member(value, "system"));
		at += used;
	}
	FUZZ_ASSERT((r == -ENODATA || r == -EINVAL) && err.text[0]);
	r = ofs_span_parse(text, size, &err, &whole);
	FUZZ_ASSERT(r == 0 || r == -EINVAL);
	check_file(text, size);
	check_snapshot(&(struct ofs_chat){ 0 }, text, size);
	return 0;
}
