/* SPDX-License-Identifier: MIT */
#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/hits.h"
#include "tree/search/query.h"

enum {
	EXIT_FOUND = 0,
	EXIT_NOTHING = 1,
	EXIT_TROUBLE = 2,
};

static uint64_t most = UINT64_MAX; /* hits */
static bool why;

static const struct ofs_option options[] = {
	OFS_COUNT('n', "max", "N", &most, "hits", INT64_MAX, "print at most N hits (of 50)"),
	OFS_FLAG(0, "why", &why, "say after each hit how it came to its place"),
	OFS_OPTIONS_END,
};

/* The words as one text; allocated. */
static char *search_join(char *const words[])
{
	struct ofs_buf text = OFS_BUF_INIT;

	for (char *const *word = words; *word; word++)
		ofs_buf_printf(&text, "%s%s", word > words ? " " : "", *word);
	return ofs_buf_steal_str(&text);
}

/* All that the query finds, allocated, as lines. An exit code, not EXIT_NOTHING. */
static int search_ask(const char *path, char **ret)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
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
		ofs_report("cannot search: %s", ofs_backend_strerror(-r));
	return r < 0 ? EXIT_TROUBLE : EXIT_FOUND;
}

/* How the hit before came to its place. */
static void search_print_why(json_t *list, const char *line, bool wanted)
{
	if (wanted && list)
		json_object_set_new(json_array_get(list, json_array_size(list) - 1), "why",
				    ofs_json_string(line + 1));
	else if (wanted)
		puts(line);
}

static int search(const void *path)
{
	OFS_FREE char *text = NULL;
	json_t *list = ofs_command_json ? json_array() : NULL;
	char *line, *rest = NULL;
	uint64_t found = 0;

	if (search_ask(path, &text) != EXIT_FOUND)
		return EXIT_TROUBLE;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, OFS_SEARCH_NOTE, strlen(OFS_SEARCH_NOTE)) == 0)
			ofs_report("%s", line + strlen(OFS_SEARCH_NOTE));
		else if (*line == '\t')
			search_print_why(list, line, found <= most);
		else if (found++ >= most)
			continue;
		else if (list)
			json_array_append_new(list, ofs_hit_parse(line));
		else
			puts(line);
	}
	if (list && ofs_print_json(list, "search/") != OFS_EXIT_OK)
		return EXIT_TROUBLE;
	return found ? EXIT_FOUND : EXIT_NOTHING;
}

static int search_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_FREE char *query = search_join(argv), *path = NULL;
	struct ofs_error err;
	struct ofs_query *q;
	bool asks;
	int r;

	if (!most)
		return ofs_report_usage("'0' is not a count of hits: give 1 or more");
	if (ofs_query_parse(query, ofs_clock_wall(), &err, &q) < 0)
		return ofs_report_usage("cannot search for '%.100s': %s", query, err.text);
	asks = q->nwords || q->filtered;
	ofs_query_destroy(q);
	if (!asks)
		return ofs_report_usage("there is no word to look for in '%.100s'", query);
	if (ofs_hits_path(query, why, &path))
		ofs_report("the query is long: only its first %d bytes are looked for",
			   OFS_NAME_MAX);
	r = ofs_guard_work(search, path, INT64_MAX);
	if (r >= 0)
		return r;
	ofs_report("cannot search: %s", ofs_guard_reason(r));
	return EXIT_TROUBLE;
}

const struct ofs_command ofs_cmd_search = {
	.name = "search",
	.synopsis = "[--json] [-n N] [--why] QUERY...",
	.summary = "Finds content, names, titles and tags",
	.help = "Prints PATH:FROM-TO: TEXT, the best first; 'cat MOUNT/PATH:FROM-TO' or\n"
		"'offload slice PATH:FROM-TO' reads it. Ask as you would ask a person: what has\n"
		"more of the rare words, near each other, comes first. These must hold:\n\n"
		"  '\"some words\"'  in this order\n"
		"  +word           as it is written\n"
		"  begin*          a word that begins so\n"
		"  -word           leaves out files that have it: 'zebra -lion', in quotes or after --\n"
		"  tier: category: task: tag: agent: after: before:\n"
		"                  filters: tier:archive tag:paper after:7d before:2026-01-31\n\n"
		"Texts, names, titles and tags are searched, of the working tier as far as there is\n"
		"time. Exits with 1 when nothing is found.\n",
	.options = options,
	.json = "print an array of path, from, to, snippet and, with --why, why",
	.unknown = "; to leave a word out, quote the query: 'zebra -lion'",
	.operands = OFS_OPERANDS_ANY,
	.missing = "say what to look for",
	.run = search_run,
};
