/* SPDX-License-Identifier: MIT */
/*
 * The resources: every file, by its ref as offload://REF, and slices of it as offload://REF:10-20.
 * They are read as memory_fetch reads them, with its bounds.
 */
#include "base/buf.h"
#include "service/mcp/mcp_methods.h"

#define PAGE 100

/* ---- resources/list */

static json_t *describe(const json_t *file)
{
	static const struct {
		const char *from, *to;
	} members[] = { { "title", "title" }, { "mime", "mimeType" }, { "bytes", "size" } };
	const char *ref = json_string_value(json_object_get(file, "id"));
	OFS_FREE char *uri = ofs_format(OFS_MCP_URI "%s", ref);
	json_t *resource =
		json_pack("{s:s, s:O}", "uri", uri, "name", json_object_get(file, "path"));

	for (size_t i = 0; i < OFS_ARRAY_SIZE(members); i++) {
		json_t *value = json_object_get(file, members[i].from);

		if (value && !json_is_null(value))
			json_object_set(resource, members[i].to, value);
	}
	return resource;
}

/* Calls the service, whose errors become the request's. */
static int call(struct ofs_mcp_request *q, const char *name, const json_t *args, json_t **ret)
{
	struct ofs_error err = { "" };
	int r = ofs_service_call(q->service, q->agent, ofs_call_find(name), args, &err, ret);

	if (r == 0)
		return 0;
	ofs_mcp_error_set(q->err,
			  r == -EINVAL || r == -ERANGE ? OFS_MCP_INVALID_PARAMS
						       : OFS_MCP_INTERNAL_ERROR,
			  "%s", err.text);
	return r;
}

json_t *ofs_mcp_resources_list(struct ofs_mcp_request *q)
{
	json_t *cursor = json_object_get(q->message->params, "cursor"), *page = NULL, *file, *next;
	json_t *args = json_pack("{s:i}", "limit", PAGE), *resources, *result;
	size_t i;
	int r;

	if (cursor)
		json_object_set(args, "cursor", cursor);
	r = call(q, "memory_list", args, &page);
	json_decref(args);
	if (r == -ENOENT) /* there is no store yet */
		return json_pack("{s:[]}", "resources");
	if (r == -EINVAL)
		ofs_mcp_error_cursor(q->err);
	if (r < 0)
		return NULL;
	resources = json_array();
	json_array_foreach(json_object_get(page, "files"), i, file)
		json_array_append_new(resources, describe(file));
	result = json_pack("{s:o}", "resources", resources);
	next = json_object_get(page, "next_cursor");
	if (json_is_string(next))
		json_object_set(result, "nextCursor", next);
	json_decref(page);
	return result;
}

json_t *ofs_mcp_resources_templates(struct ofs_mcp_request *q)
{
	if (json_object_get(q->message->params, "cursor")) {
		ofs_mcp_error_cursor(q->err);
		return NULL;
	}
	return json_pack("{s:[{s:s, s:s, s:s, s:s}, {s:s, s:s, s:s, s:s}]}", "resourceTemplates",
			 /* all of it */
			 "uriTemplate", OFS_MCP_URI "{ref}", "name", "content", "title",
			 "Offloaded content", "description",
			 "A content by its ref: its first 2,000 lines or 65,536 bytes",
			 /* a part */
			 "uriTemplate", OFS_MCP_URI "{ref}:{from}-{to}", "name", "lines", "title",
			 "Lines of an offloaded content", "description",
			 "The lines from one to another, counted from 1");
}

/* ---- resources/read */

/* Allocated: the URI of what follows, by the arguments that memory_fetch gives for it. */
static char *next_uri(const json_t *next)
{
	const char *id = json_string_value(json_object_get(next, "memory_id"));
	const json_t *line = json_object_get(next, "line_start"),
		     *byte = json_object_get(next, "byte_offset");

	return ofs_format(OFS_MCP_URI "%s:%s%lld-", id, line ? "" : "b",
			  (long long)json_integer_value(line ? line : byte));
}

/* The text of an answer of memory_fetch, with a word about what is not in it. */
static json_t *text_of(const json_t *fetched)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	const json_t *next = json_object_get(fetched, "next"),
		     *text = json_object_get(fetched, "text");
	OFS_FREE char *uri = NULL;

	ofs_buf_append(&out, json_string_value(text), json_string_length(text));
	if (json_is_object(next)) {
		uri = next_uri(next);
		if (out.len && out.data[out.len - 1] != '\n')
			ofs_buf_append_str(&out, "\n");
		ofs_buf_printf(
			&out, "[cut here, at byte %lld of %lld: go on with %s]\n",
			(long long)(json_integer_value(json_object_get(fetched, "byte_offset")) +
				    json_integer_value(json_object_get(fetched, "byte_len"))),
			(long long)json_integer_value(json_object_get(fetched, "bytes")), uri);
	}
	return json_stringn((const char *)out.data, out.len);
}

/* The protocol wants the URI back. */
static json_t *not_found(struct ofs_mcp_request *q, const char *uri, const char *reason)
{
	OFS_FREE char *text = ofs_strdup(reason);

	ofs_mcp_error_set(q->err,
			  q->message->modern ? OFS_MCP_INVALID_PARAMS : OFS_MCP_RESOURCE_NOT_FOUND,
			  "%s", text);
	q->err->data = json_pack("{s:s}", "uri", uri);
	return NULL;
}

json_t *ofs_mcp_resources_read(struct ofs_mcp_request *q)
{
	const char *uri = ofs_mcp_message_param(q->message, "uri");
	json_t *args, *fetched = NULL, *result;
	int r;

	if (!uri) {
		ofs_mcp_error_set(q->err, OFS_MCP_INVALID_PARAMS, "\"uri\" must be a string");
		return NULL;
	}
	if (strncmp(uri, OFS_MCP_URI, strlen(OFS_MCP_URI)) != 0)
		return not_found(q, uri, "the resources are offload://REF and offload://REF:10-20");
	args = json_pack("{s:s}", "memory_id", uri);
	r = call(q, "memory_fetch", args, &fetched);
	json_decref(args);
	if (r == -ENOENT || r == -EKEYEXPIRED || r == -EINVAL || r == -ERANGE)
		return not_found(q, uri, q->err->text);
	if (r < 0)
		return NULL;
	result = json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType",
			   "text/plain", "text", text_of(fetched));
	json_decref(fetched);
	return result;
}
