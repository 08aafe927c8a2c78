/* SPDX-License-Identifier: MIT */
/* Requests to manage chats on an unmounted store, and the checks that every answer must pass. */
#pragma once

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/access.h"
#include "context/chat/chat.h"
#include "context/chat/mark.h"
#include "context/manage/manage.h"

static char store[64];
static struct ofs_access tree;
static struct ofs_settings settings;
static struct ofs_manage_options options;
static struct ofs_error err;
static struct ofs_buf answer;
static struct ofs_span root; /* parsed from `answer` */
static char *note;

static inline void open_tree(void)
{
	const struct ofs_target_options target = { .store = store };

	ofs_access_init(&tree, &target);
}

static inline void begin(void)
{
	strcpy(store, "/tmp/offload-test-XXXXXX");
	cr_assert(mkdtemp(store));
	strcat(store, "/store");
	open_tree();
	ofs_settings_init(&settings);
	settings.max_total_tokens = 2000; /* less than some results have */
	options = (struct ofs_manage_options)OFS_MANAGE_OPTIONS_INIT;
	answer = (struct ofs_buf)OFS_BUF_INIT;
}

static inline void finish(void)
{
	char command[96];

	ofs_access_finish(&tree);
	ofs_settings_finish(&settings);
	ofs_buf_finish(&answer);
	free(note);
	note = NULL;
	snprintf(command, sizeof(command), "rm -rf %.*s", (int)(strlen(store) - strlen("/store")),
		 store);
	cr_assert_eq(system(command), 0);
}

/* Reopens the store, as another process would. */
static inline void reopen(void)
{
	ofs_access_finish(&tree);
	open_tree();
}

/* ---- requests */

/* Returns 0 and leaves the answer in `answer`, or returns -errno and sets `err`. */
static inline int ask_bytes(enum ofs_manage_mode mode, const void *request, size_t len)
{
	struct ofs_sink sink = ofs_sink_to_buf(&answer);
	char *exact = malloc(len + 1); /* an exact size, so that reads beyond it are seen */
	int r;

	memcpy(exact, request, len);
	exact = realloc(exact, len ? len : 1);
	answer.len = 0;
	root = (struct ofs_span){ 0 };
	free(note);
	note = NULL;
	options.mode = mode;
	r = ofs_manage(exact, len, &options, &settings, &tree, &sink, &err, &note);
	free(exact);
	if (r == 0)
		cr_assert_eq(ofs_span_parse((char *)answer.data, answer.len, &err, &root), 0,
			     "%s: %.*s", err.text, (int)answer.len, answer.data);
	else
		cr_assert_eq(answer.len, 0, "an answer was begun");
	return r;
}

/* `list` and `system` (or NULL) are JSON. `more` is "" or further members, each after a comma. */
static inline int ask(enum ofs_manage_mode mode, const char *list, const char *system,
		      const char *more)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf request = OFS_BUF_INIT;

	ofs_buf_printf(&request, "{\"messages\": %s%s%s%s}", list, system ? ", \"system\": " : "",
		       system ? system : "", more);
	return ask_bytes(mode, request.data, request.len);
}

static inline void must(int r)
{
	cr_assert_eq(r, 0, "%s", err.text);
}

/* Returns the JSON text of a member of the answer, to be freed, or NULL if there is none. */
static inline char *answered(const char *name)
{
	struct ofs_span s = ofs_span_member(root, name);

	return s.p ? strndup(s.p, s.len) : NULL;
}

/* Returns a number from the answer's metadata. */
static inline long long told(const char *name)
{
	long long n = -1;

	cr_assert(ofs_span_integer(ofs_span_member(ofs_span_member(root, "metadata"), name), &n),
		  "%s: %.*s", name, (int)answer.len, answer.data);
	return n;
}

static inline void expect_str(const char *got, const char *expected, const char *what)
{
	size_t at = 0;

	cr_assert_eq(!got, !expected, "%s is %s", what, got ? "there" : "missing");
	if (!got || !expected || strcmp(got, expected) == 0)
		return;
	while (got[at] == expected[at])
		at++;
	cr_assert(false, "%s: from byte %zu on \"%.60s\" instead of \"%.60s\"", what, at, got + at,
		  expected + at);
}

/* Restores a managed list and expects the original list and system prompt. */
static inline void expect_restored(const char *list, const char *system, const char *original,
				   const char *original_system)
{
	OFS_FREE char *got = NULL;
	OFS_FREE char *got_system = NULL;

	must(ask(OFS_MANAGE_RESTORE, list, system, ""));
	got = answered("messages");
	got_system = answered("system");
	expect_str(got, original, "the list");
	expect_str(got_system, original_system, "the system's text");
}

/*
 * Manages a list, then restores it through a reopened store. Sets *ret and *ret_system (each may be
 * NULL) to the managed list and system prompt, to be freed.
 */
static inline void expect_reversible(enum ofs_manage_mode mode, const char *list,
				     const char *system, const char *more, char **ret,
				     char **ret_system)
{
	OFS_FREE char *managed = NULL;
	OFS_FREE char *managed_system = NULL;

	must(ask(mode, list, system, more));
	cr_assert_leq(told("tokens_after"), told("tokens_before"), "%s", list);
	cr_assert_eq(told("tokens_saved"), told("tokens_before") - told("tokens_after"));
	managed = answered("messages");
	managed_system = answered("system");
	expect_restored(managed, managed_system, list, system);
	if (ret)
		*ret = ofs_steal(managed);
	if (ret_system)
		*ret_system = ofs_steal(managed_system);
}

/* ---- reading lists */

static inline void read_chat(const char *list, struct ofs_chat *ret)
{
	struct ofs_span s;

	cr_assert_eq(ofs_span_parse(list, strlen(list), &err, &s), 0, "%s: %s", err.text, list);
	must(ofs_chat_read(s, (struct ofs_span){ 0 }, &err, ret));
}

static inline size_t count_of(const char *text, const char *word)
{
	size_t n = 0;

	for (; text && (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

/* Returns about `len` bytes of distinct lines, as the inside of a JSON string. */
static inline char *lines(size_t len, unsigned int seed)
{
	char *text = malloc(len + 100);
	size_t n = 0;

	for (unsigned int i = 0; n < len; i++)
		n += (size_t)sprintf(text + n, "%u: line %u of the output, %u\\n", seed, i,
				     i * 2654435761u);
	/* Do not cut an escape in two. */
	while (len && text[len - 1] == '\\')
		len--;
	text[len] = '\0';
	return text;
}

/* ---- chats */

#define CALL(id, args)                                                                           \
	"{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": \"" id           \
	"\", \"type\": \"function\", \"function\": {\"name\": \"shell\", \"arguments\": \"" args \
	"\"}}]}"
#define SMALL_LIMIT ", \"max_tool_message_tokens\": 200"

/* Returns a system prompt, a request and `n` calls with results of `each` bytes. */
static inline char *chat_of(size_t n, size_t each)
{
	struct ofs_buf b = OFS_BUF_INIT;

	ofs_buf_append_str(&b, "[{\"role\": \"system\", \"content\": \"Be good.\"}, "
			       "{\"role\": \"user\", \"content\": \"Find out why it fails.\"}");
	for (size_t i = 0; i < n; i++) {
		OFS_FREE char *text = lines(each, (unsigned int)i);

		ofs_buf_printf(
			&b,
			", {\"role\": \"assistant\", \"content\": \"Step %zu.\", \"tool_calls\": [{\"id\": \"c%zu\", "
			"\"type\": \"function\", \"function\": {\"name\": \"shell\", \"arguments\": \"{}\"}}]}, "
			"{\"role\": \"tool\", \"tool_call_id\": \"c%zu\", \"content\": \"%s\"}",
			i, i, i, text);
	}
	ofs_buf_append(&b, "]", 2);
	return (char *)b.data;
}

static inline char *last_of(const struct ofs_chat *chat)
{
	return ofs_span_text(chat->results[chat->n_results - 1].text);
}

static inline size_t count_pointers(const char *list)
{
	struct ofs_chat chat;
	size_t n = 0;

	read_chat(list, &chat);
	for (size_t i = 0; i < chat.n_results; i++) {
		OFS_FREE char *text = ofs_span_text(chat.results[i].text);
		struct ofs_mark mark;

		n += ofs_mark_read(text, strlen(text), &mark);
	}
	ofs_chat_finish(&chat);
	return n;
}

static inline size_t count_messages(const char *list)
{
	struct ofs_chat chat;
	size_t n;

	read_chat(list, &chat);
	n = chat.n;
	ofs_chat_finish(&chat);
	return n;
}
