/* SPDX-License-Identifier: MIT */
#include "service/http/route.h"

#include "service/http/assets.h"
#include "service/http/events.h"
#include "service/http/metrics.h"
#include "service/http/openapi.h"
#include "service/http/raw.h"
#include "service/http/reme.h"
#include "service/http/rpc.h"
#include "service/http/v1.h"

#define ID "/v1/memories/{id}"
#define QUICK OFS_ROUTE_QUICK
#define OPEN OFS_ROUTE_OPEN
#define REME OFS_ROUTE_REME
#define CONTENT OFS_ROUTE_CONTENT
#define CALL(method, path, flags, call)                      \
	{                                                    \
		method, path, flags, ofs_v1_call, call, NULL \
	}

/* clang-format off */
const struct ofs_http_route ofs_http_routes[] = {
	CALL("GET", "/v1/memories", 0, "memory_list"),
	CALL("POST", "/v1/memories", OFS_ROUTE_CREATED | CONTENT, "memory_offload"),
	CALL("GET", ID, 0, "memory_fetch"),
	CALL("GET", ID "/info", 0, "memory_info"),
	CALL("POST", ID "/promote", 0, "memory_promote"),
	CALL("POST", ID "/pin", 0, "memory_pin"),
	CALL("GET", "/v1/search", 0, "memory_search"),
	CALL("POST", "/v1/search", 0, "memory_search"),
	CALL("GET", "/v1/grep", 0, "memory_grep"),
	CALL("POST", "/v1/grep", 0, "memory_grep"),
	CALL("POST", "/v1/context", CONTENT, "context"),
	CALL("POST", "/v1/reduce", CONTENT, "reduce"),
	CALL("POST", "/v1/compact", CONTENT, "compact"),
	CALL("GET", "/v1/tasks", 0, "tasks"),
	CALL("GET", "/v1/agents", 0, "agents"),
	CALL("GET", "/v1/stats", 0, "memory_stats"),
	CALL("GET", "/v1/usage", 0, "memory_usage"),
	{ "GET", ID "/content", 0, ofs_raw_get, NULL, "The bytes of a file" },
	{ "GET", "/v1/events", 0, ofs_events_get, NULL, "What happens to files, as it happens" },
	{ "GET", "/metrics", 0, ofs_metrics_get, NULL, "Metrics in the format of Prometheus" },
	{ "GET", "/health", OPEN, ofs_health_get, NULL, "The health of the server" },
	{ "GET", "/openapi.json", QUICK, ofs_openapi_get, NULL, "This description" },
	{ "POST", "/mcp", CONTENT, ofs_rpc_post, NULL,
	  "A message of the Model Context Protocol", ofs_rpc_late },
	{ "POST", "/context_offload", REME | CONTENT, ofs_reme_offload, NULL,
	  "ReMe: makes the messages of a chat shorter" },
	{ "POST", "/summary_working_memory", REME | CONTENT, ofs_reme_summary, NULL,
	  "ReMe: the same, answered as a list" },
	{ "POST", "/grep", REME, ofs_reme_grep, NULL, "ReMe: lines that match" },
	{ "POST", "/grep_working_memory", REME, ofs_reme_grep_file, NULL,
	  "ReMe: lines of a file that contain a text" },
	{ "POST", "/read_file", REME, ofs_reme_read, NULL, "ReMe: lines of a file" },
	{ "POST", "/context_reload", REME, ofs_reme_reload, NULL,
	  "ReMe: grep, if it has a pattern, else read_file" },
	{ "POST", "/read_working_memory", REME, ofs_reme_read, NULL, "ReMe: the same" },
	{ "GET", "/{id}", OPEN | QUICK, ofs_assets_get, NULL, NULL },
	{ NULL },
};
/* clang-format on */

/* True if the target has the path of a route. Sets *ret_id to the segment for {id}, or NULL. */
static bool matches(const char *path, const struct ofs_http_target *target, const char **ret_id)
{
	*ret_id = NULL;
	for (size_t i = 0; i < target->n_segments; i++) {
		size_t len;

		if (*path++ != '/')
			return false;
		len = strcspn(path, "/");
		if (len == 4 && strncmp(path, "{id}", 4) == 0)
			*ret_id = target->segments[i];
		else if (strlen(target->segments[i]) != len ||
			 strncmp(path, target->segments[i], len) != 0)
			return false;
		path += len;
	}
	return !*path;
}

static bool is_method(const struct ofs_http_route *r, const char *method)
{
	return strcmp(r->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

static void allow(char **allowed, const char *method)
{
	OFS_FREE char *before = *allowed;
	const char *name = strcmp(method, "GET") == 0 ? "GET, HEAD" : method;

	*allowed = before ? ofs_format("%s, %s", before, name) : ofs_strdup(name);
}

const struct ofs_http_route *ofs_http_route_find(const struct ofs_http_route *routes,
						 const char *method,
						 const struct ofs_http_target *target,
						 const char **ret_id, char **ret_allowed)
{
	*ret_allowed = NULL;
	for (const struct ofs_http_route *r = routes; r->method; r++) {
		if (!matches(r->path, target, ret_id))
			continue;
		/* A path that is in the table literally is not also an {id}. */
		if (*ret_allowed && *ret_id && strcmp(r->path, "/{id}") == 0)
			break;
		if (is_method(r, method)) {
			free(*ret_allowed);
			*ret_allowed = NULL;
			return r;
		}
		allow(ret_allowed, r->method);
	}
	return NULL;
}
