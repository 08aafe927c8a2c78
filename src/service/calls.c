/* SPDX-License-Identifier: MIT */
/* The table of calls, and their descriptions and schemas from calls.json. */
#include <pthread.h>
#include <string.h>

#include "service/asset.h"
#include "service/service.h"

/* clang-format off */
/* In the order in which they are listed. */
#define CALLS(X) \
	X(memory_fetch) X(memory_search) X(memory_grep) X(memory_offload) X(memory_list) \
	X(memory_promote) X(memory_stats) X(memory_info) X(memory_pin) X(memory_usage) X(tasks) \
	X(agents) X(context) X(reduce) X(compact)

#define DECLARE(name) extern const struct ofs_call ofs_call_##name;
#define ENTER(name) &ofs_call_##name,

CALLS(DECLARE)

const struct ofs_call *const ofs_calls[] = { CALLS(ENTER) NULL };
/* clang-format on */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_t *descriptions;

/* calls.json has only the properties of an output, all of which are always present. */
static json_t *output_schema(const json_t *properties)
{
	json_t *required = json_array();
	const char *name;
	json_t *each;

	if (!json_object_size(properties)) {
		json_decref(required);
		return json_pack("{s:s}", "type", "object");
	}
	json_object_foreach((json_t *)properties, name, each)
		json_array_append_new(required, json_string(name));
	return json_pack("{s:s, s:O, s:o, s:b}", "type", "object", "properties", properties,
			 "required", required, "additionalProperties", 0);
}

static json_t *input_schema(const json_t *call)
{
	json_t *required = json_object_get(call, "required");
	json_t *schema = json_pack("{s:s, s:O, s:b}", "type", "object", "properties",
				   json_object_get(call, "input"), "additionalProperties",
				   json_is_true(json_object_get(call, "open")));

	if (required)
		json_object_set(schema, "required", required);
	return schema;
}

static void load(void)
{
	json_t *all = json_loads((const char *)ofs_call_assets[0].data, 0, NULL), *call;
	const char *name;

	descriptions = json_object();
	json_object_foreach(all, name, call) json_object_set_new(
		descriptions, name,
		json_pack("{s:O, s:O, s:o, s:o}", "title", json_object_get(call, "title"),
			  "description", json_object_get(call, "description"), "inputSchema",
			  input_schema(call), "outputSchema",
			  output_schema(json_object_get(call, "output"))));
	json_decref(all);
}

const json_t *ofs_call_describe(const struct ofs_call *call)
{
	pthread_once(&once, load);
	return json_object_get(descriptions, call->name);
}

const struct ofs_call *ofs_call_find(const char *name)
{
	for (const struct ofs_call *const *call = ofs_calls; *call; call++)
		if (strcmp((*call)->name, name) == 0)
			return *call;
	return NULL;
}
