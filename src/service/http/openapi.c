/* SPDX-License-Identifier: MIT */
#include "service/http/openapi.h"

#include <ctype.h>

#define ERROR_REF "#/components/schemas/Error"

static json_t *content(const char *type, json_t *schema)
{
	return json_pack("{s:{s:o}}", type, "schema", schema);
}

static void add_response(json_t *responses, const char *status, const char *description,
			 json_t *content)
{
	json_t *response = json_pack("{s:s}", "description", description);

	if (content)
		json_object_set_new(response, "content", content);
	json_object_set_new(responses, status, response);
}

static void add_error(json_t *responses, const char *status, const char *description)
{
	add_response(responses, status, description,
		     content("application/json", json_pack("{s:s}", "$ref", ERROR_REF)));
}

static bool is_post(const struct ofs_http_route *r)
{
	return strcmp(r->method, "POST") == 0;
}

static bool has_id(const struct ofs_http_route *r)
{
	return strstr(r->path, "{id}") != NULL;
}

/* ---- parameters and bodies */

static json_t *parameter(const char *where, const char *name, bool required, json_t *schema)
{
	const char *text = json_string_value(json_object_get(schema, "description"));
	json_t *p = json_pack("{s:s, s:s, s:b, s:o}", "name", name, "in", where, "required",
			      required, "schema", schema);

	if (text)
		json_object_set_new(p, "description", json_string(text));
	/* Commas separate the items of an array: by=day,way. */
	if (strcmp(where, "query") == 0)
		json_object_set_new(p, "explode", json_false());
	return p;
}

static bool is_required(const json_t *schema, const char *name)
{
	const json_t *each;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i,
			   each) if (strcmp(json_string_value(each), name) == 0) return true;
	return false;
}

/* Adds the members of a schema as parameters, without the id if that is in the path. */
static void add_members(json_t *parameters, const json_t *schema, bool has_id)
{
	const char *name;
	json_t *member;

	json_object_foreach(json_object_get(schema, "properties"), name, member)
	{
		if (has_id && strcmp(name, "memory_id") == 0)
			continue;
		json_array_append_new(parameters,
				      parameter("query", name, is_required(schema, name),
						json_copy(member)));
	}
}

static json_t *body_schema(const json_t *schema, bool has_id)
{
	json_t *body = json_deep_copy(schema), *required = json_object_get(body, "required");

	if (!has_id)
		return body;
	json_object_del(json_object_get(body, "properties"), "memory_id");
	for (size_t i = json_array_size(required); i--;)
		if (strcmp(json_string_value(json_array_get(required, i)), "memory_id") == 0)
			json_array_remove(required, i);
	return body;
}

static void take_call(const struct ofs_http_route *r, json_t *operation, json_t *parameters)
{
	const json_t *about = ofs_call_describe(ofs_call_find(r->call));
	const json_t *schema = json_object_get(about, "inputSchema");
	json_t *body;

	json_object_set(operation, "summary", json_object_get(about, "title"));
	json_object_set(operation, "description", json_object_get(about, "description"));
	if (!is_post(r)) {
		add_members(parameters, schema, has_id(r));
		return;
	}
	body = content("application/json", body_schema(schema, has_id(r)));
	json_object_set_new(operation, "requestBody",
			    json_pack("{s:b, s:o}", "required", 1, "content", body));
}

/* ---- responses */

static json_t *answer_of(const struct ofs_http_route *r)
{
	static const struct {
		const char *path, *type;
	} others[] = {
		{ "/metrics", "text/plain" },
		{ "/v1/events", "text/event-stream" },
		{ "/v1/memories/{id}/content", "application/octet-stream" },
	};

	if (r->call)
		return content("application/json",
			       json_deep_copy(json_object_get(
				       ofs_call_describe(ofs_call_find(r->call)), "outputSchema")));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
		if (strcmp(others[i].path, r->path) == 0)
			return content(others[i].type, json_pack("{s:s}", "type", "string"));
	return content("application/json", json_pack("{s:s}", "type", "object"));
}

static json_t *responses_of(const struct ofs_http_route *r)
{
	json_t *all = json_object();

	add_response(all, r->flags & OFS_ROUTE_CREATED ? "201" : "200", "Success", answer_of(r));
	if (r->call)
		add_error(all, "400", "The request is invalid");
	if (r->flags & OFS_ROUTE_REME)
		add_response(all, "422", "The body is invalid",
			     content("application/json", json_pack("{s:s}", "type", "object")));
	if (has_id(r))
		add_error(all, "404", "There is no such file");
	if (!(r->flags & OFS_ROUTE_OPEN)) {
		add_error(all, "401", "The token is missing or wrong");
		add_error(all, "403", "The origin of the request, or the request, is not allowed");
	}
	add_error(all, "default", "Another error, with the status of its code");
	return all;
}

/* ---- the document */

/* Returns the operationId: "get_v1_memories_id". */
static json_t *name_of(const struct ofs_http_route *r)
{
	OFS_FREE char *text = ofs_format("%s%s", r->method, r->path);
	size_t n = 0;

	for (char *p = text; *p; p++) {
		if (isalnum((unsigned char)*p))
			text[n++] = (char)tolower((unsigned char)*p);
		else if (n && text[n - 1] != '_')
			text[n++] = '_';
	}
	n -= n && text[n - 1] == '_';
	return json_stringn(text, n);
}

static json_t *operation_of(const struct ofs_http_route *r)
{
	json_t *operation = json_pack("{s:o}", "operationId", name_of(r));
	json_t *parameters = json_array();
	json_t *text = json_pack("{s:s}", "type", "string");

	if (r->summary)
		json_object_set_new(operation, "summary", json_string(r->summary));
	if (has_id(r))
		json_array_append_new(parameters, parameter("path", "id", true, json_copy(text)));
	if (!(r->flags & OFS_ROUTE_OPEN) && strncmp(r->path, "/v1/", 4) == 0)
		json_array_append_new(parameters,
				      parameter("header", "Offload-Agent", false, json_copy(text)));
	if (r->call)
		take_call(r, operation, parameters);
	else if (is_post(r))
		json_object_set_new(operation, "requestBody",
				    json_pack("{s:b, s:o}", "required", 1, "content",
					      content("application/json",
						      json_pack("{s:s}", "type", "object"))));
	json_object_set_new(operation, "parameters", parameters);
	json_object_set_new(operation, "responses", responses_of(r));
	if (r->flags & OFS_ROUTE_OPEN)
		json_object_set_new(operation, "security", json_array());
	json_decref(text);
	return operation;
}

static json_t *paths_of(const struct ofs_http_route *routes)
{
	json_t *paths = json_object();

	for (const struct ofs_http_route *r = routes; r->method; r++) {
		json_t *path = json_object_get(paths, r->path);

		if (!r->call && !r->summary)
			continue;
		if (!path)
			json_object_set_new(paths, r->path, path = json_object());
		json_object_set_new(path, is_post(r) ? "post" : "get", operation_of(r));
	}
	return paths;
}

static json_t *components(void)
{
	return json_pack("{s:{s:{s:s, s:{s:{s:s, s:{s:{s:s}, s:{s:s}}, s:[s,s]}}, s:[s]}},"
			 " s:{s:{s:s, s:s}}}",
			 "schemas", "Error", "type", "object", "properties", "error", "type",
			 "object", "properties", "code", "type", "string", "message", "type",
			 "string", "required", "code", "message", "required", "error",
			 "securitySchemes", "token", "type", "http", "scheme", "bearer");
}

void ofs_openapi_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	ofs_http_reply_json(ret, 200,
			    json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:[{s:[]}]}", "openapi",
				      "3.1.0", "info", "title", "offloadfs", "version", OFS_VERSION,
				      "paths", paths_of(x->site->routes), "components",
				      components(), "security", "token"));
}
