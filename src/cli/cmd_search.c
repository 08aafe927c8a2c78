/* SPDX-License-Identifier: MIT */
/* offload search: searches the tree, and those of peers. */
#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/peers.h"
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
	OFS_FLAG(0, "why", &why, "explain after each hit how it was ranked"),
	OFS_OPTIONS_END,
};

/* Returns the words as one allocated text. */
static char *search_join(char *const words[])
{
	struct ofs_buf text = OFS_BUF_INIT;

	for (char *const *word = words; *word; word++)
		ofs_buf_printf(&text, "%s%s", word > words ? " " : "", *word);
	return ofs_buf_steal_str(&text);
}

/* The lines that one tree returns. */
struct source {
	char *text;
	char *rest; /* the part of `text` not printed yet */
	const char *folder; /* of the peer, put before its paths; NULL: our own tree */
};

/* Returns an exit code, but never EXIT_NOTHING. */
static int search_ask(struct ofs_access *access, const char *path, char **ret)
{
	struct ofs_error err;
	int r;

	if (ofs_access_open(access, false, &err) < 0) {
		ofs_report("%s", err.text);
		return EXIT_TROUBLE;
	}
	r = ofs_backend_read_text(access->backend, path, ret);
	if (r == -EACCES)
		ofs_report("only the owner of the store may search it");
	else if (r < 0)
		ofs_report("cannot search: %s", ofs_backend_strerror(-r));
	return r < 0 ? EXIT_TROUBLE : EXIT_FOUND;
}

/* Asks a peer. One that does not answer is left out. */
static void search_ask_peer(const char *dir, const char *path, struct source *ret)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	const struct ofs_target_options peer = { .dir = dir, .whole = true };

	ofs_access_init(&access, &peer);
	search_ask(&access, path, &ret->text);
	ret->rest = ret->text;
	ret->folder = strrchr(dir, '/') + 1;
}

/* Prints how the previous hit was ranked, or adds that to it. */
static void search_print_why(json_t *list, const char *line, bool wanted)
{
	if (wanted && list)
		json_object_set_new(json_array_get(list, json_array_size(list) - 1), "why",
				    ofs_json_string(line + 1));
	else if (wanted)
		puts(line);
}

/* Prints the next hit of a source, and notes on it. Returns false if there is none. */
static bool search_print_next(struct source *s, json_t *list, uint64_t *found)
{
	bool printed = false;

	while (s->rest && *s->rest) {
		char *line = s->rest;
		size_t len = strcspn(line, "\n");
		bool note = strncmp(line, OFS_SEARCH_NOTE, strlen(OFS_SEARCH_NOTE)) == 0;

		if (printed && *line != '\t' && !note)
			return true;
		s->rest += len + (line[len] == '\n');
		line[len] = '\0';
		if (note) {
			ofs_report("%s", line + strlen(OFS_SEARCH_NOTE));
		} else if (*line == '\t') {
			search_print_why(list, line, *found <= most);
		} else {
			OFS_FREE char *hit = s->folder ? ofs_format("peers/%s/%s", s->folder, line)
						       : ofs_strdup(line);

			printed = true;
			if ((*found)++ >= most)
				continue;
			if (list)
				json_array_append_new(list, ofs_hit_parse(hit));
			else
				puts(hit);
		}
	}
	return printed;
}

/* Prints the best hit of each source, then the second best, and so on. Returns their number. */
static uint64_t search_print(struct source *sources, size_t n, json_t *list)
{
	uint64_t found = 0;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < n; i++)
			more = search_print_next(&sources[i], list, &found) || more;
	}
	return found;
}

static int search(const void *path)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	struct source *sources = ofs_alloc(sizeof(*sources));
	json_t *list = ofs_command_json ? json_array() : NULL;
	char **peers = NULL;
	uint64_t found;
	size_t n = 1;
	int code;

	ofs_access_init(&access, &ofs_command_target);
	code = search_ask(&access, path, &sources[0].text);
	sources[0].rest = sources[0].text;
	if (code == EXIT_FOUND && access.target.mounted && !access.target.agent)
		peers = ofs_peers_mounted(access.target.mountpoint);
	for (char **p = peers; p && *p; p++) {
		sources = ofs_realloc(sources, n + 1, sizeof(*sources));
		sources[n] = (struct source){ 0 };
		search_ask_peer(*p, path, &sources[n++]);
	}
	found = code == EXIT_FOUND ? search_print(sources, n, list) : 0;
	if (code != EXIT_FOUND)
		json_decref(list);
	else if (list && ofs_print_json(list, "search/") != OFS_EXIT_OK)
		code = EXIT_TROUBLE;
	for (size_t i = 0; i < n; i++)
		free(sources[i].text);
	free(sources);
	if (peers)
		ofs_peers_free(peers);
	return code != EXIT_FOUND ? code : found ? EXIT_FOUND : EXIT_NOTHING;
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
		"'offload slice PATH:FROM-TO' reads a hit. Ask as you would ask a person: passages\n"
		"with more of the rare words, near each other, come first. These must match:\n"
		"\n"
		"  '\"some words\"'  these words in this order\n"
		"  +word           the word as it is written\n"
		"  begin*          a word that begins like this\n"
		"  -word           leaves out files that have it: 'zebra -lion', in quotes or after --\n"
		"  tier: category: task: tag: agent: after: before:\n"
		"                  filters: tier:archive tag:paper after:7d before:2026-01-31\n"
		"\n"
		"Searches text, names, titles and tags; in the working tier as far as time allows.\n"
		"Exits with 1 if nothing is found.\n",
	.options = options,
	.json = "print an array of path, from, to, snippet and, with --why, why",
	.unknown = "; to leave a word out, quote the query: 'zebra -lion'",
	.operands = OFS_OPERANDS_ANY,
	.missing = "say what to look for",
	.run = search_run,
};
