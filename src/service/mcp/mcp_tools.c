/* SPDX-License-Identifier: MIT */
/* The tools: the calls of the service that have OFS_CALL_TOOL. */
#include "base/text.h"
#include "base/text_form.h"
#include "service/mcp/mcp_methods.h"

/* memory_fetch needs several calls for a larger file. */
#define LONG_BYTES 65536
/* Number of files, among those of the hits, that may be linked. */
#define LINKS_MAX 5

/* ---- tools/list */

/* A tool that changes the tree only adds or keeps content, and a repeated call does no harm. */
static json_t *annotations(const struct ofs_call *call)
{
	bool changes = call->flags & OFS_CALL_CHANGES;

	if (!changes)
		return json_pack("{s:b, s:b}", "readOnlyHint", 1, "openWorldHint", 0);
	return json_pack("{s:b, s:b, s:b, s:b}", "readOnlyHint", 0, "destructiveHint", 0,
			 "idempotentHint", 1, "openWorldHint", 0);
}

static json_t *describe(const struct ofs_call *call)
{
	json_t *tool = json_pack("{s:s}", "name", call->name);

	json_object_update(tool, (json_t *)ofs_call_describe(call));
	json_object_set_new(tool, "annotations", annotations(call));
	return tool;
}

json_t *ofs_mcp_tools_list(struct ofs_mcp_request *q)
{
	json_t *tools;

	if (json_object_get(q->message->params, "cursor")) {
		ofs_mcp_error_cursor(q->err);
		return NULL;
	}
	tools = json_array();
	for (size_t i = 0; ofs_calls[i]; i++)
		if (ofs_calls[i]->flags & OFS_CALL_TOOL)
			json_array_append_new(tools, describe(ofs_calls[i]));
	return json_pack("{s:o}", "tools", tools);
}

/* ---- results */

static json_t *text_content(json_t *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

json_t *ofs_mcp_tool_failure(const char *text)
{
	OFS_FREE char *shown = ofs_text_readable(text);

	return json_pack("{s:[o], s:b}", "content", text_content(json_string(shown)), "isError", 1);
}

/* Returns the structured content as text, for clients that do not know it. */
static json_t *text_of(json_t *json)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_json_append(json_incref(json), JSON_COMPACT, &text) < 0)
		return json_string("");
	return json_stringn_nocheck((const char *)text.data, text.len);
}

/* Makes a link to a file. Title and type may be null. */
static json_t *link_to(const json_t *ref, json_t *path, json_t *title, json_t *mime, json_t *bytes)
{
	OFS_FREE char *uri = ofs_format(OFS_MCP_URI "%s", json_string_value(ref));
	json_t *link =
		json_pack("{s:s, s:s, s:O}", "type", "resource_link", "uri", uri, "name", path);

	if (json_is_string(title))
		json_object_set(link, "title", title);
	if (json_is_string(mime))
		json_object_set(link, "mimeType", mime);
	json_object_set(link, "size", bytes);
	return link;
}

/* Links to the stored content. */
static void link_stored(struct ofs_mcp_request *q, const json_t *json, json_t *content)
{
	json_t *ref;
	size_t i;

	json_array_foreach(json_object_get(json, "memory_refs"), i, ref) json_array_append_new(
		content, link_to(json_object_get(ref, "id"), json_object_get(ref, "path"),
				 json_object_get(ref, "title"), json_object_get(ref, "mime"),
				 json_object_get(ref, "bytes")));
}

/* Links to a file of which only a part was returned. */
static void link_fetched(struct ofs_mcp_request *q, const json_t *json, json_t *content)
{
	if (json_is_object(json_object_get(json, "next")))
		json_array_append_new(content, link_to(json_object_get(json, "memory_id"),
						       json_object_get(json, "path"), NULL, NULL,
						       json_object_get(json, "bytes")));
}

/* Links to the file of a hit, if it is long and has a ref. */
static void link_hit(struct ofs_mcp_request *q, json_t *path, json_t *content)
{
	json_t *args = json_pack("{s:O}", "memory_id", path), *info = NULL;
	struct ofs_error err;
	int r = ofs_service_call(q->service, &q->by, ofs_call_find("memory_info"), args, &err,
				 &info);

	if (r == 0 && json_is_string(json_object_get(info, "ref")) &&
	    json_integer_value(json_object_get(info, "size")) > LONG_BYTES)
		json_array_append_new(content, link_to(json_object_get(info, "ref"), path,
						       json_object_get(info, "title"),
						       json_object_get(info, "type"),
						       json_object_get(info, "size")));
	json_decref(args);
	json_decref(info);
}

/* Links to the long ones among the files of the best hits. */
static void link_hits(struct ofs_mcp_request *q, const json_t *json, json_t *content)
{
	json_t *seen = json_object(), *hit;
	size_t i;

	json_array_foreach(json_object_get(json, "hits"), i, hit)
	{
		json_t *path = json_object_get(hit, "path");

		if (json_object_size(seen) == LINKS_MAX)
			break;
		if (json_object_get(seen, json_string_value(path)))
			continue;
		json_object_set_new(seen, json_string_value(path), json_true());
		link_hit(q, path, content);
	}
	json_decref(seen);
}

static const struct {
	const char *tool;
	void (*link)(struct ofs_mcp_request *q, const json_t *json, json_t *content);
} links[] = {
	{ "memory_offload", link_stored },
	{ "memory_fetch", link_fetched },
	{ "memory_search", link_hits },
};

/* ---- tools/call */

static const struct ofs_call *find_tool(struct ofs_mcp_request *q)
{
	const char *name = ofs_mcp_message_param(q->message, "name");
	const struct ofs_call *call = name ? ofs_call_find(name) : NULL;

	if (call && call->flags & OFS_CALL_TOOL)
		return call;
	if (!name)
		ofs_mcp_error_set(q->err, OFS_MCP_INVALID_PARAMS, "\"name\" must be a string");
	else
		ofs_mcp_error_set(q->err, OFS_MCP_INVALID_PARAMS,
				  "there is no tool '%.128s': tools/list shows them", name);
	return NULL;
}

json_t *ofs_mcp_tools_call(struct ofs_mcp_request *q)
{
	const struct ofs_call *call = find_tool(q);
	const json_t *args = json_object_get(q->message->params, "arguments");
	struct ofs_error err = { "" };
	json_t *content, *json = NULL;

	if (!call)
		return NULL;
	if (args && !json_is_object(args)) {
		ofs_mcp_error_set(q->err, OFS_MCP_INVALID_PARAMS,
				  "\"arguments\" must be an object");
		return NULL;
	}
	if (ofs_service_call(q->service, &q->by, call, args, &err, &json) < 0)
		return ofs_mcp_tool_failure(err.text);
	content = json_pack("[o]", text_content(text_of(json)));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(links); i++)
		if (strcmp(links[i].tool, call->name) == 0)
			links[i].link(q, json, content);
	return json_pack("{s:o, s:o, s:b}", "content", content, "structuredContent", json,
			 "isError", 0);
}
