/* SPDX-License-Identifier: MIT */
/* Tool calls become steps, and large results go into a store. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tokens.h"
#include "base/util.h"
#include "context/steps/reduce.h"

static char store[] = "/tmp/offload-test-XXXXXX";
static struct ofs_settings settings;
static struct ofs_access access_to;
static struct ofs_reduce_request request;
static struct ofs_step step;
static struct ofs_error err;

static void begin(void)
{
	struct ofs_target_options options = { .store = store };

	cr_assert(mkdtemp(store));
	ofs_access_init(&access_to, &options);
	ofs_settings_init(&settings);
	request = (struct ofs_reduce_request){ .settings = &settings, .access = &access_to };
}

static void finish(void)
{
	char command[64];

	ofs_step_finish(&step);
	ofs_settings_finish(&settings);
	ofs_access_finish(&access_to);
	snprintf(command, sizeof(command), "rm -rf %s", store);
	cr_assert_eq(system(command), 0);
}

TestSuite(context_reduce, .init = begin, .fini = finish);

/* ---- helpers */

/* Parses a valid call and reduces it to `step`. Returns the result of ofs_reduce(). */
static int reduce_text(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_tool_call_finish) struct ofs_tool_call call = { 0 };
	struct ofs_span span;

	cr_assert_eq(ofs_span_parse(text, len, &err, &span), 0, "%s", err.text);
	cr_assert_eq(ofs_tool_call_parse(span, &err, &call), 0, "%s", err.text);
	ofs_step_finish(&step);
	return ofs_reduce(&request, &call, &err, &step);
}

static void reduce(const char *text)
{
	cr_assert_eq(reduce_text(text, strlen(text)), 0, "%s", err.text);
}

/* The same for a tool, arguments in JSON, and a result: a string, or JSON after '='. */
static void reduce_call(const char *tool, const char *args, const char *result)
{
	json_t *json = json_pack("{s:s}", "tool", tool);
	char *text;

	json_object_set_new(json, "args", json_loads(args, 0, NULL));
	if (result)
		json_object_set_new(json, "result",
				    *result == '=' ? json_loads(result + 1, JSON_DECODE_ANY, NULL)
						   : json_string(result));
	text = json_dumps(json, 0);
	json_decref(json);
	reduce(text);
	free(text);
}

static void expect(const char *tool, const char *args, const char *result, const char *observation)
{
	reduce_call(tool, args, result);
	cr_expect_str_eq(step.observation, observation);
	cr_expect_null(strchr(step.observation, '\n'));
}

static void expect_failed(const char *tool, const char *args, const char *result,
			  const char *observation, const char *error)
{
	expect(tool, args, result, observation);
	cr_expect_not(step.success);
	cr_assert(step.error);
	cr_expect_str_eq(step.error, error);
}

static void expect_number(const char *name, long long expected)
{
	const json_t *value = json_object_get(step.metadata, name);

	cr_expect(json_is_integer(value), "%s", name);
	cr_expect_eq(json_integer_value(value), expected, "%s is %lld", name,
		     (long long)json_integer_value(value));
}

static void expect_text(const char *name, const char *expected)
{
	const char *value = json_string_value(json_object_get(step.metadata, name));

	cr_assert(value, "%s", name);
	cr_expect_str_eq(value, expected);
}

static void expect_arg(const char *name, const char *expected)
{
	const char *value = json_string_value(json_object_get(step.minimal_args, name));

	cr_assert(value, "%s", name);
	cr_expect_str_eq(value, expected);
}

/* Returns the text `n` times, to be freed. */
static char *times(const char *text, size_t n)
{
	size_t len = strlen(text);
	char *all = ofs_alloc(n * len + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(all + i * len, text, len);
	return all;
}

/* Returns the content of the file that the step names, to be freed. */
static char *stored(void)
{
	const char *path = json_string_value(json_object_get(step.metadata, "path"));
	char *text = NULL;

	cr_assert(step.outcome_ref);
	cr_assert(path);
	cr_assert_eq(ofs_backend_read_text(access_to.backend, path, &text), 0);
	return text;
}

static void expect_stored(const char *expected)
{
	OFS_FREE char *text = stored();

	cr_expect_str_eq(text, expected);
}

/* ---- files */

Test(context_reduce, read_file)
{
	OFS_FREE char *content = times("import os\n", 200);

	expect("Read", "{\"file_path\": \"config.json\"}", "{\"a\": 1}\n",
	       "Read config.json (9 bytes, JSON)");
	cr_expect_null(step.outcome_ref);
	expect_text("rule", "fs:read_file");
	expect_text("mime", "application/json");
	expect_text("output", "{\"a\": 1}\n");
	expect_arg("path", "config.json");
	expect("fs:read_file", "{\"path\": \"a/b.py\", \"offset\": 3}", content,
	       "Read a/b.py (2000 bytes, Python)");
	expect_stored(content);
	expect_number("lines", 200);
	expect_number("tokens", (long long)ofs_tokens_count(content, strlen(content)));
	cr_expect_eq(strlen(json_string_value(json_object_get(step.metadata, "sha256"))), 64);
	cr_expect_eq(strncmp(json_string_value(json_object_get(step.metadata, "path")),
			     "cache/file_read/file_read_", 26),
		     0);
	cr_expect_eq(json_integer_value(json_object_get(step.minimal_args, "offset")), 3);
}

Test(context_reduce, read_file_over_a_limit)
{
	OFS_FREE char *at = times("x", 1024), *over = times("x", 1025);

	reduce_call("read_file", "{\"path\": \"x\"}", at);
	cr_expect_null(step.outcome_ref);
	reduce_call("read_file", "{\"path\": \"x\"}", over);
	cr_expect(step.outcome_ref);
	settings.read_bytes = 5;
	reduce_call("read_file", "{\"path\": \"x\"}", "123456");
	cr_expect(step.outcome_ref);
}

Test(context_reduce, read_file_in_other_forms)
{
	expect("Read", "{\"file_path\": \"/a/b.c\"}",
	       "={\"type\": \"text\", \"file\": {\"filePath\": \"/a/b.c\", \"content\": \"int x;\\n\", "
	       "\"numLines\": 1}}",
	       "Read /a/b.c (7 bytes, C)");
	expect_text("output", "int x;\n");
	expect("mcp__fs__read_file", "{\"path\": \"a.md\"}",
	       "={\"content\": [{\"type\": \"text\", \"text\": \"# Hello\"}, {\"type\": \"text\", \"text\": "
	       "\"world\\n\"}]}",
	       "Read a.md (14 bytes, Markdown)");
	expect_text("output", "# Hello\nworld\n");
	expect("open", "{}", "[File: src/setup.py (94 lines total)]\r\n1:import re\r\n",
	       "Read src/setup.py (52 bytes, Python)");
	expect_arg("path", "src/setup.py");
	expect("read_multiple_files", "{\"paths\": [\"a\", \"b\", \"c\"]}", "x",
	       "Read a and 2 more (1 byte, text)");
	expect("Read", "{\"file_path\": \"p.png\"}", "iVBORw0KGgoAAAA",
	       "Read p.png (15 bytes, PNG image)");
	expect("Read", "{\"file_path\": \"p\"}", "a\x01\x02\x03", "Read p (4 bytes, binary)");
	expect("Read", "{\"file_path\": \"e.txt\"}", "", "Read e.txt (empty)");
	expect("Read", "{}", "x", "Read a file (1 byte, text)");
	/* JSON in a file is content, whatever it says. */
	expect("Read", "{\"file_path\": \"e.json\"}", "{\"error\": \"x\", \"content\": \"y\"}",
	       "Read e.json (30 bytes, JSON)");
	cr_expect(step.success);
}

Test(context_reduce, read_file_that_failed)
{
	OFS_FREE char *log = times("Error: one of many\n", 200);

	expect_failed("Read", "{\"path\": \"x\"}", "Error: no such file\nmore",
		      "Read x: failed: Error: no such file", "Error: no such file");
	expect_failed(
		"Read", "{\"path\": \"x\"}",
		"={\"content\": [{\"type\": \"text\", \"text\": \"nope\"}], \"isError\": true}",
		"Read x: failed: nope", "nope");
	expect_failed("Read", "{\"path\": \"x\"}",
		      "={\"error\": {\"code\": 2, \"message\": \"gone\"}}", "Read x: failed: gone",
		      "gone");
	expect_failed("Read", "{\"path\": \"x\"}", "={\"success\": false}",
		      "Read x: failed: {\"success\": false}", "{\"success\": false}");
	/* A log of errors is not a failure to read it. */
	reduce_call("Read", "{\"path\": \"x.log\"}", log);
	cr_expect(step.success);
}

Test(context_reduce, write_file)
{
	OFS_FREE char *content = times("x", 5234), *args = NULL;

	cr_assert_gt(asprintf(&args, "{\"path\": \"report.md\", \"content\": \"%s\"}", content), 0);
	expect("write_file", args, "Wrote it", "Wrote report.md (5234 bytes)");
	cr_expect_null(step.outcome_ref);
	cr_expect_eq(json_object_size(step.minimal_args), 1);
	cr_expect_null(json_object_get(step.metadata, "output"));
	expect("Edit",
	       "{\"file_path\": \"a.c\", \"old_string\": \"a\\nb\\n\", \"new_string\": \"c\"}",
	       content, "Edited a.c (-2 +1 lines)");
	cr_expect_null(step.outcome_ref);
	cr_expect_eq(json_object_size(step.minimal_args), 1);
	expect("create", "{\"filename\": \"a.c\"}", "[File: a.c (1 lines total)]\n1:", "Wrote a.c");
	expect("MultiEdit", "{\"file_path\": \"a.c\", \"edits\": [{}, {}]}", "ok",
	       "Edited a.c (2 edits)");
	expect("apply_patch",
	       "{\"input\": \"*** Begin Patch\\n*** Update File: a.c\\n-x\\n+y\\n+z\\n*** Add File: b.c\\n+1\\n\"}",
	       "ok", "Patched a.c, b.c (+3 -1 lines)");
	expect_arg("path", "a.c");
	expect("shell", "{\"command\": [\"apply_patch\", \"--- a/x.c\\n+++ b/x.c\\n-x\\n+y\\n\"]}",
	       "ok", "Patched x.c (+1 -1 lines)");
	expect("apply_patch",
	       "{\"input\": \"--- a/x.c\\n+++ /dev/null\\n-x\\n--- /dev/null\\n+++ b/y.c\\n+y\\n\"}",
	       "ok", "Patched x.c, y.c (+1 -1 lines)");
	expect("str_replace_editor", "{\"command\": \"view\", \"path\": \"a.c\"}", "int x;",
	       "Read a.c (6 bytes, C)");
	expect("str_replace_editor",
	       "{\"command\": \"create\", \"path\": \"a.c\", \"file_text\": \"\"}", "ok",
	       "Wrote a.c (0 bytes)");
	expect_failed(
		"edit", "{}", "Your proposed edit has introduced new syntax error(s).\nERRORS",
		"Edited a file: failed: Your proposed edit has introduced new syntax error(s).",
		"Your proposed edit has introduced new syntax error(s).");
	cr_expect(json_object_get(step.metadata, "output"));
}

/* ---- lists */

Test(context_reduce, list_dir)
{
	expect("LS", "{\"path\": \"src/\"}",
	       "total 8\ndrwxr-xr-x 2 r r 4096 Jan 1 10:00 .\ndrwxr-xr-x 2 r r 4096 Jan 1 10:00 ..\n"
	       "-rw-r--r-- 1 r r 4 Jan 1 10:00 a b.c\ndrwxr-xr-x 2 r r 4096 Jan 1 10:00 d\n"
	       "lrwxrwxrwx 1 r r 4 Jan 1 10:00 l -> a\n",
	       "Listed src/: 3 items (2 files, 1 dir)");
	expect("ls", "{}", "a.c  b.c\td/\r\nREADME\n", "Listed .: 4 items (3 files, 1 dir)");
	expect("ls", "{}", "drwxr-xr-x.\n----------+------", "Listed .: 2 items");
	expect("list_dir", "{\"path\": \".\"}", "a\nb\nc\n", "Listed .: 3 items");
	expect("list_dir", "{\"path\": \".\"}", "[DIR] a\n[FILE] b\n[FILE] c",
	       "Listed .: 3 items (2 files, 1 dir)");
	expect("list_dir", "{\"path\": \".\"}", "- /w/src/\n  - a/\n  - b.c\n\nNOTE: no more\n",
	       "Listed .: 3 items (1 file, 2 dirs)");
	expect("tree", "{}",
	       ".\n\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 a\n\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 b\n\n1 directory, 1 file\n",
	       "Listed .: 2 items (1 file, 1 dir)");
	expect("tree", "{}", "x\n|-- a\n|   `-- b/\n`-- c\n", "Listed .: 3 items (2 files, 1 dir)");
	expect("list_dir", "{\"path\": \"d\"}",
	       "=[{\"name\": \"a\", \"type\": \"directory\"}, {\"name\": \"b\", \"type\": \"file\"}]",
	       "Listed d: 2 items (1 file, 1 dir)");
	expect("list_dir", "{\"path\": \"d\"}",
	       "[{\"name\": \"a\", \"is_dir\": true}, {\"name\": \"b\", \"is_dir\": false}]",
	       "Listed d: 2 items (1 file, 1 dir)");
	expect("list_dir", "{\"path\": \"d\"}",
	       "={\"files\": [\"a\", \"b\"], \"directories\": [\"c\"]}",
	       "Listed d: 3 items (2 files, 1 dir)");
	expect("Glob", "{\"pattern\": \"*.py\", \"path\": \"src\"}",
	       "={\"filenames\": [\"a.py\"], \"numFiles\": 1}", "Listed *.py in src: 1 item");
	expect("mcp__fs__list_directory", "{\"path\": \"d\"}",
	       "={\"content\": [{\"type\": \"text\", \"text\": \"[\\\"a\\\", \\\"b/\\\"]\"}]}",
	       "Listed d: 2 items (1 file, 1 dir)");
	expect("find_file", "{\"file_name\": \"f.py\"}",
	       "Found 1 matches for \"f.py\" in /w:\n/w/f.py\n", "Listed f.py: 1 item");
	expect("ls", "{}", "", "Listed .: 0 items");
	expect_failed("ls", "{\"path\": \"x\"}", "Error: no such directory",
		      "Listed x: failed: Error: no such directory", "Error: no such directory");
}

Test(context_reduce, list_dir_over_a_limit)
{
	reduce_call("ls", "{}", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
	cr_expect_null(step.outcome_ref);
	expect_text("output", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
	reduce_call("ls", "{}", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
	expect_stored("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
}

Test(context_reduce, grep)
{
	expect("Grep", "{\"pattern\": \"x\", \"path\": \"src\"}",
	       "src/a.c:1:x\nsrc/a.c-2-near\n--\nsrc/b.c:9:x\n",
	       "Found 2 matches for 'x' in 2 files");
	expect("Grep", "{\"pattern\": \"x\"}", "Found 3 files\n/a\n/b\n/c", "Found 'x' in 3 files");
	expect("search_dir", "{\"search_term\": \"x\"}",
	       "Found 12 matches for \"x\" in /w:\n/w/a (8 matches)\n/w/b (4 matches)\n",
	       "Found 12 matches for 'x' in 2 files");
	expect("Grep", "{\"pattern\": \"x\"}",
	       "={\"mode\": \"content\", \"numFiles\": 2, \"numLines\": 7, \"content\": \"y\"}",
	       "Found 7 matches for 'x' in 2 files");
	expect("grep", "{\"pattern\": \"x\"}", "No matches found", "Found 0 matches for 'x'");
	expect("grep", "{\"pattern\": \"x\"}", "", "Found 0 matches for 'x'");
	expect("Grep", "{\"pattern\": \"x\"}", "src/a.c:12:\tx = 1;",
	       "Found 1 match for 'x' in 1 file: src/a.c:12: x = 1;");
}

/* Names and counts are not matches. */
Test(context_reduce, grep_for_names_or_counts)
{
	static const char names[] = "{\"pattern\": \"x\", \"output_mode\": \"files_with_matches\"}";
	static const char counts[] = "{\"pattern\": \"x\", \"output_mode\": \"count\"}";

	expect("Grep", names, "src/a.c\nb c:1:\nMakefile\n", "Found 'x' in 3 files");
	expect("Grep", names, "Found 2 files\n/a\n/b", "Found 'x' in 2 files");
	expect("Grep", names, "No files found", "Found 0 matches for 'x'");
	expect("Grep", counts,
	       "src/a.c:3\nb.c:0\nc.c:4\n\nFound 7 total occurrences across 2 files.",
	       "Found 7 matches for 'x' in 2 files");
	expect("Grep", counts, "12\n", "Found 12 matches for 'x': 12");
	expect("Grep", counts, "No matches found", "Found 0 matches for 'x'");
}

Test(context_reduce, grep_finds_a_long_line_of_digits)
{
	OFS_FREE char *digits = times("7", 4 << 20);

	expect("grep", "{\"pattern\": \"7\"}", digits, "Found 1 match for '7'");
}

/* Lines of context are not matches. */
Test(context_reduce, grep_with_context)
{
	expect("Grep", "{\"pattern\": \"x\", \"path\": \"a.c\", \"-C\": 1}",
	       "11-foo\n12:x\n13-bar\n--\n20:x", "Found 2 matches for 'x' in a.c");
	expect("Grep", "{\"pattern\": \"x\", \"-B\": 1}",
	       "a-1-b.c-11-foo\na-1-b.c:12:x\na-1-b.c-13-y:4:5\n2024-01-02.md-3-z",
	       "Found 1 match for 'x' in 2 files");
	expect("Grep", "{\"pattern\": \"x\", \"-A\": 2}",
	       "a.c:x\na.c-foo\na.c-bar\n--\nb.c:x\nb.c-baz", "Found 2 matches for 'x'");
	expect("Grep", "{\"pattern\": \"x\", \"path\": \"a.c\", \"-C\": 2}", "foo\nx\nbar\nbaz",
	       "Found 'x' in a.c");
	expect("Grep", "{\"pattern\": \"20\"}", "2024-01-02 a\n2024-01-03 b\n20 c\n20 d",
	       "Found 4 matches for '20'");
}

/* ---- the web */

Test(context_reduce, web_search)
{
	expect("web:search", "{\"query\": \"Bitcoin price\"}", "={\"results\": [1, 2, 3]}",
	       "Found 3 results for 'Bitcoin price'");
	expect_arg("query", "Bitcoin price");
	expect_number("results", 3);
	expect("web_search", "{\"q\": \"z\"}", "={\"webPages\": {\"value\": [{\"url\": \"u\"}]}}",
	       "Found 1 result for 'z'");
	expect("web_search", "{\"q\": \"z\"}", "={\"organic\": [1, 2], \"searchParameters\": {}}",
	       "Found 2 results for 'z'");
	expect("web_search", "{\"q\": \"z\"}", "={\"hits\": []}", "Found 0 results for 'z'");
	expect("WebSearch", "{\"query\": \"z\"}",
	       "Results:\n\nLinks: [{\"title\": \"a\"}, {\"title\": \"b\"}]\n\nText",
	       "Found 2 results for 'z'");
	expect("google_search", "{\"query\": \"z\"}", "1. A\n   http://a\n2. B\n   http://b\n",
	       "Found 2 results for 'z'");
	expect("brave_web_search", "{\"query\": \"z\"}",
	       "Title: a\nURL: http://a\n\nTitle: b\nURL: http://b\n", "Found 2 results for 'z'");
	expect("search", "{\"query\": \"z\"}",
	       "- [a](http://a)\n- [b](http://b)\n- [c](http://c)\n", "Found 3 results for 'z'");
	expect("search", "{\"query\": \"z\"}", "No results found.", "Found 0 results for 'z'");
	expect("search", "{\"query\": \"z\"}", "It is 42.", "Searched for 'z' (9 bytes of text)");
	expect_failed("search", "{\"query\": \"z\"}", "Error: quota",
		      "Searched for 'z': failed: Error: quota", "Error: quota");
}

Test(context_reduce, web_search_over_a_limit)
{
	reduce_call("web_search", "{\"q\": \"z\"}", "=[1, 2, 3, 4, 5]");
	cr_expect_null(step.outcome_ref);
	reduce_call("web_search", "{\"q\": \"z\"}", "=[1, 2, 3, 4, 5, 6]");
	expect_stored("[1, 2, 3, 4, 5, 6]");
	cr_expect_eq(strncmp(json_string_value(json_object_get(step.metadata, "path")),
			     "cache/search/search_", 20),
		     0);
}

Test(context_reduce, navigate)
{
	OFS_FREE char *words = times("words ", 8334), *result = NULL;

	cr_assert_gt(
		asprintf(
			&result,
			"={\"status\": 200, \"url\": \"https://example.com/article\", \"title\": \"T\", \"content\": \"%s\"}",
			words),
		0);
	expect("browser:navigate", "{\"url\": \"https://example.com/article\"}", result,
	       "Visited example.com/article (status=200, 50KB text)");
	expect_stored(words);
	expect_text("title", "T");
	expect_number("status", 200);
	expect("WebFetch", "{\"url\": \"http://e.com/\"}", "<html><p>hi</html>",
	       "Visited e.com (18 bytes HTML)");
	expect_stored("<html><p>hi</html>");
	expect_failed("fetch", "{\"url\": \"e.com\"}", "={\"status\": 404, \"text\": \"gone\"}",
		      "Visited e.com (status=404, 4 bytes text): failed: HTTP status 404",
		      "HTTP status 404");
	cr_expect(step.outcome_ref);
	expect("fetch", "{\"url\": \"e.com\"}", "HTTP/1.1 200 OK\r\n\r\nhello",
	       "Visited e.com (status=200, 24 bytes text)");
	expect("fetch", "{\"url\": \"e.com\"}", "", "Visited e.com (0 bytes text)");
	cr_expect_null(step.outcome_ref);
	expect("open_page", "{\"startUrl\": \"e.com\"}", "hello", "Visited e.com (5 bytes text)");
	expect("navigate", "{}", "={\"url\": \"https://e.com/x\", \"text\": \"hello\"}",
	       "Visited e.com/x (5 bytes text)");
}

/* Members beside the text are kept. If they are not short, the whole JSON is stored. */
Test(context_reduce, an_object_with_more_than_text)
{
	OFS_FREE char *html = times("<p>", 200), *result = NULL;

	cr_assert_gt(asprintf(&result, "={\"text\": \"hello\", \"html\": \"%s\"}", html), 0);
	expect("fetch", "{\"url\": \"e.com\"}", result, "Visited e.com (5 bytes text)");
	expect_stored(result + 1);
	expect_number("text_bytes", 5);
	reduce_call("fetch", "{\"url\": \"e.com\"}",
		    "={\"text\": \"hello\", \"took\": 1.5, \"cached\": false, \"via\": [\"a\"]}");
	expect_stored("hello");
	cr_expect_eq(json_object_size(json_object_get(step.metadata, "result")), 2);
	/* A number that the step cannot represent. */
	reduce("{\"tool\": \"fetch\", \"args\": {\"url\": \"e\"}, \"result\": {\"text\": \"hello\", \"ids\": "
	       "[123456789012345678901]}}");
	expect_stored("{\"text\": \"hello\", \"ids\": [123456789012345678901]}");
}

/* ---- commands */

Test(context_reduce, shell)
{
	expect("Bash", "{\"command\": \"git log\", \"description\": \"d\"}",
	       "={\"stdout\": \"a\\nb\\n\", \"stderr\": \"\", \"exit_code\": 0}",
	       "git log: exit 0, 2 lines output: a b");
	expect_number("exit_code", 0);
	expect_text("output", "a\nb\n");
	cr_expect_eq(json_object_size(step.minimal_args), 1);
	expect("shell", "{\"command\": [\"bash\", \"-lc\", \"git log | head\"]}",
	       "{\"output\": \"a\\n\", \"metadata\": {\"exit_code\": 0, \"duration_seconds\": 0.1}}",
	       "git log | head: exit 0, 1 line output: a");
	expect_text("output", "a\n");
	expect("shell", "{\"command\": [\"ls\", \"a b\"]}", "x", "ls 'a b': 1 line output: x");
	expect("Bash", "{\"command\": \"true\"}", "", "true: no output");
	expect("shell", "{\"command\": \"git\", \"args\": [\"log\", \"-3\"]}", "x",
	       "git log -3: 1 line output: x");
	expect("run", "{\"command\": \"bash\", \"args\": [\"-lc\", \"make x\"]}", "",
	       "make x: no output");
	expect("exec", "{\"cmd\": [\"bash\", \"-lc\", \"make\"]}", "", "make: no output");
	expect("shell", "{\"command\": \"git -C w\", \"args\": [\"log\"]}", "",
	       "git -C w log: no output");
	expect("shell", "{\"command\": \"ls\", \"args\": []}", "", "ls: no output");
	expect("shell", "{\"command\": \"ls\"}", "1\n2\n3\n4\n", "ls: 4 lines output");
	expect("BashOutput", "{\"bash_id\": \"7\"}", "x\n", "1 line output: x");
}

Test(context_reduce, shell_that_failed)
{
	expect_failed("Bash", "{\"command\": \"git push\"}",
		      "Exit code 128\nfatal: no upstream\nhint: do this",
		      "git push: exit 128, 3 lines output: fatal: no upstream hint: do this",
		      "hint: do this");
	expect_failed(
		"Bash", "{\"command\": \"make\"}",
		"={\"stdout\": \"one\\n\", \"stderr\": \"boom: error 2\\n\", \"exit_code\": 2}",
		"make: exit 2, 2 lines output: boom: error 2", "boom: error 2");
	expect_failed("execute_bash", "{\"command\": \"ls\"}",
		      "cannot\n[The command completed with exit code 1.]",
		      "ls: exit 1, 2 lines output: cannot", "cannot");
	expect_failed(
		"bash", "{\"command\": \"x.py\"}",
		"Traceback (most recent call last):\n  File \"x\"\nKeyError: 'a'\n",
		"x.py: 3 lines output: Traceback (most recent call last): File \"x\" KeyError: 'a'",
		"KeyError: 'a'");
	expect_failed("bash", "{\"command\": \"x\"}", "={\"returncode\": -9}",
		      "x: exit -9, 1 line output: {\"returncode\": -9}", "{\"returncode\": -9}");
}

Test(context_reduce, exit_codes_in_text)
{
	static const struct {
		const char *text;
		int code;
	} known[] = {
		{ "Exit code: 3\nOutput:\nx", 3 },
		{ "Chunk ID: 1\nWall time: 2 s\nProcess exited with code 4\nOutput:\nx", 4 },
		{ "x\n(exit 5)", 5 },
		{ "x\nCommand 'make' returned non-zero exit status 6.", 6 },
		{ "<returncode>7</returncode>\n<output>x</output>", 7 },
		{ "x\nexit status 8\n", 8 },
		{ "Exit code 9\nx", 9 },
	};
	static const char *const unknown[] = {
		"a51f436 Fix exit code 2 of the tool\nb Return code 3 is new\n",
		"the exit code is kept\n",
		"exit code 99999999999999999999\n",
		"a\nb\nc\nexit code: 1\nd\ne\nf\n",
		"exit code",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++) {
		reduce_call("bash", "{\"command\": \"x\"}", known[i].text);
		expect_number("exit_code", known[i].code);
		cr_expect_not(step.success);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(unknown); i++) {
		reduce_call("bash", "{\"command\": \"x\"}", unknown[i]);
		cr_expect_null(json_object_get(step.metadata, "exit_code"), "%s", unknown[i]);
		cr_expect(step.success);
	}
}

/* Texts that harnesses give in place of a result without setting "is_error". */
Test(context_reduce, failures_by_how_they_start)
{
	static const char *const failed[] = {
		"EISDIR: illegal operation on a directory, read",
		"ENOENT: no such file or directory, open '/x'",
		"The user doesn't want to proceed with this tool use. The tool use was rejected",
		"<tool_use_error>String to replace not found in file.</tool_use_error>",
		"[Request interrupted by user for tool use]",
		"Permission to use Bash has been denied.",
		"ValueError: bad literal",
		"java.io.IOException: closed",
		"MCP error -32000: Connection closed",
	};
	static const char *const fine[] = {
		"E: nothing", "Errors: 0", "NotError", "Exceptions", "The user asked for it",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(failed); i++) {
		reduce_call("Read", "{\"path\": \"x\"}", failed[i]);
		cr_expect_not(step.success, "%s", failed[i]);
		reduce_call("Bash", "{\"command\": \"x\"}", failed[i]);
		cr_expect_not(step.success, "%s", failed[i]);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(fine); i++) {
		reduce_call("Bash", "{\"command\": \"x\"}", fine[i]);
		cr_expect(step.success, "%s", fine[i]);
	}
}

Test(context_reduce, shell_failed_in_the_middle)
{
	OFS_FREE char *before = times("ok - a case that went well\\n", 200), *result = NULL;

	cr_assert_geq(asprintf(&result,
			       "={\"stdout\": \"%snot ok 201 - frames are refused\\n%s\", "
			       "\"exit_code\": 1}",
			       before, before),
		      0);
	reduce_call("Bash", "{\"command\": \"./tests\"}", result);
	cr_expect(strstr(step.observation, "401 lines output: not ok 201 - frames are refused ..."),
		  "%s", step.observation);
	/* The part from the end begins with a word. */
	cr_expect(strstr(step.observation, "... - a case") ||
			  strstr(step.observation, "...- a case") ||
			  strstr(step.observation, "...a case") ||
			  strstr(step.observation, "...case") ||
			  strstr(step.observation, "...that") ||
			  strstr(step.observation, "...went") ||
			  strstr(step.observation, "...well") || strstr(step.observation, "...ok"),
		  "%s", step.observation);
}

Test(context_reduce, shell_over_a_limit)
{
	OFS_FREE char *at = times("\xc3\xa4", 500), *over = times("y\n", 300), *result = NULL;

	reduce_call("bash", "{\"command\": \"x\"}", at);
	cr_expect_null(step.outcome_ref);
	cr_assert_gt(asprintf(&result,
			      "={\"stdout\": \"%s\", \"stderr\": \"the end\", \"exit_code\": 1}",
			      at),
		     0);
	reduce_call("bash", "{\"command\": \"x\"}", result);
	cr_expect_str_eq(step.error, "the end");
	free(result);
	cr_assert_gt(asprintf(&result, "%sexit code: 1", over), 0);
	reduce_call("bash", "{\"command\": \"x\"}", result);
	expect_stored(result);
	cr_expect_lt(strlen(step.observation), 401);
	cr_expect(strstr(step.observation, "..."));
}

/* ---- any other tool */

Test(context_reduce, other)
{
	OFS_FREE char *lines = times("a line\n", 51), *fifty = times("a line\n", 50),
		      *bytes = times("z", 2049);

	expect("get_user",
	       "{\"id\": \"mia\", \"o\": {\"a\": 1}, \"l\": [1, 2], \"f\": 3.14, \"n\": null}",
	       "found\n  her", "found her");
	expect_arg("o", "[object: 1 key]");
	expect_arg("l", "[array: 2 items]");
	expect_text("output", "found\n  her");
	expect("calculate", "{}", "=255.0", "255.0");
	cr_expect_null(json_object_get(step.metadata, "output"));
	expect("x", "{}", "=null", "no output");
	expect("x", "{}", NULL, "no output");
	expect("x", "{}", "=[]", "[]");
	expect_failed("book", "{}", "Error: does not add up", "Error: does not add up",
		      "Error: does not add up");
	expect_failed("book", "{}", "{\"error\": \"no seats\"}", "{\"error\": \"no seats\"}",
		      "no seats");
	reduce_call("x", "{}", fifty);
	cr_expect_null(step.outcome_ref);
	reduce_call("x", "{}", lines);
	expect_stored(lines);
	cr_expect_eq(strlen(step.observation), 200);
	reduce_call("x", "{}", bytes);
	expect_stored(bytes);
	bytes[2048] = '\0';
	reduce_call("x", "{}", bytes);
	cr_expect_null(step.outcome_ref);
	expect_text("output", bytes);
}

Test(context_reduce, long_arguments_are_cut)
{
	OFS_FREE char *value = times("v", 100000), *args = NULL;

	cr_assert_gt(asprintf(&args, "{\"a\": \"%s\"}", value), 0);
	reduce_call("x", args, "y");
	cr_expect_eq(json_string_length(json_object_get(step.minimal_args, "a")), 200);
}

/* ---- input */

static int parse_call(const char *text)
{
	OFS_CLEANUP(ofs_tool_call_finish) struct ofs_tool_call call = { 0 };
	struct ofs_span span;

	cr_assert_eq(ofs_span_parse(text, strlen(text), &err, &span), 0, "%s", err.text);
	return ofs_tool_call_parse(span, &err, &call);
}

Test(context_reduce, calls_that_are_none)
{
	static const struct {
		const char *text, *reason;
	} wrong[] = {
		{ "[]", "an array" },
		{ "\"x\"", "a string" },
		{ "null", "null" },
		{ "{}", "without \"tool\"" },
		{ "{\"args\": {}}", "without \"tool\"" },
		{ "{\"tool\": null}", "without \"tool\"" },
		{ "{\"tool\": 7}", "a number" },
		{ "{\"tool\": \"\"}", "empty" },
		{ "{\"tool\": \"\\ud800\"}", "UTF-8" },
		{ "{\"tool\": \"x\", \"args\": []}", "an array" },
		{ "{\"tool\": \"x\", \"args\": 5}", "a number" },
		{ "{\"tool\": \"x\", \"args\": \"[1]\"}", "an array" },
		{ "{\"tool\": \"x\", \"args\": \"{\"}", "holds no object" },
		{ "{\"tool\": \"x\", \"args\": \"text\"}", "holds no object" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(wrong); i++) {
		cr_expect_eq(parse_call(wrong[i].text), -EINVAL, "%s", wrong[i].text);
		cr_expect(strstr(err.text, wrong[i].reason), "%s: %s", wrong[i].text, err.text);
	}
}

Test(context_reduce, calls_under_other_names)
{
	static const char *const same[] = {
		"{\"tool\": \"bash\", \"args\": {\"command\": \"ls\"}, \"result\": \"a\"}",
		"{\"tool_name\": \"bash\", \"tool_input\": {\"command\": \"ls\"}, \"tool_response\": \"a\"}",
		"{\"name\": \"bash\", \"arguments\": \"{\\\"command\\\": \\\"ls\\\"}\", \"output\": \"a\"}",
		"{\"content\": \"a\", \"input\": {\"command\": \"ls\"}, \"toolName\": \"bash\"}",
		"{\"tool\": \"bash\", \"name\": \"x\", \"parameters\": {\"command\": \"ls\"}, \"content\": \"b\", \"result\": \"a\"}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(same); i++) {
		reduce(same[i]);
		cr_expect_str_eq(step.tool_name, "bash");
		cr_expect_str_eq(step.observation, "ls: 1 line output: a");
		expect_text("output", "a");
	}
	reduce("{\"tool\": \"x\", \"args\": \"\"}");
	reduce("{\"tool\": \"x\", \"args\": null}");
}

Test(context_reduce, times)
{
	static const struct {
		const char *json;
		long long ms;
	} known[] = {
		{ "\"timestamp_ms\": 1795291548123", 1795291548123 },
		{ "\"timestamp_ms\": 5", 5 },
		{ "\"timestamp\": 1795291548", 1795291548000 },
		{ "\"ts\": 1795291548.25", 1795291548250 },
		{ "\"timestamp\": 1795291548123456", 1795291548123 },
		{ "\"timestamp\": \"2026-11-21T20:05:48Z\"", 1795291548000 },
		{ "\"timestamp\": \"2026-11-21 20:05:48.5\"", 1795291548500 },
		{ "\"timestamp\": \"2026-11-21T21:05:48.123456+01:00\"", 1795291548123 },
		{ "\"timestamp\": \"1795291548\"", 1795291548000 },
	};
	static const char *const unknown[] = {
		"\"timestamp\": \"now\"",	 "\"timestamp\": -1",
		"\"timestamp\": 1e300",		 "\"timestamp\": true",
		"\"timestamp\": \"2026-13-01\"", "\"ts\": {}"
	};
	char text[128];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++) {
		snprintf(text, sizeof(text), "{\"tool\": \"x\", %s}", known[i].json);
		reduce(text);
		cr_expect(step.has_timestamp, "%s", text);
		cr_expect_eq(step.timestamp_ms, known[i].ms, "%s: %lld", text,
			     (long long)step.timestamp_ms);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(unknown); i++) {
		snprintf(text, sizeof(text), "{\"tool\": \"x\", %s}", unknown[i]);
		reduce(text);
		cr_expect_not(step.has_timestamp, "%s", text);
	}
}

Test(context_reduce, strange_bytes)
{
	reduce("{\"tool\": \"x\", \"result\": \"a\\u0000\\ud800\\u001b[1mb\\u2028c\"}");
	cr_expect_str_eq(step.observation, "a^@\\xed\\xa0\\x80b c");
	reduce("{\"tool\": \"bash\", \"args\": {\"command\": \"\\u0000\\nx\\udc00\"}, \"result\": "
	       "\"\\u0000\\u0001\"}");
	cr_expect_str_eq(step.observation, "^@ x\\xed\\xb0\\x80: 1 line output: ^@^A");
	reduce("{\"tool\": \"x\", \"args\": {\"\\ud800\": \"\\ud800\", \"n\": 1e999, \"big\": "
	       "123456789012345678901234567890}, \"result\": {\"\\ud800\": \"\\ud800\", \"text\": \"t\"}}");
	cr_expect_str_eq(step.observation, "t");
	expect_arg("big", "123456789012345678901234567890");
}

Test(context_reduce, the_same_gives_the_same)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf first = OFS_BUF_INIT, again = OFS_BUF_INIT;
	OFS_FREE char *lines = times("a line\n", 100);

	reduce_call("Read", "{\"path\": \"x\"}", lines);
	ofs_step_print(&step, &first);
	reduce_call("bash", "{\"command\": \"x\"}", lines);
	reduce_call("Read", "{\"path\": \"x\"}", lines);
	ofs_step_print(&step, &again);
	cr_expect_eq(first.len, again.len);
	cr_expect_eq(memcmp(first.data, again.data, first.len), 0);
}

/* ---- settings */

Test(context_reduce, sections_for_tools)
{
	settings.tools = ofs_alloc(2 * sizeof(*settings.tools));
	settings.n_tools = 2;
	settings.tools[0].name = ofs_strdup("query_db");
	settings.tools[0].category = ofs_strdup("db");
	settings.tools[0].observation = ofs_strdup(
		"Asked {args.table} for {lines} lines ({size}, {tool}, {nothing}) {bytes}");
	settings.tools[0].when = OFS_OFFLOAD_ALWAYS;
	settings.tools[1].name = ofs_strdup("Bash");
	settings.tools[1].when = OFS_OFFLOAD_OVER;
	settings.tools[1].over = 3;
	expect("acme.queryDB", "{\"table\": \"t\"}", "a\nb",
	       "Asked t for 2 lines (3 bytes, acme.queryDB, ) 3");
	expect_stored("a\nb");
	cr_expect_eq(strncmp(json_string_value(json_object_get(step.metadata, "path")),
			     "cache/db/db_", 12),
		     0);
	reduce_call("Bash", "{}", "123");
	cr_expect_null(step.outcome_ref);
	reduce_call("Bash", "{}", "1234");
	cr_expect(step.outcome_ref);
	settings.tools[1].when = OFS_OFFLOAD_NEVER;
	reduce_call("Bash", "{}", "1234");
	cr_expect_null(step.outcome_ref);
	request.category = "mine";
	reduce_call("query_db", "{\"table\": \"t\"}", "a\nb");
	cr_expect_eq(strncmp(json_string_value(json_object_get(step.metadata, "path")),
			     "cache/mine/mine_", 16),
		     0);
}

/* ---- tasks */

static void expect_file(const char *path, const char *expected)
{
	OFS_FREE char *text = NULL;

	cr_assert_eq(ofs_backend_read_text(access_to.backend, path, &text), 0, "%s", path);
	cr_expect_str_eq(text, expected);
}

static int count_one(void *arg, const char *name)
{
	(void)name;
	++*(int *)arg;
	return 0;
}

static void expect_files(const char *folder, int expected)
{
	int n = 0;

	cr_assert_eq(access_to.backend->ops->list(access_to.backend, folder, count_one, &n), 0);
	cr_expect_eq(n, expected, "%d files", n);
}

Test(context_reduce, history_of_a_task)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	OFS_FREE char *lines = times("a line\n", 100);

	request.task = "t1";
	reduce_call("bash", "{\"command\": \"make\"}", lines);
	cr_expect_str_eq(step.id, "step_001");
	cr_expect_eq(strncmp(json_string_value(json_object_get(step.metadata, "path")),
			     "tasks/t1/outputs/shell_", 23),
		     0);
	ofs_step_print(&step, &line);
	ofs_buf_append(&line, "\n", 2);
	expect_file("tasks/t1/history/step_001.json", (char *)line.data);
	line.len = 0;
	ofs_buf_printf(&line, "Ran `make` [ref %s]\n", step.outcome_ref);
	ofs_buf_append(&line, "", 1);
	expect_file("tasks/t1/history/step_001.compact", (char *)line.data);
	reduce_call("think", "{}", "");
	cr_expect_str_eq(step.id, "step_002");
	expect_file("tasks/t1/history/step_002.compact", "think() -> no output\n");
	expect_files("tasks/t1/history", 4);
}

static void make(const char *path)
{
	ofs_handle h;

	cr_assert_eq(access_to.backend->ops->create(access_to.backend, path, 0600, &h), 0);
	access_to.backend->ops->close(access_to.backend, h);
}

Test(context_reduce, numbers_of_steps)
{
	request.task = "t1";
	reduce_call("think", "{}", "");
	make("tasks/t1/history/step_999.json");
	make("tasks/t1/history/step_99999999999999999999.json");
	make("tasks/t1/history/step_5000.txt");
	make("tasks/t1/history/step_.json");
	reduce_call("think", "{}", "");
	cr_expect_str_eq(step.id, "step_1000");
	/* A number with only a .compact file is taken, too. */
	make("tasks/t1/history/step_1007.compact");
	reduce_call("think", "{}", "");
	cr_expect_str_eq(step.id, "step_1008");
}

/* The backend's own operations, while rename is replaced. */
static const struct ofs_backend_ops *whole;
static struct ofs_backend_ops faulty;
static int renames, fault;

static int rename_with_fault(struct ofs_backend *b, const char *from, const char *to,
			     unsigned int flags)
{
	return renames-- == 0 ? fault : whole->rename(b, from, to, flags);
}

/* Adds a step while the rename after `behind` others fails. */
static int add_with_fault(int behind, int error)
{
	static const char think[] = "{\"tool\": \"think\"}";
	struct ofs_backend *b = access_to.backend;
	int r;

	whole = b->ops;
	faulty = *whole;
	faulty.rename = rename_with_fault;
	renames = behind;
	fault = error;
	b->ops = &faulty;
	r = reduce_text(think, strlen(think));
	b->ops = whole;
	cr_expect_lt(renames, 0, "the fault was not reached");
	return r;
}

Test(context_reduce, nothing_half_written)
{
	request.task = "t1";
	reduce_call("think", "{}", "");
	for (int behind = 0; behind < 2; behind++) {
		cr_expect_eq(add_with_fault(behind, -ENOSPC), -ENOSPC);
		cr_expect(strstr(err.text, "tasks/t1/history"));
		expect_files("tasks/t1/history", 2);
	}
}

Test(context_reduce, a_number_that_somebody_takes_first)
{
	request.task = "t1";
	reduce_call("think", "{}", "");
	for (int behind = 0; behind < 2; behind++) {
		cr_expect_eq(add_with_fault(behind, -EEXIST), 0);
		expect_files("tasks/t1/history", 4 + 2 * behind);
	}
	cr_expect_str_eq(step.id, "step_005");
}
