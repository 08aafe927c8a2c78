/* SPDX-License-Identifier: MIT */
/*
 * The resources: every file as offload://REF, and its slices as offload://REF:10-20. They are read
 * by memory_fetch, within its limits.
 */
#include "client/access.h"
#include "codec/base64.h"
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

/* Calls the service, and sets an error of the call as that of the request. 0 or -errno. */
static int call(struct ofs_mcp_request *q, const char *name, const json_t *args, json_t **ret)
{
	struct ofs_error err = { "" };
	int r = ofs_service_call(q->service, &q->by, ofs_call_find(name), args, &err, ret);

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

static json_int_t number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

/* Makes the URI of what follows from the arguments in "next" of memory_fetch. Allocated. */
static char *next_uri(const json_t *next)
{
	const char *id = json_string_value(json_object_get(next, "memory_id"));
	bool lines = json_object_get(next, "line_start");
	long long first = number(next, lines ? "line_start" : "byte_offset");
	long long last = number(next, "line_end"), len = number(next, "byte_len");
	OFS_FREE char *to = NULL;

	if (last || len)
		to = ofs_format("%lld", lines ? last : first + len - 1);
	return ofs_format(OFS_MCP_URI "%s:%s%lld-%s", id, lines ? "" : "b", first, to ? to : "");
}

/* Makes a note on what an answer of memory_fetch lacks, allocated; NULL if it is complete. */
static char *cut_note(const json_t *fetched)
{
	const json_t *next = json_object_get(fetched, "next");
	OFS_FREE char *uri = NULL;

	if (!json_is_object(next))
		return NULL;
	uri = next_uri(next);
	return ofs_format("[cut here, at byte %lld of %lld: go on with %s]\n",
			  (long long)(number(fetched, "byte_offset") + number(fetched, "byte_len")),
			  (long long)number(fetched, "bytes"), uri);
}

/* Returns the text, followed by the note on a line of its own. */
static json_t *text_contents(const char *uri, const json_t *fetched, const char *note)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	const json_t *text = json_object_get(fetched, "text");

	ofs_buf_append(&out, json_string_value(text), json_string_length(text));
	if (note && out.len && out.data[out.len - 1] != '\n')
		ofs_buf_append_str(&out, "\n");
	if (note)
		ofs_buf_append_str(&out, note);
	return json_pack("[{s:s, s:s, s:o}]", "uri", uri, "mimeType", "text/plain", "text",
			 json_stringn(ofs_buf_str(&out), out.len));
}

/* ---- bytes other than text */

/* Bytes to be read again, unchanged. */
struct raw {
	const char *path;
	uint64_t off, len;
	struct ofs_buf encoded;
};

static int read_raw(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct raw *raw = arg;
	struct ofs_backend *b = access->backend;
	OFS_FREE char *bytes = ofs_alloc(raw->len + 1);
	ofs_handle h;
	ssize_t n = 0;
	int r = b->ops->open(b, raw->path, &h);

	if (r == 0) {
		n = b->ops->read(b, h, bytes, raw->len, raw->off);
		b->ops->close(b, h);
		r = n < 0 ? (int)n : 0;
	}
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read '%s': %s", raw->path,
				     ofs_backend_strerror(-r));
	raw->encoded.len = 0;
	ofs_base64_encode(bytes, (size_t)n, &raw->encoded);
	return 0;
}

static json_t *mime_of(struct ofs_mcp_request *q, json_t *id)
{
	json_t *args = json_pack("{s:O}", "memory_id", id), *info = NULL, *mime = NULL;

	if (call(q, "memory_info", args, &info) == 0)
		mime = json_incref(json_object_get(info, "type"));
	ofs_mcp_error_finish(q->err);
	json_decref(args);
	json_decref(info);
	if (!json_is_string(mime) || !strchr(json_string_value(mime), '/')) {
		json_decref(mime);
		mime = json_string("application/octet-stream");
	}
	return mime;
}

/* Returns the bytes in base64, and the note, if any, as an item of its own. */
static json_t *blob_contents(struct ofs_mcp_request *q, const char *uri, const json_t *fetched,
			     const char *note)
{
	struct raw raw = { .path = json_string_value(json_object_get(fetched, "path")),
			   .off = (uint64_t)number(fetched, "byte_offset"),
			   .len = (uint64_t)number(fetched, "byte_len") };
	struct ofs_error err;
	json_t *contents = NULL;
	int r = ofs_service_use(q->service, q->by.agent, false, read_raw, &raw, &err);

	if (r < 0)
		ofs_mcp_error_set(q->err, OFS_MCP_INTERNAL_ERROR, "%s", err.text);
	else
		contents = json_pack("[{s:s, s:o, s:o}]", "uri", uri, "mimeType",
				     mime_of(q, json_object_get(fetched, "memory_id")), "blob",
				     json_stringn(ofs_buf_str(&raw.encoded), raw.encoded.len));
	if (contents && note) {
		OFS_FREE char *rest = next_uri(json_object_get(fetched, "next"));

		json_array_append_new(contents, json_pack("{s:s, s:s, s:s}", "uri", rest,
							  "mimeType", "text/plain", "text", note));
	}
	ofs_buf_finish(&raw.encoded);
	return contents;
}

/* ---- reading */

/* Sets an error with the URI in its data, as the protocol requires. */
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
	OFS_FREE char *note = NULL;
	json_t *args, *fetched = NULL, *contents;
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
	note = cut_note(fetched);
	if (strcmp(json_string_value(json_object_get(fetched, "encoding")), "lossy") == 0)
		contents = blob_contents(q, uri, fetched, note);
	else
		contents = text_contents(uri, fetched, note);
	json_decref(fetched);
	return contents ? json_pack("{s:o}", "contents", contents) : NULL;
}
