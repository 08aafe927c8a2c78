/* SPDX-License-Identifier: MIT */
#include "context/over.h"

#include "base/tokens.h"
#include "client/naming.h"
#include "context/json/span.h"
#include "context/manage/manage.h"
#include "context/settings.h"
#include "context/steps/call.h"
#include "context/steps/recap.h"
#include "context/steps/reduce.h"
#include "context/summarizer/summarizer.h"

struct ofs_context {
	struct ofs_access *access;
	struct ofs_access own; /* used by `access`, unless that is borrowed */
	struct ofs_settings settings;
	char *place;
};

static void context_close_p(struct ofs_context **c)
{
	ofs_context_close(*c);
}

int ofs_context_over(struct ofs_access *access, struct ofs_error *err, struct ofs_context **ret)
{
	OFS_CLEANUP(context_close_p) struct ofs_context *c = ofs_alloc(sizeof(*c));
	int r;

	c->access = access;
	ofs_settings_init(&c->settings);
	r = ofs_settings_load(&c->settings, access->target.store, err);
	if (r == 0)
		*ret = ofs_steal(c);
	return r;
}

int ofs_context_open(const char *place, struct ofs_error *err, struct ofs_context **ret)
{
	static const struct ofs_target_options options;
	OFS_CLEANUP(context_close_p) struct ofs_context *c = ofs_alloc(sizeof(*c));
	int r;

	c->access = &c->own;
	ofs_access_init(c->access, &options);
	ofs_settings_init(&c->settings);
	if (place) {
		c->place = ofs_strdup(place);
		c->own.place = c->place;
	}
	r = ofs_access_find(c->access, err);
	if (r == 0)
		r = ofs_settings_load(&c->settings, c->access->target.store, err);
	if (r == 0)
		*ret = ofs_steal(c);
	return r;
}

void ofs_context_close(struct ofs_context *c)
{
	if (!c)
		return;
	ofs_access_finish(&c->own);
	ofs_settings_finish(&c->settings);
	free(c->place);
	free(c);
}

/* Hands the text over to the caller, with a NUL after it. */
static void give(struct ofs_buf *text, char **ret, size_t *ret_len)
{
	*ret_len = text->len;
	*ret = ofs_buf_steal_str(text);
}

int ofs_context_reduce(struct ofs_context *c, const char *json, size_t len, const char *task,
		       struct ofs_error *err, char **ret, size_t *ret_len)
{
	const struct ofs_reduce_request request = {
		.settings = &c->settings,
		.access = c->access,
		.task = task,
	};
	OFS_CLEANUP(ofs_tool_call_finish) struct ofs_tool_call call = { 0 };
	OFS_CLEANUP(ofs_step_finish) struct ofs_step step = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span object;
	int r = task ? ofs_naming_check("task", task, err) : 0;

	if (r == 0)
		r = ofs_span_parse(json, len, err, &object);
	if (r == 0)
		r = ofs_tool_call_parse(object, err, &call);
	if (r == 0)
		r = ofs_reduce(&request, &call, err, &step);
	if (r < 0)
		return r;
	ofs_step_print(&step, &text);
	give(&text, ret, ret_len);
	return 0;
}

int ofs_context_compact(struct ofs_context *c, const char *json, size_t len, struct ofs_error *err,
			char **ret, size_t *ret_len)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list steps = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = ofs_step_list_parse(&steps, json, len, err);

	if (r < 0)
		return r;
	ofs_recap_write(&steps, &c->settings, &text, NULL);
	give(&text, ret, ret_len);
	return 0;
}

int ofs_context_manage(struct ofs_context *c, const char *json, size_t len, struct ofs_error *err,
		       char **ret, size_t *ret_len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct ofs_sink sink = ofs_sink_to_buf(&text);
	struct ofs_manage_options options = OFS_MANAGE_OPTIONS_INIT;
	struct ofs_summarizer summarizer = { .timeout_s = c->settings.summarizer_timeout_s,
					     .max_tokens = c->settings.snapshot_tokens };
	int r = 0;

	if (c->settings.summarizer) {
		options.summarizer = &summarizer;
		r = ofs_summarizer_choose(&summarizer, c->settings.summarizer, err);
	}
	if (r == 0)
		r = ofs_manage(json, len, &options, &c->settings, c->access, &sink, err, NULL);
	if (r == 0)
		give(&text, ret, ret_len);
	return r;
}

uint64_t ofs_context_tokens(const char *text, size_t len)
{
	return ofs_tokens_count(text, len);
}
