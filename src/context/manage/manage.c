/* SPDX-License-Identifier: MIT */
#include "context/manage/manage.h"

#include <inttypes.h>
#include <limits.h>

#include "base/redact.h"
#include "base/text.h"
#include "base/tokens.h"
#include "context/manage/compaction.h"
#include "context/manage/compression.h"
#include "context/manage/prefetch.h"
#include "context/manage/request.h"
#include "context/manage/restore.h"
#include "context/manage/seam.h"

/* Messages (for compact: results) that stay by default. */
#define KEEP_AUTO 6
#define KEEP_COMPACT 1
#define KEEP_COMPRESS 2

/* The state of a request. */
struct managing {
	const struct ofs_settings *settings;
	const struct ofs_summarizer *summarizer;
	struct ofs_request request;
	struct ofs_shelf shelf;
	struct ofs_error *err;
	struct ofs_chat chat;
	struct ofs_compaction compaction;
	struct ofs_edits edits;
	struct ofs_compression compression;
	bool compressed;
	size_t fetched; /* slices */
	uint64_t before, after; /* in tokens */
	char *note;
	bool failed; /* the request was not fulfilled, and the messages are unchanged */
	struct ofs_restored restored; /* the answer to OFS_MANAGE_RESTORE; it has no other */
};

/* ---- compacting and compressing */

static size_t keep_or(const struct managing *m, size_t usual)
{
	return m->request.keep < 0 ? usual : (size_t)m->request.keep;
}

static int compact(struct managing *m, size_t keep, size_t brief)
{
	struct ofs_compaction_limits limits = {
		.result_tokens = m->request.max_tool_message_tokens,
		.keep = keep,
		.kept_tokens = m->request.max_total_tokens,
		.brief = brief,
	};
	int r = ofs_compaction_plan(&m->compaction, &m->chat, &limits, &m->shelf, m->err);

	m->after = m->compaction.tokens;
	return r;
}

/* Returns the tokens of each message after compaction, allocated. */
static uint64_t *count_messages(const struct managing *m)
{
	uint64_t *tokens = ofs_alloc((m->chat.n + 1) * sizeof(*tokens));

	for (size_t i = 0; i < m->chat.n; i++)
		tokens[i] = m->chat.messages[i].tokens;
	for (size_t i = 0; i < m->compaction.n; i++) {
		const struct ofs_chat_result *result = &m->chat.results[i];

		tokens[result->message] += m->compaction.list[i].tokens - result->tokens;
	}
	return tokens;
}

/* Notes why the chat is not compressed. A reason may quote any bytes; it is made valid UTF-8. */
static int leave(struct managing *m, const char *why)
{
	struct ofs_text_stream s;

	fputs("not compressed: ", ofs_text_open(&s));
	ofs_text_line(s.out, why);
	m->note = ofs_text_close(&s);
	return 0;
}

/* Returns whether the answer has a place for a summary. */
static bool takes_summary(const struct managing *m)
{
	return !m->request.list_only || !m->chat.anthropic || ofs_seam_head(&m->chat);
}

/*
 * Returns the number of messages at the start that will be summarized whatever becomes of the
 * results, or 0 if that is not certain.
 */
static size_t certain_end(const struct managing *m)
{
	OFS_FREE uint64_t *least = count_messages(m);
	uint64_t limit = m->request.max_total_tokens, all = m->chat.system_tokens;

	if (!takes_summary(m))
		return 0;
	for (size_t i = 0; i < m->compaction.n; i++)
		least[m->chat.results[i].message] -=
			m->chat.results[i].tokens - ofs_compaction_least(&m->compaction, i);
	for (size_t i = 0; i < m->chat.n; i++)
		all += least[i];
	return all > limit ? ofs_compression_end(&m->chat, least, keep_or(m, KEEP_AUTO), limit / 2)
			   : 0;
}

static int compress(struct managing *m, size_t end)
{
	OFS_FREE uint64_t *tokens = count_messages(m);
	struct ofs_compression_request request = {
		.chat = &m->chat,
		.edits = &m->edits,
		.message_tokens = tokens,
		.summarizer = m->summarizer,
		.style = m->compaction.style,
		.end = end,
		.group_tokens = m->request.group_token_threshold,
		.snapshot_tokens = m->settings->snapshot_tokens,
	};
	struct ofs_error why;
	int r;

	if (!takes_summary(m))
		return leave(m,
			     "in Anthropic's form the summary goes beside the list, and only the "
			     "list was asked for");
	ofs_edits_sort(&m->edits);
	r = ofs_compression_plan(&request, &m->shelf, &why, &m->compression);
	if (r < 0)
		return ofs_error_set(m->err, -r, "%s", why.text);
	if (r == 0) {
		ofs_redact_line(why.text, sizeof(why.text));
		return leave(m, why.text);
	}
	m->compressed = true;
	m->after = m->compression.tokens;
	ofs_compression_apply(&m->compression, &m->chat, &m->edits);
	return 0;
}

/*
 * Summarizes the older messages. What stays has at most half of the limit, so it is some time until
 * the next summary. If it still exceeds the limit, results in it get brief pointers.
 */
static int fit(struct managing *m)
{
	OFS_FREE uint64_t *tokens = count_messages(m);
	uint64_t limit = m->request.max_total_tokens, stay = m->chat.system_tokens;
	size_t end = ofs_compression_end(&m->chat, tokens, keep_or(m, KEEP_AUTO), limit / 2);
	int r = 0;

	if (!takes_summary(m))
		end = 0;
	for (size_t i = end; i < m->chat.n; i++)
		stay += tokens[i];
	stay += end ? m->settings->snapshot_tokens : 0;
	if (stay > limit)
		r = ofs_compaction_squeeze(&m->compaction, &m->chat, end, stay - limit, &m->shelf,
					   m->err);
	m->after = m->compaction.tokens;
	ofs_compaction_apply(&m->compaction, &m->chat, &m->edits);
	if (r == 0 && m->after > limit)
		r = compress(m, end);
	if (r == 0 && m->after > limit && !m->note)
		m->note = ofs_format("the messages that stay have more than %" PRIu64 " tokens",
				     limit);
	return r;
}

static int work(struct managing *m)
{
	enum ofs_manage_mode mode = m->request.mode;
	uint64_t limit = m->request.max_total_tokens;
	int r = ofs_compaction_begin(&m->chat, &m->shelf, m->err, &m->compaction);

	m->after = m->before;
	if (r == 0 && mode == OFS_MANAGE_COMPACT && m->before > limit)
		r = compact(m, keep_or(m, KEEP_COMPACT), 0);
	if (r == 0 && mode == OFS_MANAGE_AUTO)
		r = compact(m, 0, certain_end(m));
	if (r == 0 && mode == OFS_MANAGE_AUTO && m->after > limit)
		return fit(m);
	if (r < 0)
		return r;
	ofs_compaction_apply(&m->compaction, &m->chat, &m->edits);
	if (mode == OFS_MANAGE_COMPRESS && m->before > limit) {
		OFS_FREE uint64_t *tokens = count_messages(m);

		r = compress(m, ofs_compression_end(&m->chat, tokens, keep_or(m, KEEP_COMPRESS),
						    UINT64_MAX));
		m->failed = r == 0 && !m->compressed;
	}
	return r;
}

/* ---- fetching in advance */

/*
 * Returns the user's request if the chat ends with one that has no slices yet, or else NULL. Once
 * the model has begun its answer, another message before the request would invalidate the cache.
 */
static const struct ofs_message *find_request(const struct ofs_chat *chat)
{
	const struct ofs_message *last = chat->n ? &chat->messages[chat->n - 1] : NULL;

	if (!last || last->role != OFS_ROLE_USER || !last->speaks || last->answers ||
	    ofs_prefetch_is(last) || (chat->n > 1 && ofs_prefetch_is(last - 1)))
		return NULL;
	return last;
}

static int append_text(void *arg, struct ofs_span string)
{
	ofs_span_decode(string, arg);
	ofs_buf_append_str(arg, "\n");
	return 0;
}

/* Finds the marks of all pointers, old and new. Returns their number, or -errno. */
static ssize_t find_sources(struct managing *m, struct ofs_mark *marks)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < m->chat.n_results; i++) {
		const struct ofs_buf *made = i < m->compaction.n ? &m->compaction.list[i].text
								 : NULL;

		r = made && made->data ? ofs_shelf_find_mark(&m->shelf, made->data, made->len,
							     m->err, &marks[n])
				       : ofs_shelf_find_mark_in(&m->shelf, m->chat.results[i].text,
								m->err, &scratch, &marks[n]);
		if (r < 0)
			return r;
		n += r > 0;
	}
	return (ssize_t)n;
}

/* Inserts slices as a message before the last request. */
static int fetch(struct managing *m)
{
	OFS_CLEANUP(ofs_buf_finish)
	struct ofs_buf query = OFS_BUF_INIT, slices = OFS_BUF_INIT, message = OFS_BUF_INIT;
	const struct ofs_message *request = find_request(&m->chat);
	OFS_FREE struct ofs_mark *marks = ofs_alloc((m->chat.n_results + 1) * sizeof(*marks));
	ssize_t n = request ? find_sources(m, marks) : 0;
	int r;

	if (n <= 0)
		return (int)n;
	ofs_message_texts(request, append_text, &query);
	/* A message that starts with a tag is the harness's. */
	if (query.len && query.data[0] == '<')
		return 0;
	r = ofs_prefetch_write(&m->shelf, marks, (size_t)n, (const char *)query.data, query.len,
			       &slices);
	if (r <= 0)
		return r;
	m->fetched = (size_t)r;
	ofs_prefetch_message(slices.data, slices.len, &m->compaction.style, &message);
	m->after += ofs_tokens_count(slices.data, slices.len);
	ofs_edits_replace(&m->edits, (struct ofs_span){ request->whole.p, 0 }, &message);
	return 0;
}

/* ---- the answer */

static int put(const struct ofs_sink *sink, const char *text)
{
	return sink->write(sink->arg, text, strlen(text));
}

static int put_buf(const struct ofs_sink *sink, const struct ofs_buf *text)
{
	return sink->write(sink->arg, text->data, text->len);
}

/* Returns the text of `json`, whose reference is taken, allocated; NULL if it cannot be written. */
static char *json_text(json_t *json)
{
	char *text = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;

	json_decref(json);
	return text;
}

static void describe_file(json_t *files, const struct ofs_shelved *file, const char *tool,
			  uint64_t tokens, size_t message)
{
	json_t *entry = json_pack("{s:s, s:I, s:I, s:I, s:s, s:I}", "ref", file->mark.ref, "bytes",
				  (json_int_t)file->size, "lines", (json_int_t)file->lines,
				  "tokens", (json_int_t)tokens, "sha256", file->sha256, "message",
				  (json_int_t)message);

	if (tool)
		json_object_set_new(entry, "tool", json_string(tool));
	json_object_set_new(files, file->path, entry);
}

static json_t *list_files(const struct managing *m)
{
	json_t *files = json_object();

	for (size_t i = 0; i < m->compaction.n; i++) {
		const struct ofs_compacted *c = &m->compaction.list[i];
		const struct ofs_chat_result *result = &m->chat.results[i];
		OFS_FREE char *tool = NULL;

		if (!c->file)
			continue;
		tool = ofs_span_text(result->call == SIZE_MAX ? result->name
							      : m->chat.calls[result->call].name);
		describe_file(files, c->file, tool, result->tokens, result->message);
	}
	if (m->compressed)
		describe_file(files, &m->compression.file, NULL,
			      m->before > m->after ? m->before - m->after : 0, 0);
	return files;
}

static json_t *metadata(const struct managing *m)
{
	return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "mode",
			 ofs_manage_modes[m->request.mode], "write_file_dict", list_files(m),
			 "tokens_before", (json_int_t)m->before, "tokens_after",
			 (json_int_t)m->after, "tokens_saved",
			 (json_int_t)m->before - (json_int_t)m->after, "offloaded",
			 (json_int_t)m->compaction.offloaded, "shortened",
			 (json_int_t)m->compaction.shortened, "summarized",
			 (json_int_t)m->compression.removed, "prefetched", (json_int_t)m->fetched,
			 "note", m->note);
}

static void say_count(struct ofs_buf *out, size_t n, const char *what, const char *became)
{
	if (n)
		ofs_buf_printf(out, "%s%zu %s%s %s", out->len ? ", " : "", n, what,
			       n == 1 ? "" : "s", became);
}

/* Returns a sentence for people and logs. */
static json_t *answer(const struct managing *m)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	if (m->request.mode == OFS_MANAGE_RESTORE)
		return json_sprintf("%zu results and %zu snapshots restored", m->restored.results,
				    m->restored.snapshots);
	say_count(&out, m->compaction.offloaded, "result", "offloaded");
	say_count(&out, m->compaction.shortened, "pointer", "shortened");
	say_count(&out, m->compression.removed, "message", "summarized");
	say_count(&out, m->fetched, "slice", "inserted");
	if (!out.len)
		return m->note ? json_string(m->note)
			       : json_sprintf("nothing to do: %" PRIu64 " tokens", m->before);
	ofs_buf_printf(&out, ": %" PRIu64 " -> %" PRIu64 " tokens", m->before, m->after);
	return json_stringn((const char *)out.data, out.len);
}

static int write_list(const struct managing *m, const struct ofs_sink *sink)
{
	int r;

	if (m->request.mode == OFS_MANAGE_RESTORE)
		return put_buf(sink, &m->restored.list);
	r = put(sink, "[");
	if (r == 0)
		r = ofs_compression_write(m->compressed ? &m->compression : NULL, &m->chat,
					  &m->edits, sink);
	return r < 0 ? r : put(sink, "]");
}

/* Writes the system prompt beside the list: unchanged, changed or new. */
static int write_system(const struct managing *m, const struct ofs_sink *sink)
{
	struct ofs_span system = m->chat.system;
	const struct ofs_buf *made = &m->restored.system;
	int r;

	if (m->compressed && !m->compression.system_part.p)
		made = &m->compression.system;
	if (!system.p && !made->len)
		return 0;
	r = put(sink, ", \"system\": ");
	if (r < 0)
		return r;
	return made->len ? put_buf(sink, made)
			 : ofs_edits_write(&m->edits, system.p, system.p + system.len, sink);
}

static int write_answer(const struct managing *m, const struct ofs_sink *sink)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf head = OFS_BUF_INIT, tail = OFS_BUF_INIT;
	OFS_FREE char *said = NULL, *told = NULL;
	int r;

	if (m->request.list_only) {
		r = write_list(m, sink);
		return r < 0 ? r : put(sink, "\n");
	}
	/* These may fail, so they are made before the first byte is written. */
	said = json_text(answer(m));
	told = json_text(metadata(m));
	if (!said || !told)
		return -ENOMEM;
	ofs_buf_printf(&head, "{\"success\": %s, \"answer\": %s, \"messages\": ",
		       m->failed ? "false" : "true", said);
	if (m->request.mode != OFS_MANAGE_RESTORE)
		ofs_buf_printf(&tail, ", \"metadata\": %s", told);
	ofs_buf_append_str(&tail, "}\n");
	r = put_buf(sink, &head);
	if (r == 0)
		r = write_list(m, sink);
	if (r == 0)
		r = write_system(m, sink);
	return r < 0 ? r : put_buf(sink, &tail);
}

/* ---- the whole */

static int change(struct managing *m)
{
	int r = ofs_chat_read(m->request.messages, m->request.system, m->err, &m->chat);

	if (r < 0)
		return r;
	m->chat.anthropic |= m->request.anthropic;
	m->before = ofs_chat_tokens(&m->chat);
	r = work(m);
	if (r == 0 && m->request.prefetch)
		r = fetch(m);
	ofs_edits_sort(&m->edits);
	return r;
}

static void tell_usage(struct managing *m)
{
	struct ofs_usage *usage = &m->compaction.usage;
	struct ofs_error err;

	if ((!usage->results && !usage->read) || ofs_access_open(m->shelf.access, false, &err) < 0)
		return;
	usage->way = "context";
	usage->task = m->request.chat_id;
	ofs_usage_tell(m->shelf.access->backend, usage);
}

static int manage(struct managing *m, const struct ofs_sink *sink)
{
	int r = m->request.mode == OFS_MANAGE_RESTORE
			? ofs_restore(m->request.messages, m->request.system, &m->shelf, m->err,
				      &m->restored)
			: change(m);

	if (r < 0)
		return r;
	r = write_answer(m, sink);
	if (r == 0)
		tell_usage(m);
	return r < 0 ? ofs_error_set(m->err, -r, "cannot write the answer: %s", strerror(-r)) : 0;
}

int ofs_manage(const void *text, size_t len, const struct ofs_manage_options *options,
	       const struct ofs_settings *settings, struct ofs_access *access,
	       const struct ofs_sink *sink, struct ofs_error *err, char **ret_note)
{
	struct managing m = { .settings = settings, .summarizer = options->summarizer, .err = err };
	int r = ofs_request_read(text, len, options, settings, err, &m.request);

	if (r == 0)
		r = ofs_shelf_init(&m.shelf, access, m.request.store_dir, m.request.chat_id, err);
	if (r == 0)
		r = manage(&m, sink);
	if (r == 0 && ret_note)
		*ret_note = ofs_steal(m.note);
	free(m.note);
	ofs_restored_finish(&m.restored);
	ofs_compression_finish(&m.compression);
	ofs_edits_finish(&m.edits);
	ofs_compaction_finish(&m.compaction);
	ofs_chat_finish(&m.chat);
	ofs_shelf_finish(&m.shelf);
	ofs_request_finish(&m.request);
	return r;
}
