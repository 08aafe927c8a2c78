/* SPDX-License-Identifier: MIT */
/*
 * offload report: writes the page of offload serve, with the figures in it, to one file. Its
 * scripts find the figures as JSON in the page and ask no server.
 */
#include <fcntl.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "io/file.h"
#include "service/asset.h"
#include "service/service.h"

static const char *output;

static const struct ofs_option options[] = {
	OFS_TEXT('o', "output", "FILE", &output, "write it there (default: standard output)"),
	OFS_OPTIONS_END,
};

/* ---- the answers */

static const struct question {
	const char *name; /* its name in src/service/page/server.js */
	const char *call;
	const char *args;
} questions[] = {
	{ "stats", "memory_stats", "{\"by\": [\"day\", \"way\", \"agent\", \"task\"]}" },
	{ "usage", "memory_usage", "{}" },
	{ "tasks", "tasks", "{}" },
	{ "agents", "agents", "{}" },
	{ "expiring", "memory_list",
	  "{\"tier\": \"working\", \"sort\": \"expires\", \"limit\": 100}" },
	{ "recent", "memory_list", "{\"sort\": \"used\", \"limit\": 100}" },
};

/* Returns 0 or -errno. The caller owns the answers. */
static int ask_all(struct ofs_service *s, struct ofs_error *err, json_t **ret)
{
	json_t *answers = json_object();

	for (size_t i = 0; i < OFS_ARRAY_SIZE(questions); i++) {
		const struct question *q = &questions[i];
		json_t *args = json_loads(q->args, 0, NULL), *answer = NULL;
		int r = ofs_service_call(s, &(struct ofs_caller){ 0 }, ofs_call_find(q->call), args,
					 err, &answer);

		json_decref(args);
		if (r < 0) {
			json_decref(answers);
			return r;
		}
		json_object_set_new(answers, q->name, answer);
	}
	*ret = answers;
	return 0;
}

static void add_moment(json_t *answers)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf now = OFS_BUF_INIT;

	if (ofs_text_time(ofs_clock_wall(), &now) == 0)
		json_object_set_new(answers, "made", json_string(ofs_buf_str(&now)));
}

/* Escapes '<', which occurs only in strings, so that no answer can end the script element. */
static void append_answers(struct ofs_buf *page, const json_t *answers)
{
	OFS_FREE char *text = json_dumps(answers, JSON_COMPACT);

	ofs_buf_append_str(page, "<script type=\"application/json\" id=\"answers\">");
	for (const char *at = text, *next; *at; at = next + 1) {
		next = strchrnul(at, '<');
		ofs_buf_append(page, at, (size_t)(next - at));
		if (!*next)
			break;
		ofs_buf_append_str(page, "\\u003c");
	}
	ofs_buf_append_str(page, "</script>\n");
}

/* ---- the page */

static const struct ofs_asset *find_asset(const char *name, size_t len)
{
	const struct ofs_asset *a = ofs_page_assets;

	while (a->name && (strlen(a->name) != len || memcmp(a->name, name, len) != 0))
		a++;
	return a->name ? a : NULL;
}

/* Returns the asset that a line of the page loads: its name follows `start`. NULL: none. */
static const struct ofs_asset *loaded(const char *line, const char *start)
{
	size_t len = strlen(start);

	return strncmp(line, start, len) == 0 ? find_asset(line + len, strcspn(line + len, "\""))
					      : NULL;
}

#define SCRIPT "<script src=\""
#define STYLE "<link rel=\"stylesheet\" href=\""

static void append_hashes(struct ofs_buf *page, const char *type)
{
	for (const struct ofs_asset *a = ofs_page_assets; a->name; a++) {
		if (strncmp(a->type, type, strlen(type)) == 0)
			ofs_buf_printf(page, " 'sha256-%s'", a->sha256);
	}
}

/* Only scripts and styles of the program run, and nothing is loaded. */
static void append_policy(struct ofs_buf *page)
{
	ofs_buf_append_str(page, "<meta http-equiv=\"Content-Security-Policy\" content=\""
				 "default-src 'none'; base-uri 'none'; form-action 'none'; "
				 "require-trusted-types-for 'script'; img-src data:; "
				 "script-src");
	append_hashes(page, "text/javascript");
	ofs_buf_append_str(page, "; style-src");
	append_hashes(page, "text/css");
	ofs_buf_append_str(page, "\">\n");
}

static void append_asset(struct ofs_buf *page, const char *tag, const struct ofs_asset *a)
{
	ofs_buf_printf(page, "<%s>", tag);
	ofs_buf_append(page, a->data, a->len);
	ofs_buf_printf(page, "</%s>\n", tag);
}

/* Puts what the page loads into it. The page has each asset on a line of its own. */
static void append_page(struct ofs_buf *page, const json_t *answers)
{
	const struct ofs_asset *index = find_asset("index.html", strlen("index.html")), *a;
	const struct ofs_asset *licences = find_asset("licences.txt", strlen("licences.txt"));
	bool answered = false;

	for (const char *line = (const char *)index->data, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end != '\0';
		if ((a = loaded(line, STYLE)) != NULL) {
			append_asset(page, "style", a);
		} else if ((a = loaded(line, SCRIPT)) != NULL) {
			if (!answered)
				append_answers(page, answers);
			answered = true;
			append_asset(page, "script", a);
		} else {
			ofs_buf_append(page, line, (size_t)(end - line));
		}
		if (strncmp(line, "<meta charset", strlen("<meta charset")) == 0)
			append_policy(page);
	}
	ofs_buf_printf(page, "<!--\n%s-->\n", (const char *)licences->data);
}

/* ---- the command */

static int write_out(const struct ofs_buf *page)
{
	int r;

	if (!output) {
		fwrite(page->data, 1, page->len, stdout);
		return OFS_EXIT_OK;
	}
	r = ofs_io_write_file(AT_FDCWD, output, page->data, page->len);
	return r < 0 ? ofs_report("cannot write '%s': %s", output, strerror(-r)) : OFS_EXIT_OK;
}

static int report_run(const struct ofs_command *self, int argc, char **argv)
{
	const struct ofs_service_options what = { .target = ofs_command_target };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf page = OFS_BUF_INIT;
	struct ofs_service *service;
	struct ofs_error err;
	json_t *answers = NULL;
	int r;

	if (!output && isatty(STDOUT_FILENO))
		return ofs_report_usage("the report is a page of HTML: name a file for it with -o");
	r = ofs_service_create(&what, &err, &service);
	if (r < 0)
		return ofs_report("%s", err.text);
	r = ask_all(service, &err, &answers);
	ofs_service_destroy(service);
	if (r < 0)
		return ofs_report("%s", err.text);
	add_moment(answers);
	append_page(&page, answers);
	json_decref(answers);
	return write_out(&page);
}

const struct ofs_command ofs_cmd_report = {
	.name = "report",
	.synopsis = "[-o FILE]",
	.summary = "Writes a page of what was saved and what is stored, for a browser",
	.help = "It is one file that loads nothing: tokens saved over time, what is stored and what\n"
		"it costs, what expires next, tasks, agents, and the files used last, with their\n"
		"titles and paths but not their content. 'offload serve' shows the same live.\n",
	.options = options,
	.run = report_run,
};
