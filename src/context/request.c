/* SPDX-License-Identifier: MIT */
#include "context/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

static const char *const modes[] = {
	[OFS_MANAGE_COMPACT] = "compact",
	[OFS_MANAGE_COMPRESS] = "compress",
	[OFS_MANAGE_AUTO] = "auto",
	[OFS_MANAGE_RESTORE] = "restore",
};

bool ofs_manage_mode_parse(const char *name, enum ofs_manage_mode *ret)
{
	for (size_t i = OFS_MANAGE_COMPACT; i < OFS_ARRAY_SIZE(modes); i++) {
		if (strcmp(modes[i], name) == 0) {
			*ret = (enum ofs_manage_mode)i;
			return true;
		}
	}
	return false;
}

void ofs_request_finish(struct ofs_request *r)
{
	free(r->store_dir);
	free(r->chat_id);
	*r = (struct ofs_request){ 0 };
}

static int wrong(struct ofs_error *err, const char *name, const char *right)
{
	return ofs_error_set(err, EINVAL, "\"%s\" must be %s", name, right);
}

/* What is null was not said. */
static bool is_said(struct ofs_span value)
{
	return value.p && !ofs_span_is_null(value);
}

static int take_number(struct ofs_span object, const char *name, struct ofs_error *err,
		       uint64_t *ret)
{
	struct ofs_span value = ofs_span_member(object, name);
	long long n;

	if (!is_said(value))
		return 0;
	if (!ofs_span_integer(value, &n) || n < 0)
		return wrong(err, name, "a number of 0 or more");
	*ret = (uint64_t)n;
	return 0;
}

static bool has_nul(struct ofs_span string)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	return ofs_span_decode(string, &text) == 0 && text.len && memchr(text.data, '\0', text.len);
}

static int take_text(struct ofs_span object, const char *name, struct ofs_error *err, char **ret)
{
	struct ofs_span value = ofs_span_member(object, name);
	char *text;

	if (!is_said(value))
		return 0;
	text = ofs_span_text(value);
	if (!text || !*text || has_nul(value)) {
		free(text);
		return wrong(err, name, "a text that is not empty, without NUL");
	}
	free(*ret);
	*ret = text;
	return 0;
}

static int take_mode(struct ofs_span object, const char *name, struct ofs_error *err,
		     enum ofs_manage_mode *ret)
{
	OFS_FREE char *text = NULL;
	int r = take_text(object, name, err, &text);

	if (r < 0 || !text)
		return r;
	return ofs_manage_mode_parse(text, ret)
		       ? 0
		       : wrong(err, name, "compact, compress, auto or restore");
}

static int take_form(struct ofs_span object, struct ofs_error *err, bool *ret_anthropic)
{
	OFS_FREE char *text = NULL;
	int r = take_text(object, "format", err, &text);

	if (r < 0 || !text)
		return r;
	if (strcmp(text, "openai") != 0 && strcmp(text, "anthropic") != 0)
		return wrong(err, "format", "openai or anthropic");
	*ret_anthropic = strcmp(text, "anthropic") == 0;
	return 0;
}

static int take_switch(struct ofs_span object, const char *name, struct ofs_error *err, bool *ret)
{
	struct ofs_span value = ofs_span_member(object, name);

	if (!is_said(value))
		return 0;
	if (*value.p != 't' && *value.p != 'f')
		return wrong(err, name, "true or false");
	*ret = *value.p == 't';
	return 0;
}

static int take_members(struct ofs_span object, struct ofs_error *err, struct ofs_request *to)
{
	uint64_t keep = UINT64_MAX;
	int r = take_mode(object, "mode", err, &to->mode);

	if (r == 0)
		r = take_mode(object, "context_manage_mode", err, &to->mode);
	if (r == 0)
		r = take_number(object, "max_total_tokens", err, &to->max_total_tokens);
	if (r == 0)
		r = take_number(object, "max_tool_message_tokens", err,
				&to->max_tool_message_tokens);
	if (r == 0)
		r = take_number(object, "group_token_threshold", err, &to->group_token_threshold);
	if (r == 0)
		r = take_number(object, "keep_recent_count", err, &keep);
	if (r == 0)
		r = take_text(object, "store_dir", err, &to->store_dir);
	if (r == 0)
		r = take_text(object, "chat_id", err, &to->chat_id);
	if (r == 0)
		r = take_form(object, err, &to->anthropic);
	if (r == 0)
		r = take_switch(object, "prefetch", err, &to->prefetch);
	if (keep != UINT64_MAX)
		to->keep = (int64_t)OFS_MIN(keep, (uint64_t)INT64_MAX);
	return r;
}

/* Options go before the members. */
static void take_options(const struct ofs_manage_options *options, struct ofs_request *to)
{
	if (options->mode != OFS_MANAGE_UNSET)
		to->mode = options->mode;
	if (to->mode == OFS_MANAGE_UNSET)
		to->mode = OFS_MANAGE_AUTO;
	if (options->store_dir) {
		free(to->store_dir);
		to->store_dir = ofs_strdup(options->store_dir);
	}
	if (options->chat_id) {
		free(to->chat_id);
		to->chat_id = ofs_strdup(options->chat_id);
	}
	if (options->keep >= 0)
		to->keep = options->keep;
	if (options->max_total_tokens >= 0)
		to->max_total_tokens = (uint64_t)options->max_total_tokens;
	if (options->max_tool_message_tokens >= 0)
		to->max_tool_message_tokens = (uint64_t)options->max_tool_message_tokens;
	to->prefetch |= options->prefetch;
	to->list_only = options->list_only;
}

static int read_root(struct ofs_span root, struct ofs_error *err, struct ofs_request *to)
{
	struct ofs_span system;

	if (ofs_span_is_array(root)) {
		to->messages = root;
		return 0;
	}
	if (!ofs_span_is_object(root))
		return ofs_error_set(
			err, EINVAL,
			"the input is not an object with \"messages\", nor a list of them");
	to->messages = ofs_span_member(root, "messages");
	if (!to->messages.p)
		return ofs_error_set(err, EINVAL, "the input has no \"messages\"");
	system = ofs_span_member(root, "system");
	if (is_said(system) && !ofs_span_is_string(system) && !ofs_span_is_array(system))
		return wrong(err, "system", "a text or a list of blocks");
	if (is_said(system))
		to->system = system;
	return take_members(root, err, to);
}

int ofs_request_read(const void *text, size_t len, const struct ofs_manage_options *options,
		     const struct ofs_settings *settings, struct ofs_error *err,
		     struct ofs_request *ret)
{
	struct ofs_request request = {
		.keep = -1,
		.max_total_tokens = settings->max_total_tokens,
		.max_tool_message_tokens = settings->max_tool_message_tokens,
		.group_token_threshold = settings->group_token_threshold,
	};
	struct ofs_span root;
	int r = ofs_span_parse(text, len, err, &root);

	if (r == 0)
		r = read_root(root, err, &request);
	if (r < 0) {
		ofs_request_finish(&request);
		return r;
	}
	take_options(options, &request);
	*ret = request;
	return 0;
}
