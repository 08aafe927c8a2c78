/* SPDX-License-Identifier: MIT */
/* Offloading: turns large results of tools into files, and older messages into a summary. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "client/deposit.h"
#include "client/naming.h"
#include "client/usage.h"
#include "codec/hash.h"
#include "context/over.h"
#include "io/path.h"
#include "service/http/reme.h"
#include "service/http/reme_body.h"
#include "service/http/reme_place.h"

#define CATEGORY "context"
#define CHARS_PER_TOKEN 4 /* as in ReMe */
#define RATIO 0.75
#define NAME_TRIES 100

enum mode {
	AUTO,
	COMPACT,
	COMPRESS
};

struct offloading {
	bool listed; /* summary_working_memory: the answer is the list of messages */
	json_t *messages; /* of the request; borrowed */
	enum mode mode;
	double ratio;
	int64_t total, result, group, preview; /* tokens, but `preview` is in characters */
	int64_t keep; /* -1: not given */
	const char *store_dir, *chat_id;
	/* The result. */
	json_t *made; /* the new messages; NULL: unchanged */
	json_t *files; /* path: content */
	json_t *notes; /* lines of the answer */
	json_t *metadata;
};

/* ---- counting */

static uint64_t characters(const json_t *text)
{
	const char *p = json_string_value(text);
	uint64_t n = 0;

	for (; p && *p; p++)
		n += ((unsigned char)*p & 0xc0) != 0x80;
	return n;
}

static uint64_t message_characters(const json_t *message)
{
	const json_t *content = json_object_get(message, "content");
	OFS_FREE char *other = NULL;

	if (json_is_object(content) || json_is_array(content))
		other = json_dumps(content, JSON_COMPACT);
	return (other ? strlen(other) : characters(content)) +
	       characters(json_object_get(message, "reasoning_content"));
}

static int64_t tokens_of(uint64_t characters)
{
	return (int64_t)((characters + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN);
}

static bool is_role(const json_t *message, const char *role)
{
	const char *said = json_string_value(json_object_get(message, "role"));

	return strcmp(said ? said : "user", role) == 0;
}

/* Returns the index of the first of the last `keep` messages that are not of the system. */
static size_t end_of_old(const json_t *messages, int64_t keep)
{
	size_t end = json_array_size(messages);

	for (; end && keep > 0; end--)
		keep -= !is_role(json_array_get(messages, end - 1), "system");
	return end;
}

/* Counts the tokens of messages before `end`; those of the system only if `all` is set. */
static int64_t count(const json_t *messages, size_t end, bool all)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < end; i++) {
		const json_t *message = json_array_get(messages, i);

		if (all || !is_role(message, "system"))
			sum += message_characters(message);
	}
	return tokens_of(sum);
}

static int64_t keep_or(const struct offloading *o, int64_t usual)
{
	return o->keep >= 0 ? o->keep : o->listed ? 10 : usual;
}

/* ---- compacting */

/* Stores a text under the name of its call. Sets *ret_path to its displayed path, allocated. */
static int store(struct offloading *o, struct ofs_access *access, const char *folder,
		 const char *label, const char *text, bool *ret_new, struct ofs_error *err,
		 char **ret_path)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	OFS_CLEANUP(ofs_deposited_finish) struct ofs_deposited done = { 0 };
	struct ofs_content content;
	int r;

	ofs_spool_wrap(&spool, text, strlen(text));
	r = ofs_content_scan(&spool, &content);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read a result: %s", strerror(-r));
	r = -EEXIST;
	/* An earlier file with another text keeps the name, since a pointer may lead to it. */
	for (int try = 1; try <= NAME_TRIES && r == -EEXIST; try++) {
		OFS_FREE char *usual = *label ? ofs_strdup(label) : ofs_strndup(content.sha256, 32);
		OFS_FREE char *name = try == 1 ? ofs_format("%s.txt", usual)
					       : ofs_format("%s_%d.txt", usual, try);
		const struct ofs_deposit deposit = { .category = CATEGORY,
						     .folder = folder,
						     .name = name };

		r = ofs_deposit_store(&deposit, &content, access->backend, err, &done);
	}
	if (r < 0)
		return r;
	*ret_new = done.is_new;
	*ret_path = ofs_access_display(access, done.path);
	return 0;
}

/* Returns the text that replaces a stored one, allocated. */
static char *pointer(const struct offloading *o, const char *label, const char *path,
		     const char *text)
{
	size_t bytes = 0;
	OFS_FREE char *begin = NULL;

	for (int64_t n = o->preview; n > 0 && text[bytes]; n--)
		do
			bytes++;
		while (((unsigned char)text[bytes] & 0xc0) == 0x80);
	begin = ofs_strndup(text, bytes);
	if (!o->listed)
		return ofs_format("%s... (detailed result is stored in %s)", begin, path);
	return ofs_format("tool call=%s result is stored in file path=`%s`%s%s%s", label, path,
			  o->preview ? "\npreview: " : "", begin, o->preview ? "..." : "");
}

static int compact_one(struct offloading *o, struct ofs_access *access, const char *folder,
		       json_t *message, struct ofs_error *err, struct ofs_usage *usage)
{
	const char *text = json_string_value(json_object_get(message, "content"));
	const char *id = json_string_value(json_object_get(message, "tool_call_id"));
	OFS_FREE char *label = ofs_naming_label(id ? id : "", id ? strlen(id) : 0, "");
	OFS_FREE char *path = NULL, *made = NULL;
	bool is_new = false;
	int r = store(o, access, folder, label, text, &is_new, err, &path);

	if (r < 0)
		return r;
	made = pointer(o, *label ? label : strrchr(path, '/') + 1, path, text);
	usage->results++;
	usage->offloaded += (uint64_t)tokens_of(characters(json_object_get(message, "content")));
	usage->pointers += (uint64_t)tokens_of(strlen(made));
	json_object_set(o->files, path, json_object_get(message, "content"));
	json_array_append_new(o->notes,
			      json_sprintf(is_new ? "Successfully created and wrote to new file: %s"
						  : "Successfully overwrote file: %s",
					   path));
	json_object_set_new(message, "content", json_string(made));
	return 0;
}

static int compact(struct offloading *o, struct ofs_access *access, const char *folder,
		   struct ofs_error *err)
{
	bool has_task = o->chat_id && ofs_naming_check("chat_id", o->chat_id, NULL) == 0;
	struct ofs_usage usage = { .way = "http", .task = has_task ? o->chat_id : NULL };
	size_t end = end_of_old(o->messages, keep_or(o, 1));
	int r = 0;

	if (count(o->messages, end, false) <= o->total)
		return 0;
	o->made = json_deep_copy(o->messages);
	for (size_t i = 0; i < end && r == 0; i++) {
		json_t *message = json_array_get(o->made, i);

		if (is_role(message, "tool") &&
		    json_is_string(json_object_get(message, "content")) &&
		    tokens_of(message_characters(message)) > o->result)
			r = compact_one(o, access, folder, message, err, &usage);
	}
	if (usage.results)
		ofs_usage_tell(access->backend, &usage);
	return r;
}

/* ---- compressing */

/* Adds the files that the context engine has written, with their contents. */
static void take_files(struct offloading *o, struct ofs_access *access, const json_t *files)
{
	const char *path;
	json_t *about;

	json_object_foreach((json_t *)files, path, about)
	{
		const char *ref = json_string_value(json_object_get(about, "ref"));
		OFS_FREE char *inside = ref ? ofs_path_join("refs", ref) : NULL;
		OFS_FREE char *text = NULL;
		ofs_handle h;

		if (!ref || access->backend->ops->open(access->backend, inside, &h) < 0)
			continue;
		if (ofs_backend_read_all(access->backend, h, (uint64_t)64 << 20, &text, NULL) == 0)
			json_object_set_new(o->files, path, json_string(text));
		access->backend->ops->close(access->backend, h);
		json_array_append_new(o->notes,
				      json_sprintf("Successfully created and wrote to new file: %s",
						   path));
	}
}

/* Summarizes by the context engine, whose settings may name a model. ReMe always asks one. */
static int compress(struct offloading *o, struct ofs_access *access, const char *folder,
		    struct ofs_error *err)
{
	json_auto_t *request = json_pack("{s:O, s:s, s:i, s:I, s:s}", "messages", o->messages,
					 "mode", "compress", "max_total_tokens", 0,
					 "keep_recent_count", (json_int_t)keep_or(o, 2),
					 "store_dir", folder);
	json_auto_t *answer = NULL;
	OFS_FREE char *text = NULL, *made = NULL;
	struct ofs_context *context;
	json_t *metadata;
	size_t len;
	int r;

	if (count(o->messages, end_of_old(o->messages, keep_or(o, 2)), false) <= o->total)
		return 0;
	if (o->group > 0)
		json_object_set_new(request, "group_token_threshold", json_integer(o->group));
	text = json_dumps(request, JSON_COMPACT);
	r = ofs_context_over(access, err, &context);
	if (r < 0)
		return r;
	r = ofs_context_manage(context, text, strlen(text), err, &made, &len);
	ofs_context_close(context);
	if (r < 0)
		return r;
	answer = json_loadb(made, len, JSON_ALLOW_NUL, NULL);
	metadata = json_object_get(answer, "metadata");
	if (json_is_string(json_object_get(metadata, "note")))
		json_object_set(o->metadata, "note", json_object_get(metadata, "note"));
	/* If nothing was summarized, the messages stay as they were, or as they were compacted. */
	if (!json_integer_value(json_object_get(metadata, "summarized")))
		return 0;
	json_decref(o->made);
	o->made = json_incref(json_object_get(answer, "messages"));
	take_files(o, access, json_object_get(metadata, "write_file_dict"));
	return 0;
}

/* ---- the request */

static int offload(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct offloading *o = arg;
	bool mapped;
	OFS_FREE char *folder = ofs_reme_folder(access, o->store_dir, &mapped);
	OFS_FREE char *shown = ofs_access_display(access, folder);
	int64_t before, after;
	int r = 0;

	json_decref(o->made);
	o->made = NULL;
	json_object_clear(o->files);
	json_array_clear(o->notes);
	if (o->mode != COMPRESS)
		r = compact(o, access, folder, err);
	before = count(o->messages, json_array_size(o->messages), true);
	after = o->made ? count(o->made, json_array_size(o->made), true) : before;
	if (r == 0 && (o->mode == COMPRESS ||
		       (o->mode == AUTO && before && (double)after / (double)before > o->ratio)))
		r = compress(o, access, folder, err);
	if (r == 0 && mapped && o->store_dir && json_object_size(o->files))
		json_array_append_new(o->notes,
				      json_sprintf("store_dir \"%s\" is not in the tree: its files "
						   "are in %s, and are found by either name",
						   o->store_dir, shown));
	json_object_set_new(o->metadata, "store_dir", json_string(shown));
	return r;
}

static const char *check_values(const struct offloading *o)
{
	const json_t *message;
	size_t i;

	if (o->total <= 0)
		return "max_total_tokens must be greater than 0";
	if (o->result <= 0)
		return "max_tool_message_tokens must be greater than 0";
	if (o->preview < 0)
		return "preview_char_length must be greater than 0";
	if (o->keep < -1)
		return "keep_recent_count must be greater than 0";
	json_array_foreach(o->messages, i, message) if (
		!is_role(message, "system") && !is_role(message, "user") &&
		!is_role(message, "assistant") &&
		!is_role(
			message,
			"tool")) return "a message has none of the roles system, user, assistant and tool";
	return NULL;
}

static json_t *joined(const json_t *lines)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	const json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		ofs_buf_printf(&out, "%s%s", i ? "\n" : "", json_string_value(line));
	if (!i)
		ofs_buf_append_str(&out, "No write file task.");
	return json_string(ofs_buf_str(&out));
}

/* Answers a failure with the messages unchanged, so that no program loses a chat. */
static void fail(struct offloading *o, const char *why, struct ofs_http_reply *ret)
{
	ofs_reme_answer(ret, false, json_incref(o->messages), json_incref(o->messages),
			json_pack("{s:s}", "error", why));
}

static void run(struct offloading *o, struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	const char *wrong = check_values(o);
	struct ofs_error err = { "" };
	json_t *made;
	int r;

	if (wrong) {
		fail(o, wrong, ret);
		return;
	}
	r = ofs_service_use(x->site->service, ofs_http_agent(x), true, offload, o, &err);
	if (ofs_service_is_away(r)) {
		ofs_http_reply_failed(ret, r, &err);
		return;
	}
	if (r < 0) {
		fail(o, err.text, ret);
		return;
	}
	made = o->made ? o->made : o->messages;
	json_object_set(o->metadata, "write_file_dict", o->files);
	if (json_array_size(o->notes))
		json_object_set_new(o->metadata, "files", joined(o->notes));
	ofs_reme_answer(ret, true, o->listed ? json_incref(made) : joined(o->notes),
			json_incref(made), json_incref(o->metadata));
}

static bool read_mode(const json_t *body, struct ofs_http_reply *ret, enum mode *mode)
{
	static const char *const names[] = { "auto", "compact", "compress" };
	static const char *const members[] = { "working_summary_mode", "context_manage_mode" };
	const char *name = NULL;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(members); i++)
		if (!ofs_reme_text(body, members[i], ret, &name))
			return false;
	for (size_t i = 0; name && i < OFS_ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*mode = (enum mode)i;
			return true;
		}
	}
	if (name)
		ofs_reme_refuse(ret, "working_summary_mode", "enum",
				"Input should be 'compact', 'compress' or 'auto'");
	return !name;
}

static bool read_messages(const json_t *body, struct ofs_http_reply *ret, json_t **messages)
{
	json_t *message;
	size_t i;

	*messages = json_object_get(body, "messages");
	if (!*messages) {
		ofs_reme_refuse(ret, "messages", "missing", "Field required");
		return false;
	}
	if (!json_is_array(*messages)) {
		ofs_reme_refuse(ret, "messages", "list_type", "Input should be a valid list");
		return false;
	}
	json_array_foreach(*messages, i, message)
	{
		if (!json_is_object(message)) {
			ofs_reme_refuse(ret, "messages", "model_type",
					"Input should be a valid dictionary");
			return false;
		}
	}
	return true;
}

static void answer(struct ofs_http_exchange *x, struct ofs_http_reply *ret, bool listed)
{
	struct offloading o = {
		.listed = listed,
		.mode = AUTO,
		.ratio = RATIO,
		.total = 20000,
		.result = 2000,
		.preview = listed ? 0 : 100,
		.keep = -1,
	};
	json_auto_t *body = NULL;

	if (!ofs_reme_body(x, ret, &body) || !read_messages(body, ret, &o.messages) ||
	    !read_mode(body, ret, &o.mode) ||
	    !ofs_reme_real(body, "compact_ratio_threshold", ret, &o.ratio) ||
	    !ofs_reme_number(body, "max_total_tokens", ret, &o.total) ||
	    !ofs_reme_number(body, "max_tool_message_tokens", ret, &o.result) ||
	    !ofs_reme_number(body, "group_token_threshold", ret, &o.group) ||
	    !ofs_reme_number(body, "preview_char_length", ret, &o.preview) ||
	    !ofs_reme_number(body, "keep_recent_count", ret, &o.keep) ||
	    !ofs_reme_text(body, "store_dir", ret, &o.store_dir) ||
	    !ofs_reme_text(body, "chat_id", ret, &o.chat_id))
		return;
	o.files = json_object();
	o.notes = json_array();
	o.metadata = json_object();
	run(&o, x, ret);
	json_decref(o.made);
	json_decref(o.files);
	json_decref(o.notes);
	json_decref(o.metadata);
}

void ofs_reme_offload(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	answer(x, ret, false);
}

void ofs_reme_summary(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	answer(x, ret, true);
}
