/* SPDX-License-Identifier: MIT */
/* memory_search: returns the answer of search/QUERY as hits. */
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/hits.h"
#include "io/path.h"
#include "service/call_run.h"
#include "tree/search/query.h"

#define LIMIT 10

static const char *const filters[] = { "tier", "category", "task", "tag", "after", "before" };

/* Appends a filter with its value, quoted if necessary. */
static void append_filter(struct ofs_buf *out, const char *filter, const char *value)
{
	bool quoted = strpbrk(value, " \t\n\"") != NULL;

	ofs_buf_printf(out, " %s:%s", filter, quoted ? "\"" : "");
	for (const char *p = value; *p; p++)
		ofs_buf_append(out, *p == '"' ? " " : p, 1);
	ofs_buf_append_str(out, quoted ? "\"" : "");
}

/* Turns tier and task of the path into filters, so that the tree ranks only what they leave. */
static void append_place(struct ofs_buf *out, const char *path)
{
	const char *below;

	if (ofs_path_below("persistent", path))
		append_filter(out, "tier", "long-term");
	else if (ofs_path_below("archive", path))
		append_filter(out, "tier", "archive");
	below = ofs_path_below("tasks", path);
	if (below && *below) {
		OFS_FREE char *task = ofs_strndup(below, strcspn(below, "/"));

		append_filter(out, "task", task);
	}
}

static int make_query(struct ofs_call_run *c, const char *path, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_query *q;
	bool asks;
	int r;

	ofs_buf_append_str(&text, ofs_call_text(c, "query"));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(filters); i++)
		if (ofs_call_text(c, filters[i]))
			append_filter(&text, filters[i], ofs_call_text(c, filters[i]));
	append_place(&text, path);
	r = ofs_query_parse(ofs_buf_str(&text), ofs_clock_wall(), c->err, &q);
	if (r < 0)
		return r;
	asks = q->nwords || q->filtered;
	ofs_query_destroy(q);
	if (!asks)
		return ofs_error_set(c->err, EINVAL, "there is no word to look for in the query");
	*ret = ofs_buf_steal_str(&text);
	return 0;
}

/* Turns a line of the answer into a hit with the member names of calls. */
static json_t *take_hit(char *line)
{
	OFS_FREE char *at =
		ofs_strndup(line, (size_t)(strstr(line, ": ") ? strstr(line, ": ") - line
							      : (ssize_t)strlen(line)));
	json_t *hit = ofs_hit_parse(line), *taken;

	taken = json_pack("{s:o, s:o, s:O, s:O, s:o}", "at", ofs_call_string(at), "path",
			  ofs_call_string(json_string_value(json_object_get(hit, "path"))),
			  "line_start", json_object_get(hit, "from"), "line_end",
			  json_object_get(hit, "to"), "snippet",
			  ofs_call_string(json_string_value(json_object_get(hit, "snippet"))));
	json_decref(hit);
	return taken;
}

static json_t *take_hits(struct ofs_call_run *c, char *text, const char *path, json_t **ret_note)
{
	json_int_t limit = ofs_call_number(c, "limit", LIMIT);
	json_t *hits = json_array();
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *hit;

		if (strncmp(line, OFS_SEARCH_NOTE, strlen(OFS_SEARCH_NOTE)) == 0) {
			json_decref(*ret_note);
			*ret_note = ofs_call_string(line + strlen(OFS_SEARCH_NOTE));
			continue;
		}
		if ((json_int_t)json_array_size(hits) >= limit)
			continue;
		hit = take_hit(line);
		if (!*path || ofs_path_below(path, json_string_value(json_object_get(hit, "path"))))
			json_array_append(hits, hit);
		json_decref(hit);
	}
	return hits;
}

static int search_call(struct ofs_call_run *c)
{
	OFS_FREE char *path = NULL, *query = NULL, *name = NULL, *text = NULL;
	json_t *note;
	bool is_cut;
	int r = ofs_call_path(c, "path", &path);

	if (r == 0)
		r = make_query(c, path, &query);
	if (r < 0)
		return r;
	is_cut = ofs_hits_path(query, false, &name);
	r = ofs_backend_read_text(c->access->backend, name, &text);
	if (r == -EACCES)
		return ofs_error_set(c->err, EACCES, "only the owner of the store may search it");
	if (r < 0)
		return ofs_call_failed(c, r, "search for", query);
	note = is_cut ? json_string("the query is too long: only its start was used") : json_null();
	c->result = json_object();
	json_object_set_new(c->result, "hits", take_hits(c, text, path, &note));
	json_object_set_new(c->result, "note", note);
	return 0;
}

const struct ofs_call ofs_call_memory_search = { "memory_search", OFS_CALL_TOOL, search_call };
