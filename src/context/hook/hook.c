/* SPDX-License-Identifier: MIT */
#include "context/hook/hook.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "client/content.h"
#include "client/offload.h"
#include "client/spool.h"
#include "base/text.h"
#include "context/hook/hook_tool.h"
#include "context/hook/persisted.h"
#include "context/hook/shell_line.h"
#include "context/hook/tool_output.h"
#include "context/json/member.h"

#define HOOK_POINTER "[offloaded]"
/* The task of a session whose name has no byte that a task may have. */
#define HOOK_SESSION "session"

/* ---- events */

void ofs_hook_event_finish(struct ofs_hook_event *e)
{
	free(e->tool);
	free(e->session);
	free(e->cwd);
	*e = (struct ofs_hook_event){ 0 };
}

static enum ofs_hook_kind event_kind(struct ofs_span name)
{
	if (!name.len || ofs_span_is(name, "PostToolUse"))
		return OFS_HOOK_POST;
	return ofs_span_is(name, "PreToolUse") ? OFS_HOOK_PRE : OFS_HOOK_OTHER;
}

int ofs_hook_event_read(const char *text, size_t len, struct ofs_error *err,
			struct ofs_hook_event *ret)
{
	enum {
		NAME,
		TOOL,
		SESSION,
		CWD,
		INPUT,
		RESPONSE,
		N
	};
	static const char *const names[N] = {
		[NAME] = "hook_event_name", [TOOL] = "tool_name",
		[SESSION] = "session_id",   [CWD] = "cwd",
		[INPUT] = "tool_input",	    [RESPONSE] = "tool_response",
	};
	struct ofs_span root, parts[N];
	int r = ofs_span_parse(text, len, err, &root);

	if (r < 0)
		return r;
	if (!ofs_span_is_object(root))
		return ofs_error_set(err, EINVAL,
				     "an event is a JSON object with tool_name, "
				     "tool_input and tool_response");
	ofs_span_members(root, names, N, parts);
	*ret = (struct ofs_hook_event){
		.kind = event_kind(parts[NAME]),
		.tool = ofs_span_text(parts[TOOL]),
		.session = ofs_span_text(parts[SESSION]),
		.cwd = ofs_span_text(parts[CWD]),
		.input = parts[INPUT],
		.response = parts[RESPONSE],
	};
	if (ret->kind == OFS_HOOK_OTHER || ret->tool)
		return 0;
	ofs_hook_event_finish(ret);
	return ofs_error_set(err, EINVAL, "the event has no tool_name");
}

/* Allocated: the task that what is stored belongs to; NULL: none. */
static char *make_task(const struct ofs_hook_event *e, const struct ofs_hook_options *options)
{
	if (!options->task_is_session)
		return options->task ? ofs_strdup(options->task) : NULL;
	if (!e->session || !*e->session)
		return NULL;
	return ofs_hook_tool_label(e->session, strlen(e->session), HOOK_SESSION);
}

/* ---- after a tool was used */

/* What is to be stored, and how much of it the model would read. */
struct offer {
	struct ofs_tool_output output;
	struct ofs_spool spool;
};

static void offer_finish(struct offer *o)
{
	ofs_spool_finish(&o->spool);
	ofs_tool_output_finish(&o->output);
}

static bool is_pointer(const struct ofs_buf *text)
{
	size_t i = 0;

	while (i < text->len && isspace(text->data[i]))
		i++;
	return text->len - i >= strlen(HOOK_POINTER) &&
	       memcmp(text->data + i, HOOK_POINTER, strlen(HOOK_POINTER)) == 0;
}

/* Finds the file that the output was written to, allocated, and where in the text another part begins. */
static char *find_persisted(const struct ofs_tool_output *o, size_t *ret_beside)
{
	const char *text = (const char *)o->text.data;

	if (o->persisted.len) {
		*ret_beside = o->beside;
		return ofs_span_text(o->persisted);
	}
	*ret_beside = ofs_persisted_end(text, o->text.len);
	return ofs_persisted_path(text, o->text.len);
}

/* Adds the text on a line of its own, whether it begins with a line break or not. */
static int add_beside(struct ofs_spool *spool, const uint8_t *text, size_t len)
{
	int r = 0;

	if (len && *text == '\n') {
		text++;
		len--;
	}
	if (len && spool->last != '\n')
		r = ofs_spool_append(spool, "\n", 1);
	return r == 0 ? ofs_spool_append(spool, text, len) : r;
}

/* 1: the text is that of a file, which is in the spool now; 0: it is itself the output; or -errno. */
static int take_persisted(struct offer *o, struct ofs_error *err)
{
	const struct ofs_buf *text = &o->output.text;
	OFS_FREE char *path = NULL;
	size_t beside;
	int r;

	if (!o->output.persisted.len && !ofs_persisted_is((const char *)text->data, text->len))
		return 0;
	path = find_persisted(&o->output, &beside);
	if (!path || path[0] != '/')
		return ofs_error_set(err, EINVAL,
				     "it says that it was saved, but not to which file");
	r = ofs_persisted_take(path, err, &o->spool);
	if (r < 0)
		return r;
	r = add_beside(&o->spool, text->data ? text->data + beside : NULL, text->len - beside);
	return r < 0 ? ofs_error_set(err, -r, "%s", strerror(-r)) : 1;
}

/* Whether what was taken in is long enough. */
static bool is_long(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		    const struct ofs_spool *spool)
{
	if (strcmp(e->tool, "Read") == 0)
		return spool->size > options->read_bytes;
	return spool->size > options->max_bytes || ofs_spool_lines(spool) > options->max_lines;
}

/* 1: the offer is worth it; 0: it is not; or -errno. */
static int make_offer(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		      struct ofs_error *err, struct offer *o)
{
	int r = ofs_tool_output_read(e->response, &o->output);

	if (r < 0)
		return r == -ENODATA ? 0 : ofs_error_set(err, -r, "%s", strerror(-r));
	if (is_pointer(&o->output.text))
		return 0;
	r = take_persisted(o, err);
	if (r < 0)
		return r;
	if (r == 0)
		ofs_spool_wrap(&o->spool, o->output.text.data, o->output.text.len);
	return r == 1 || is_long(e, options, &o->spool);
}

/* -ENOTSUP: the form is not known for this tool. */
static int write_replaced(const struct ofs_hook_event *e, enum ofs_hook_form form,
			  const struct ofs_tool_output *output, const char *pointer,
			  struct ofs_buf *out)
{
	int r;

	ofs_buf_append_str(out, "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
				"\"updatedToolOutput\":");
	r = form == OFS_HOOK_TOOL ? ofs_tool_output_write(output, pointer, out) : -ENOTSUP;
	/* The shape of what a server answers is nobody's. */
	if (r == -ENOTSUP && (form == OFS_HOOK_TEXT || ofs_hook_tool_is_mcp(e->tool))) {
		ofs_member_string(pointer, out);
		r = 0;
	}
	if (r != 0)
		return r;
	ofs_buf_append_str(out, "}}");
	return 0;
}

/*
 * Stores the offer and writes the answer, unless the pointer is not shorter than what it stands for.
 */
static int accept_offer(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
			const struct offer *o, struct ofs_access *access, struct ofs_error *err,
			struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_FREE char *category = ofs_hook_tool_category(e->tool);
	OFS_FREE char *what = ofs_hook_tool_what(e->tool, e->input);
	OFS_FREE char *task = make_task(e, options);
	const struct ofs_deposit deposit = {
		.category = category,
		.task = task,
		.ttl = options->ttl,
	};
	struct ofs_offload_request request = { .deposit = &deposit, .what = what };
	struct ofs_content content;
	int r = ofs_content_scan(&o->spool, &content);

	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	r = ofs_offload(&request, &content, access, err, &done);
	if (r < 0 || strlen(done.pointer) >= content.size)
		return r;
	if (!ofs_text_is_utf8(done.pointer))
		return ofs_error_set(err, EILSEQ,
				     "the path of the tree is not UTF-8, which JSON needs");
	r = write_replaced(e, options->form, &o->output, done.pointer, out);
	return r < 0 ? ofs_error_set(err, -r, "%s", strerror(-r)) : 0;
}

static int answer_post(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		       struct ofs_access *access, struct ofs_error *err, struct ofs_buf *out)
{
	OFS_CLEANUP(offer_finish) struct offer offer = { .spool = OFS_SPOOL_INIT };
	int r;

	if (ofs_hook_tool_is_kept(e->tool))
		return 0;
	r = make_offer(e, options, err, &offer);
	if (r <= 0)
		return r;
	/* Nothing is stored for an answer that Claude Code would drop. */
	if (options->form == OFS_HOOK_TOOL && offer.output.shape == OFS_TOOL_OTHER &&
	    !ofs_hook_tool_is_mcp(e->tool))
		return 0;
	r = ofs_access_find(access, err);
	if (r < 0 || ofs_hook_tool_reads_back(e->tool, e->input, access))
		return r;
	return accept_offer(e, options, &offer, access, err, out);
}

/* ---- before a tool is used */

/* Allocated: RUN --task TASK -- bash -c 'LINE'. */
static char *wrap_command(const char *run, const char *task, const char *line)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	fputs(run, out);
	if (task)
		fprintf(out, " --task %s", task);
	fputs(" -- bash -c ", out);
	ofs_text_shell_word(out, line);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* A NUL in the command ends it for us, but not for others. */
static char *read_command(struct ofs_span input)
{
	struct ofs_span command = ofs_span_member(input, "command");
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (!ofs_span_is_string(command))
		return NULL;
	ofs_span_decode(command, &text);
	if (!text.len || memchr(text.data, 0, text.len))
		return NULL;
	return ofs_span_text(command);
}

/* The input with another command; all else in it stays. */
static int write_rewritten(struct ofs_span input, const char *command, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	struct ofs_member_edit edit = { .name = "command" };
	int r;

	ofs_member_string(command, &json);
	ofs_buf_append(&json, "", 1);
	ofs_buf_append_str(out, "{\"hookSpecificOutput\":{\"hookEventName\":"
				"\"PreToolUse\",\"updatedInput\":");
	edit.json = (const char *)json.data;
	r = ofs_member_replace(input, &edit, 1, out);
	if (r != 0)
		return r;
	ofs_buf_append_str(out, "}}");
	return 0;
}

static int answer_pre(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		      struct ofs_access *access, struct ofs_error *err, struct ofs_buf *out)
{
	struct ofs_span background = ofs_span_member(e->input, "run_in_background");
	OFS_FREE char *line = read_command(e->input), *command = NULL;
	OFS_FREE char *task = make_task(e, options);
	int r;

	if (strcmp(e->tool, "Bash") != 0 || !line || (background.len && *background.p == 't') ||
	    !ofs_text_is_utf8(line) || !ofs_shell_line_is_plain(line))
		return 0;
	r = ofs_access_find(access, err);
	if (r < 0 || ofs_hook_tool_reads_back(e->tool, e->input, access))
		return r;
	command = wrap_command(options->run, task, line);
	r = command ? write_rewritten(e->input, command, out) : -ENOMEM;
	return r < 0 ? ofs_error_set(err, -r, "%s", strerror(-r)) : 0;
}

int ofs_hook_answer(const struct ofs_hook_event *e, const struct ofs_hook_options *options,
		    struct ofs_access *access, struct ofs_error *err, struct ofs_buf *ret)
{
	size_t before = ret->len;
	int r = 0;

	if (e->kind == OFS_HOOK_POST)
		r = answer_post(e, options, access, err, ret);
	else if (e->kind == OFS_HOOK_PRE)
		r = answer_pre(e, options, access, err, ret);
	if (r < 0)
		ret->len = before;
	return r;
}
