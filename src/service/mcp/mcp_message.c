/* SPDX-License-Identifier: MIT */
#include "service/mcp/mcp_message.h"

#include "base/text.h"
#include "base/text_form.h"
#include "codec/base64.h"

#define META "io.modelcontextprotocol/"
#define META_VERSION META "protocolVersion"
#define META_CAPABILITIES META "clientCapabilities"
#define ENCODED_BEGIN "=?base64?"
#define ENCODED_END "?="

const struct ofs_mcp_version ofs_mcp_versions[] = {
	{ "2026-07-28", true },
	{ "2025-11-25", false },
	{ "2025-06-18", false },
	{ NULL },
};

static const struct ofs_mcp_version *find_version(const char *name)
{
	for (const struct ofs_mcp_version *v = ofs_mcp_versions; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}

json_t *ofs_mcp_version_names(void)
{
	json_t *names = json_array();

	for (const struct ofs_mcp_version *v = ofs_mcp_versions; v->name; v++)
		json_array_append_new(names, json_string(v->name));
	return names;
}

/* ---- errors */

void ofs_mcp_error_finish(struct ofs_mcp_error *e)
{
	free(e->text);
	json_decref(e->data);
	*e = (struct ofs_mcp_error){ 0 };
}

int ofs_mcp_error_set(struct ofs_mcp_error *e, int code, const char *fmt, ...)
{
	va_list ap;

	ofs_mcp_error_finish(e);
	va_start(ap, fmt);
	*e = (struct ofs_mcp_error){ .code = code, .status = 400, .text = ofs_vformat(fmt, ap) };
	va_end(ap);
	return -1;
}

void ofs_mcp_error_cursor(struct ofs_mcp_error *e)
{
	ofs_mcp_error_set(e, OFS_MCP_INVALID_PARAMS,
			  "\"cursor\" is not one of this server: begin without one");
}

static int refuse_version(struct ofs_mcp_error *err, const char *version)
{
	OFS_FREE char *shown = ofs_text_readable(version);

	ofs_mcp_error_set(err, OFS_MCP_UNSUPPORTED_VERSION,
			  "protocol version '%s' is not supported", shown);
	err->data =
		json_pack("{s:o, s:s}", "supported", ofs_mcp_version_names(), "requested", shown);
	return -1;
}

/* ---- the message */

void ofs_mcp_message_finish(struct ofs_mcp_message *m)
{
	json_decref(m->json);
	*m = (struct ofs_mcp_message){ 0 };
}

/* Returns the string, or NULL for another type or a string with a NUL. */
static const char *plain_string(const json_t *json)
{
	const char *text = json_string_value(json);

	return text && strlen(text) == json_string_length(json) ? text : NULL;
}

const char *ofs_mcp_message_param(const struct ofs_mcp_message *m, const char *name)
{
	return plain_string(json_object_get(m->params, name));
}

const json_t *ofs_mcp_message_cancels(const struct ofs_mcp_message *m)
{
	if (m->id || !m->method || strcmp(m->method, "notifications/cancelled") != 0)
		return NULL;
	return json_object_get(m->params, "requestId");
}

static int parse(const char *text, size_t len, struct ofs_mcp_error *err, json_t **ret)
{
	json_error_t why;

	if (ofs_json_is_deep(text, len))
		return ofs_mcp_error_set(err, OFS_MCP_PARSE_ERROR,
					 "the message has more than %d levels of nesting",
					 OFS_JSON_DEPTH);
	*ret = ofs_json_load(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY,
			     &why);
	if (*ret)
		return 0;
	return ofs_mcp_error_set(err, OFS_MCP_PARSE_ERROR, "byte %d: %s", why.position, why.text);
}

/* Checks and takes the members of JSON-RPC. */
static int take_members(struct ofs_mcp_error *err, struct ofs_mcp_message *m)
{
	const json_t *id = json_object_get(m->json, "id"), *params, *method;
	const char *rpc = json_string_value(json_object_get(m->json, "jsonrpc"));

	if (json_is_array(m->json))
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_REQUEST,
					 "this protocol has no batches: send each message by "
					 "itself");
	if (!json_is_object(m->json))
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_REQUEST,
					 "a message must be an object");
	if (json_is_string(id) || json_is_integer(id))
		m->id = id;
	if (!rpc || strcmp(rpc, "2.0") != 0)
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_REQUEST,
					 "\"jsonrpc\" must be \"2.0\"");
	method = json_object_get(m->json, "method");
	if (!method && (json_object_get(m->json, "result") || json_object_get(m->json, "error"))) {
		m->id = NULL;
		return 0;
	}
	if (id && !m->id)
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_REQUEST,
					 "\"id\" must be a string or an integer");
	m->method = plain_string(method);
	if (!m->method && json_is_string(method))
		m->method = "";
	if (!m->method)
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_REQUEST,
					 "\"method\" must be a string");
	params = json_object_get(m->json, "params");
	if (params && !json_is_object(params))
		return ofs_mcp_error_set(err,
					 m->id ? OFS_MCP_INVALID_PARAMS : OFS_MCP_INVALID_REQUEST,
					 "\"params\" must be an object");
	m->params = params;
	return 0;
}

/* ---- the version */

/* True if a message has a member or method that only modern versions have. */
static bool looks_modern(const struct ofs_mcp_message *m, const json_t *meta)
{
	return json_object_get(meta, META_CAPABILITIES) ||
	       strcmp(m->method, "server/discover") == 0 ||
	       strcmp(m->method, "subscriptions/listen") == 0;
}

/* Finds the version of a request in its _meta or its header. */
static int take_version(const struct ofs_mcp_headers *headers, struct ofs_mcp_error *err,
			struct ofs_mcp_message *m)
{
	const json_t *meta = json_object_get(m->params, "_meta");
	const json_t *said = json_object_get(meta, META_VERSION);
	const char *name = json_string_value(said), *header = headers ? headers->version : NULL;

	if (said && !name)
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_PARAMS,
					 "\"" META_VERSION "\" must be a string");
	if (name && header && strcmp(name, header) != 0)
		return ofs_mcp_error_set(err, OFS_MCP_HEADER_MISMATCH,
					 "header MCP-Protocol-Version is '%.64s', the body says "
					 "'%.64s'",
					 header, name);
	if (name || header) {
		m->version = find_version(name ? name : header);
		if (!m->version)
			return refuse_version(err, name ? name : header);
	}
	m->modern = m->version ? m->version->modern : looks_modern(m, meta);
	if (!m->modern)
		return 0;
	if (headers && name && !header)
		return ofs_mcp_error_set(err, OFS_MCP_HEADER_MISMATCH,
					 "header MCP-Protocol-Version is missing: it must be '%s'",
					 name);
	if (!name)
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_PARAMS,
					 "\"_meta\" must have \"" META_VERSION "\"");
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
		return ofs_mcp_error_set(err, OFS_MCP_INVALID_PARAMS,
					 "\"_meta\" must have \"" META_CAPABILITIES
					 "\", an object");
	return 0;
}

/* ---- headers */

/* True if a header, which may be encoded and surrounded by blanks, has the value `text`. */
static bool header_says(const char *header, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf plain = OFS_BUF_INIT;
	size_t begin = strlen(ENCODED_BEGIN), end = strlen(ENCODED_END), len;

	header += strspn(header, " \t");
	len = strlen(header);
	while (len && strchr(" \t", header[len - 1]))
		len--;
	if (len < begin + end || memcmp(header, ENCODED_BEGIN, begin) != 0 ||
	    memcmp(header + len - end, ENCODED_END, end) != 0)
		return len == strlen(text) && memcmp(header, text, len) == 0;
	return ofs_base64_decode(header + begin, len - begin - end, &plain) &&
	       strlen(text) == plain.len && memcmp(ofs_buf_str(&plain), text, plain.len) == 0;
}

static int check_header(const char *title, const char *header, const char *text,
			struct ofs_mcp_error *err)
{
	if (!header)
		return ofs_mcp_error_set(err, OFS_MCP_HEADER_MISMATCH, "header %s is missing",
					 title);
	if (header_says(header, text))
		return 0;
	return ofs_mcp_error_set(err, OFS_MCP_HEADER_MISMATCH,
				 "header %s is '%.256s', the body says '%.256s'", title, header,
				 text);
}

/* Returns the parameter that a header must repeat; NULL if the method has none. */
static const char *named(const struct ofs_mcp_message *m)
{
	if (strcmp(m->method, "tools/call") == 0 || strcmp(m->method, "prompts/get") == 0)
		return ofs_mcp_message_param(m, "name");
	if (strcmp(m->method, "resources/read") == 0)
		return ofs_mcp_message_param(m, "uri");
	return NULL;
}

static int check_headers(const struct ofs_mcp_headers *headers, struct ofs_mcp_error *err,
			 const struct ofs_mcp_message *m)
{
	const char *name = named(m);
	int r = check_header("Mcp-Method", headers->method, m->method, err);

	return r == 0 && name ? check_header("Mcp-Name", headers->name, name, err) : r;
}

int ofs_mcp_message_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
			 struct ofs_mcp_error *err, struct ofs_mcp_message *ret)
{
	*ret = (struct ofs_mcp_message){ 0 };
	if (parse(text, len, err, &ret->json) < 0 || take_members(err, ret) < 0)
		return -1;
	if (!ret->id) /* answers and notifications have no version of their own */
		return 0;
	if (take_version(headers, err, ret) < 0)
		return -1;
	return headers && ret->modern ? check_headers(headers, err, ret) : 0;
}
