/* SPDX-License-Identifier: MIT */
#include "context/manage/request.h"

const char *const ofs_manage_modes[] = {
	[OFS_MANAGE_UNSET] = "",
	[OFS_MANAGE_COMPACT] = "compact",
	[OFS_MANAGE_COMPRESS] = "compress",
	[OFS_MANAGE_AUTO] = "auto",
	[OFS_MANAGE_RESTORE] = "restore",
	NULL,
};

void ofs_request_finish(struct ofs_request *r)
{
	free(r->store_dir);
	free(r->chat_id);
	*r = (struct ofs_request){ 0 };
}

/* ---- values of members: stored in `to`; false if invalid */

static bool take_system(struct ofs_span value, void *to)
{
	*(struct ofs_span *)to = value;
	return ofs_span_is_string(value) || ofs_span_is_array(value);
}

static bool take_number(struct ofs_span value, void *to)
{
	long long n;

	if (!ofs_span_integer(value, &n) || n < 0)
		return false;
	*(uint64_t *)to = (uint64_t)n;
	return true;
}

static bool take_text(struct ofs_span value, void *to)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (!ofs_span_is_string(value))
		return false;
	ofs_span_decode(value, &text);
	if (!text.len || memchr(text.data, '\0', text.len))
		return false;
	free(*(char **)to);
	*(char **)to = ofs_strndup(text.data, text.len);
	return true;
}

static bool take_mode(struct ofs_span value, void *to)
{
	OFS_FREE char *name = NULL;

	if (!take_text(value, &name))
		return false;
	for (int i = OFS_MANAGE_COMPACT; ofs_manage_modes[i]; i++) {
		if (strcmp(ofs_manage_modes[i], name) == 0) {
			*(enum ofs_manage_mode *)to = (enum ofs_manage_mode)i;
			return true;
		}
	}
	return false;
}

static bool take_format(struct ofs_span value, void *to)
{
	OFS_FREE char *name = NULL;

	if (!take_text(value, &name))
		return false;
	*(bool *)to = strcmp(name, "anthropic") == 0;
	return *(bool *)to || strcmp(name, "openai") == 0;
}

static bool take_switch(struct ofs_span value, void *to)
{
	*(bool *)to = *value.p == 't';
	return *value.p == 't' || *value.p == 'f';
}

/* The members beside the messages, in order: of the two for the mode, the later one wins. */
static const struct member {
	const char *name;
	bool (*take)(struct ofs_span value, void *to);
	size_t to; /* offset of its value in struct ofs_request */
	const char *right; /* what the value must be */
} members[] = {
#define MEMBER(name, take, to, right)                               \
	{                                                           \
		name, take, offsetof(struct ofs_request, to), right \
	}
#define NUMBER(name, to) MEMBER(name, take_number, to, "a number of 0 or more")
#define TEXT(name, to) MEMBER(name, take_text, to, "a text of at least one byte, without NUL")
#define MODE(name) MEMBER(name, take_mode, mode, "compact, compress, auto or restore")
	MEMBER("system", take_system, system, "a text or a list of blocks"),
	MODE("mode"),
	MODE("context_manage_mode"),
	NUMBER("max_total_tokens", max_total_tokens),
	NUMBER("max_tool_message_tokens", max_tool_message_tokens),
	NUMBER("group_token_threshold", group_token_threshold),
	NUMBER("keep_recent_count", keep),
	TEXT("store_dir", store_dir),
	TEXT("chat_id", chat_id),
	MEMBER("format", take_format, anthropic, "openai or anthropic"),
	MEMBER("prefetch", take_switch, prefetch, "true or false"),
};

#define MEMBERS OFS_ARRAY_SIZE(members)

/* Finds all members in one pass over the messages. A null counts as absent. */
static int take_members(struct ofs_span root, struct ofs_error *err, struct ofs_request *to)
{
	const char *names[MEMBERS + 1];
	struct ofs_span values[MEMBERS + 1];

	for (size_t i = 0; i < MEMBERS; i++)
		names[i] = members[i].name;
	names[MEMBERS] = "messages";
	ofs_span_members(root, names, MEMBERS + 1, values);
	to->messages = values[MEMBERS];
	if (!to->messages.p)
		return ofs_error_set(err, EINVAL, "the input has no \"messages\"");
	for (size_t i = 0; i < MEMBERS; i++) {
		if (values[i].p && !ofs_span_is_null(values[i]) &&
		    !members[i].take(values[i], (char *)to + members[i].to))
			return ofs_error_set(err, EINVAL, "\"%s\" must be %s", members[i].name,
					     members[i].right);
	}
	return 0;
}

static void replace_text(char **to, const char *text)
{
	if (text) {
		free(*to);
		*to = ofs_strdup(text);
	}
}

/* Applies the options, which take precedence over the members. */
static void take_options(const struct ofs_manage_options *options, struct ofs_request *to)
{
	if (options->mode != OFS_MANAGE_UNSET)
		to->mode = options->mode;
	if (to->mode == OFS_MANAGE_UNSET)
		to->mode = OFS_MANAGE_AUTO;
	replace_text(&to->store_dir, options->store_dir);
	replace_text(&to->chat_id, options->chat_id);
	if (!to->chat_id)
		replace_text(&to->chat_id, options->default_chat_id);
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
	if (ofs_span_is_array(root)) {
		to->messages = root;
		return 0;
	}
	if (!ofs_span_is_object(root))
		return ofs_error_set(
			err, EINVAL,
			"the input is neither an object with \"messages\" nor a list of messages");
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
