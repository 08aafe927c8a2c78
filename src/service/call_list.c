/* SPDX-License-Identifier: MIT */
/* memory_list: a page of .offload/list/; memory_usage: its sums by tier and category. */
#include <inttypes.h>
#include <string.h>

#include <offloadfs/tree.h>

#include "base/clock.h"
#include "service/call_run.h"
#include "tree/virtual/inventory.h"

#define LIST_DIR ".offload/list/"
#define LIMIT 50

static void append_word(struct ofs_buf *out, const char *filter, const char *value)
{
	if (!value || !*value)
		return;
	ofs_buf_printf(out, "%s:", filter);
	ofs_inventory_quote(value, out);
	ofs_buf_append_str(out, " ");
}

static int make_request(struct ofs_call_run *c, char **ret)
{
	OFS_CLEANUP(ofs_inventory_request_finish) struct ofs_inventory_request ignored = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf words = OFS_BUF_INIT;
	static const char *const filters[] = { "tier", "category", "task", "tag", "sort" };
	OFS_FREE char *path = NULL;
	int r = ofs_call_path(c, "path", &path);

	if (r < 0)
		return r;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(filters); i++)
		append_word(&words, filters[i], ofs_call_text(c, filters[i]));
	append_word(&words, "below", path);
	append_word(&words, "reverse", ofs_call_flag(c, "reverse", false) ? "yes" : NULL);
	ofs_buf_printf(&words, "page:%" PRId64 " ", ofs_call_number(c, "limit", LIMIT));
	append_word(&words, "from", ofs_call_text(c, "cursor"));
	r = ofs_inventory_parse(NULL, ofs_buf_str(&words), ofs_clock_wall(), c->err, &ignored);
	if (r == 0 && words.len > OFS_NAME_MAX)
		r = ofs_error_set(c->err, EINVAL,
				  "path and filters are too long together: %zu bytes, at most %d",
				  words.len, OFS_NAME_MAX);
	if (r == 0)
		*ret = ofs_buf_steal_str(&words);
	return r;
}

static int64_t time_of(const json_t *line, const char *key, int64_t otherwise)
{
	const char *text = json_string_value(json_object_get(line, key));
	int64_t at;

	return text && ofs_query_time(text, 0, &at) ? at : otherwise;
}

/* Turns a line of the page into an object with the member names of calls. */
static json_t *take_file(struct ofs_call_run *c, const json_t *line)
{
	static const char *const same[] = { "path", "title",  "tier",	 "category",
					    "task", "tokens", "expires", "stored_bytes" };
	const char *path = json_string_value(json_object_get(line, "path"));
	int64_t age = ofs_clock_wall() - time_of(line, "used", ofs_clock_wall());
	json_t *file = json_object();

	json_object_set(file, "id", json_object_get(line, "ref"));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(same); i++)
		json_object_set(file, same[i], json_object_get(line, same[i]));
	json_object_set_new(file, "tags",
			    ofs_call_tags(json_string_value(json_object_get(line, "tags"))));
	json_object_set_new(file, "mime", ofs_call_attribute(c, path, "mime"));
	json_object_set(file, "bytes", json_object_get(line, "size"));
	json_object_set_new(file, "lines", ofs_call_count(c, path, "lines"));
	json_object_set_new(file, "age_seconds", json_integer(OFS_MAX(age, 0) / OFS_NS_PER_S));
	json_object_set_new(file, "lifecycle",
			    json_is_true(json_object_get(line, "important"))
				    ? json_string("important")
				    : json_incref(json_object_get(line, "state")));
	return file;
}

/*
 * Reads a page. Sets *ret_head to its first line and *ret to a list of what `take` makes of the
 * others. -EAGAIN: the tree has not completed the page yet; or another -errno.
 */
static int take_page(struct ofs_call_run *c, const char *request,
		     json_t *(*take)(struct ofs_call_run *c, const json_t *line), json_t **ret_head,
		     json_t **ret)
{
	OFS_FREE char *path = ofs_format(LIST_DIR "%s", request), *text = NULL;
	json_t *head, *list = json_array();
	char *rest;
	int r = ofs_backend_read_text(c->access->backend, path, &text);

	rest = text;
	head = r == 0 ? json_loads(strsep(&rest, "\n"), 0, NULL) : NULL;
	if (r == 0 && !json_object_get(head, "files"))
		r = head ? -EAGAIN : -EPROTO;
	for (const char *each; r == 0 && (each = strsep(&rest, "\n"));) {
		json_t *line = *each ? json_loads(each, 0, NULL) : NULL;

		if (line)
			json_array_append_new(list, take(c, line));
		json_decref(line);
	}
	if (r == 0) {
		*ret_head = head;
		*ret = list;
		return 0;
	}
	json_decref(head);
	json_decref(list);
	return r;
}

static int failed(struct ofs_call_run *c, int r)
{
	if (r == -EACCES)
		return ofs_error_set(c->err, EACCES, "only the owner of the store may list it");
	if (r == -ESTALE)
		return ofs_error_set(c->err, EINVAL,
				     "the cursor is of an older list: list again without it");
	if (r == -ENOENT)
		return ofs_error_set(c->err, ENOENT, "there are no files below '%s'",
				     ofs_call_text(c, "path") ? ofs_call_text(c, "path") : "");
	return ofs_error_set(c->err, -r, "cannot list: %s", ofs_backend_strerror(-r));
}

static json_t *total(const json_t *head)
{
	static const char *const sums[] = { "files", "bytes", "stored_bytes", "tokens" };
	json_t *all = json_object();

	for (size_t i = 0; i < OFS_ARRAY_SIZE(sums); i++)
		json_object_set(all, sums[i], json_object_get(head, sums[i]));
	return all;
}

static int list_call(struct ofs_call_run *c)
{
	OFS_FREE char *request = NULL;
	json_t *head = NULL, *files = NULL;
	int r = make_request(c, &request);

	if (r < 0)
		return r;
	do
		r = take_page(c, request, take_file, &head, &files);
	while (r == -EAGAIN);
	if (r < 0)
		return failed(c, r);
	c->result = json_pack("{s:o, s:o, s:O}", "files", files, "total", total(head),
			      "next_cursor", json_object_get(head, "next"));
	json_decref(head);
	return 0;
}

static json_t *take_group(struct ofs_call_run *c, const json_t *line)
{
	return json_deep_copy(line);
}

static int usage_call(struct ofs_call_run *c)
{
	json_t *head = NULL, *groups = NULL;
	int r;

	do
		r = take_page(c, "groups:yes", take_group, &head, &groups);
	while (r == -EAGAIN);
	if (r < 0)
		return failed(c, r);
	json_decref(head);
	c->result = json_pack("{s:o}", "groups", groups);
	return 0;
}

const struct ofs_call ofs_call_memory_list = { "memory_list", OFS_CALL_TOOL, list_call };

const struct ofs_call ofs_call_memory_usage = { "memory_usage", 0, usage_call };
