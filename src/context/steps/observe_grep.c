/* SPDX-License-Identifier: MIT */
/* Lines in files that match. */
#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "base/util.h"
#include "codec/hash.h"
#include "context/steps/args.h"
#include "context/steps/observe.h"
#include "context/steps/scan.h"

#define PATTERN_NAMES \
	"pattern regex query searchterm searchquery substringpattern search q text keyword term string"

struct count {
	size_t matches, files;
	bool has_matches, has_files;
};

/* ---- counts in the text */

static bool begins(const char *p, const char *end, const char *word)
{
	return ofs_scan_begins(p, (size_t)(end - p), word);
}

/* Numbers of matches and files in a sentence: "Found 12 matches for "x" in 4 files". */
static void read_sentence(const char *p, const char *end, struct count *n)
{
	size_t number;

	while (p < end) {
		bool at_word = isdigit((unsigned char)*p);

		if (!at_word) {
			p++;
			continue;
		}
		if (!ofs_scan_number(&p, end, &number))
			return;
		if (p < end && *p == ' ')
			p++;
		if (!n->has_matches &&
		    (begins(p, end, "match") || begins(p, end, "result") ||
		     begins(p, end, "occurrence") || begins(p, end, "total match"))) {
			n->matches = number;
			n->has_matches = true;
		} else if (!n->has_files && begins(p, end, "file")) {
			n->files = number;
			n->has_files = true;
		}
	}
}

static bool is_sentence(const char *p, const char *end)
{
	return begins(p, end, "Found ") || begins(p, end, "No matches") ||
	       begins(p, end, "No files") || begins(p, end, "No results") ||
	       begins(p, end, "Search results");
}

/* ---- lines */

/* The length of the name in "src/a.c:12:text" or "src/a.c-12-text" (context of a match), or 0. */
static size_t file_part(const char *p, const char *end, bool *ret_match)
{
	for (const char *q = p; q < end; q++) {
		const char *digits = q + 1;
		size_t line;

		if ((*q == ':' || *q == '-') && digits < end && isdigit((unsigned char)*digits) &&
		    ofs_scan_number(&digits, end, &line) && digits < end && *digits == *q) {
			*ret_match = *q == ':';
			return (size_t)(q - p);
		}
	}
	return 0;
}

/* Matches and the files they are in, as grep -n and rg -n write them. */
static void count_lines(const char *text, size_t len, struct count *n)
{
	OFS_CLEANUP(ofs_map_finish) struct ofs_map seen = OFS_MAP_INIT;
	const char *p = text, *end = text + len, *line;
	size_t plain = 0, size;

	while (ofs_scan_line(&p, end, &line, &size)) {
		bool match = false;
		size_t name = file_part(line, line + size, &match);
		uint64_t key = name ? ofs_checksum(line, name, 0) | 1 : 0;

		if (name && match)
			n->matches++;
		else if (!name && size && !(size == 2 && memcmp(line, "--", 2) == 0))
			plain++;
		if (name && !ofs_map_get(&seen, key)) {
			ofs_map_put(&seen, key, &seen);
			n->files++;
		}
	}
	n->has_matches = n->matches > 0;
	n->has_files = n->files > 0;
	/* Without names of files a line is a match. */
	if (!n->has_matches) {
		n->matches = plain;
		n->has_matches = true;
	}
}

/* Lines such as "src/a.c (3 matches)". */
static void count_files(const char *p, const char *end, struct count *n)
{
	const char *line;
	size_t size;

	while (ofs_scan_line(&p, end, &line, &size)) {
		const char *open = size && line[size - 1] == ')' ? memrchr(line, '(', size) : NULL;

		n->files += open && memmem(open, (size_t)(line + size - open), " match", 6);
	}
	n->has_files = n->files > 0;
}

static void count_text(const struct ofs_tool_result *r, struct count *n)
{
	const char *text = r->text, *end = text + r->text_len;
	const char *eol = memchr(text, '\n', r->text_len);

	if (is_sentence(text, eol ? eol : end)) {
		read_sentence(text, eol ? eol : end, n);
		if (n->has_matches && !n->has_files && eol)
			count_files(eol + 1, end, n);
	}
	if (begins(text, end, "No ") && is_sentence(text, end)) {
		*n = (struct count){ 0, 0, true, false };
	} else if (!n->has_matches && !n->has_files) {
		count_lines(text, r->text_len, n);
	}
}

/* ---- JSON */

static bool note_integer(struct ofs_span value, size_t *ret, bool *ret_has)
{
	long long n;

	if (!ofs_span_integer(value, &n) || n < 0)
		return false;
	*ret = (size_t)n;
	*ret_has = true;
	return true;
}

static bool count_json(struct ofs_span json, struct count *n)
{
	struct ofs_span list =
		ofs_span_is_array(json)
			? json
			: ofs_args_find(json, "matches results hits items filenames files");

	note_integer(
		ofs_args_find(json,
			      "nummatches matchcount totalmatches totalcount count total numlines"),
		&n->matches, &n->has_matches);
	note_integer(ofs_args_find(json, "numfiles filecount filesmatched"), &n->files,
		     &n->has_files);
	if (!n->has_matches && ofs_span_is_array(list)) {
		n->matches = ofs_args_count(list);
		n->has_matches = true;
	}
	return n->has_matches || n->has_files;
}

/* ---- the rule */

static void say_counts(struct ofs_observing *o, const struct count *n)
{
	if (n->has_matches) {
		ofs_observe_say(o, "Found %zu match%s for '", n->matches,
				n->matches == 1 ? "" : "es");
		ofs_observe_note_number(o, "matches", n->matches);
	} else {
		ofs_observe_say(o, "Found '");
	}
	if (n->has_files)
		ofs_observe_note_number(o, "files", n->files);
}

void ofs_observe_grep(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	const char *pattern = ofs_observe_take(o, PATTERN_NAMES, "pattern");
	const char *path = ofs_observe_take(o, OFS_OBSERVE_DIR_NAMES, "path");
	struct count n = { 0 };

	ofs_observe_keep(o, "include glob filepattern includepattern outputmode type");
	if (o->failed) {
		ofs_observe_say(o, "Searched files for '");
	} else {
		if (!count_json(r->json, &n) && !count_json(r->text_json, &n))
			count_text(r, &n);
		say_counts(o, &n);
	}
	if (pattern)
		ofs_observe_say_text(o, pattern, strlen(pattern), OFS_OBSERVATION_ARG_MAX / 2);
	ofs_observe_say(o, "'");
	if (n.has_files)
		ofs_observe_say(o, " in %zu file%s", n.files, n.files == 1 ? "" : "s");
	else if (path && !o->failed) {
		ofs_observe_say(o, " in ");
		ofs_observe_say_text(o, path, strlen(path), OFS_OBSERVATION_ARG_MAX / 2);
	}
	ofs_observe_say_failure(o);
	o->offload = ofs_observe_is_large(o);
}
