/* SPDX-License-Identifier: MIT */
/* The rule for commands. */
#include <pthread.h>
#include <regex.h>

#include "base/text.h"
#include "context/snapshot/trouble.h"
#include "context/json/args.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"

#define COMMAND_NAMES                                                                        \
	"command cmd script code commands commandline shellcommand input chars bashcommand " \
	"pythoncode"
#define ARGUMENT_NAMES "args arguments argv argumentlist"
#define EXIT_NAMES "exitcode returncode exitstatus code rc status"

/* In characters. */
#define COMMAND_KEPT 400
#define ERROR_END 300
#define ERROR_LINE 200
#define CUT "..." /* starts a line whose beginning was cut off */

/* Lines at the start and at the end of a text that may give the exit code. */
#define EXIT_LINES 3
/* Levels of nested objects that may contain it. */
#define EXIT_DEPTH 2
#define EXIT_LINE_MAX 300
#define EXIT_CODE_MAX 255

/*
 * Matches a line by which a harness reports the exit code: before it stand only words such as "The
 * command completed with", and after it only punctuation or a closing tag.
 */
static const char exit_pattern[] =
	"^(([^[:alnum:]]*(the|an?|last|command|process|program|script|shell|bash|has|completed|"
	"finished|failed|terminated|returned|ended|exited|with))*[^[:alnum:]]*"
	"(exit[ _]?(code|status)|exited with (code|status)|return[ _]?code)|"
	".*(non-zero exit status|\\(exit))"
	"[^[:alnum:]-]*(-?[0-9]{1,3})([^[:alnum:]]*|</.*)$";
#define EXIT_GROUP 8 /* the number */

static regex_t exit_line;

/* ---- the exit code */

static bool is_exit_code(long long n)
{
	return n >= -EXIT_CODE_MAX && n <= EXIT_CODE_MAX;
}

/* Finds the exit code in an object, or in nested ones that describe the run. */
static bool find_in_object(struct ofs_span object, long long *ret)
{
	for (int depth = 0; depth <= EXIT_DEPTH; depth++) {
		struct ofs_span code = ofs_args_find(object, EXIT_NAMES);

		if (ofs_span_is_string(code))
			code = (struct ofs_span){ code.p + 1, code.len - 2 };
		if (ofs_span_integer(code, ret) && is_exit_code(*ret))
			return true;
		object = ofs_args_find(object, "metadata meta result output");
	}
	return false;
}

static void compile(void)
{
	regcomp(&exit_line, exit_pattern, REG_EXTENDED | REG_ICASE);
}

/* Finds the exit code in a line that does nothing but report it. */
static bool find_in_line(const char *line, size_t len, long long *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	regmatch_t found[EXIT_GROUP + 1];
	char text[EXIT_LINE_MAX + 1];

	if (len > EXIT_LINE_MAX)
		return false;
	pthread_once(&once, compile);
	memcpy(text, line, len);
	text[len] = '\0';
	if (regexec(&exit_line, text, EXIT_GROUP + 1, found, 0) != 0)
		return false;
	*ret = strtoll(text + found[EXIT_GROUP].rm_so, NULL, 10);
	return is_exit_code(*ret);
}

/* Searches only the first and last lines, where harnesses put the exit code; the rest is output. */
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
		if (find_in_line(line, n, ret))
			return true;
		len = (size_t)(line - text);
	}
	return false;
}

static bool find_exit(const struct ofs_observing *o, long long *ret)
{
	const struct ofs_tool_result *r = &o->result;
	/* JSON inside a text may have been printed by the program. */
	bool is_own = r->unwrapped.data || r->json.p == o->call->result.p;

	return (is_own && find_in_object(r->json, ret)) || find_in_object(o->call->object, ret) ||
	       find_around(r->text, r->text_len, ret);
}

/* ---- the command */

/* Appends an argv to the words in `out` as a command line; of "bash -lc LINE" only LINE. */
static void join_words(struct ofs_span array, struct ofs_buf *out)
{
	size_t n = ofs_args_count(array), i = 0, first = out->len ? 1 : 0;
	OFS_FREE char **argv = ofs_realloc(NULL, n + 1, sizeof(*argv));
	OFS_FREE char *line = NULL;
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span word;
	const char *option;

	for (; ofs_span_next(&c, &word); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		ofs_args_text(word, &text);
		argv[i] = ofs_buf_steal_str(&text);
	}
	argv[n] = NULL;
	option = n > 1 - first ? argv[1 - first] : "";
	line = ofs_text_command((const char *const *)argv);
	if (n > 2 - first && option[0] == '-' && option[strlen(option) - 1] == 'c') {
		out->len = 0;
		ofs_buf_append_str(out, argv[2 - first]);
	} else {
		ofs_buf_append_str(out, first && n ? " " : "");
		ofs_buf_append_str(out, line);
	}
	while (i)
		free(argv[--i]);
}

/* Copies the command to minimal_args. Returns it, or NULL. */
static const char *take_command(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span args = o->call->args, value = ofs_args_find(args, COMMAND_NAMES);

	if (!value.p) /* {"action": {"command": [...]}} */
		value = ofs_args_find(args, "action");
	if (ofs_span_is_object(value))
		value = ofs_args_find(value, COMMAND_NAMES);
	if (ofs_span_is_array(value))
		join_words(value, &text);
	else if (ofs_span_is_string(value))
		ofs_span_decode(value, &text);
	if (!text.len)
		return NULL;
	if (ofs_span_is_string(value) && ofs_span_is_array(ofs_args_find(args, ARGUMENT_NAMES)))
		join_words(ofs_args_find(args, ARGUMENT_NAMES), &text);
	json_object_set_new(o->args, "command",
			    ofs_line_json((char *)text.data, text.len, COMMAND_KEPT));
	return json_string_value(json_object_get(o->args, "command"));
}

/* ---- the rule */

/* Drops leading and trailing lines that report the exit code, unless nothing else would be left. */
static const char *cut_exit(const char *text, size_t *len)
{
	const char *p = text, *start = text, *end = text + *len, *line;
	size_t n;
	long long code;

	for (int i = 0; i < EXIT_LINES && ofs_scan_line(&p, end, &line, &n); i++) {
		if (!find_in_line(line, n, &code))
			break;
		start = p;
	}
	for (int i = 0; i < EXIT_LINES; i++) {
		ofs_scan_last_line(start, (size_t)(end - start), &line, &n);
		if (!find_in_line(line, n, &code))
			break;
		end = line;
	}
	if (!ofs_scan_trim(start, (size_t)(end - start)))
		return text;
	*len = (size_t)(end - start);
	return start;
}

/* Appends the line that reports the failure, and the end of the error output. */
static void say_error(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf end = OFS_BUF_INIT, trouble = OFS_BUF_INIT;
	const struct ofs_tool_result *r = &o->result;
	size_t start = r->errors < r->text_len ? r->errors : 0, len = r->text_len - start, n;
	const char *text = cut_exit(r->text + start, &len), *shown, *line;

	ofs_line_append_end(&end, text, len, ERROR_END);
	shown = ofs_buf_str(&end);
	if (end.len)
		ofs_observe_say(o, ": ");
	if (end.len && ofs_trouble_find(text, len, false, &trouble) && trouble.len) {
		const char *there = strstr(shown, ofs_buf_str(&trouble));

		/* The line comes first; it is left out if the end of the output shows it. */
		if (there && strncmp(shown, CUT, strlen(CUT)) == 0) {
			shown = there;
		} else if (!there) {
			ofs_line_append(&o->observation, (char *)trouble.data, trouble.len,
					ERROR_LINE);
			ofs_observe_say(o, " ");
		}
	}
	ofs_observe_say(o, "%s", shown);
	ofs_scan_last_line(text, len, &line, &n);
	if (n)
		ofs_observe_fail(o, line, n);
}

void ofs_observe_shell(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	const char *command = take_command(o);
	long long code = 0;
	bool has_code = find_exit(o, &code), exit_failed = has_code && code;
	char reason[32];

	/* Without an exit code only the text can tell. */
	ofs_failure_find(o, !has_code);
	if (command) {
		ofs_line_append(&o->observation, command, strlen(command),
				OFS_OBSERVATION_COMMAND_MAX);
		ofs_observe_say(o, ": ");
	}
	if (has_code) {
		ofs_observe_say(o, "exit %lld, ", code);
		json_object_set_new(o->metadata, "exit_code", json_integer(code));
	}
	ofs_observe_say(o, "%s output",
			r->text_len ? ofs_counted(ofs_scan_lines(r->text, r->text_len), "line").text
				    : "no");
	if (o->failed || exit_failed)
		say_error(o);
	else
		ofs_observe_say_answer(o);
	if (exit_failed)
		ofs_observe_fail(o, reason,
				 (size_t)snprintf(reason, sizeof(reason), "exit %lld", code));
	o->offload = ofs_line_characters(r->text, r->text_len) > o->settings->shell_chars ||
		     o->content.size > o->settings->max_bytes;
}
