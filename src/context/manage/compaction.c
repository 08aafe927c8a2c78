/* SPDX-License-Identifier: MIT */
#include "context/manage/compaction.h"

#include "base/tokens.h"
#include "context/chat/readback.h"
#include "context/snapshot/called.h"

/* So many pointers are shortened at once, so that a growing prompt keeps its start. */
#define BATCH 8
/* In a prompt that is too large a result of this part of the limit is offloaded, too. */
#define SMALLER 4
/*
 * So many of those at most: a file costs what a message takes to go to the daemon and back a few
 * times, and who has more results than that needs a summary of them, not a list of pointers.
 */
#define SMALLER_MAX 4000
/* About what a bare pointer takes: less than that is not worth one. */
#define BARE_TOKENS 100

/* A plan being made. */
struct planning {
	const struct ofs_chat *chat;
	const struct ofs_compaction_limits *limits;
	struct ofs_shelf *shelf;
	struct ofs_error *err;
	struct ofs_compaction *plan;
	bool *fixed; /* results that stay as they are */
};

void ofs_compaction_finish(struct ofs_compaction *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].file)
			ofs_shelved_finish(c->list[i].file);
		free(c->list[i].file);
		ofs_buf_finish(&c->list[i].text);
	}
	free(c->list);
	*c = (struct ofs_compaction){ 0 };
}

static const struct ofs_chat_call *call_of(const struct ofs_chat *chat,
					   const struct ofs_chat_result *result)
{
	return result->call == SIZE_MAX ? NULL : &chat->calls[result->call];
}

/*
 * The text of a pointer that can be undone, made now or before, which lies in `scratch` if it has to
 * be decoded. 1; 0: it is none; or -errno.
 */
static int pointer_text(struct planning *p, size_t i, struct ofs_buf *scratch,
			const struct ofs_buf **ret)
{
	const struct ofs_buf *text = &p->plan->list[i].text;

	*ret = text->data ? text : scratch;
	if (text->data)
		return ofs_shelf_find_mark(p->shelf, text->data, text->len, p->err, NULL);
	return ofs_shelf_find_mark_in(p->shelf, p->chat->results[i].text, p->err, scratch, NULL);
}

/* What is a pointer, or was read back and is short, stays as it is. */
static int look(struct planning *p)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT;
	const struct ofs_buf *text;
	const struct ofs_chat *chat = p->chat;
	int r = ofs_access_find(p->shelf->access, p->err);

	if (r < 0)
		return r;
	p->fixed = ofs_alloc(chat->n_results + 1);
	for (size_t i = 0; i < chat->n_results; i++) {
		const struct ofs_chat_result *result = &chat->results[i];
		const struct ofs_chat_call *call = call_of(chat, result);

		r = pointer_text(p, i, &scratch, &text);
		if (r < 0)
			return r;
		p->fixed[i] = r > 0 || (call && result->text.len <= OFS_READBACK_MAX &&
					ofs_readback_call(call->args, p->shelf->access));
	}
	return 0;
}

/* What was called, as the title of a pointer has it, allocated; or the tool's name alone. */
static char *describe(const struct ofs_chat *chat, const struct ofs_chat_result *result,
		      char **ret_name)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;
	const struct ofs_chat_call *call = call_of(chat, result);
	char *name = ofs_span_text(result->name.p || !call ? result->name : call->name);

	*ret_name = name ? name : ofs_strdup("result");
	if (call)
		ofs_called_title(call, &what);
	return what.len ? ofs_buf_steal_str(&what) : ofs_strdup(*ret_name);
}

/* The most detailed pointer that takes less than half of what it stands for, or else the barest. */
static void choose_detail(const char *pointer, uint64_t own, struct ofs_buf *text)
{
	for (int detail = OFS_MARK_FULL; detail <= OFS_MARK_BARE; detail++) {
		text->len = 0;
		ofs_mark_shrink(pointer, strlen(pointer), (enum ofs_mark_detail)detail, false,
				text);
		if (ofs_tokens_count(text->data, text->len) < own / 2)
			break;
	}
}

/* Offloads one result, unless its pointer would take as much. */
static int offload(struct planning *p, size_t i, const struct ofs_shelf_item *item)
{
	OFS_CLEANUP(ofs_shelved_finish) struct ofs_shelved file = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct ofs_chat_result *result = &p->chat->results[i];
	struct ofs_compacted *to = &p->plan->list[i];
	OFS_FREE char *name = NULL;
	OFS_FREE char *what = describe(p->chat, result, &name);
	uint64_t tokens;
	int r = ofs_shelf_put(p->shelf, item, name, what, p->err, &file);

	if (r < 0)
		return r;
	choose_detail(file.pointer, to->tokens, &text);
	r = ofs_shelf_sign(p->shelf, &text, p->err);
	if (r < 0)
		return r;
	tokens = ofs_tokens_count(text.data, text.len);
	if (tokens >= to->tokens)
		return 0;
	to->file = ofs_alloc(sizeof(*to->file));
	*to->file = ofs_steal(file);
	p->plan->tokens -= to->tokens - tokens;
	to->tokens = tokens;
	to->text = ofs_buf_steal(&text);
	p->plan->offloaded++;
	return 0;
}

/* The results that may be offloaded and have more tokens than that; returns how many. */
static size_t find_over(const struct planning *p, uint64_t tokens, size_t numbers[])
{
	const struct ofs_chat *chat = p->chat;
	size_t keep = OFS_MIN(p->limits->keep, chat->n_results), n = 0;

	for (size_t i = 0; i < chat->n_results; i++) {
		uint64_t own = p->plan->list[i].tokens;
		/* What would fill the prompt alone is not kept for being new. */
		bool kept = i >= chat->n_results - keep && own <= p->limits->total_tokens;

		if (!p->fixed[i] && !kept && !p->plan->list[i].text.data && own > tokens)
			numbers[n++] = i;
	}
	return n;
}

/* Offloads those; or, if there are more than `max`, the larger of them. */
static int offload_over(struct planning *p, uint64_t tokens, size_t max)
{
	OFS_FREE size_t *numbers = ofs_alloc((p->chat->n_results + 1) * sizeof(*numbers));
	size_t n;
	int r = 0;

	while ((n = find_over(p, tokens, numbers)) > max)
		tokens += tokens / 4 + 1;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct ofs_shelf_item item;

		r = ofs_shelf_item_init(&item, p->chat->results[numbers[i]].text, &p->plan->style);
		if (r < 0)
			return ofs_error_set(p->err, -r, "cannot look at a result: %s",
					     strerror(-r));
		r = offload(p, numbers[i], &item);
		ofs_shelf_item_finish(&item);
	}
	return r;
}

/* ---- pointers that get shorter */

/*
 * 1: it has that detail now, and the instruction if it was to have it. 0: it is no pointer, or
 * would not be shorter, or has no more detail. Or -errno.
 */
static int shorten(struct planning *p, size_t i, enum ofs_mark_detail detail, bool instruct)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT, shorter = OFS_BUF_INIT;
	struct ofs_compacted *to = &p->plan->list[i];
	const struct ofs_buf *text;
	uint64_t tokens;
	int r = pointer_text(p, i, &scratch, &text);

	if (r <= 0)
		return r;
	ofs_mark_shrink(text->data, text->len, detail, instruct, &shorter);
	if (shorter.len == text->len && memcmp(shorter.data, text->data, text->len) == 0)
		return instruct;
	r = ofs_shelf_sign(p->shelf, &shorter, p->err);
	if (r < 0)
		return r;
	tokens = ofs_tokens_count(shorter.data, shorter.len);
	if (tokens > to->tokens)
		return 0;
	p->plan->tokens = p->plan->tokens - to->tokens + tokens;
	to->tokens = tokens;
	ofs_buf_finish(&to->text);
	to->text = ofs_buf_steal(&shorter);
	p->plan->shortened++;
	return 1;
}

/*
 * From the oldest on, until the prompt is a good deal below its size: each time this is done, a
 * cache of the prompt is lost, so it should not have to be done again soon.
 */
static int shorten_older(struct planning *p, enum ofs_mark_detail detail)
{
	uint64_t limit = p->limits->total_tokens, goal = limit - limit / 4;
	size_t done = 0;

	if (p->plan->tokens <= limit)
		return 0;
	for (size_t i = 0; i < p->plan->n; i++) {
		int r;

		if (done % BATCH == 0 && p->plan->tokens <= goal)
			return 0;
		r = shorten(p, i, detail, false);
		if (r < 0)
			return r;
		done += r > 0;
	}
	return 0;
}

static int shorten_all(struct planning *p)
{
	bool instruct = true;

	for (size_t i = 0; i < p->plan->n; i++) {
		int r = shorten(p, i, OFS_MARK_BARE, instruct);

		if (r == 0 && instruct)
			r = shorten(p, i, OFS_MARK_BARE, false);
		else
			instruct = instruct && r == 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the whole */

static int plan(struct planning *p)
{
	const struct ofs_compaction_limits *limits = p->limits;
	uint64_t smaller = OFS_MAX(limits->result_tokens / SMALLER, (uint64_t)BARE_TOKENS);
	int r = look(p);

	if (r == 0)
		r = offload_over(p, limits->result_tokens, SIZE_MAX);
	if (r == 0 && p->plan->tokens > limits->total_tokens)
		r = offload_over(p, smaller, SMALLER_MAX);
	if (r == 0 && p->plan->tokens > limits->bare_tokens) {
		r = offload_over(p, BARE_TOKENS, SMALLER_MAX);
		return r < 0 ? r : shorten_all(p);
	}
	if (r == 0)
		r = shorten_older(p, OFS_MARK_BRIEF);
	return r < 0 ? r : shorten_older(p, OFS_MARK_BARE);
}

int ofs_compaction_plan(const struct ofs_chat *chat, const struct ofs_compaction_limits *limits,
			struct ofs_shelf *shelf, struct ofs_error *err, struct ofs_compaction *ret)
{
	struct ofs_compaction made = { .n = chat->n_results, .tokens = ofs_chat_tokens(chat) };
	struct planning p = { chat, limits, shelf, err, &made, NULL };
	int r;

	made.list = ofs_alloc((made.n + 1) * sizeof(*made.list));
	for (size_t i = 0; i < made.n; i++)
		made.list[i].tokens = chat->results[i].tokens;
	r = plan(&p);
	free(p.fixed);
	if (r < 0) {
		ofs_compaction_finish(&made);
		return r;
	}
	*ret = made;
	return 0;
}

void ofs_compaction_apply(struct ofs_compaction *c, const struct ofs_chat *chat,
			  struct ofs_edits *edits)
{
	for (size_t i = 0; i < c->n; i++) {
		struct ofs_buf string = OFS_BUF_INIT;

		if (!c->list[i].text.data)
			continue;
		ofs_literal_encode(&c->style, c->list[i].text.data, c->list[i].text.len, &string);
		ofs_edits_replace(edits, chat->results[i].text, &string);
	}
}
