/* SPDX-License-Identifier: MIT */
#include "context/manage/request.h"

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

bool ofs_manage_format_parse(const char *name, bool *ret_anthropic)
{
	bool anthropic = strcmp(name, "anthropic") == 0;

	if (!anthropic && strcmp(name, "openai") != 0)
		return false;
	*ret_anthropic = anthropic;
	return true;
}

void ofs_request_finish(struct ofs_request *r)
{
	free(r->store_dir);
	free(r->chat_id);
	*r = (struct ofs_request){ 0 };
}

/* The members that are known. */
enum member {
	MESSAGES,
	SYSTEM,
	MODE,
	MANAGE_MODE,
	MAX_TOTAL_TOKENS,
	MAX_TOOL_MESSAGE_TOKENS,
	GROUP_TOKEN_THRESHOLD,
	KEEP_RECENT_COUNT,
	STORE_DIR,
	CHAT_ID,
	FORMAT,
	PREFETCH,
	MEMBERS
};

static const char *const names[MEMBERS] = {
	[MESSAGES] = "messages",
	[SYSTEM] = "system",
	[MODE] = "mode",
	[MANAGE_MODE] = "context_manage_mode",
	[MAX_TOTAL_TOKENS] = "max_total_tokens",
	[MAX_TOOL_MESSAGE_TOKENS] = "max_tool_message_tokens",
	[GROUP_TOKEN_THRESHOLD] = "group_token_threshold",
	[KEEP_RECENT_COUNT] = "keep_recent_count",
	[STORE_DIR] = "store_dir",
	[CHAT_ID] = "chat_id",
	[FORMAT] = "format",
	[PREFETCH] = "prefetch",
};

/* Their values, found in one pass over the messages. null counts as absent. */
struct members {
	struct ofs_span values[MEMBERS];
	struct ofs_error *err;
};

static bool is_said(const struct members *m, enum member which)
{
	return m->values[which].p && !ofs_span_is_null(m->values[which]);
}

static int wrong(const struct members *m, enum member which, const char *right)
{
	return ofs_error_set(m->err, EINVAL, "\"%s\" must be %s", names[which], right);
}

static int take_number(const struct members *m, enum member which, uint64_t *ret)
{
	long long n;

	if (!is_said(m, which))
		return 0;
	if (!ofs_span_integer(m->values[which], &n) || n < 0)
		return wrong(m, which, "a number of 0 or more");
	*ret = (uint64_t)n;
	return 0;
}

static bool has_nul(struct ofs_span string)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_span_decode(string, &text);
	return text.len && memchr(text.data, '\0', text.len);
}

static int take_text(const struct members *m, enum member which, char **ret)
{
	char *text;

	if (!is_said(m, which))
		return 0;
	text = ofs_span_text(m->values[which]);
	if (!text || !*text || has_nul(m->values[which])) {
		free(text);
		return wrong(m, which, "a text that is not empty, without NUL");
	}
	free(*ret);
	*ret = text;
	return 0;
}

static int take_mode(const struct members *m, enum member which, enum ofs_manage_mode *ret)
{
	OFS_FREE char *text = NULL;
	int r = take_text(m, which, &text);

	if (r < 0 || !text)
		return r;
	return ofs_manage_mode_parse(text, ret)
		       ? 0
		       : wrong(m, which, "compact, compress, auto or restore");
}

static int take_form(const struct members *m, bool *ret_anthropic)
{
	OFS_FREE char *text = NULL;
	int r = take_text(m, FORMAT, &text);

	if (r < 0 || !text)
		return r;
	return ofs_manage_format_parse(text, ret_anthropic)
		       ? 0
		       : wrong(m, FORMAT, "openai or anthropic");
}

static int take_switch(const struct members *m, enum member which, bool *ret)
{
	struct ofs_span value = m->values[which];

	if (!is_said(m, which))
		return 0;
	if (*value.p != 't' && *value.p != 'f')
		return wrong(m, which, "true or false");
	*ret = *value.p == 't';
	return 0;
}

static int take_system(const struct members *m, struct ofs_span *ret)
{
	struct ofs_span value = m->values[SYSTEM];

	if (!is_said(m, SYSTEM))
		return 0;
	if (!ofs_span_is_string(value) && !ofs_span_is_array(value))
		return wrong(m, SYSTEM, "a text or a list of blocks");
	*ret = value;
	return 0;
}

static int take_members(const struct members *m, struct ofs_request *to)
{
	uint64_t keep = UINT64_MAX;
	int r = take_system(m, &to->system);

	if (r == 0)
		r = take_mode(m, MODE, &to->mode);
	if (r == 0)
		r = take_mode(m, MANAGE_MODE, &to->mode);
	if (r == 0)
		r = take_number(m, MAX_TOTAL_TOKENS, &to->max_total_tokens);
	if (r == 0)
		r = take_number(m, MAX_TOOL_MESSAGE_TOKENS, &to->max_tool_message_tokens);
	if (r == 0)
		r = take_number(m, GROUP_TOKEN_THRESHOLD, &to->group_token_threshold);
	if (r == 0)
		r = take_number(m, KEEP_RECENT_COUNT, &keep);
	if (r == 0)
		r = take_text(m, STORE_DIR, &to->store_dir);
	if (r == 0)
		r = take_text(m, CHAT_ID, &to->chat_id);
	if (r == 0)
		r = take_form(m, &to->anthropic);
	if (r == 0)
		r = take_switch(m, PREFETCH, &to->prefetch);
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
	if (options->has_format)
		to->anthropic = options->anthropic;
	to->prefetch |= options->prefetch;
	to->list_only = options->list_only;
}

static int read_root(struct ofs_span root, struct ofs_error *err, struct ofs_request *to)
{
	struct members m = { .err = err };

	if (ofs_span_is_array(root)) {
		to->messages = root;
		return 0;
	}
	if (!ofs_span_is_object(root))
		return ofs_error_set(
			err, EINVAL,
			"the input is not an object with \"messages\", nor a list of them");
	ofs_span_members(root, names, MEMBERS, m.values);
	to->messages = m.values[MESSAGES];
	if (!to->messages.p)
		return ofs_error_set(err, EINVAL, "the input has no \"messages\"");
	return take_members(&m, to);
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
