/* SPDX-License-Identifier: MIT */
/* memory_stats, tasks and agents: what was saved, and for whom. */
#include <string.h>

#include "client/agent_list.h"
#include "client/savings.h"
#include "service/call_run.h"

#define STATUS ".offload/status.json"

static unsigned int columns(const json_t *by)
{
	unsigned int bits = by ? 0 : 1u << OFS_SAVINGS_WAY;

	for (size_t i = 0; i < json_array_size(by); i++)
		for (unsigned int k = 0; k < OFS_SAVINGS_COLUMNS; k++)
			if (strcmp(json_string_value(json_array_get(by, i)),
				   ofs_savings_columns[k]) == 0)
				bits |= 1u << k;
	return bits;
}

static int stats_call(struct ofs_call_run *c)
{
	OFS_FREE char *ledger = NULL, *text = NULL;
	const char *since = ofs_call_text(c, "since");
	char first[OFS_SAVINGS_DAY_SIZE];
	json_t *status;
	int r;

	if (!ofs_savings_since(since, first))
		return ofs_error_set(c->err, EINVAL,
				     "since must be a day (2026-01-31) or an age (7d)");
	r = ofs_backend_read_text(c->access->backend, OFS_SAVINGS_PATH, &ledger);
	if (r < 0)
		return ofs_call_failed(c, r, "read", OFS_SAVINGS_PATH);
	r = ofs_backend_read_text(c->access->backend, STATUS, &text);
	if (r < 0)
		return ofs_call_failed(c, r, "read", STATUS);
	status = json_loads(text, 0, NULL);
	if (!status)
		return ofs_error_set(c->err, EPROTO, "cannot make sense of %s", STATUS);
	c->result = ofs_savings_sum(ledger, first,
				    columns(json_is_array(json_object_get(c->args, "by"))
						    ? json_object_get(c->args, "by")
						    : NULL));
	json_object_set_new(c->result, "since", *first ? json_string(first) : json_null());
	json_object_set_new(c->result, "status", status);
	return 0;
}

/* Returns {what: list}, with all names made valid UTF-8. */
static json_t *listed(const char *what, json_t *list)
{
	json_t *each;
	size_t i;

	json_array_foreach(list, i, each) json_object_set_new(
		each, "name", ofs_call_string(json_string_value(json_object_get(each, "name"))));
	return json_pack("{s:o}", what, list);
}

static int tasks_call(struct ofs_call_run *c)
{
	json_t *tasks;
	int r = ofs_tasks_load(c->access->backend, c->err, &tasks);

	if (r == 0)
		c->result = listed("tasks", tasks);
	return r;
}

static int agents_call(struct ofs_call_run *c)
{
	json_t *agents;
	int r = ofs_agents_load(c->access->backend, &agents);

	if (r < 0)
		return ofs_call_failed(c, r, "list", "agents");
	c->result = listed("agents", agents);
	return 0;
}

const struct ofs_call ofs_call_memory_stats = { "memory_stats", OFS_CALL_TOOL, stats_call };

const struct ofs_call ofs_call_tasks = { "tasks", 0, tasks_call };

const struct ofs_call ofs_call_agents = { "agents", 0, agents_call };
