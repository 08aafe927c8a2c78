/* SPDX-License-Identifier: MIT */
/* Events of Claude Code, answered on a store that is not mounted. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/claude_output.h"
#include "base/util.h"
#include "io/path.h"

#define LINES 100 /* of the long text, which exceeds both limits */

static char root[] = "/tmp/offload-test-XXXXXX";
static struct ofs_hook_options options;

static const struct ofs_agent *agent(void)
{
	return ofs_agent_find("claude-code");
}

static struct ofs_access access_;
static struct ofs_error err;
static char long_text[LINES * 32]; /* as in JSON, escaped */
static char *plain_text; /* the same text, not escaped */

static void begin(void)
{
	static char store[64];
	const struct ofs_target_options target = { .store = store };

	cr_assert(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
	snprintf(store, sizeof(store), "%s/store", root);
	ofs_access_init(&access_, &target);
	options = (struct ofs_hook_options){
		.max_bytes = 2048,
		.read_bytes = 1 << 16,
		.given = true,
	};
	plain_text = malloc(sizeof(long_text));
	plain_text[0] = '\0';
	for (int i = 0; i < LINES; i++) {
		char line[40];

		snprintf(line, sizeof(line), "line %d of \"a\" long text\n", i);
		strcat(plain_text, line);
		snprintf(line, sizeof(line), "line %d of \\\"a\\\" long text\\n", i);
		strcat(long_text, line);
	}
}

static void finish(void)
{
	char command[64];

	ofs_access_finish(&access_);
	free(plain_text);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0);
}

TestSuite(agent_hook, .init = begin, .fini = finish);

/* Returns the text with each $L replaced by the long text, to be freed. */
static char *fill(const char *form)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	for (; *form; form++) {
		if (form[0] == '$' && form[1] == 'L') {
			fputs(long_text, out);
			form++;
		} else {
			putc(*form, out);
		}
	}
	fclose(out);
	return text;
}

/* Returns the answer as JSON, or NULL if there is none. */
static json_t *answer(const char *event, int *ret_result)
{
	OFS_FREE char *text = fill(event);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_hook_event e;
	json_error_t why;
	json_t *json;

	cr_assert_eq(agent()->read_event(text, strlen(text), &err, &e), 0, "%s: %s", err.text,
		     text);
	*ret_result = ofs_hook_answer(agent(), &e, &options, &access_, &err, &out);
	ofs_hook_event_finish(&e);
	if (!out.len)
		return NULL;
	json = json_loadb((const char *)out.data, out.len, 0, &why);
	cr_assert(json, "%s: %.*s", why.text, (int)out.len, out.data);
	return json;
}

/* Returns the replacement of a tool's response, or NULL if there is none. */
static json_t *answer_tool(const char *tool, const char *input, const char *response)
{
	OFS_FREE char *event = NULL;
	json_t *json, *specific, *output;
	int r;

	cr_assert(asprintf(&event,
			   "{\"hook_event_name\":\"PostToolUse\",\"session_id\":\"a/b c\","
			   "\"tool_name\":\"%s\",\"tool_input\":%s,\"tool_response\":%s}",
			   tool, input, response) > 0);
	json = answer(event, &r);
	cr_assert_eq(r, 0, "%s", err.text);
	if (!json)
		return NULL;
	specific = json_object_get(json, "hookSpecificOutput");
	cr_assert_str_eq(json_string_value(json_object_get(specific, "hookEventName")),
			 "PostToolUse");
	output = json_incref(json_object_get(specific, "updatedToolOutput"));
	cr_assert(output);
	json_decref(json);
	return output;
}

static void expect_nothing(const char *tool, const char *input, const char *response)
{
	json_t *json = answer_tool(tool, input, response);

	cr_expect_null(json, "%s %s", tool, response);
	json_decref(json);
}

/* Expects a pointer, which starts with this title and a size. */
static void expect_pointer(const char *text, const char *title)
{
	OFS_FREE char *begin_of = NULL;

	cr_assert(text);
	cr_assert(asprintf(&begin_of, "[offloaded] %s: ", title) > 0);
	cr_expect_eq(strncmp(text, begin_of, strlen(begin_of)), 0, "%s", text);
}

/* Expects something stored under `folder`, which ends with '/'. */
static void expect_folder(const char *folder)
{
	OFS_FREE char *path = ofs_strndup(folder, strlen(folder) - 1);
	struct stat st;

	cr_expect_eq(access_.backend->ops->stat(access_.backend, path, &st), 0, "%s", path);
}

static void expect_text(const char *tool, const char *input, const char *response,
			const char *title, const char *path)
{
	json_t *json = answer_tool(tool, input, response);

	cr_assert(json_is_string(json), "%s", response);
	expect_pointer(json_string_value(json), title);
	expect_folder(path);
	json_decref(json);
}

Test(agent_hook, every_shape_is_answered_with_a_pointer)
{
	static const char none[] = "{}";

	expect_text("Bash", "{\"command\":\"make test\"}",
		    "{\"stdout\":\"$L\",\"stderr\":\"\",\"interrupted\":false,\"isImage\":false}",
		    "make test", "tasks/a-b-c/shell/");
	expect_text("Bash", none, "\"$L\"", "Bash", "tasks/a-b-c/shell/");
	expect_text("Grep", "{\"pattern\":\"x\"}",
		    "{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],\"content\":\"$L\"}",
		    "Grep x", "tasks/a-b-c/search/");
	expect_text("Glob", "{\"pattern\":\"**\"}",
		    "{\"filenames\":[\"$L\",\"b\"],\"numFiles\":2,\"truncated\":false}", "Glob **",
		    "tasks/a-b-c/search/");
	expect_text("WebFetch", "{\"url\":\"https://a.example/\"}",
		    "{\"bytes\":1,\"code\":200,\"result\":\"$L\",\"url\":\"u\"}",
		    "https://a.example/", "tasks/a-b-c/web/");
	expect_text("WebSearch", "{\"query\":\"q r\"}",
		    "{\"query\":\"q r\",\"results\":[{\"content\":[{\"title\":\"$L\"}]},\"$L\"]}",
		    "q r", "tasks/a-b-c/search/");
	expect_text("mcp__git_hub__list", none, "[{\"type\":\"text\",\"text\":\"$L\"}]",
		    "mcp__git_hub__list", "tasks/a-b-c/git_hub/");
	expect_text("mcp__s__t", none, "{\"content\":[{\"type\":\"text\",\"text\":\"$L\"}]}",
		    "mcp__s__t", "tasks/a-b-c/s/");
	expect_text("mcp____t", none, "\"$L\"", "mcp____t", "tasks/a-b-c/mcp/");
	expect_text("Task", "{\"description\":\"look\"}",
		    "{\"content\":[{\"type\":\"text\",\"text\":\"$L\"}],\"totalTokens\":5}",
		    "Task look", "tasks/a-b-c/general/");
	expect_text("Strange", none, "{\"x\":[1,\"$L\"]}", "Strange", "tasks/a-b-c/general/");
}

Test(agent_hook, the_response_keeps_its_shape)
{
	static const struct {
		const char *tool, *response, *expected;
	} cases[] = {
		{ "Bash",
		  "{\"stdout\":\"$L\",\"stderr\":\"e\",\"interrupted\":false,\"isImage\":false,"
		  "\"x\": [1.0]}",
		  "{\"stdout\":$P,\"stderr\":\"\",\"interrupted\":false,\"isImage\":false,\"x\":[1.0]}" },
		{ "Grep",
		  "{\"mode\":\"content\",\"filenames\":[],\"content\":\"$L\",\"numLines\":9}",
		  "{\"mode\":\"content\",\"filenames\":[],\"content\":$P,\"numLines\":9}" },
		{ "Glob", "{\"filenames\":[\"$L\"],\"numFiles\":1}",
		  "{\"filenames\":[$P],\"numFiles\":1}" },
		{ "WebFetch", "{\"code\":200,\"result\":\"$L\"}", "{\"code\":200,\"result\":$P}" },
		{ "WebSearch", "{\"query\":\"q\",\"results\":[\"$L\",{}]}",
		  "{\"query\":\"q\",\"results\":[$P]}" },
		{ "mcp__s__t",
		  "[{\"type\":\"text\",\"text\":\"$L\"},{\"type\":\"text\",\"text\":\"b\"}]",
		  "[{\"type\":\"text\",\"text\":$P}]" },
		{ "mcp__s__t",
		  "{\"content\":[{\"type\":\"text\",\"text\":\"$L\"}],\"isError\":true,"
		  "\"structuredContent\":{\"a\":1}}",
		  "{\"content\":[{\"type\":\"text\",\"text\":$P}],\"isError\":true}" },
		{ "mcp__s__t", "{\"x\":\"$L\"}", "$P" },
		{ "Agent",
		  "{\"status\":\"completed\",\"content\":[{\"type\":\"text\",\"text\":\"$L\"}]}",
		  "{\"status\":\"completed\",\"content\":[{\"type\":\"text\",\"text\":$P}]}" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		OFS_FREE char *text = NULL, *expected = NULL;
		json_t *pointer, *json, *wanted;
		const char *mark = strstr(cases[i].expected, "$P");

		options.form = OFS_HOOK_TEXT;
		pointer = answer_tool(cases[i].tool, "{}", cases[i].response);
		cr_assert(json_is_string(pointer), "case %zu", i);
		options.form = OFS_HOOK_TOOL;
		json = answer_tool(cases[i].tool, "{}", cases[i].response);
		text = json_dumps(pointer, JSON_ENCODE_ANY);
		cr_assert(asprintf(&expected, "%.*s%s%s", (int)(mark - cases[i].expected),
				   cases[i].expected, text, mark + 2) > 0);
		wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
		cr_assert(wanted, "%s", expected);
		cr_expect(json_equal(json, wanted), "case %zu", i);
		json_decref(pointer);
		json_decref(json);
		json_decref(wanted);
	}
}

Test(agent_hook, hits_of_a_search_are_a_line_each)
{
	static const char text[] =
		"{ \"results\": [\"first\\n\", { \"content\" : [ {\"a b\" :\n"
		" \"c \\\" d\", \"e\": [ 1 , {} ] } , 5\n] }, {\"x\": \"y z\"}, \"\"]}";
	OFS_CLEANUP(ofs_claude_output_finish) struct ofs_claude_output output = { 0 };
	static const char expected[] =
		"first\n{\"a b\":\"c \\\" d\",\"e\":[1,{}]}\n5\n{\"x\":\"y z\"}";
	struct ofs_span whole;

	cr_assert_eq(ofs_span_parse(text, strlen(text), &err, &whole), 0, "%s", err.text);
	cr_assert(ofs_claude_output_read(whole, &output));
	cr_expect_eq(output.shape, OFS_CLAUDE_RESULTS);
	cr_expect(output.text.len == strlen(expected) &&
			  memcmp(output.text.data, expected, output.text.len) == 0,
		  "%.*s", (int)output.text.len, output.text.data);
}

Test(agent_hook, a_shape_that_is_not_known_is_left_to_its_tool)
{
	options.form = OFS_HOOK_TOOL;
	expect_nothing("Strange", "{}", "{\"x\":\"$L\"}");
	cr_expect_null(access_.backend, "nothing was stored for it");
}

Test(agent_hook, what_stays_as_it_is)
{
	static const char *const responses[] = {
		"null",
		"12",
		"\"\"",
		"\"short\"",
		"[]",
		"{}",
		"{\"stdout\":\"\",\"stderr\":\"\"}",
		"{\"stdout\":\"$L\",\"stderr\":\"\",\"isImage\":true}",
		"{\"type\":\"image\",\"file\":{\"base64\":\"$L\",\"type\":\"image/png\"}}",
		"{\"type\":\"notebook\",\"file\":{\"content\":\"$L\"}}",
		"[{\"type\":\"text\",\"text\":\"$L\"},{\"type\":\"image\",\"source\":{}}]",
		"{\"content\":[{\"type\":\"image\",\"source\":{}},{\"type\":\"text\",\"text\":\"$L\"}]}",
	};
	static const char *const kept[] = { "Write",	    "Edit",	 "MultiEdit",
					    "NotebookEdit", "TodoWrite", "Skill" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(responses); i++)
		expect_nothing("Bash", "{}", responses[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kept); i++)
		expect_nothing(kept[i], "{}", "\"$L\"");
	cr_expect_null(access_.backend, "nothing was stored");
}

Test(agent_hook, a_text_that_imitates_a_pointer_is_a_text)
{
	json_t *json = answer_tool(
		"Bash", "{}", "{\"stdout\":\"[offloaded] make: 3 bytes\\n$L\",\"stderr\":\"\"}");

	cr_expect(json);
	json_decref(json);
}

Test(agent_hook, a_pointer_is_never_longer_than_the_text)
{
	char many[256] = "\"", *end = many + 1;

	for (int i = 0; i < 60; i++)
		end = stpcpy(end, "a\\n");
	strcpy(end, "\"");
	expect_nothing("Bash", "{}", many);
}

Test(agent_hook, what_was_read_back_stays_while_it_is_short)
{
	static const char *const commands[] = {
		"cat .offload/refs/k3f9x2",
		"cd src && cat ../.offload/cache/shell/x.txt",
		"grep -n x '.offload/refs/a' | sort | head -5",
		"offload slice k3f9x2 1-900",
		"'/opt/a b/offload' show k3f9x2",
		"cat $OFFLOAD_DIR/refs/a; sed -n 1,5p .offload/refs/b 2>/dev/null",
		"head < .offload/refs/a",
	};
	static const char *const others[] = {
		"cat .offloadrc",
		"grep -rn TODO . --exclude-dir=.offload",
		"ls .offload/cache/shell",
		"make; cat .offload/refs/x",
		"cat .offload/refs/x && make",
		"make > .offload/cache/shell/x",
		"cat a > .offload/cache/shell/x",
		"make | cat .offload/refs/x",
		"./cat-all .offload/refs/x",
		"offload run -- make",
		"echo offload show x",
		"man offload slicer",
		"offloads show",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
		OFS_FREE char *input = NULL;

		cr_assert(asprintf(&input, "{\"command\":\"%s\"}", commands[i]) > 0);
		expect_nothing("Bash", input, "{\"stdout\":\"$L\",\"stderr\":\"\"}");
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++) {
		OFS_FREE char *input = NULL;

		cr_assert(asprintf(&input, "{\"command\":\"%s\"}", others[i]) > 0);
		expect_text("Bash", input, "{\"stdout\":\"$L\",\"stderr\":\"\"}", others[i],
			    "tasks/a-b-c/");
	}
	expect_text("Grep", "{\"pattern\":\"x\",\"path\":\".offload\"}", "\"$L\"", "Grep x",
		    "tasks/a-b-c/");
	expect_nothing("Grep", "{\"pattern\":\"x\",\"path\":\".offload/refs/a\"}", "\"$L\"");
	expect_nothing("mcp__fs__read", "{\"uri\":\"file:///w/.offload/cache/x\"}", "\"$L\"");
	expect_nothing("mcp__offload__memory_fetch", "{\"memory_id\":\"k3f9x2:10-90\"}", "\"$L\"");
	expect_nothing("mcp__offload__memory_fetch", "{\"memory_id\":\"offload://k3f9x2\"}",
		       "\"$L\"");
	expect_text("mcp__other__get", "{\"memory_id\":\"1b4e28ba-2fa1-11d2-883f\"}", "\"$L\"",
		    "mcp__other__get", "tasks/a-b-c/");
	expect_text("Task", "{\"description\":\"d\",\"prompt\":\"read .offload/cache/x\"}",
		    "\"$L\"", "Task d", "tasks/a-b-c/");
}

Test(agent_hook, what_was_read_back_and_is_long_is_offloaded)
{
	OFS_FREE char *response = ofs_alloc(70000);

	memset(response, 'x', 69999);
	memcpy(response, "{\"stdout\":\"", strlen("{\"stdout\":\""));
	strcpy(response + 69990, "\"}");
	expect_text("Bash", "{\"command\":\"cat .offload/refs/a\"}", response,
		    "cat .offload/refs/a", "tasks/a-b-c/");
}

Test(agent_hook, a_file_that_is_read_stays_unless_it_is_very_large)
{
	static const char input[] = "{\"file_path\":\"/w/a.c\"}";
	static const char response[] = "{\"type\":\"text\",\"file\":{\"filePath\":\"/w/a.c\","
				       "\"content\":\"$L\",\"numLines\":100,\"startLine\":1}}";
	json_t *json, *file;

	expect_nothing("Read", input, response);
	options.read_bytes = 1000;
	expect_text("Read", input, response, "/w/a.c", "tasks/a-b-c/file_read/");
	expect_nothing("Read", "{\"file_path\":\"/w/.offload/cache/a\"}", response);
	options.form = OFS_HOOK_TOOL;
	json = answer_tool("Read", input, response);
	cr_expect_str_eq(json_string_value(json_object_get(json, "type")), "notebook");
	file = json_object_get(json, "file");
	cr_expect_str_eq(json_string_value(json_object_get(file, "filePath")), "/w/a.c");
	file = json_array_get(json_object_get(file, "cells"), 0);
	expect_pointer(json_string_value(json_object_get(file, "source")), "/w/a.c");
	json_decref(json);
}

Test(agent_hook, a_part_of_a_file_is_named_by_its_lines)
{
	options.read_bytes = 1000;
	expect_text("Read", "{\"file_path\":\"/w/a.c\",\"offset\":5}",
		    "{\"type\":\"text\",\"file\":{\"filePath\":\"/w/a.c\",\"content\":\"$L\","
		    "\"numLines\":100,\"startLine\":5,\"totalLines\":800}}",
		    "lines 5-104 of /w/a.c", "tasks/a-b-c/file_read/");
}

Test(agent_hook, a_notebook_is_replaced_and_keeps_its_images)
{
	static const char response[] =
		"{\"type\":\"notebook\",\"file\":{\"filePath\":\"/w/a.ipynb\",\"cells\":[{\"cellType\":"
		"\"code\",\"source\":\"print(1)\",\"cell_id\":\"c1\",\"outputs\":[{\"output_type\":"
		"\"stream\",\"text\":\"$L\"},{\"output_type\":\"display_data\",\"text\":\"\",\"image\":"
		"{\"image_data\":\"AAAA\",\"media_type\":\"image/png\"}}]}]}}";
	json_t *json, *cell, *image;

	options.read_bytes = 1000;
	expect_nothing("Read", "{\"file_path\":\"/w/a.ipynb\"}", response);
	options.form = OFS_HOOK_TOOL;
	json = answer_tool("Read", "{\"file_path\":\"/w/a.ipynb\"}", response);
	cell = json_array_get(json_object_get(json_object_get(json, "file"), "cells"), 0);
	expect_pointer(json_string_value(json_object_get(cell, "source")), "/w/a.ipynb");
	cr_expect(strstr(json_string_value(json_object_get(cell, "source")), " (ref "));
	image = json_object_get(json_array_get(json_object_get(cell, "outputs"), 0), "image");
	cr_expect_str_eq(json_string_value(json_object_get(image, "image_data")), "AAAA");
	json_decref(json);
}

Test(agent_hook, the_output_of_a_task_in_the_background)
{
	static const char response[] =
		"{\"retrieval_status\":\"success\",\"task\":{\"task_id\":\"b1\","
		"\"output\":\"$L\",\"exitCode\":0}}";
	json_t *json, *task;

	options.form = OFS_HOOK_TOOL;
	json = answer_tool("TaskOutput", "{\"task_id\":\"b1\"}", response);
	task = json_object_get(json, "task");
	expect_pointer(json_string_value(json_object_get(task, "output")), "TaskOutput b1");
	cr_expect_str_eq(json_string_value(json_object_get(task, "task_id")), "b1");
	cr_expect(json_object_get(json, "retrieval_status"));
	json_decref(json);
}

Test(agent_hook, what_an_agent_must_have_stays_while_it_is_short)
{
	OFS_FREE char *response = ofs_alloc(70000);

	expect_nothing("Skill", "{}", "\"$L\"");
	memset(response, 'x', 69999);
	response[0] = response[69998] = '"';
	expect_text("Skill", "{}", response, "Skill", "tasks/a-b-c/general/");
}

Test(agent_hook, an_image_beside_a_text_stays)
{
	json_t *json;

	options.form = OFS_HOOK_TOOL;
	json = answer_tool(
		"mcp__a__b", "{}",
		"[{\"type\":\"text\",\"text\":\"$L\"},{\"type\":\"image\",\"source\":{}}]");
	cr_assert_eq(json_array_size(json), 2);
	expect_pointer(json_string_value(json_object_get(json_array_get(json, 0), "text")),
		       "mcp__a__b");
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(json, 1), "type")),
			 "image");
	json_decref(json);
}

Test(agent_hook, limits_tasks_and_errors_at_the_end)
{
	json_t *json;

	options.max_bytes = 1 << 20;
	expect_nothing("Bash", "{}", "{\"stdout\":\"$L\",\"stderr\":\"\"}");
	options.max_bytes = 1 << 10;
	options.task = "t1";
	expect_text("Bash", "{}", "{\"stdout\":\"$L\",\"stderr\":\"\"}", "Bash", "tasks/t1/shell/");
	options.task = NULL;
	json = answer_tool("Bash", "{}", "{\"stdout\":\"$L\",\"stderr\":\"cc: fatal error\"}");
	expect_folder("tasks/a-b-c/shell/");
	cr_expect(strstr(json_string_value(json), ": cc: fatal error\n"), "errors stay readable");
	json_decref(json);
}

Test(agent_hook, same_input_same_answer)
{
	json_t *one = answer_tool("Bash", "{}", "\"$L\""),
	       *two = answer_tool("Bash", "{}", "\"$L\"");

	cr_expect(json_equal(one, two));
	json_decref(one);
	json_decref(two);
}

/* ---- outputs written to a file */

static void make_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	cr_assert(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

/* Returns what the session is told about a failed command with this error, or NULL if nothing. */
static json_t *answer_failure(const char *error)
{
	OFS_FREE char *event = NULL;
	json_t *json, *said;
	int r;

	cr_assert(asprintf(&event,
			   "{\"hook_event_name\":\"PostToolUseFailure\",\"tool_name\":\"Bash\","
			   "\"tool_input\":{\"command\":\"make test\"},\"transcript_path\":"
			   "\"%s/p/s1.jsonl\",\"error\":\"%s\"}",
			   root, error) > 0);
	json = answer(event, &r);
	cr_assert_eq(r, 0, "%s", err.text);
	said = json_object_get(json_object_get(json, "hookSpecificOutput"), "additionalContext");
	json_incref(said);
	json_decref(json);
	return said;
}

Test(agent_hook, a_command_that_failed_is_told_where_its_whole_output_is)
{
#define CUT "\\n\\n... [999 characters truncated] ...\\n\\nthe end"
#define SEEN \
	"line 0 of \\\"a\\\" long text\\nline 1 of \\\"a\\\" long text\\nline 2 of \\\"a\\\" long"
	OFS_FREE char *folder = NULL;
	char *files[3];
	static const char *const kinds[] = { "new", "old", "other" };
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	json_t *said;

	setenv("CLAUDE_CODE_TMPDIR", root, 1);
	cr_assert(asprintf(&folder, "%s/claude-%u/p/s1/tasks", root, (unsigned int)geteuid()) > 0);
	cr_assert_eq(ofs_path_make(folder, 0700), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert(asprintf(&files[i], "%s/%s.output", folder, kinds[i]) > 0);
		make_file(files[i], i < 2 ? plain_text : "something else");
		times[1].tv_sec -= i == 1;
		cr_assert_eq(utimensat(AT_FDCWD, files[i], times, 0), 0);
	}
	said = answer_failure("Exit code 3\\n" SEEN CUT);
	cr_assert(json_is_string(said));
	expect_pointer(strchr(json_string_value(said), '\n') + 1, "make test");
	cr_expect(strstr(json_string_value(said), "exit 3"), "%s", json_string_value(said));
	cr_expect(strstr(json_string_value(said), " 100 lines"), "%s", json_string_value(said));
	json_decref(said);
	cr_expect_null(answer_failure("Exit code 3\\n" SEEN), "it is whole");
	cr_expect_null(answer_failure("Exit code 3\\nanother output, of which there is no file and "
				      "which is long enough" CUT));
	cr_expect_null(answer_failure("Exit code 3\\nline 0" CUT), "too little is the same");
	unlink(files[0]);
	unlink(files[1]);
	make_file("secret", plain_text);
	cr_assert_eq(symlink("../../../../secret", files[0]), 0);
	cr_expect_null(answer_failure("Exit code 3\\n" SEEN CUT));
	for (int i = 0; i < 3; i++)
		free(files[i]);
#undef CUT
#undef SEEN
}

#define SAVED "s1/tool-results"

/* Creates the folder for saved outputs of the session that answer_notice() uses. */
static void make_saved(void)
{
	cr_assert_eq(mkdir("s1", 0700), 0);
	cr_assert_eq(mkdir(SAVED, 0700), 0);
}

/* Answers a notice that names a path. Sets *ret_result to what ofs_hook_answer() returned. */
static json_t *answer_notice_of(const char *tool, const char *preview, const char *path,
				int *ret_result)
{
	OFS_FREE char *event = NULL;

	cr_assert(asprintf(&event,
			   "{\"tool_name\":\"%s\",\"tool_input\":{\"command\":\"x\"},"
			   "\"transcript_path\":\"%s/s1.jsonl\","
			   "\"tool_response\":{\"stdout\":\"<persisted-output>\\nOutput too large "
			   "(2.4KB). Full output saved to: %s/%s\\n\\nPreview (first 2KB):\\n%s\\n"
			   "...\\n</persisted-output>\",\"stderr\":\"\"}}",
			   tool, root, *path == '/' ? "" : root, path, preview) > 0);
	return answer(event, ret_result);
}

static json_t *answer_notice(const char *path, int *ret_result)
{
	return answer_notice_of("Bash", "line 0 of", path, ret_result);
}

/* Expects a notice to be taken for plain text, which is too short to be replaced. */
static void expect_text_alone(const char *tool, const char *preview, const char *path)
{
	json_t *json;
	int r;

	json = answer_notice_of(tool, preview, path, &r);
	cr_expect_null(json, "%s: %s", tool, path);
	cr_expect_eq(r, 0, "%s: %s: %s", tool, path, err.text);
	json_decref(json);
}

static const char *pointer_of(json_t *answered)
{
	return json_string_value(json_object_get(json_object_get(answered, "hookSpecificOutput"),
						 "updatedToolOutput"));
}

Test(agent_hook, a_persisted_output_is_taken_in_from_its_path)
{
	json_t *json;
	int r;

	make_saved();
	make_file(SAVED "/full output.txt", plain_text);
	json = answer_notice(SAVED "/full output.txt", &r);
	cr_assert_eq(r, 0, "%s", err.text);
	expect_pointer(pointer_of(json), "x");
	cr_expect(strstr(pointer_of(json), ", 100 lines (ref "), "%s", pointer_of(json));
	json_decref(json);
}

/* Answers a response with a member that names a file. */
static json_t *answer_member(const char *tool, const char *path, int *ret_result)
{
	OFS_FREE char *event = NULL;

	cr_assert(asprintf(&event,
			   "{\"tool_name\":\"%s\",\"tool_input\":{},"
			   "\"transcript_path\":\"%s/s1.jsonl\",\"tool_response\":"
			   "{\"stdout\":\"line 0\",\"stderr\":\"oops\",\"persistedOutputPath\":"
			   "\"%s/%s\",\"persistedOutputSize\":2400}}",
			   tool, root, root, path) > 0);
	options.form = OFS_HOOK_TOOL;
	return answer(event, ret_result);
}

Test(agent_hook, a_persisted_output_by_the_field_of_the_tool)
{
	json_t *answered, *json;
	int r;

	make_saved();
	make_file(SAVED "/full.txt", plain_text);
	answered = answer_member("Bash", SAVED "/full.txt", &r);
	cr_assert(answered, "%s", err.text);
	json = json_object_get(json_object_get(answered, "hookSpecificOutput"),
			       "updatedToolOutput");
	cr_expect(strstr(json_string_value(json_object_get(json, "stdout")), ", 101 lines (ref "));
	cr_expect(strstr(json_string_value(json_object_get(json, "stdout")), ": oops\n"));
	cr_expect_null(json_object_get(json, "persistedOutputPath"));
	cr_expect_null(json_object_get(json, "persistedOutputSize"));
	json_decref(answered);
	make_file("full.txt", plain_text);
	cr_expect_null(answer_member("Bash", "full.txt", &r));
	cr_expect_eq(r, -EPERM, "the harness is told that its own field was not followed");
	cr_expect_null(answer_member("Bash", SAVED "/missing", &r));
	cr_expect_eq(r, -ENOENT);
	cr_expect_null(answer_member("mcp__db__dump", SAVED "/full.txt", &r));
	cr_expect_eq(r, 0, "a server's member is only a member");
}

Test(agent_hook, a_notice_leads_to_the_saved_outputs_of_its_session_alone)
{
	static const char *const paths[] = {
		"file",
		".ssh/key",
		"s2/tool-results/x",
		SAVED "/missing",
		SAVED "/link",
		SAVED "/folder",
		SAVED "/fifo",
		SAVED "/assets/key",
		SAVED "/../../file",
		SAVED "/folder/../../../file",
		SAVED,
		SAVED "/",
		"/proc/self/environ",
		"/dev/zero",
	};

	make_saved();
	make_file("file", plain_text);
	cr_assert_eq(mkdir(".ssh", 0700), 0);
	make_file(".ssh/key", plain_text);
	cr_assert_eq(mkdir("s2", 0700), 0);
	cr_assert_eq(mkdir("s2/tool-results", 0700), 0);
	make_file("s2/tool-results/x", plain_text);
	cr_assert_eq(symlink("../../file", SAVED "/link"), 0);
	cr_assert_eq(symlink("../../.ssh", SAVED "/assets"), 0);
	cr_assert_eq(mkdir(SAVED "/folder", 0700), 0);
	cr_assert_eq(mkfifo(SAVED "/fifo", 0600), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(paths); i++)
		expect_text_alone("Bash", "line 0 of", paths[i]);
	cr_expect_null(access_.backend, "nothing was stored");
}

Test(agent_hook, a_notice_of_a_server_or_the_web_is_a_text)
{
	make_saved();
	make_file(SAVED "/full.txt", plain_text);
	expect_text_alone("mcp__db__dump", "line 0 of", SAVED "/full.txt");
	expect_text_alone("WebFetch", "line 0 of", SAVED "/full.txt");
	expect_text_alone("WebSearch", "line 0 of", SAVED "/full.txt");
	expect_text_alone("Task", "line 0 of", SAVED "/full.txt");
	expect_text_alone("Unheard", "line 0 of", SAVED "/full.txt");
}

/* A command that prints a notice cannot substitute another file for its output. */
Test(agent_hook, a_notice_previews_what_it_names)
{
	make_saved();
	make_file(SAVED "/full.txt", plain_text);
	expect_text_alone("Bash", "line 1", SAVED "/full.txt");
	expect_text_alone("Bash", "", SAVED "/full.txt");
	make_file(SAVED "/short.txt", "line");
	expect_text_alone("Bash", "line 0 of", SAVED "/short.txt");
}

Test(agent_persisted, notices)
{
#define HEAD "<persisted-output>\nOutput too large (1KB). Full output saved to: "
#define TAIL "\n\nPreview (first 2KB):\nabc\n...\n</persisted-output>"
	static const struct {
		const char *text, *path;
	} cases[] = {
		{ HEAD "/a b/c.txt\r" TAIL, "/a b/c.txt" },
		{ " \n" HEAD "/x" TAIL, "/x" },
		{ HEAD "relative" TAIL, NULL },
		{ HEAD TAIL, NULL },
		{ HEAD "/x\n/y" TAIL, NULL },
		{ HEAD "/x\n\nPreview (first 2KB):\n</persisted-output>", NULL },
		{ HEAD "/x\n\nPreview (first 2KB):\nabc\n...\n", NULL },
		{ HEAD "/x</persisted-output>", NULL },
		{ "x " HEAD "/x" TAIL, NULL },
		{ "<persisted-output>", NULL },
		{ "", NULL },
	};
	struct ofs_persisted p;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		int r = ofs_persisted_read(cases[i].text, strlen(cases[i].text), &p);

		cr_assert_eq(r, cases[i].path != NULL, "%s", cases[i].text);
		if (r) {
			cr_expect_str_eq(p.path, cases[i].path);
			cr_expect_eq(p.end, strlen(cases[i].text));
			cr_expect(p.preview_len == 3 && memcmp(p.preview, "abc", 3) == 0);
			free(p.path);
		}
	}
	cr_assert_eq(ofs_persisted_read(HEAD "/x" TAIL "\n b", strlen(HEAD "/x" TAIL "\n b"), &p),
		     1);
	cr_expect_eq(p.end, strlen(HEAD "/x" TAIL "\n "));
	free(p.path);
#undef HEAD
#undef TAIL
}

/* ---- events */

Test(agent_hook, events_that_are_none)
{
	static const char *const texts[] = {
		"",
		" ",
		"{",
		"[]",
		"null",
		"{\"tool_name\":5}",
		"{}",
		"{} {}",
		"{\"tool_name\":\"\xff\"}",
		"\x7f"
		"ELF",
		"{\"tool_response\":\"x\"}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		struct ofs_hook_event e;

		err.text[0] = '\0';
		cr_expect_eq(agent()->read_event(texts[i], strlen(texts[i]), &err, &e), -EINVAL,
			     "%s", texts[i]);
		cr_expect(err.text[0]);
	}
}

Test(agent_hook, other_events_are_let_through)
{
	static const char *const events[] = {
		"{\"hook_event_name\":\"Stop\"}",
		"{\"hook_event_name\":\"PostToolUseFailure\",\"tool_name\":\"Bash\",\"error\":\"$L\"}",
		"{\"hook_event_name\":7,\"tool_name\":\"Bash\",\"tool_response\":\"$L\"}",
		"{\"tool_name\":\"Bash\"}",
		"{\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Bash\",\"tool_input\":"
		"{\"command\":\"ls\"},\"tool_response\":\"$L\"}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(events); i++) {
		int r;

		cr_expect_null(answer(events[i], &r), "%s", events[i]);
		cr_expect_eq(r, 0);
	}
}

Test(agent_hook, a_store_that_cannot_be_used_is_said)
{
	int r;

	make_file("store", "a file");
	cr_expect_null(answer("{\"tool_name\":\"Bash\",\"tool_response\":\"$L\"}", &r));
	cr_expect_lt(r, 0);
	cr_expect(err.text[0]);
}

Test(agent_hook, strange_text_is_stored_and_answered_in_valid_json)
{
	json_t *json = answer_tool("Bash", "{\"command\":\"a\\u0000b\\ud800\"}",
				   "\"\\u0000\\ud800\\u001b[31m$L\"");

	cr_expect(json_is_string(json));
	json_decref(json);
}
