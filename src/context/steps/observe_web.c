/* SPDX-License-Identifier: MIT */
/* The web: searches, and pages that are read. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/observe.h"
#include "context/steps/scan.h"

#define QUERY_NAMES \
	"query q searchquery searchterm search keywords keyword text input question queries term"
#define URL_NAMES "url uri link href address page website targeturl startUrl urls pageurl"
#define RESULT_ARRAYS                                                                            \
	"results organicresults organic webresults items hits searchresults documents articles " \
	"data value pages links news sources"
#define RESULT_HOLDERS "webpages web data result response output"
#define HOLDER_DEPTH 3

#define STATUS_MIN 100
#define STATUS_ERROR 400
#define STATUS_MAX 599

/* ---- searches */

/* The list of results in JSON, however deep some services put it. False: there is none. */
static bool count_json(struct ofs_span json, int depth, size_t *ret)
{
	struct ofs_span list = ofs_span_is_array(json) ? json : ofs_args_find(json, RESULT_ARRAYS);
	struct ofs_span_cursor c = ofs_span_enter(list);
	struct ofs_span holder, first;

	if (ofs_span_is_array(list)) {
		*ret = ofs_args_count(list);
		/* One that holds lists: [{"query": ..., "results": [...]}]. */
		if (*ret == 1 && depth < HOLDER_DEPTH && ofs_span_next(&c, &first) &&
		    ofs_span_is_object(first) &&
		    ofs_span_is_array(ofs_args_find(first, "results items hits")))
			return count_json(first, depth + 1, ret);
		return true;
	}
	if (depth == HOLDER_DEPTH)
		return false;
	if (ofs_span_is_object(list))
		return count_json(list, depth + 1, ret);
	holder = ofs_args_find(json, RESULT_HOLDERS);
	return ofs_span_is_object(holder) && count_json(holder, depth + 1, ret);
}

/* Ways to write a list of results, each line of which begins one. */
struct lists {
	size_t numbered, urls, titles, links, bare;
};

/* "3. ", "3) ", "[3] ", "### 3. ", "Result 3:": the number is the next one. */
static bool is_numbered(const char *p, size_t len, size_t next)
{
	size_t i = 0, n = 0, digits;

	while (i < len && strchr("#*[ ", p[i]) && p[i])
		i++;
	if (ofs_scan_begins(p + i, len - i, "result "))
		i += strlen("result ");
	for (digits = 0; i < len && isdigit((unsigned char)p[i]) && digits < 6; i++, digits++)
		n = n * 10 + (size_t)(p[i] - '0');
	return digits && n == next && i < len && strchr(".)]:", p[i]);
}

static void count_list_line(const char *p, size_t len, struct lists *n)
{
	while (len && (*p == ' ' || *p == '\t')) {
		p++;
		len--;
	}
	n->numbered += is_numbered(p, len, n->numbered + 1);
	if (len > 2 && memcmp(p, "- ", 2) == 0) {
		p += 2;
		len -= 2;
	}
	while (len && *p == '*') {
		p++;
		len--;
	}
	n->urls += ofs_scan_begins(p, len, "url:") || ofs_scan_begins(p, len, "link:") ||
		   ofs_scan_begins(p, len, "source:") || ofs_scan_begins(p, len, "href:");
	n->titles += ofs_scan_begins(p, len, "title:");
	n->links += *p == '[' && memmem(p, len, "](http", 6);
	n->bare += ofs_scan_begins(p, len, "http://") || ofs_scan_begins(p, len, "https://");
}

/* "Found 10 results", "About 1,200 results" do not count: what is there does. */
static bool count_text(const char *text, size_t len, size_t *ret)
{
	const char *p = text, *line;
	struct lists n = { 0 };
	size_t size;

	if (ofs_scan_begins(text, len, "No results") || ofs_scan_begins(text, len, "No good") ||
	    ofs_scan_begins(text, len, "Found 0 results")) {
		*ret = 0;
		return true;
	}
	while (ofs_scan_line(&p, text + len, &line, &size))
		count_list_line(line, size, &n);
	*ret = n.urls		? n.urls
	       : n.titles	? n.titles
	       : n.numbered > 1 ? n.numbered
	       : n.links	? n.links
	       : n.bare		? n.bare
				: n.numbered;
	return *ret > 0;
}

/* Links of a text that has JSON somewhere in it: "Links: [{"title": ..., "url": ...}, ...]". */
static bool count_embedded(const char *text, size_t len, size_t *ret)
{
	const char *at = memmem(text, len, "[{\"", 3);
	struct ofs_span json;
	size_t used;

	if (!at || ofs_span_parse_next(at, (size_t)(text + len - at), NULL, &json, &used) < 0)
		return false;
	*ret = ofs_args_count(json);
	return true;
}

void ofs_observe_search(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	const char *query = ofs_observe_take(o, QUERY_NAMES, "query");
	size_t n = 0;
	bool counted = count_json(r->json, 0, &n) || count_json(r->text_json, 0, &n) ||
		       count_embedded(r->text, r->text_len, &n) ||
		       count_text(r->text, r->text_len, &n) || !r->text_len;

	ofs_observe_keep(o,
			 "num numresults maxresults count limit page site domain allowedDomains");
	if (o->failed || !counted)
		ofs_observe_say(o, "Searched for '");
	else
		ofs_observe_say(o, "Found %zu result%s for '", n, n == 1 ? "" : "s");
	if (query)
		ofs_observe_say_text(o, query, strlen(query), OFS_OBSERVATION_ARG_MAX);
	ofs_observe_say(o, "'");
	if (!ofs_observe_say_failure(o) && !counted) {
		ofs_observe_say(o, " (");
		ofs_observe_say_size(o, r->text_len);
		ofs_observe_say(o, " of text)");
	}
	if (counted && !o->failed)
		ofs_observe_note_number(o, "results", n);
	o->offload = (counted && n > o->settings->search_results) ||
		     o->content->size > o->settings->max_bytes;
}

/* ---- pages */

/* Appends an address without its scheme and without a slash at its end. */
static void say_url(struct ofs_observing *o, const char *url)
{
	size_t len = strlen(url);

	if (ofs_scan_begins(url, len, "https://"))
		url += strlen("https://");
	else if (ofs_scan_begins(url, len, "http://"))
		url += strlen("http://");
	len = strlen(url);
	if (len && url[len - 1] == '/')
		len--;
	ofs_observe_say_text(o, url, len, OFS_OBSERVATION_ARG_MAX);
}

/* The status of HTTP, as a number or at the start of a text: "200 OK". */
static bool read_status(struct ofs_span s, long long *ret)
{
	struct ofs_span digits = s;

	if (ofs_span_is_string(s) && s.len >= 5) {
		digits.p++;
		digits.len = 3;
	}
	return ofs_span_integer(digits, ret) && *ret >= STATUS_MIN && *ret <= STATUS_MAX;
}

/* In the members of the result, or at the start of the text: "HTTP/1.1 200 OK". */
static bool find_status(const struct ofs_tool_result *r, long long *ret)
{
	struct ofs_span s =
		ofs_args_find(r->json, "statuscode status httpstatus code responsecode");
	const char *at;

	if (s.p && read_status(s, ret))
		return true;
	if (!ofs_scan_begins(r->text, r->text_len, "HTTP/"))
		return false;
	at = memchr(r->text, ' ', OFS_MIN(r->text_len, (size_t)16));
	if (!at || r->text + r->text_len - at < 4)
		return false;
	return read_status((struct ofs_span){ at + 1, 3 }, ret);
}

static void note_title(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span title = ofs_args_find(o->result->json, "title pagetitle");

	if (!ofs_span_is_string(title) || title.len == 2)
		return;
	ofs_args_head(title, &text);
	ofs_observe_note_text(o, "title", (char *)text.data, text.len);
}

static const char *take_url(struct ofs_observing *o)
{
	const char *url = ofs_observe_take(o, URL_NAMES, "url");
	struct ofs_span said = ofs_args_find(o->result->json, "url finalurl");

	if (url || !ofs_span_is_string(said) || said.len == 2)
		return url;
	json_object_set_new(o->args, "url", ofs_observe_scalar(said));
	return json_string_value(json_object_get(o->args, "url"));
}

/* Other kinds of files mean nothing for a page. */
static const char *page_kind(const struct ofs_observing *o)
{
	static const char *const kinds[] = { "HTML", "JSON", "XML", "PDF", "binary" };
	const char *name = ofs_observe_filetype(o, NULL).name;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds); i++) {
		if (strcmp(name, kinds[i]) == 0)
			return name;
	}
	return "text";
}

void ofs_observe_visit(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	const char *url = take_url(o);
	long long status;
	bool has_status = find_status(r, &status);

	if (has_status && status >= STATUS_ERROR && !o->failed) {
		char reason[32];
		int n = snprintf(reason, sizeof(reason), "HTTP status %lld", status);

		ofs_observe_fail(o, reason, (size_t)n);
	}
	note_title(o);
	ofs_observe_say(o, "Visited ");
	if (url)
		say_url(o, url);
	else
		ofs_observe_say(o, "a page");
	ofs_observe_say(o, " (");
	if (has_status) {
		ofs_observe_say(o, "status=%lld, ", status);
		ofs_observe_note_number(o, "status", (uint64_t)status);
	}
	ofs_observe_say_size(o, r->text_len);
	ofs_observe_say(o, " %s)", page_kind(o));
	ofs_observe_say_failure(o);
	o->offload = r->text_len > 0;
}
