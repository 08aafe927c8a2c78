/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"
#include "base/text.h"
#include "client/naming.h"
#include "client/pointer.h"
#include "client/usage.h"
#include "context/chat/readback.h"
#include "io/path.h"

void ofs_hook_event_finish(struct ofs_hook_event *e)
{
	free(e->tool);
	free(e->session);
	free(e->cwd);
	free(e->saved_in);
	free(e->category);
	free(e->title);
	*e = (struct ofs_hook_event){ 0 };
}

void ofs_hook_text_finish(struct ofs_hook_text *t)
{
	ofs_spool_finish(&t->spool);
	ofs_buf_finish(&t->inline_text);
}

/* Returns the task of what is stored, allocated, or NULL. */
static char *make_task(const struct ofs_hook_event *e, const struct ofs_hook_options *options)
{
	char *task = NULL;

	if (options->task)
		return ofs_strdup(options->task);
	return ofs_naming_task(e->session, NULL, &task) < 0 ? NULL : task;
}

/* ---- after a tool was used */

static bool is_long(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		    const struct ofs_hook_text *t)
{
	if (t->saved_elsewhere)
		return true;
	return t->spool.size > (e->reads_file ? options->read_bytes : options->max_bytes);
}

/* Returns 1 if the content was stored and the pointer pays, 0 if it does not pay, or -errno. */
static int offload(const struct ofs_hook_options *options, const struct ofs_deposit *deposit,
		   const struct ofs_pointer *pointer, struct ofs_access *access,
		   struct ofs_error *err, struct ofs_offloaded *ret)
{
	int r;

	if (!options->given)
		return ofs_offload_if_it_pays(deposit, pointer, access, err, ret);
	r = ofs_offload(deposit, pointer, access, err, ret);
	return r < 0 ? r : strlen(ret->pointer) < pointer->content->size;
}

bool ofs_hook_may_read_back(const struct ofs_hook_event *e)
{
	static const char *const marks[] = { "offload", "memory_id" };

	for (size_t i = 0; e->input.p && i < OFS_ARRAY_SIZE(marks); i++)
		if (memmem(e->input.p, e->input.len, marks[i], strlen(marks[i])))
			return true;
	return false;
}

/* Returns whether a result is short enough to stay if the agent needs it or has read it back. */
static bool may_stay(const struct ofs_hook_text *t)
{
	return !t->saved_elsewhere && t->spool.size <= OFS_READBACK_MAX;
}

/* Returns whether the result was read back. The tree must have been found. */
static bool reads_back(const struct ofs_hook_event *e, const struct ofs_hook_text *t,
		       const struct ofs_access *access)
{
	return may_stay(t) && !e->delegates && ofs_readback_call(e->input, access);
}

/* Adds a result that was read back to the ledger, unless the call did so itself. */
static void tell_read_back(const struct ofs_agent *agent, const struct ofs_hook_event *e,
			   const char *task, const struct ofs_hook_text *t,
			   struct ofs_access *access)
{
	const struct ofs_content content = { .spool = &t->spool, .size = t->spool.size };
	struct ofs_error err;

	if (t->spool.size && !ofs_readback_tells(e->input) &&
	    ofs_access_open(access, false, &err) == 0)
		ofs_usage_tell(access->backend, &(struct ofs_usage){
							.way = "hook",
							.agent = agent->name,
							.task = task,
							.read = ofs_usage_tokens(&content),
						});
}

static int answer_post(const struct ofs_agent *agent, const struct ofs_hook_event *e,
		       const struct ofs_hook_options *options, struct ofs_access *access,
		       struct ofs_error *err, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_hook_text_finish) struct ofs_hook_text text = OFS_HOOK_TEXT_INIT;
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_FREE char *task = make_task(e, options);
	const struct ofs_deposit deposit = {
		.category = e->category,
		.task = task,
		.ttl = options->ttl,
		.way = "hook",
		.agent = agent->name,
	};
	struct ofs_content content;
	const struct ofs_pointer pointer = {
		.what = e->title,
		.has_exit = e->exit_code >= 0,
		.exit_code = e->exit_code,
		.content = &content,
	};
	bool large;
	int r;

	r = agent->find_text(e, options->form, err, &text);
	if (r <= 0)
		return r;
	large = is_long(e, options, &text);
	if (!large && !ofs_hook_may_read_back(e))
		return 0;
	r = ofs_access_find(access, err);
	if (r < 0)
		return large ? r : 0;
	if (reads_back(e, &text, access)) {
		tell_read_back(agent, e, task, &text, access);
		return 0;
	}
	if ((e->kept && may_stay(&text)) || !large)
		return 0;
	r = ofs_content_scan(&text.spool, &content);
	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	r = offload(options, &deposit, &pointer, access, err, &done);
	if (r <= 0)
		return r;
	if (!ofs_text_is_utf8(done.pointer))
		return ofs_error_set(err, EILSEQ,
				     "the path of the tree is not UTF-8, which JSON needs");
	agent->write_pointer(e, options->form, &text, done.pointer, out);
	return 0;
}

int ofs_hook_answer(const struct ofs_agent *agent, const struct ofs_hook_event *e,
		    const struct ofs_hook_options *options, struct ofs_access *access,
		    struct ofs_error *err, struct ofs_buf *ret)
{
	if (e->kind == OFS_HOOK_POST)
		return answer_post(agent, e, options, access, err, ret);
	return 0;
}
