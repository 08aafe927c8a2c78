/* SPDX-License-Identifier: MIT */
/* context, reduce and compact: <offloadfs/context.h> as calls. */
#include <string.h>

#include "base/text.h"
#include "client/naming.h"
#include "context/over.h"
#include "service/call_run.h"

/* One of the functions of <offloadfs/context.h>. */
typedef int (*context_fn)(struct ofs_call_run *c, struct ofs_context *context, const char *json,
			  size_t len, char **ret, size_t *ret_len);

static int manage(struct ofs_call_run *c, struct ofs_context *context, const char *json, size_t len,
		  char **ret, size_t *ret_len)
{
	return ofs_context_manage(context, json, len, c->err, ret, ret_len);
}

static int reduce(struct ofs_call_run *c, struct ofs_context *context, const char *json, size_t len,
		  char **ret, size_t *ret_len)
{
	const char *task = ofs_call_text(c, "task");

	return ofs_context_reduce(context, json, len, task ? task : c->task, c->err, ret, ret_len);
}

static int compact(struct ofs_call_run *c, struct ofs_context *context, const char *json,
		   size_t len, char **ret, size_t *ret_len)
{
	return ofs_context_compact(context, json, len, c->err, ret, ret_len);
}

static int run(struct ofs_call_run *c, context_fn fn, char **ret, size_t *ret_len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	struct ofs_context *context;
	int r = ofs_context_over(c->access, c->err, &context);

	if (r < 0)
		return r;
	ofs_json_append_plain(c->args, &json);
	r = fn(c, context, (const char *)json.data, json.len, ret, ret_len);
	ofs_context_close(context);
	return r;
}

/* For functions whose answer is a JSON object. */
static int run_json(struct ofs_call_run *c, context_fn fn)
{
	OFS_FREE char *text = NULL;
	size_t len;
	int r = run(c, fn, &text, &len);

	if (r < 0)
		return r;
	c->result = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	return c->result ? 0 : ofs_error_set(c->err, EILSEQ, "the answer is not JSON in UTF-8");
}

static int context_call(struct ofs_call_run *c)
{
	return run_json(c, manage);
}

static int reduce_call(struct ofs_call_run *c)
{
	return run_json(c, reduce);
}

static int compact_call(struct ofs_call_run *c)
{
	OFS_FREE char *text = NULL;
	size_t len;
	int r = run(c, compact, &text, &len);

	if (r == 0)
		c->result = json_pack("{s:s%}", "text", text, len);
	return r;
}

const struct ofs_call ofs_call_context = { "context", OFS_CALL_CHANGES | OFS_CALL_MAKES,
					   context_call };

const struct ofs_call ofs_call_reduce = { "reduce", OFS_CALL_CHANGES | OFS_CALL_MAKES,
					  reduce_call };

const struct ofs_call ofs_call_compact = { "compact", 0, compact_call };
