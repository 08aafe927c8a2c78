/* SPDX-License-Identifier: MIT */
#include "context/steps/reduce.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/tokens.h"
#include "base/util.h"
#include "client/offload.h"
#include "codec/hash.h"
#include "context/steps/filetype.h"
#include "context/steps/history.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"

/* Hex digits of the hash in the id of a step without a task. */
#define STEP_HASH 12
#define OUTPUT_FOLDER "outputs"
/* In characters; an attribute takes 1,024 bytes. */
#define TITLE_MAX 200

/* One call on its way. */
struct reducing {
	const struct ofs_reduce_request *request;
	const struct ofs_tool_call *call;
	const struct ofs_tool_setting *setting; /* NULL: none */
	struct ofs_tool_result result;
	struct ofs_spool spool; /* of result.content */
	struct ofs_content content;
	struct ofs_observing o;
	struct ofs_offloaded done;
	struct ofs_error *err;
};

static void reducing_finish(struct reducing *r)
{
	ofs_offloaded_finish(&r->done);
	ofs_observe_finish(&r->o);
	ofs_spool_finish(&r->spool);
	ofs_tool_result_finish(&r->result);
}

/* ---- looking */

static int look(struct reducing *r, enum ofs_tool_rule rule)
{
	int failed;

	ofs_observe_init(&r->o, rule, r->call);
	ofs_tool_result_open(r->call->result, r->o.rule, &r->result);
	ofs_spool_wrap(&r->spool, r->result.content, r->result.content_len);
	failed = ofs_content_scan(&r->spool, &r->content);
	if (failed < 0)
		return ofs_error_set(r->err, -failed, "cannot look at the result: %s",
				     strerror(-failed));
	r->o.result = &r->result;
	r->o.content = &r->content;
	r->o.settings = r->request->settings;
	ofs_observe(&r->o);
	return 0;
}

/* Decided by the rule, unless a section for the tool says otherwise. */
static bool is_offloaded(const struct reducing *r)
{
	if (!r->content.size)
		return false;
	switch (r->setting ? r->setting->when : OFS_OFFLOAD_BY_RULE) {
	case OFS_OFFLOAD_ALWAYS:
		return true;
	case OFS_OFFLOAD_NEVER:
		return false;
	case OFS_OFFLOAD_OVER:
		return r->content.size > r->setting->over;
	case OFS_OFFLOAD_BY_RULE:
	default:
		return r->o.offload;
	}
}

/* Appends the value of a name in the template of a section. */
static bool fill_in(const void *arg, const char *name, size_t len, struct ofs_buf *out)
{
	const struct reducing *r = arg;
	OFS_FREE char *key = ofs_strndup(name, len);
	const char *member = key;
	struct ofs_span span;
	json_t *value;
	bool found;

	if (strcmp(key, "size") == 0) {
		ofs_template_size(out, r->content.size);
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
	if (strncmp(key, "args.", strlen("args.")) == 0)
		member += strlen("args.");
	else if (ofs_template_scalar(out, json_object_get(r->o.metadata, key),
				     OFS_OBSERVATION_ARG_MAX))
		return true;
	span = ofs_span_member(r->call->args, member);
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

static bool is_shown_whole(const struct reducing *r)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const struct ofs_tool_result *res = &r->result;

	if (r->o.rule != OFS_TOOL_OTHER)
		return false;
	ofs_line_append(&line, res->text, res->text_len, OFS_OBSERVATION_MAX);
	return line.len == res->text_len && line.len == r->o.observation.len &&
	       memcmp(line.data, r->o.observation.data, line.len) == 0;
}

/* Output that is neither stored nor in the observation stays in the step. */
static void keep_output(struct reducing *r)
{
	bool dropped = r->o.rule == OFS_TOOL_WRITE && !r->o.failed;

	if (dropped || !r->result.content_len || is_shown_whole(r))
		return;
	json_object_set_new(r->o.metadata, "output",
			    ofs_line_json_whole(r->result.content, r->result.content_len));
}

/* Keeps the members beside the result's text that the step does not have already. */
static void keep_rest(struct reducing *r)
{
	json_t *rest = json_object(), *value;
	const char *name;

	json_object_foreach(r->result.rest, name, value)
	{
		if (!json_equal(value, json_object_get(r->o.metadata, name)) &&
		    !json_equal(value, json_object_get(r->o.args, name)))
			json_object_set(rest, name, value);
	}
	if (json_object_size(rest))
		json_object_set(r->o.metadata, "result", rest);
	json_decref(rest);
}

static void describe(struct reducing *r)
{
	const struct ofs_tool_result *res = &r->result;
	struct ofs_filetype type =
		ofs_filetype_find(NULL, &r->content, res->content, res->content_len);
	json_t *m = r->o.metadata;

	json_object_set_new(m, "rule", json_string(ofs_tool_name(r->o.rule)));
	ofs_observe_note_number(&r->o, "bytes", r->content.size);
	ofs_observe_note_number(&r->o, "lines", r->content.lines);
	ofs_observe_note_number(&r->o, "tokens", ofs_tokens_count(res->content, res->content_len));
	json_object_set_new(m, "sha256", json_string(r->content.sha256));
	if (!json_object_get(m, "mime"))
		json_object_set_new(m, "mime", json_string(type.mime));
	if (res->text_len != res->content_len)
		ofs_observe_note_number(&r->o, "text_bytes", res->text_len);
	if (res->images)
		ofs_observe_note_number(&r->o, "images", res->images);
	keep_rest(r);
}

/* The members in a fixed order. */
static json_t *in_order(json_t *found)
{
	static const char *const first[] = { "rule",   "bytes", "lines", "tokens",
					     "sha256", "mime",	"path" };
	json_t *ordered = json_object();
	const char *name;
	json_t *value;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(first); i++) {
		value = json_object_get(found, first[i]);
		if (value)
			json_object_set(ordered, first[i], value);
	}
	json_object_foreach(found, name, value)
	{
		if (!json_object_get(ordered, name))
			json_object_set(ordered, name, value);
	}
	return ordered;
}

/* ---- storing */

static int store(struct reducing *r)
{
	const struct ofs_reduce_request *q = r->request;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf title = OFS_BUF_INIT;
	OFS_FREE char *folder = NULL;
	const char *category = ofs_observe_category(r->o.rule);
	struct ofs_deposit deposit = { .task = q->task };
	struct ofs_offload_request offload = { .deposit = &deposit };
	int failed;

	if (r->setting && r->setting->category)
		category = r->setting->category;
	deposit.category = q->category ? q->category : category;
	if (q->task)
		folder = ofs_format("tasks/%s/" OUTPUT_FOLDER, q->task);
	deposit.folder = folder;
	ofs_line_append(&title, (char *)r->o.observation.data, r->o.observation.len, TITLE_MAX);
	/* So that it is found by what it is. */
	deposit.title = ofs_buf_str(&title);
	offload.what = deposit.title;
	failed = ofs_offload(&offload, &r->content, q->access, r->err, &r->done);
	if (failed < 0)
		return failed;
	json_object_set_new(r->o.metadata, "path", json_string(r->done.file.path));
	return 0;
}

/* ---- the step */

static int make_id(const struct ofs_tool_call *call, char **ret)
{
	uint8_t sha[OFS_SHA256_SIZE];
	char hex[2 * OFS_SHA256_SIZE + 1];
	int r = ofs_sha256(call->object.p, call->object.len, sha);

	if (r < 0)
		return r;
	ofs_sha256_hex(sha, hex);
	*ret = ofs_format("step_%.*s", STEP_HASH, hex);
	return 0;
}

static int make_step(struct reducing *r, struct ofs_step *ret)
{
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };
	int failed;

	step.tool_name = ofs_strdup(r->call->tool);
	step.minimal_args = json_incref(r->o.args);
	step.observation = ofs_buf_steal_str(&r->o.observation);
	step.outcome_ref = r->done.file.ref ? ofs_strdup(r->done.file.ref) : NULL;
	step.success = !r->o.failed;
	step.error = r->o.failed ? ofs_buf_steal_str(&r->o.error) : NULL;
	step.has_timestamp = r->call->has_timestamp;
	step.timestamp_ms = r->call->timestamp_ms;
	step.metadata = in_order(r->o.metadata);
	if (r->request->task) {
		failed = ofs_access_open(r->request->access, true, r->err);
		if (failed == 0)
			failed = ofs_history_add(r->request->access->backend, r->request->task,
						 r->request->settings, &step, r->err);
	} else {
		failed = make_id(r->call, &step.id);
		if (failed < 0)
			ofs_error_set(r->err, -failed, "cannot name the step: %s",
				      strerror(-failed));
	}
	if (failed < 0)
		return failed;
	*ret = step;
	step = (struct ofs_step){ 0 };
	return 0;
}

int ofs_reduce(const struct ofs_reduce_request *request, const struct ofs_tool_call *call,
	       struct ofs_error *err, struct ofs_step *ret)
{
	OFS_CLEANUP(reducing_finish)
	struct reducing r = {
		.request = request,
		.call = call,
		.spool = OFS_SPOOL_INIT,
		.err = err,
	};
	enum ofs_tool_rule rule;
	int failed;

	r.setting = ofs_tool_setting(request->settings, call->tool, &rule);
	failed = look(&r, rule);
	if (failed < 0)
		return failed;
	describe(&r);
	observe_by_template(&r);
	if (is_offloaded(&r))
		failed = store(&r);
	else
		keep_output(&r);
	return failed < 0 ? failed : make_step(&r, ret);
}
