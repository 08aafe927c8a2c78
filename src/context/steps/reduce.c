/* SPDX-License-Identifier: MIT */
#include "context/steps/reduce.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/tokens.h"
#include "client/deposit.h"
#include "client/usage.h"
#include "codec/hash.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"
#include "context/steps/summary.h"

/* Hex digits of the hash in the id of a step without a task. */
#define STEP_HASH 12
#define OUTPUT_FOLDER "outputs"
/* In characters. The attribute may have 1,024 bytes. */
#define TITLE_MAX 200

#define HISTORY_MODE 0600
#define HISTORY_TRIES 1000
#define STEP_PREFIX "step_"
#define STEP_JSON ".json"
#define STEP_COMPACT ".compact"

/* The state of one reduction. */
struct reducing {
	const struct ofs_reduce_request *request;
	const struct ofs_tool_call *call;
	const struct ofs_tool_setting *setting; /* NULL: none */
	struct ofs_observing o;
	struct ofs_deposited file; /* the stored result; empty: none */
};

static void reducing_finish(struct reducing *r)
{
	ofs_deposited_finish(&r->file);
	ofs_observe_finish(&r->o);
}

/* Decides by the rule, unless a section for the tool says otherwise. */
static bool is_offloaded(const struct reducing *r)
{
	enum ofs_offload_when when = r->setting ? r->setting->when : OFS_OFFLOAD_BY_RULE;
	uint64_t size = r->o.content.size;

	if (!size || when == OFS_OFFLOAD_NEVER)
		return false;
	if (when == OFS_OFFLOAD_OVER)
		return size > r->setting->over;
	return when == OFS_OFFLOAD_ALWAYS || r->o.offload;
}

/* ---- the observation by a template */

/* Appends the value of a name in a section's template. */
static bool fill_in(const void *arg, const char *key, struct ofs_buf *out)
{
	const struct reducing *r = arg;
	bool is_arg = strncmp(key, "args.", strlen("args.")) == 0;
	const char *member = key + (is_arg ? strlen("args.") : 0);
	struct ofs_span span = ofs_span_member(r->call->args, member);
	json_t *value;
	bool found;

	if (strcmp(key, "size") == 0) {
		ofs_template_size(out, r->o.content.size);
		return true;
	}
	if (strcmp(key, "tool") == 0) {
		ofs_line_append_str(out, r->call->tool, OFS_OBSERVATION_ARG_MAX);
		return true;
	}
	if (strcmp(key, "observation") == 0) {
		ofs_buf_append(out, r->o.observation.data, r->o.observation.len);
		return true;
	}
	value = json_object_get(r->o.metadata, key);
	if (!is_arg && ofs_template_scalar(out, value, OFS_OBSERVATION_ARG_MAX))
		return true;
	value = span.p ? ofs_observe_scalar(span) : json_incref(json_object_get(r->o.args, member));
	found = ofs_template_scalar(out, value, OFS_OBSERVATION_ARG_MAX);
	json_decref(value);
	return found;
}

static void observe_by_template(struct reducing *r)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (!r->setting || !r->setting->observation)
		return;
	ofs_template_expand(r->setting->observation, fill_in, r, &text);
	r->o.observation.len = 0;
	ofs_line_append(&r->o.observation, (char *)text.data, text.len, OFS_OBSERVATION_MAX);
}

/* ---- metadata */

/* Keeps in the step the output that is neither stored nor in the observation. */
static void keep_output(struct reducing *r)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const struct ofs_tool_result *res = &r->o.result;
	const struct ofs_buf *said = &r->o.observation;
	bool is_dropped = r->o.rule == OFS_TOOL_WRITE && !r->o.failed, is_said;

	ofs_line_append(&line, res->text, res->text_len, OFS_OBSERVATION_MAX);
	is_said = r->o.rule == OFS_TOOL_OTHER && line.len == res->text_len &&
		  line.len == said->len && memcmp(line.data, said->data, line.len) == 0;
	if (!is_dropped && !is_said && res->content_len)
		json_object_set_new(r->o.metadata, "output",
				    ofs_line_json_whole(res->content, res->content_len));
}

/* Keeps members of the result that the step does not have yet. */
static void keep_rest(struct reducing *r)
{
	json_t *rest = r->o.result.rest, *value;
	const char *name;
	void *next;

	json_object_foreach_safe(rest, next, name, value)
	{
		if (json_equal(value, json_object_get(r->o.metadata, name)) ||
		    json_equal(value, json_object_get(r->o.args, name)))
			json_object_del(rest, name);
	}
	if (json_object_size(rest))
		json_object_set(r->o.metadata, "result", rest);
}

/* Puts the metadata that every result has before what the rule found. */
static void describe(struct reducing *r)
{
	const struct ofs_tool_result *res = &r->o.result;
	struct ofs_filetype type =
		ofs_filetype_find(NULL, &r->o.content, res->content, res->content_len);
	json_t *found = r->o.metadata, *m = json_object();

	r->o.metadata = m;
	json_object_set_new(m, "rule", json_string(ofs_tool_name(r->o.rule)));
	ofs_observe_note_number(&r->o, "bytes", r->o.content.size);
	ofs_observe_note_number(&r->o, "lines", r->o.content.lines);
	ofs_observe_note_number(&r->o, "tokens", ofs_tokens_count(res->content, res->content_len));
	json_object_set_new(m, "sha256", json_string(r->o.content.sha256));
	json_object_set_new(m, "mime", json_string(type.mime));
	json_object_update(m, found);
	json_decref(found);
	if (res->text_len != res->content_len)
		ofs_observe_note_number(&r->o, "text_bytes", res->text_len);
	if (res->images)
		ofs_observe_note_number(&r->o, "images", res->images);
	keep_rest(r);
}

/* ---- storing */

static int store(struct reducing *r, struct ofs_error *err)
{
	const struct ofs_reduce_request *q = r->request;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf title = OFS_BUF_INIT;
	OFS_FREE char *folder = q->task ? ofs_format("tasks/%s/" OUTPUT_FOLDER, q->task) : NULL;
	const char *category = q->category;
	struct ofs_deposit deposit = { .task = q->task, .folder = folder };
	int failed = ofs_access_open(q->access, true, err);

	if (!category && r->setting)
		category = r->setting->category;
	deposit.category = category ? category : r->o.category;
	ofs_line_append(&title, (char *)r->o.observation.data, r->o.observation.len, TITLE_MAX);
	/* The title lets searches find the file. */
	deposit.title = ofs_buf_str(&title);
	if (failed == 0)
		failed = ofs_deposit_store(&deposit, &r->o.content, q->access->backend, err,
					   &r->file);
	if (failed < 0)
		return failed;
	json_object_set_new(r->o.metadata, "path", json_string(r->file.path));
	ofs_usage_tell(
		q->access->backend,
		&(struct ofs_usage){
			.way = "reduce",
			.results = 1,
			.task = q->task,
			.offloaded = ofs_usage_tokens(&r->o.content),
			.pointers = ofs_tokens_count(r->o.observation.data, r->o.observation.len),
		});
	return 0;
}

/* ---- the history: tasks/TASK/history/step_NNN.json and its line, step_NNN.compact */

/* Raises *last to the number in the name of a step's file. */
static int note_number(void *arg, const char *name)
{
	uint64_t *last = arg;
	char digits[16]; /* too few to overflow */
	int end = 0;

	if (sscanf(name, STEP_PREFIX "%15[0-9]%n", digits, &end) == 1 &&
	    (strcmp(name + end, STEP_JSON) == 0 || strcmp(name + end, STEP_COMPACT) == 0))
		*last = OFS_MAX(*last, strtoull(digits, NULL, 10));
	return 0;
}

/* Writes a file atomically. Returns -EEXIST if its name or that of its temporary file is taken. */
static int put_file(struct ofs_backend *b, const char *path, const struct ofs_buf *data)
{
	const char *name = strrchr(path, '/') + 1;
	OFS_FREE char *temporary =
		ofs_format("%.*s.offload-%d-%s.tmp", (int)(name - path), path, (int)getpid(), name);
	ofs_handle h;
	int r = b->ops->create(b, temporary, HISTORY_MODE, &h);

	if (r < 0)
		return r;
	r = b->ops->write(b, h, data->data, data->len, 0);
	b->ops->close(b, h);
	if (r == 0)
		r = b->ops->rename(b, temporary, path, RENAME_NOREPLACE);
	if (r < 0)
		b->ops->unlink(b, temporary);
	return r;
}

/* Writes both files under one number. Returns -EEXIST if it is taken. */
static int write_numbered(const struct ofs_reduce_request *q, const char *folder, uint64_t number,
			  struct ofs_step *step)
{
	struct ofs_backend *b = q->access->backend;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT, line = OFS_BUF_INIT;
	OFS_FREE char *json_path = NULL, *line_path = NULL;
	int r;

	free(step->id);
	step->id = ofs_format(STEP_PREFIX "%03" PRIu64, number);
	json_path = ofs_format("%s/%s" STEP_JSON, folder, step->id);
	line_path = ofs_format("%s/%s" STEP_COMPACT, folder, step->id);
	ofs_step_print(step, &json);
	ofs_buf_append_str(&json, "\n");
	ofs_summary_line(step, q->settings, &line);
	ofs_buf_append_str(&line, "\n");
	r = put_file(b, json_path, &json);
	if (r < 0)
		return r;
	r = put_file(b, line_path, &line);
	if (r < 0)
		b->ops->unlink(b, json_path);
	return r;
}

/*
 * Writes the step to the task's history under the next number, which becomes its id. Several
 * processes may do so at once. After a failure neither file exists.
 */
static int add_to_history(const struct ofs_reduce_request *q, struct ofs_step *step,
			  struct ofs_error *err)
{
	OFS_FREE char *folder = ofs_format("tasks/%s/history", q->task);
	struct ofs_backend *b;
	uint64_t last = 0;
	ofs_handle lock;
	int r = ofs_access_open(q->access, true, err), locked;

	if (r < 0)
		return r;
	b = q->access->backend;
	r = ofs_backend_mkdirs(b, folder, err);
	if (r < 0)
		return r;
	/* The lock only saves attempts; steps stay apart because no name is ever replaced. */
	locked = b->ops->lock(b, folder, &lock);
	r = b->ops->list(b, folder, note_number, &last);
	if (r == 0) {
		r = -EEXIST;
		for (int i = 1; i <= HISTORY_TRIES && r == -EEXIST; i++)
			r = write_numbered(q, folder, last + (uint64_t)i, step);
	}
	if (locked == 0)
		b->ops->unlock(b, lock);
	return r < 0 ? ofs_error_set(err, -r, "cannot write a step into '%s': %s", folder,
				     strerror(-r))
		     : 0;
}

/* ---- the step */

/* Derives the id of a step without a task from the call. */
static int name_step(const struct ofs_tool_call *call, struct ofs_step *step, struct ofs_error *err)
{
	uint8_t sha[OFS_SHA256_SIZE];
	char hex[2 * OFS_SHA256_SIZE + 1];
	int r = ofs_sha256(call->object.p, call->object.len, sha);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot name the step: %s", strerror(-r));
	ofs_sha256_hex(sha, hex);
	step->id = ofs_format(STEP_PREFIX "%.*s", STEP_HASH, hex);
	return 0;
}

static int make_step(struct reducing *r, struct ofs_error *err, struct ofs_step *ret)
{
	struct ofs_step step = {
		.tool_name = ofs_strdup(r->call->tool),
		.minimal_args = json_incref(r->o.args),
		.observation = ofs_buf_steal_str(&r->o.observation),
		.outcome_ref = r->file.ref ? ofs_strdup(r->file.ref) : NULL,
		.success = !r->o.failed,
		.error = r->o.failed ? ofs_buf_steal_str(&r->o.error) : NULL,
		.has_timestamp = r->call->has_timestamp,
		.timestamp_ms = r->call->timestamp_ms,
		.metadata = json_incref(r->o.metadata),
	};
	int failed = r->request->task ? add_to_history(r->request, &step, err)
				      : name_step(r->call, &step, err);

	if (failed < 0)
		ofs_step_finish(&step);
	else
		*ret = step;
	return failed;
}

int ofs_reduce(const struct ofs_reduce_request *request, const struct ofs_tool_call *call,
	       struct ofs_error *err, struct ofs_step *ret)
{
	OFS_CLEANUP(reducing_finish) struct reducing r = { .request = request, .call = call };
	enum ofs_tool_rule rule;
	int failed;

	r.setting = ofs_tool_setting(request->settings, call->tool, &rule);
	failed = ofs_observe(&r.o, call, rule, request->settings);
	if (failed < 0)
		return ofs_error_set(err, -failed, "cannot examine the result: %s",
				     strerror(-failed));
	describe(&r);
	observe_by_template(&r);
	if (is_offloaded(&r))
		failed = store(&r, err);
	else
		keep_output(&r);
	return failed < 0 ? failed : make_step(&r, err, ret);
}
