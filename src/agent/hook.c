/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "agent/agent.h"
#include "base/text.h"
#include "client/naming.h"
#include "client/pointer.h"
#include "io/path.h"

/* The task of a session whose name has no byte that a task may have. */
#define HOOK_SESSION "session"

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

char *ofs_hook_label(const char *text, size_t len, const char *fallback)
{
	char label[OFS_NAMING_MAX + 1];
	size_t n = 0;

	while (len && *text == '.') {
		text++;
		len--;
	}
	for (; len && n < OFS_NAMING_MAX; len--, text++)
		label[n++] = isalnum((unsigned char)*text) || (*text && strchr("._-", *text))
				     ? *text
				     : '-';
	label[n] = '\0';
	return ofs_strdup(n ? label : fallback);
}

/* Allocated: the task that what is stored belongs to; NULL: none. */
static char *make_task(const struct ofs_hook_event *e, const struct ofs_hook_options *options)
{
	if (!options->task_is_session)
		return options->task ? ofs_strdup(options->task) : NULL;
	if (!e->session || !*e->session)
		return NULL;
	return ofs_hook_label(e->session, strlen(e->session), HOOK_SESSION);
}

/* ---- reading back */

/* Whether the current directory lies in the tree, where no path need name it. */
static bool is_in_tree(const struct ofs_access *access)
{
	OFS_FREE char *cwd = ofs_path_cwd();

	return access->target.mountpoint && cwd &&
	       ofs_path_below(access->target.mountpoint, cwd) != NULL;
}

/*
 * Whether the tool is used on what is offloaded: with a path in the tree, from within it, or with a
 * command of ours. The tree must have been found.
 */
static bool reads_back(const struct ofs_hook_event *e, const struct ofs_access *access)
{
	struct ofs_span_cursor c = ofs_span_enter(e->input);
	struct ofs_span name, value;

	if (is_in_tree(access))
		return true;
	if (e->delegates || !ofs_span_is_object(e->input))
		return false;
	while (ofs_span_next_member(&c, &name, &value)) {
		OFS_FREE char *text = ofs_span_text(value);

		if (text && !ofs_span_is(name, "description") && ofs_readback_names(text, access))
			return true;
	}
	return false;
}

/* ---- after a tool was used */

static bool is_long(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		    const struct ofs_hook_text *t)
{
	if (t->saved_elsewhere)
		return true;
	if (e->reads_file)
		return t->spool.size > options->read_bytes;
	return t->spool.size > options->max_bytes ||
	       ofs_spool_lines(&t->spool) > options->max_lines;
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
	};
	struct ofs_content content;
	const struct ofs_pointer pointer = { .what = e->title, .content = &content };
	int r;

	if (e->kept)
		return 0;
	r = agent->find_text(e, options->form, err, &text);
	if (r <= 0)
		return r;
	if (!is_long(e, options, &text))
		return 0;
	r = ofs_access_find(access, err);
	if (r < 0 || reads_back(e, access))
		return r;
	r = ofs_content_scan(&text.spool, &content);
	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	r = ofs_offload(&deposit, &pointer, access, err, &done);
	if (r < 0 || strlen(done.pointer) >= content.size)
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
