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

static uint64_t most = UINT64_MAX; /* hits */
static bool why;

static const struct ofs_option options[] = {
	OFS_COUNT('n', "max", "N", &most, "hits", INT64_MAX, "print at most N hits (of 50)"),
	OFS_FLAG(0, "why", &why, "say after each hit how it came to its place"),
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

/* How the hit before came to its place. */
static void search_print_why(json_t *list, const char *line, bool wanted)
{
	if (wanted && list)
		json_object_set_new(json_array_get(list, json_array_size(list) - 1), "why",
				    ofs_print_string(line + 1));
	else if (wanted)
		puts(line);
}

static int search(const void *name)
{
	OFS_FREE char *text = NULL;
	json_t *list = ofs_command_json ? json_array() : NULL;
	char *line, *rest = NULL;
	uint64_t found = 0;

	if (search_ask(name, &text) != EXIT_FOUND)
		return EXIT_TROUBLE;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (strncmp(line, OFS_SEARCH_NOTE, strlen(OFS_SEARCH_NOTE)) == 0)
			ofs_report("%s", line + strlen(OFS_SEARCH_NOTE));
		else if (*line == '\t')
			search_print_why(list, line, found <= most);
		else if (found++ >= most)
			continue;
		else if (list)
			json_array_append_new(list, search_hit(line));
		else
			puts(line);
	}
	if (list && ofs_print_json(list, "search/") != OFS_EXIT_OK)
		return EXIT_TROUBLE;
	return found ? EXIT_FOUND : EXIT_NOTHING;
}

/* Cuts what is more than a name may have, at a blank. */
static void search_cut(char *name)
{
	size_t len = OFS_NAME_MAX;

	if (strlen(name) <= len)
		return;
	while (len && name[len] != ' ')
		len--;
	/* One long word: not within a character, nor within "%2F". */
	if (!len)
		for (len = OFS_NAME_MAX - 3; ((unsigned char)name[len] & 0xc0) == 0x80;)
			len--;
	name[len] = '\0';
	ofs_report("the query is long: only its first %zu bytes are looked for", len);
}

static int search_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_FREE char *query = search_join(argv, "/"), *encoded = search_join(argv, "%2F");
	OFS_FREE char *name = ofs_format("%s%s", why ? "why:yes " : "", encoded);
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
	search_cut(name);
	r = ofs_guard_work(search, name, INT64_MAX);
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
