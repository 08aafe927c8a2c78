/* SPDX-License-Identifier: MIT */
#include "service/mcp/mcp.h"

#include "base/text.h"
#include "base/text_form.h"
#include "io/mounts.h"
#include "service/mcp/mcp_methods.h"

#define META_SERVER "io.modelcontextprotocol/serverInfo"
/* For results that depend on nothing but the version of the program. */
#define STATIC_TTL_MS 3600000
/* Time for a call that reads much: memory_grep ends earlier by itself. */
#define WORK_NS (16 * OFS_NS_PER_S)

#define INSTRUCTIONS                                                                               \
	"Large results that were offloaded stand in the conversation as pointers such as "         \
	"[offloaded] ... k3f9x2. Read the lines you need with memory_fetch, by the ref; find "     \
	"passages with memory_search and exact strings with memory_grep. Store a long text that "  \
	"you will need again with memory_offload and keep its pointer; memory_promote keeps what " \
	"must outlive the task. What memory_fetch cuts it continues from \"next\"."

/* ---- describing the server */

static json_t *server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "offloadfs", "title", "offloadfs", "version",
			 OFS_VERSION);
}

static json_t *capabilities(void)
{
	return json_pack("{s:{}, s:{}}", "tools", "resources");
}

static json_t *discover(struct ofs_mcp_request *q)
{
	return json_pack("{s:o, s:o, s:s}", "supportedVersions", ofs_mcp_version_names(),
			 "capabilities", capabilities(), "instructions", INSTRUCTIONS);
}

/* Legacy only. Chooses the client's version if it is supported, else the newest legacy one. */
static json_t *initialize(struct ofs_mcp_request *q)
{
	const char *wanted = ofs_mcp_message_param(q->message, "protocolVersion");
	const struct ofs_mcp_version *v, *newest = NULL;

	if (!wanted) {
		ofs_mcp_error_set(q->err, OFS_MCP_INVALID_PARAMS,
				  "\"protocolVersion\" must be a string");
		return NULL;
	}
	for (v = ofs_mcp_versions; v->name; v++) {
		if (v->modern)
			continue;
		newest = newest ? newest : v;
		if (strcmp(v->name, wanted) == 0)
			break;
	}
	return json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion",
			 v->name ? v->name : newest->name, "capabilities", capabilities(),
			 "serverInfo", server_info(), "instructions", INSTRUCTIONS);
}

static json_t *ping(struct ofs_mcp_request *q)
{
	return json_object();
}

/* ---- methods */

enum {
	LEGACY = 1 << 0,
	MODERN = 1 << 1,
	CACHED = 1 << 2, /* modern results have a lifetime for caches */
	STATIC = 1 << 3, /* the result is the same for all clients, and seldom changes */
	TREE = 1 << 4, /* uses the tree */
};

static const struct method {
	const char *name;
	unsigned int flags;
	json_t *(*run)(struct ofs_mcp_request *q);
} methods[] = {
	{ "server/discover", MODERN | CACHED | STATIC, discover },
	{ "initialize", LEGACY, initialize },
	{ "ping", LEGACY, ping },
	{ "tools/list", LEGACY | MODERN | CACHED | STATIC, ofs_mcp_tools_list },
	{ "tools/call", LEGACY | MODERN | TREE, ofs_mcp_tools_call },
	{ "resources/list", LEGACY | MODERN | CACHED | TREE, ofs_mcp_resources_list },
	{ "resources/templates/list", LEGACY | MODERN | CACHED | STATIC,
	  ofs_mcp_resources_templates },
	{ "resources/read", LEGACY | MODERN | CACHED | TREE, ofs_mcp_resources_read },
};

static const struct method *find_method(const struct ofs_mcp_message *m)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(methods); i++)
		if (methods[i].flags & (m->modern ? MODERN : LEGACY) &&
		    strcmp(methods[i].name, m->method) == 0)
			return &methods[i];
	return NULL;
}

/* Adds the members that every modern result has. */
static void complete(const struct method *method, json_t *result)
{
	json_object_set_new(result, "resultType", json_string("complete"));
	json_object_set_new(result, "_meta", json_pack("{s:o}", META_SERVER, server_info()));
	if (!(method->flags & CACHED))
		return;
	json_object_set_new(result, "ttlMs",
			    json_integer(method->flags & STATIC ? STATIC_TTL_MS : 0));
	json_object_set_new(result, "cacheScope",
			    json_string(method->flags & STATIC ? "public" : "private"));
}

/* ---- answers */

void ofs_mcp_answer_finish(struct ofs_mcp_answer *a)
{
	free(a->text);
	*a = (struct ofs_mcp_answer){ 0 };
}

/* Takes `body` and makes it the member `name` of the answer. */
static void write_answer(const struct ofs_mcp_message *m, const char *name, json_t *body,
			 int status, struct ofs_mcp_answer *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	json_t *json = json_pack("{s:s}", "jsonrpc", "2.0");

	if (m->id)
		json_object_set_new(json, "id", json_deep_copy(m->id));
	json_object_set_new(json, name, body);
	if (ofs_json_append(json, JSON_COMPACT, &out) < 0)
		ofs_out_of_memory();
	*ret = (struct ofs_mcp_answer){ .text = ofs_buf_steal_str(&out), .status = status };
}

static void write_error(const struct ofs_mcp_message *m, struct ofs_mcp_error *e,
			struct ofs_mcp_answer *ret)
{
	OFS_FREE char *text = ofs_text_readable(e->text);
	json_t *body = json_pack("{s:i, s:s}", "code", e->code, "message", text);

	if (e->data)
		json_object_set(body, "data", e->data);
	write_answer(m, "error", body, e->status, ret);
}

bool ofs_mcp_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
		  struct ofs_mcp_message *ret, struct ofs_mcp_answer *ret_answer)
{
	OFS_CLEANUP(ofs_mcp_error_finish) struct ofs_mcp_error err = { 0 };

	*ret_answer = (struct ofs_mcp_answer){ .status = 202 };
	if (ofs_mcp_message_read(text, len, headers, &err, ret) == 0)
		return ret->id != NULL;
	/* An object with a method and no id is a notification, even a wrong one. */
	if (!json_is_object(ret->json) || json_object_get(ret->json, "id") || !ret->method)
		write_error(ret, &err, ret_answer);
	else
		ret_answer->status = err.status;
	return false;
}

bool ofs_mcp_asks_tree(const struct ofs_mcp_message *m)
{
	const struct method *method = find_method(m);

	return method && method->flags & TREE;
}

void ofs_mcp_answer(struct ofs_service *service, const char *agent, const struct ofs_mcp_message *m,
		    struct ofs_mcp_answer *ret)
{
	OFS_CLEANUP(ofs_mcp_error_finish) struct ofs_mcp_error err = { 0 };
	struct ofs_mcp_request q = { service, { agent, "mcp" }, m, &err };
	const struct method *method = find_method(m);
	json_t *result = NULL;

	if (method) {
		result = method->run(&q);
		if (!result && !err.text)
			ofs_mcp_error_set(&err, OFS_MCP_INTERNAL_ERROR,
					  "the answer cannot be expressed in JSON");
		err.status = 200;
	} else {
		ofs_mcp_error_set(&err, OFS_MCP_METHOD_NOT_FOUND, "there is no method '%.128s'",
				  m->method);
		err.status = m->modern ? 404 : 200;
	}
	if (!result) {
		write_error(m, &err, ret);
		return;
	}
	if (m->modern)
		complete(method, result);
	write_answer(m, "result", result, 200, ret);
}

void ofs_mcp_decline(const struct ofs_mcp_message *m, const char *reason,
		     struct ofs_mcp_answer *ret)
{
	OFS_CLEANUP(ofs_mcp_error_finish) struct ofs_mcp_error err = { 0 };
	const struct method *method = find_method(m);

	if (method && method->run == ofs_mcp_tools_call) {
		json_t *result = ofs_mcp_tool_failure(reason);

		if (m->modern)
			complete(method, result);
		write_answer(m, "result", result, 200, ret);
		return;
	}
	ofs_mcp_error_set(&err, OFS_MCP_INTERNAL_ERROR, "%s", reason);
	err.status = 200;
	write_error(m, &err, ret);
}

int64_t ofs_mcp_patience(void)
{
	return WORK_NS + 2 * ofs_mount_wait();
}

void ofs_mcp_refuse_length(size_t max, struct ofs_mcp_answer *ret)
{
	OFS_CLEANUP(ofs_mcp_error_finish) struct ofs_mcp_error err = { 0 };

	ofs_mcp_error_set(&err, OFS_MCP_INVALID_REQUEST, "a message may have at most %zu bytes",
			  max);
	write_error(&(struct ofs_mcp_message){ 0 }, &err, ret);
}
