/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/access.h"
#include "tree/search/query.h"

enum {
	EXIT_FOUND = 0,
	EXIT_NOTHING = 1,
	EXIT_TROUBLE = 2,
};

static uint64_t most = UINT64_MAX; /* lines */

static const struct ofs_option options[] = {
	OFS_COUNT('n', "max", "N", &most, "hits", INT64_MAX, "print at most N hits (of 50)"),
	OFS_OPTIONS_END,
};

/* The words as one text, with `slash` for '/'; allocated. */
static char *search_join(char *const words[], const char *slash)
{
	struct ofs_buf text = OFS_BUF_INIT;

	for (char *const *word = words; *word; word++) {
		if (word > words)
			ofs_buf_append_str(&text, " ");
		for (const char *p = *word; *p; p++)
			ofs_buf_append(&text, *p == '/' ? slash : p, *p == '/' ? strlen(slash) : 1);
	}
	return ofs_buf_steal_str(&text);
}

/* All that the query finds, allocated, as lines. An exit code, not EXIT_NOTHING. */
static int search_ask(const char *name, char **ret)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	OFS_FREE char *path = ofs_format("search/%s", name);
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	if (ofs_access_open(&access, false, &err) < 0) {
		ofs_report("%s", err.text);
		return EXIT_TROUBLE;
	}
	r = ofs_backend_read_text(access.backend, path, ret);
	if (r == -EACCES)
		ofs_report("only the owner of the store may search it");
	else if (r < 0)
		ofs_report("cannot search: %s", ofs_report_errno(-r));
	return r < 0 ? EXIT_TROUBLE : EXIT_FOUND;
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

/* A line as an object. No path that is written has ": " in it. */
static json_t *search_hit(char *line)
{
	char *snippet = strstr(line, ": ");
	uint64_t from, to;

	if (snippet) {
		*snippet = '\0';
		snippet += strlen(": ");
	}
	search_take_lines(line, &from, &to);
	return json_pack("{s:o, s:o, s:o, s:o}", "path", ofs_print_string(line), "from",
			 search_number(from), "to", search_number(to), "snippet",
			 ofs_print_string(snippet));
}

static int search_print_json(char *text)
{
	json_t *list = json_array();
	char *line, *rest = NULL;

	for (line = strtok_r(text, "\n", &rest); line && most--; line = strtok_r(NULL, "\n", &rest))
		json_array_append_new(list, search_hit(line));
	return ofs_print_json(list, "search/") == OFS_EXIT_OK ? EXIT_FOUND : EXIT_TROUBLE;
}

static int search(const void *name)
{
	OFS_FREE char *text = NULL;
	const char *end;
	bool found;

	if (search_ask(name, &text) != EXIT_FOUND)
		return EXIT_TROUBLE;
	found = *text;
	if (ofs_command_json && search_print_json(text) != EXIT_FOUND)
		return EXIT_TROUBLE;
	if (!ofs_command_json) {
		for (end = text; most && *end; most--)
			end += strcspn(end, "\n") + 1;
		fwrite(text, 1, (size_t)(end - text), stdout);
	}
	return found ? EXIT_FOUND : EXIT_NOTHING;
}

static int search_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_FREE char *query = search_join(argv, "/"), *name = search_join(argv, "%2F");
	struct ofs_error err;
	struct ofs_query *q;
	int r;

	if (!most)
		return ofs_report_usage("'0' is not a count of hits: give 1 or more");
	if (ofs_query_parse(query, ofs_clock_wall(), &err, &q) < 0)
		return ofs_report_usage("cannot search for '%s': %s", query, err.text);
	ofs_query_destroy(q);
	if (strlen(name) > OFS_NAME_MAX)
		return ofs_report_usage(
			"the query is too long: it has %zu bytes (%s), and may have %d",
			strlen(name), "'/' counts as three", OFS_NAME_MAX);
	r = ofs_guard_work(search, name, INT64_MAX);
	if (r >= 0)
		return r;
	ofs_report("cannot search: %s", ofs_guard_reason(r));
	return EXIT_TROUBLE;
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
	.options = options,
	.json = "print an array of path, from, to, snippet",
	.unknown = "; to leave a word out, quote the query: 'zebra -lion'",
	.operands = OFS_OPERANDS_ANY,
	.missing = "say what to look for",
	.run = search_run,
};
