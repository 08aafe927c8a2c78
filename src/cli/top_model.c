/* SPDX-License-Identifier: MIT */
#include "cli/top_model.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/text_form.h"

#define LOG_MAX 500 /* lines kept */
#define MS_PER_S 1000.0

/* The numbers of the status that have rates. Of several, the rate of the sum. */
static const struct rate {
	const char *name;
	const char *paths[8];
} rates[] = {
	{ "requests",
	  { "calls.lookup", "calls.getattr", "calls.readdir", "calls.read", "calls.write",
	    "calls.change", "calls.sync" } },
	{ "lookups", { "calls.lookup" } },
	{ "reads", { "calls.read" } },
	{ "writes", { "calls.write" } },
	{ "changes", { "calls.change" } },
	{ "syncs", { "calls.sync" } },
	{ "read_bytes", { "bytes_read" } },
	{ "written_bytes", { "bytes_written" } },
	{ "sealed_bytes", { "sealed.bytes" } },
	{ "sealed_stored", { "sealed.stored" } },
	{ "frame_hits", { "cache.frames.hits", "cache.frames.ahead" } },
	{ "frame_loads", { "cache.frames.loads" } },
	{ "inode_hits", { "cache.inodes.hits" } },
	{ "inode_loads", { "cache.inodes.loads" } },
	{ "tokens_offloaded", { "tokens.offloaded" } },
	{ "tokens_shown", { "tokens.pointers" } },
	{ "tokens_read", { "tokens.read" } },
};

void ofs_top_model_finish(struct ofs_top_model *m)
{
	free(m->store);
	free(m->mounted);
	free(m->error);
	json_decref(m->status);
	json_decref(m->rates);
	json_decref(m->newest);
	json_decref(m->tasks);
	json_decref(m->agents);
	json_decref(m->rows_of);
	json_decref(m->tiers);
	json_decref(m->log);
	json_decref(m->told);
	*m = (struct ofs_top_model){ 0 };
}

/* ---- numbers */

static const json_t *member(const json_t *json, const char *path)
{
	char key[64];

	for (size_t n; json && *path; path += n + (path[n] == '.')) {
		n = strcspn(path, ".");
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		json = json_object_get(json, key);
	}
	return json;
}

static double number(const json_t *json, const char *path)
{
	const json_t *n = member(json, path);

	return json_is_number(n) ? json_number_value(n) : -1;
}

double ofs_top_number(const struct ofs_top_model *m, const char *path)
{
	return number(m->status, path);
}

double ofs_top_rate(const struct ofs_top_model *m, const char *name)
{
	return number(m->rates, name);
}

int64_t ofs_top_time(const json_t *text)
{
	struct tm tm = { 0 };
	const char *s = json_string_value(text);

	return s && strptime(s, "%Y-%m-%dT%H:%M:%SZ", &tm) ? (int64_t)timegm(&tm) * OFS_NS_PER_S
							   : 0;
}

double ofs_top_lag(const struct ofs_top_model *m, int64_t now)
{
	int64_t until = ofs_top_time(member(m->status, "remote.complete_until"));

	if (ofs_top_number(m, "remote.pending_bytes") == 0)
		return 0;
	return until ? (double)OFS_MAX(now - until, (int64_t)0) / (double)OFS_NS_PER_S : -1;
}

/* Returns how much the numbers have grown, or -1 if that is unknown or the daemon has restarted. */
static double growth(const struct rate *rate, const json_t *before, const json_t *now)
{
	double sum = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(rate->paths) && rate->paths[i]; i++) {
		double was = number(before, rate->paths[i]), is = number(now, rate->paths[i]);

		if (was < 0 || is < was)
			return -1;
		sum += is - was;
	}
	return sum;
}

/* Takes a status, unless the daemon's clock tells that it is the old one, kept for a moment. */
static void take_status(struct ofs_top_model *m, json_t *status)
{
	double was = ofs_top_number(m, "uptime_ms"), is = number(status, "uptime_ms");
	double seconds = (is - was) / MS_PER_S;
	json_t *all;

	if (m->status && was >= 0 && is == was) {
		json_decref(status);
		return;
	}
	all = json_object();
	m->seconds = was >= 0 && is > was ? seconds : 0;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(rates); i++) {
		double n = m->seconds > 0 ? growth(&rates[i], m->status, status) : -1;

		json_object_set_new(all, rates[i].name,
				    n < 0 ? json_null() : json_real(n / m->seconds));
	}
	json_decref(m->rates);
	json_decref(m->status);
	m->rates = all;
	m->status = status;
	m->uptime = is < 0 ? 0 : (int64_t)is;
}

/* ---- rows */

/* Adds the agent in whose tree a path is, "a/b", and the task, unless the row has it. */
static void set_whose(json_t *row, const char *path)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf agent = OFS_BUF_INIT;
	static const char agents[] = "agents/", tasks[] = "tasks/";
	const char *end;

	while (strncmp(path, agents, strlen(agents)) == 0 &&
	       (end = strchr(path + strlen(agents), '/'))) {
		path += strlen(agents);
		ofs_buf_append_str(&agent, agent.len ? "/" : "");
		ofs_buf_append(&agent, path, (size_t)(end - path));
		path = end + 1;
	}
	if (agent.len)
		json_object_set_new(row, "agent", json_string(ofs_buf_str(&agent)));
	if (strncmp(path, tasks, strlen(tasks)) != 0 || json_object_get(row, "task"))
		return;
	path += strlen(tasks);
	end = strchr(path, '/');
	if (end)
		json_object_set_new(row, "task", json_stringn(path, (size_t)(end - path)));
}

static void take_log(struct ofs_top_model *m, json_t *lines)
{
	json_t *line;
	size_t i;

	json_decref(m->told);
	m->told = lines;
	if (!m->log)
		m->log = json_array();
	json_array_foreach(lines, i, line)
	{
		const char *path = json_string_value(json_object_get(line, "path"));

		if (path)
			set_whose(line, path);
		json_array_append(m->log, line);
	}
	while (json_array_size(m->log) > LOG_MAX)
		json_array_remove(m->log, 0);
}

/* Makes a row of a slice. Four bytes of plain text are about a token. */
static json_t *slice_row(const json_t *slice)
{
	json_int_t bytes = json_integer_value(json_object_get(slice, "bytes"));
	json_t *row = json_pack("{s:O?, s:s, s:O?, s:O?, s:I, s:I}", "time",
				json_object_get(slice, "time"), "event", "slice", "path",
				json_object_get(slice, "path"), "slice",
				json_object_get(slice, "slice"), "size", bytes, "tokens",
				(bytes + 3) / 4);
	const char *path = json_string_value(json_object_get(slice, "path"));

	if (row && path)
		set_whose(row, path);
	return row;
}

static const char *time_text(const json_t *row)
{
	const char *text = json_string_value(json_object_get(row, "time"));

	return text ? text : "";
}

/* Merges the lines of the log and the slices, each in order, into one list. */
static void merge_newest(struct ofs_top_model *m)
{
	const json_t *slices = json_object_get(m->status, "slices");
	size_t left = json_array_size(m->log), at = 0;
	json_t *list = json_array(), *slice;

	while (left || at < json_array_size(slices)) {
		slice = json_array_get(slices, at);
		if (slice && (!left || strcmp(time_text(slice),
					      time_text(json_array_get(m->log, left - 1))) > 0)) {
			json_array_append_new(list, slice_row(slice));
			at++;
		} else {
			json_array_append(list, json_array_get(m->log, --left));
		}
	}
	json_decref(m->newest);
	m->newest = list;
}

/* Returns rows with "name", and with "now": what each has gained per second since `before`. */
static json_t *name_rows(json_t *rows, const char *key, const json_t *before, double seconds)
{
	json_t *row, *was = json_object(), *list = json_array();
	size_t i;

	json_array_foreach(before, i, row)
		json_object_set(was, json_string_value(json_object_get(row, "name")), row);
	json_array_foreach(rows, i, row)
	{
		const char *given = json_string_value(json_object_get(row, key));
		const char *name = given && *given ? given : "-";
		double n = number(row, "offloaded") -
			   OFS_MAX(number(json_object_get(was, name), "offloaded"), 0.0);

		json_object_set_new(row, "name", json_string(name));
		json_object_set_new(row, "now",
				    json_real(before && seconds > 0 && n > 0 ? n / seconds : 0));
		json_array_append(list, row);
	}
	json_decref(was);
	return list;
}

static void calm(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) json_object_set_new(row, "now", json_real(0));
}

/* A sample lacks rows if they are unchanged, or if it is too soon to read them again. */
static void take_rows(struct ofs_top_model *m, const json_t *sample)
{
	json_t *tokens = json_object_get(m->status, "tokens");
	bool same = json_equal(tokens, m->rows_of);
	double seconds = (double)(m->uptime - m->rows_at) / MS_PER_S;
	struct {
		const char *part, *key;
		json_t **rows;
	} all[] = { { "tasks", "task", &m->tasks }, { "agents", "agent", &m->agents } };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(all); i++) {
		json_t *rows = json_object_get(sample, all[i].part), *list;

		if (!rows) {
			if (same)
				calm(*all[i].rows);
			continue;
		}
		same = true;
		list = name_rows(rows, all[i].key, *all[i].rows, seconds);
		json_decref(*all[i].rows);
		*all[i].rows = list;
	}
	if (!same)
		return;
	m->rows_at = m->uptime;
	json_decref(m->rows_of);
	m->rows_of = json_incref(tokens);
}

static void take_tiers(struct ofs_top_model *m, const json_t *groups)
{
	static const char *const sums[] = { "files", "bytes", "stored_bytes", "tokens" };
	json_t *group, *tier;
	size_t i;

	json_decref(m->tiers);
	m->tiers = json_object();
	json_array_foreach(groups, i, group)
	{
		const char *name = json_string_value(json_object_get(group, "tier"));

		if (!name)
			continue;
		tier = json_object_get(m->tiers, name);
		if (!tier) {
			tier = json_object();
			json_object_set_new(m->tiers, name, tier);
		}
		for (size_t k = 0; k < OFS_ARRAY_SIZE(sums); k++)
			json_object_set_new(
				tier, sums[k],
				json_integer(json_integer_value(json_object_get(tier, sums[k])) +
					     json_integer_value(json_object_get(group, sums[k]))));
	}
}

/* ---- samples */

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = text ? ofs_strdup(text) : NULL;
}

void ofs_top_model_fail(struct ofs_top_model *m, const char *reason)
{
	set_text(&m->error, reason);
	json_decref(m->rates);
	m->rates = NULL;
	m->seconds = 0;
	calm(m->tasks);
	calm(m->agents);
}

bool ofs_top_model_take(struct ofs_top_model *m, json_t *sample)
{
	const char *error = json_string_value(json_object_get(sample, "error"));
	json_t *status = json_object_get(sample, "status");

	if (json_object_get(sample, "text")) {
		json_decref(sample);
		return false;
	}
	if (error) {
		ofs_top_model_fail(m, error);
		json_decref(sample);
		return true;
	}
	set_text(&m->error, NULL);
	set_text(&m->store, json_string_value(json_object_get(sample, "store")));
	set_text(&m->mounted, json_string_value(json_object_get(sample, "mounted")));
	if (status)
		take_status(m, json_incref(status));
	take_rows(m, sample);
	if (json_object_get(sample, "log"))
		take_log(m, json_incref(json_object_get(sample, "log")));
	if (json_object_get(sample, "tiers"))
		take_tiers(m, json_object_get(sample, "tiers"));
	merge_newest(m);
	json_decref(sample);
	return true;
}

json_t *ofs_top_model_json(const struct ofs_top_model *m, int64_t now)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?}", "time",
			 ofs_json_time(now), "store", ofs_json_string(m->store), "mounted",
			 ofs_json_string(m->mounted), "seconds",
			 m->seconds > 0 ? json_real(m->seconds) : json_null(), "rates", m->rates,
			 "status", m->status, "tiers", m->tiers, "log", m->told, "tasks", m->tasks,
			 "agents", m->agents);
}
