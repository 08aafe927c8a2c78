/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/target.h"
#include "tree/search/query.h"

enum {
	EXIT_FOUND = 0,
	EXIT_NOTHING = 1,
	EXIT_TROUBLE = 2,
};

struct search_options {
	struct ofs_target_options target;
	bool json;
	uint64_t most; /* lines */
};

/* The query in the place of a name: "%2F" for '/'. Allocated. */
static char *search_name(const char *query)
{
	char *name = ofs_alloc(3 * strlen(query) + 1), *to = name;

	for (; *query; query++) {
		if (*query == '/')
			to = stpcpy(to, "%2F");
		else
			*to++ = *query;
	}
	return name;
}

/* All that the query finds, allocated, as lines. */
static int search_ask(const struct search_options *opts, const char *name, char **ret)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	OFS_CLEANUP(ofs_backend_close_p) struct ofs_backend *backend = NULL;
	OFS_FREE char *path = NULL;
	struct ofs_error err;
	ofs_handle h;
	int r;

	if (asprintf(&path, "search/%s", name) < 0) {
		path = NULL;
		ofs_report_failure("out of memory");
		return -ENOMEM;
	}
	r = ofs_target_find(&opts->target, NULL, &err, &target);
	if (r == 0)
		r = ofs_target_open(&target, false, &err, &backend);
	if (r < 0) {
		ofs_report_failure("%s", err.text);
		return r;
	}
	r = backend->ops->open(backend, path, &h);
	if (r < 0) {
		if (r == -EACCES)
			ofs_report_failure("only the owner of the store may search it");
		else
			ofs_report_failure("cannot search: %s", ofs_report_errno(-r));
		return r;
	}
	r = ofs_backend_read_all(backend, h, UINT64_MAX, ret, NULL);
	backend->ops->close(backend, h);
	if (r < 0)
		ofs_report_failure("cannot read what was found: %s", ofs_report_errno(-r));
	return r;
}

/* Reads ":12" or ":10-20" at the end of `path`, and cuts it off. */
static void search_take_lines(char *path, uint64_t *ret_from, uint64_t *ret_to)
{
	char *colon = strrchr(path, ':'), *end;

	*ret_from = *ret_to = 0;
	if (!colon || !isdigit((unsigned char)colon[1]))
		return;
	*ret_from = *ret_to = strtoull(colon + 1, &end, 10);
	if (end[0] == '-' && isdigit((unsigned char)end[1]))
		*ret_to = strtoull(end + 1, &end, 10);
	if (*end)
		*ret_from = *ret_to = 0;
	else
		*colon = '\0';
}

static json_t *search_number(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

/* A line as an object; NULL: it is not UTF-8. No path that is written has ": " in it. */
static json_t *search_hit(char *line)
{
	char *snippet = strstr(line, ": ");
	uint64_t from, to;

	if (snippet) {
		*snippet = '\0';
		snippet += strlen(": ");
	}
	search_take_lines(line, &from, &to);
	return json_pack("{s:s, s:o, s:o, s:s?}", "path", line, "from", search_number(from), "to",
			 search_number(to), "snippet", snippet);
}

static int search_print_json(char *text, uint64_t most)
{
	json_t *list = json_array();
	char *line, *rest = NULL;
	int r = 0;

	for (line = strtok_r(text, "\n", &rest); line && most && r == 0;
	     line = strtok_r(NULL, "\n", &rest), most--)
		r = json_array_append_new(list, search_hit(line));
	if (r == 0)
		json_dumpf(list, stdout, JSON_INDENT(2));
	json_decref(list);
	putchar('\n');
	return r;
}

static void search_print(const char *text, uint64_t most)
{
	const char *end = text;

	while (most-- && *end)
		end += strcspn(end, "\n") + 1;
	fwrite(text, 1, (size_t)(end - text), stdout);
}

static int search_query(const struct search_options *opts, const char *query)
{
	OFS_FREE char *name = search_name(query), *text = NULL;
	struct ofs_error err;
	struct ofs_query *q;

	if (ofs_query_parse(query, ofs_clock_wall(), &err, &q) < 0)
		return ofs_report_usage("cannot search for '%s': %s", query, err.text);
	ofs_query_destroy(q);
	if (strlen(name) > OFS_NAME_MAX)
		return ofs_report_usage(
			"the query is too long: it has %zu bytes (%s), and may have %d",
			strlen(name), "'/' counts as three", OFS_NAME_MAX);
	if (search_ask(opts, name, &text) < 0)
		return EXIT_TROUBLE;
	if (opts->json) {
		bool found = *text;

		if (search_print_json(text, opts->most) < 0)
			return EXIT_TROUBLE;
		return found ? EXIT_FOUND : EXIT_NOTHING;
	}
	search_print(text, opts->most);
	return *text ? EXIT_FOUND : EXIT_NOTHING;
}

/* The words as one text; allocated. */
static char *search_join(char *const words[], int n)
{
	size_t len = 1;
	char *text, *to;

	for (int i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	to = text = ofs_alloc(len);
	for (int i = 0; i < n; i++) {
		if (i)
			*to++ = ' ';
		to = stpcpy(to, words[i]);
	}
	return text;
}

static int search_run(const struct ofs_command *self, int argc, char **argv)
{
	struct search_options opts = { .most = UINT64_MAX };
	const struct ofs_option options[] = {
		OFS_FLAG(0, "json", &opts.json, "print an array of path, from, to, snippet"),
		OFS_COUNT('n', "max", "N", &opts.most, "hits", INT64_MAX,
			  "print at most N hits (of 50)"),
		OFS_COMMON(&opts.target),
	};
	OFS_FREE char *query = NULL;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (!opts.most)
		return ofs_report_usage("'0' is not a count of hits: give 1 or more");
	query = search_join(argv, argc);
	return search_query(&opts, query);
}

const struct ofs_command ofs_cmd_search = {
	.name = "search",
	.synopsis = "[--json] [-n N] QUERY...",
	.summary = "Finds content, names, titles and tags",
	.help = "Prints PATH:FROM-TO: TEXT, the best first; 'cat MOUNT/PATH:FROM-TO' or\n"
		"'offload slice PATH:FROM-TO' reads it. All terms must be found:\n\n"
		"  word            also an identifier as it stands: get_user_id, foo::bar\n"
		"  '\"some words\"'  in this order\n"
		"  begin*          words that begin so\n"
		"  -word           leaves out what has it: 'zebra -lion', in quotes or after --\n"
		"  tier: category: task: tag: after: before:\n"
		"                  filters: tier:archive tag:paper after:7d before:2026-01-31\n\n"
		"The text of persistent/ and archive/ is searched; of other files names, titles,\n"
		"tags, and the first and last lines. Exits with 1 when nothing is found.\n",
	.unknown = "; to leave a word out, quote the query: 'zebra -lion'",
	.operands = OFS_OPERANDS_ANY,
	.missing = "say what to look for",
	.run = search_run,
};
