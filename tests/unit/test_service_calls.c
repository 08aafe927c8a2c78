/* SPDX-License-Identifier: MIT */
/* The calls of the services, on a store that is not mounted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "service/service.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_service *service;
static struct ofs_error err;

static void begin(void)
{
	const struct ofs_service_options options = { .target = { .store = store } };

	cr_assert(mkdtemp(store));
	cr_assert_eq(ofs_service_create(&options, &err, &service), 0, "%s", err.text);
}

static void finish(void)
{
	char command[64];

	ofs_service_destroy(service);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(service_calls, .init = begin, .fini = finish);

/* Takes ownership of `args`. */
static int try_call(const char *agent, const char *name, json_t *args, json_t **ret)
{
	const struct ofs_caller by = { agent, "mcp" };
	int r = ofs_service_call(service, &by, ofs_call_find(name), args, &err, ret);

	json_decref(args);
	return r;
}

static json_t *call_as(const char *agent, const char *name, json_t *args)
{
	json_t *result = NULL;

	cr_assert_not_null(args);
	cr_assert_eq(try_call(agent, name, args, &result), 0, "%s: %s", name, err.text);
	return result;
}

static json_t *call(const char *name, json_t *args)
{
	return call_as(NULL, name, args);
}

static void expect_refused(const char *name, json_t *args, int code, const char *words)
{
	json_t *result;

	cr_assert_not_null(args);
	cr_expect_eq(try_call(NULL, name, args, &result), -code, "%s", name);
	cr_expect(strstr(err.text, words), "'%s' has no '%s'", err.text, words);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Stores a text and writes its ref to `ret`. */
static void offload(const char *agent, const char *content, const char *title, char ret[9])
{
	json_t *done = call_as(agent, "memory_offload",
			       json_pack("{s:s, s:s, s:s}", "content", content, "title", title,
					 "category", "notes"));
	const json_t *entry = json_array_get(json_object_get(done, "memory_refs"), 0);

	snprintf(ret, 9, "%s", text_of(entry, "id"));
	cr_expect(strstr(text_of(done, "pointer"), ret));
	json_decref(done);
}

/* Returns `n` lines, "line 1\n" and so on. The caller frees them. */
static char *make_lines(unsigned int n)
{
	struct ofs_buf text = OFS_BUF_INIT;

	for (unsigned int i = 1; i <= n; i++)
		ofs_buf_printf(&text, "line %u\n", i);
	return ofs_buf_steal_str(&text);
}

Test(service_calls, arguments_are_checked)
{
	expect_refused("memory_fetch", json_object(), EINVAL, "memory_id is missing");
	expect_refused("memory_fetch", json_pack("{s:i}", "memory_id", 1), EINVAL,
		       "memory_id must be a text, not 1");
	expect_refused("memory_fetch", json_pack("{s:s, s:i}", "memory_id", "x", "line_start", 0),
		       EINVAL, "line_start must be a whole number from 1, not 0");
	expect_refused("memory_fetch", json_pack("{s:s, s:i}", "memory_id", "x", "lines", 1),
		       EINVAL, "unknown argument 'lines'; there are: memory_id, line_start");
	expect_refused("memory_list", json_pack("{s:s}", "tier", "warm"), EINVAL,
		       "tier must be working, long-term or archive, not \"warm\"");
	expect_refused("memory_list", json_pack("{s:i}", "limit", 1001), EINVAL, "from 1 to 1000");
	expect_refused("memory_stats", json_pack("{s:[s]}", "by", "hour"), EINVAL,
		       "by must be a list, each day, way, agent or task");
	expect_refused("memory_search", json_pack("{s:s}", "query", ""), EINVAL, "not empty");
	expect_refused("memory_info", json_pack("{s:s%}", "memory_id", "a\0b", 3), EINVAL,
		       "memory_id has a NUL in it");
	json_decref(call("memory_offload", json_pack("{s:s%}", "content", "a\0b", 3)));
	/* In JSON Schema 2.0 is a whole number. */
	json_decref(call("memory_list", json_pack("{s:f}", "limit", 2.0)));
	expect_refused("memory_list", json_pack("{s:f}", "limit", 2.5), EINVAL,
		       "limit must be a whole number from 1 to 1000, not 2.5");
	expect_refused("memory_list", json_pack("{s:f}", "limit", 1e300), EINVAL, "whole number");
}

Test(service_calls, lines_and_bytes_come_in_parts_that_join)
{
	OFS_FREE char *text = make_lines(5000);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf lines = OFS_BUF_INIT, bytes = OFS_BUF_INIT;
	char ref[9];
	json_t *next;

	offload(NULL, text, "lines", ref);
	next = json_pack("{s:s}", "memory_id", ref);
	while (json_is_object(next)) {
		json_t *part = call("memory_fetch", next);

		ofs_buf_append_str(&lines, text_of(part, "text"));
		cr_expect_leq(number_of(part, "line_end") - number_of(part, "line_start"), 1999);
		cr_expect_eq(number_of(part, "lines"), 5000);
		next = json_incref(json_object_get(part, "next"));
		json_decref(part);
	}
	cr_expect_str_eq(ofs_buf_str(&lines), text);
	next = json_pack("{s:s, s:i, s:i}", "memory_id", ref, "byte_offset", 5, "byte_len", 49000);
	while (json_is_object(next)) {
		json_t *part = call("memory_fetch", next);

		ofs_buf_append_str(&bytes, text_of(part, "text"));
		next = json_incref(json_object_get(part, "next"));
		json_decref(part);
	}
	cr_expect_eq(strncmp(ofs_buf_str(&bytes), text + 5, 49000), 0);
}

Test(service_calls, a_line_longer_than_a_part_goes_on_in_bytes)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT, text = OFS_BUF_INIT;
	char ref[9];
	json_t *next;

	/* Three bytes per character, so that parts do not end on a character's border by chance. */
	for (int i = 0; i < 60000; i++)
		ofs_buf_append_str(&text, "\xe2\x82\xac");
	ofs_buf_append_str(&text, "\nthe last line");
	offload(NULL, ofs_buf_str(&text), "long", ref);
	next = json_pack("{s:s, s:i}", "memory_id", ref, "line_start", 1);
	while (json_is_object(next)) {
		json_t *part = call("memory_fetch", next);

		cr_expect_str_eq(text_of(part, "encoding"), "utf-8");
		ofs_buf_append_str(&whole, text_of(part, "text"));
		next = json_incref(json_object_get(part, "next"));
		json_decref(part);
	}
	cr_expect_str_eq(ofs_buf_str(&whole), ofs_buf_str(&text));
	/* It ends where the line does, if no more was asked for. */
	next = json_pack("{s:s, s:i, s:i}", "memory_id", ref, "line_start", 1, "line_end", 1);
	for (whole.len = 0; json_is_object(next);) {
		json_t *part = call("memory_fetch", next);

		ofs_buf_append_str(&whole, text_of(part, "text"));
		next = json_incref(json_object_get(part, "next"));
		json_decref(part);
	}
	cr_expect_eq(whole.len, text.len - strlen("the last line"));
}

Test(service_calls, an_id_may_have_a_slice)
{
	static const char *const forms[][2] = {
		{ ":-2", "line 99\nline 100\n" },
		{ "#L2-L3", "line 2\nline 3\n" },
		{ "@L2-3", "line 2\nline 3\n" },
		{ "#L100", "line 100\n" },
	};
	OFS_FREE char *text = make_lines(100);
	char ref[9], id[64];
	json_t *part;

	offload(NULL, text, "lines", ref);
	snprintf(id, sizeof(id), "offload://%s:10-11", ref);
	part = call("memory_fetch", json_pack("{s:s}", "memory_id", id));
	cr_expect_str_eq(text_of(part, "text"), "line 10\nline 11\n");
	cr_expect(json_is_null(json_object_get(part, "next")));
	snprintf(id, sizeof(id), "%s:b0-5", ref);
	json_decref(part);
	part = call("memory_fetch", json_pack("{s:s}", "memory_id", id));
	cr_expect_str_eq(text_of(part, "text"), "line 1");
	json_decref(part);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms); i++) {
		snprintf(id, sizeof(id), "%s%s", ref, forms[i][0]);
		part = call("memory_fetch", json_pack("{s:s}", "memory_id", id));
		cr_expect_str_eq(text_of(part, "text"), forms[i][1], "%s", id);
		json_decref(part);
	}
	expect_refused("memory_fetch", json_pack("{s:s, s:i}", "memory_id", ref, "line_start", 101),
		       ERANGE, "has 100 lines: line 101 is past the end");
	expect_refused("memory_fetch",
		       json_pack("{s:s, s:i, s:i}", "memory_id", ref, "line_start", 9, "line_end",
				 8),
		       EINVAL, "not reversed");
	expect_refused("memory_fetch", json_pack("{s:s}", "memory_id", "../../etc/passwd"), EINVAL,
		       "leads out of the tree");
	expect_refused("memory_fetch", json_pack("{s:s}", "memory_id", "/etc/passwd"), EINVAL,
		       "is not in the tree");
	expect_refused("memory_fetch", json_pack("{s:s}", "memory_id", "zzzzzz"), ENOENT,
		       "no file has the ref 'zzzzzz'");
	/* The literal name wins. */
	json_decref(call("memory_offload",
			 json_pack("{s:s, s:s}", "content", "literal\n", "name", "a:2")));
	json_decref(call("memory_offload",
			 json_pack("{s:s, s:s}", "content", "one\ntwo\n", "name", "a")));
	/* The first line of that file is not yet a file with this name and content. */
	expect_refused("memory_offload", json_pack("{s:s, s:s}", "content", "one\n", "name", "a:1"),
		       EROFS, "cannot make the file");
	part = call("memory_fetch", json_pack("{s:s}", "memory_id", "cache/general/a:2"));
	cr_expect_str_eq(text_of(part, "text"), "literal\n");
	json_decref(part);
	part = call("memory_fetch", json_pack("{s:s}", "memory_id", "cache/general/a#2"));
	cr_expect_str_eq(text_of(part, "text"), "two\n");
	json_decref(part);
}

Test(service_calls, grep_prints_as_grep_does)
{
	OFS_FREE char *text = make_lines(100);
	char ref[9], expected[128];
	json_t *found;
	const json_t *lines;

	offload(NULL, text, "lines", ref);
	found = call("memory_grep", json_pack("{s:s, s:i, s:s}", "pattern", "^LINE 5[05]$",
					      "context", 1, "path", ref));
	cr_expect_eq(number_of(found, "matches"), 0);
	json_decref(found);
	found = call("memory_grep", json_pack("{s:s, s:i, s:b}", "pattern", "^LINE 5[05]$",
					      "context", 1, "ignore_case", 1));
	lines = json_object_get(found, "lines");
	cr_expect_eq(number_of(found, "matches"), 2);
	cr_expect(json_is_true(json_object_get(found, "complete")));
	cr_assert_eq(json_array_size(lines), 7);
	cr_expect(strstr(json_string_value(json_array_get(lines, 0)), "-49-line 49"));
	cr_expect(strstr(json_string_value(json_array_get(lines, 1)), ":50:line 50"));
	cr_expect(strstr(json_string_value(json_array_get(lines, 2)), "-51-line 51"));
	cr_expect_str_eq(json_string_value(json_array_get(lines, 3)), "--");
	snprintf(expected, sizeof(expected), "%s", json_string_value(json_array_get(lines, 5)));
	cr_expect(strncmp(expected, "cache/notes/", 12) == 0, "%s", expected);
	json_decref(found);
	found = call("memory_grep", json_pack("{s:s, s:i}", "pattern", "line", "limit", 3));
	cr_expect_eq(json_array_size(json_object_get(found, "lines")), 3);
	cr_expect(json_is_false(json_object_get(found, "complete")));
	json_decref(found);
	expect_refused("memory_grep", json_pack("{s:s}", "pattern", "(x"), EINVAL,
		       "the pattern is wrong at character");
}

/* Lines of more than a MiB are searched in parts, but each is one line. */
Test(service_calls, grep_counts_long_lines_once)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char ref[9];
	json_t *found;
	const json_t *lines;

	ofs_buf_append_str(&text, "first\n");
	for (int i = 0; i < 500000; i++)
		ofs_buf_append_str(&text, "long ");
	ofs_buf_append_str(&text, "end\nlast\n");
	offload(NULL, ofs_buf_str(&text), "long", ref);
	found = call("memory_grep", json_pack("{s:s}", "pattern", "^first|end$|^last$"));
	lines = json_object_get(found, "lines");
	cr_expect_eq(number_of(found, "matches"), 3);
	cr_assert_eq(json_array_size(lines), 3);
	cr_expect(strstr(json_string_value(json_array_get(lines, 0)), ":1:first"));
	cr_expect(strstr(json_string_value(json_array_get(lines, 1)), ":2:"));
	cr_expect(strstr(json_string_value(json_array_get(lines, 2)), ":3:last"));
	json_decref(found);
}

Test(service_calls, search_list_promote_and_sums)
{
	char first[9], second[9];
	json_t *result, *page;
	const json_t *hit;

	offload(NULL, "the price of zebras rose in May\n", "prices", first);
	offload(NULL, "an unrelated note on sealing wax\n", "wax", second);
	result = call("memory_search", json_pack("{s:s}", "query", "what did zebras cost"));
	hit = json_array_get(json_object_get(result, "hits"), 0);
	cr_assert_not_null(hit);
	cr_expect(strstr(text_of(hit, "at"), ":1"));
	cr_expect(strstr(text_of(hit, "snippet"), "zebras"));
	json_decref(result);
	result = call("memory_search",
		      json_pack("{s:s, s:s}", "query", "zebras", "path", "persistent"));
	cr_expect_eq(json_array_size(json_object_get(result, "hits")), 0);
	json_decref(result);
	/* A query that is wrong only once it is cut: within its date. */
	expect_refused("memory_search",
		       json_pack("{s:o}", "query", json_sprintf("\"%0244d\"after:2026-01-31", 0)),
		       EINVAL, "cannot search for");

	result = call("memory_promote", json_pack("{s:s, s:s, s:[s, s]}", "memory_id", first,
						  "tier", "archive", "tags", "animals", "money"));
	cr_expect(strncmp(text_of(result, "path"), "archive/notes/", 14) == 0);
	cr_expect_eq(json_array_size(json_object_get(result, "tags")), 2);
	json_decref(result);
	result = call("memory_pin", json_pack("{s:s}", "memory_id", second));
	cr_expect(json_is_true(json_object_get(result, "important")));
	json_decref(result);

	result = call("memory_list", json_pack("{s:i, s:s}", "limit", 1, "sort", "path"));
	cr_expect_eq(number_of(json_object_get(result, "total"), "files"), 2);
	hit = json_array_get(json_object_get(result, "files"), 0);
	cr_expect_str_eq(text_of(hit, "id"), first);
	cr_expect_str_eq(text_of(hit, "tier"), "archive");
	page = result;
	result = call("memory_list", json_pack("{s:i, s:s, s:O}", "limit", 1, "sort", "path",
					       "cursor", json_object_get(page, "next_cursor")));
	json_decref(page);
	hit = json_array_get(json_object_get(result, "files"), 0);
	cr_expect_str_eq(text_of(hit, "id"), second);
	cr_expect_str_eq(text_of(hit, "lifecycle"), "important");
	cr_expect(json_is_null(json_object_get(result, "next_cursor")));
	json_decref(result);

	result = call("memory_usage", json_object());
	cr_expect_eq(json_array_size(json_object_get(result, "groups")), 2);
	json_decref(result);
	result = call("memory_stats", json_pack("{s:[s, s]}", "by", "day", "way"));
	cr_expect_eq(number_of(json_object_get(result, "total"), "results"), 2);
	cr_expect_str_eq(text_of(json_array_get(json_object_get(result, "rows"), 0), "way"), "mcp");
	json_decref(result);
	result = call("memory_info", json_pack("{s:s}", "memory_id", first));
	cr_expect_str_eq(text_of(result, "tier"), "archive");
	json_decref(result);
}

Test(service_calls, an_agent_has_a_tree_of_its_own)
{
	char ours[9], theirs[9], id[64];
	json_t *result;

	offload(NULL, "of the whole tree\n", "whole", ours);
	offload("a", "of the agent alone\n", "agent", theirs);
	cr_expect_neq(try_call("a", "memory_fetch", json_pack("{s:s}", "memory_id", ours), &result),
		      0);
	result = call_as("a", "memory_fetch", json_pack("{s:s}", "memory_id", theirs));
	cr_expect(strncmp(text_of(result, "path"), "cache/notes/", 12) == 0);
	json_decref(result);
	/* The parent tree can read an agent's file, and gets a path relative to itself. */
	result = call("memory_fetch", json_pack("{s:s}", "memory_id", theirs));
	cr_expect_str_eq(text_of(result, "text"), "of the agent alone\n");
	cr_expect(strncmp(text_of(result, "path"), "agents/a/cache/notes/", 21) == 0, "%s",
		  text_of(result, "path"));
	snprintf(id, sizeof(id), "%s", text_of(result, "path"));
	json_decref(result);
	result = call("memory_fetch", json_pack("{s:s}", "memory_id", id));
	cr_expect_str_eq(text_of(result, "text"), "of the agent alone\n");
	json_decref(result);
	result = call("memory_grep", json_pack("{s:s}", "pattern", "of the"));
	cr_expect_eq(number_of(result, "matches"), 2);
	json_decref(result);
	result = call_as("a", "memory_grep", json_pack("{s:s}", "pattern", "of the"));
	cr_expect_eq(number_of(result, "matches"), 1);
	json_decref(result);
	cr_expect_eq(try_call("../x", "memory_list", json_object(), &result), -EINVAL);
	cr_expect_eq(try_call("none", "memory_list", json_object(), &result), -ENOENT, "%s",
		     err.text);
}

Test(service_calls, contexts)
{
	json_t *result = call("reduce", json_pack("{s:s, s:{s:s}, s:s}", "tool", "read_file",
						  "args", "path", "a.txt", "result", "hello\n"));

	cr_expect(json_is_object(result));
	json_decref(result);
	result = call("context", json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user",
					   "content", "hello"));
	cr_expect(json_is_array(json_object_get(result, "messages")));
	json_decref(result);
}
