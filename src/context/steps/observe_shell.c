/* SPDX-License-Identifier: MIT */
/* Commands that are run. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "context/snapshot/trouble.h"
#include "context/steps/args.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"
#include "context/steps/scan.h"

#define COMMAND_NAMES \
	"command cmd script code commands commandline shellcommand input chars bashcommand pythoncode"
#define EXIT_NAMES "exitcode returncode exitstatus code rc status"

/* In characters. */
#define COMMAND_SHOWN 100
#define COMMAND_KEPT 400
#define ERROR_END 300
#define ERROR_LINE 200

/* Lines at the start or end of a text that may have the exit code. */
#define EXIT_LINES 3
/* Levels of objects that may have it. */
#define EXIT_DEPTH 2
#define EXIT_LINE_MAX ((size_t)300)

#define EXIT_CODE_MAX 255

/* ---- the exit code */

static bool is_exit_code(long long n)
{
	return n >= -EXIT_CODE_MAX && n <= EXIT_CODE_MAX;
}

static bool find_in_object(struct ofs_span object, int depth, long long *ret)
{
	struct ofs_span value = ofs_args_find(object, EXIT_NAMES), inner;
	struct ofs_span digits = value;

	if (ofs_span_is_string(value) && value.len > 2)
		digits = (struct ofs_span){ value.p + 1, value.len - 2 };
	if (value.p && ofs_span_integer(digits, ret) && is_exit_code(*ret))
		return true;
	if (depth == EXIT_DEPTH)
		return false;
	inner = ofs_args_find(object, "metadata meta result output");
	return ofs_span_is_object(inner) && find_in_object(inner, depth + 1, ret);
}

/* The number after a phrase and separators; `ret_rest` is the text after it. */
static bool number_behind(const char *p, const char *end, long long *ret, const char **ret_rest)
{
	bool negative;
	size_t n;

	while (p < end && (strchr(" \t:=>#*`'\"", *p) && *p))
		p++;
	negative = p < end && *p == '-';
	p += negative;
	if (!ofs_scan_number(&p, end, &n) || n > EXIT_CODE_MAX)
		return false;
	*ret = negative ? -(long long)n : (long long)n;
	*ret_rest = p;
	return true;
}

/* Only words of a harness may precede the phrase: "[The command completed with exit code 1.]" */
static bool is_own_words(const char *p, const char *end)
{
	static const char words[] =
		" the a an command process program script shell bash last exited "
		"completed finished failed terminated returned ended with ";

	while (p < end) {
		char word[16] = " ";
		size_t n = 1;

		while (p < end && ispunct((unsigned char)*p))
			p++;
		while (p < end && isspace((unsigned char)*p))
			p++;
		while (p < end && isalpha((unsigned char)*p) && n < sizeof(word) - 2)
			word[n++] = (char)tolower((unsigned char)*p++);
		word[n] = ' ';
		if (n > 1 && !strstr(words, word))
			return false;
		if (p < end && !isspace((unsigned char)*p) && !ispunct((unsigned char)*p))
			return false;
	}
	return true;
}

/* Only punctuation, or the end of a tag, may follow the number. */
static bool is_end(const char *p, const char *end)
{
	if (p < end && ofs_scan_begins(p, (size_t)(end - p), "</"))
		return true;
	while (p < end && (isspace((unsigned char)*p) || ispunct((unsigned char)*p)))
		p++;
	return p == end;
}

/* The exit code that a line of its own says. */
static bool find_in_line(const char *line, size_t len, long long *ret)
{
	static const char *const phrases[] = { "exit code",	   "exit_code",
					       "exitcode",	   "exit status",
					       "exited with code", "exited with status",
					       "returncode",	   "return code",
					       "return_code" };
	/* Anything may precede these. */
	static const char *const sure[] = { "non-zero exit status", "(exit" };
	const char *end = line + OFS_MIN(len, EXIT_LINE_MAX), *rest;

	for (const char *p = line; p < end; p++) {
		size_t left = (size_t)(end - p);

		for (size_t i = 0; i < OFS_ARRAY_SIZE(sure); i++) {
			if (ofs_scan_begins(p, left, sure[i]) &&
			    number_behind(p + strlen(sure[i]), end, ret, &rest) &&
			    is_end(rest, end))
				return true;
		}
		for (size_t i = 0; i < OFS_ARRAY_SIZE(phrases); i++) {
			if (ofs_scan_begins(p, left, phrases[i]) &&
			    number_behind(p + strlen(phrases[i]), end, ret, &rest) &&
			    is_own_words(line, p) && is_end(rest, end))
				return true;
		}
	}
	return false;
}

/* Harnesses put the exit code into the first or last lines; between them is a program's output. */
static bool find_around(const char *text, size_t len, long long *ret)
{
	const char *p = text, *line;
	size_t n;

	for (int i = 0; i < EXIT_LINES && ofs_scan_line(&p, text + len, &line, &n); i++) {
		if (find_in_line(line, n, ret))
			return true;
	}
	for (int i = 0; i < EXIT_LINES; i++) {
		ofs_scan_last_line(text, len, &line, &n);
		if (n && find_in_line(line, n, ret))
			return true;
		len = (size_t)(line - text);
	}
	return false;
}

static bool find_exit(const struct ofs_observing *o, long long *ret)
{
	const struct ofs_tool_result *r = o->result;
	struct ofs_span object = o->call->rest;
	/* JSON in a text may be what a program printed. */
	bool is_own = r->unwrapped.data || r->json.p == o->call->result.p;

	if (is_own && find_in_object(r->json, 0, ret))
		return true;
	if (ofs_span_integer(ofs_args_find(object, "exitcode returncode"), ret) &&
	    is_exit_code(*ret))
		return true;
	object = ofs_args_find(object, "metadata meta");
	if (ofs_span_is_object(object) && find_in_object(object, 0, ret))
		return true;
	return r->text_len && find_around(r->text, r->text_len, ret);
}

/* ---- the command */

/* Appends an argv as a line; of ["bash", "-lc", LINE] only LINE. */
static void join_words(struct ofs_span array, struct ofs_buf *out)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_text_stream joined;
	OFS_FREE char *line = NULL;
	struct ofs_span word;
	size_t n = 0;
	bool is_shell = false;
	FILE *f = ofs_text_open(&joined);

	for (; ofs_span_next(&c, &word); n++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
		const char *plain;

		ofs_args_head(word, &text);
		plain = ofs_buf_str(&text);
		if (n == 1)
			is_shell = text.len >= 2 && plain[0] == '-' && plain[text.len - 1] == 'c';
		if (n == 2 && is_shell)
			ofs_buf_append(out, text.data, text.len);
		if (n)
			putc(' ', f);
		ofs_text_shell_word(f, plain);
	}
	line = ofs_text_close(&joined);
	if (!is_shell || n < 3)
		ofs_buf_append_str(out, line);
}

/* Puts the command into minimal_args; its text, or NULL. */
static const char *take_command(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span value = ofs_args_find(o->call->args, COMMAND_NAMES);

	if (ofs_span_is_object(value))
		value = ofs_args_find(value, COMMAND_NAMES);
	if (!value.p) /* {"action": {"command": [...]}} */
		value = ofs_args_find(ofs_args_find(o->call->args, "action"), COMMAND_NAMES);
	if (ofs_span_is_array(value))
		join_words(value, &text);
	else if (ofs_span_is_string(value))
		ofs_args_head(value, &text);
	if (!text.len)
		return NULL;
	json_object_set_new(o->args, "command",
			    ofs_line_json((char *)text.data, text.len, COMMAND_KEPT));
	return json_string_value(json_object_get(o->args, "command"));
}

/* ---- the rule */

/* Drops the last lines if a harness reports the exit code there, unless there are no others. */
static size_t cut_exit(const char *text, size_t len)
{
	const char *line;
	size_t whole = len, n;
	long long code;

	for (int i = 0; i < EXIT_LINES; i++) {
		ofs_scan_last_line(text, len, &line, &n);
		if (!n || !find_in_line(line, n, &code))
			break;
		len = (size_t)(line - text);
	}
	return ofs_scan_trim(text, len) ? len : whole;
}

static void say_output(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	size_t lines = ofs_tool_result_lines(r->text, r->text_len);

	if (!r->text_len)
		ofs_observe_say(o, "no output");
	else
		ofs_observe_say(o, "%zu line%s output", lines, lines == 1 ? "" : "s");
}

/* The line that tells of the failure, where it lies before the end that is shown. */
static void say_trouble(struct ofs_observing *o, const char *text, size_t len,
			const struct ofs_buf *end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	if (!ofs_trouble_find(text, len, false, &line) || !line.len ||
	    memmem(end->data, end->len, line.data, line.len))
		return;
	ofs_observe_say_text(o, (char *)line.data, line.len, ERROR_LINE);
	ofs_observe_say(o, " ");
}

/* Keeps the failure readable: the line that reports it, and the end of the error output. */
static void say_error(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf end = OFS_BUF_INIT;
	const struct ofs_tool_result *r = o->result;
	const char *text = r->text + r->errors, *line;
	size_t len = r->text_len - r->errors, n;

	if (!len) {
		text = r->text;
		len = r->text_len;
	}
	len = cut_exit(text, len);
	ofs_line_append_end(&end, text, len, ERROR_END);
	if (end.len) {
		ofs_observe_say(o, ": ");
		say_trouble(o, text, len, &end);
		ofs_observe_say_text(o, (char *)end.data, end.len, ERROR_END);
	}
	ofs_scan_last_line(text, len, &line, &n);
	if (n)
		ofs_observe_fail(o, line, n);
}

static size_t count_characters(const char *p, size_t len, size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n <= most; i++)
		n += ((unsigned char)p[i] & 0xc0) != 0x80;
	return n;
}

void ofs_observe_shell(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	const char *command = take_command(o);
	long long code = 0;
	bool has_code = find_exit(o, &code);
	bool exit_failed = has_code && code != 0;
	char reason[32];

	ofs_observe_keep(o, "cwd workdir workingdirectory sessionid bashid shellid");
	/* Without an exit code the text is all there is to go by. */
	ofs_failure_find(o, !has_code);
	if (command) {
		ofs_observe_say_text(o, command, strlen(command), COMMAND_SHOWN);
		ofs_observe_say(o, ": ");
	}
	if (has_code) {
		ofs_observe_say(o, "exit %lld, ", code);
		json_object_set_new(o->metadata, "exit_code", json_integer(code));
	}
	say_output(o);
	if (o->failed || exit_failed)
		say_error(o);
	if (exit_failed && !o->error.len) {
		int n = snprintf(reason, sizeof(reason), "exit %lld", code);

		ofs_observe_fail(o, reason, (size_t)n);
	}
	o->failed = o->failed || exit_failed;
	o->offload = count_characters(r->text, r->text_len, (size_t)o->settings->shell_chars) >
			     o->settings->shell_chars ||
		     o->content->size > o->settings->max_bytes;
}
