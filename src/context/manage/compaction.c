/* SPDX-License-Identifier: MIT */
#include "context/manage/compaction.h"

#include "base/tokens.h"
#include "client/pointer.h"
#include "context/chat/readback.h"
#include "context/snapshot/called.h"

/* About what a brief pointer takes: less than twice that is not worth one. */
#define BRIEF_TOKENS 60

/* A plan being made. */
struct planning {
	const struct ofs_chat *chat;
	struct ofs_shelf *shelf;
	struct ofs_error *err;
	struct ofs_compaction *plan;
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
	free(c->fixed);
	*c = (struct ofs_compaction){ 0 };
}

/* ---- what a result is */

static const struct ofs_chat_call *call_of(const struct ofs_chat *chat,
					   const struct ofs_chat_result *result)
{
	return result->call == SIZE_MAX ? NULL : &chat->calls[result->call];
}

/* The name of the tool that gave a result, allocated; NULL: it is not known. */
static char *tool_of(const struct ofs_chat *chat, const struct ofs_chat_result *result)
{
	const struct ofs_chat_call *call = call_of(chat, result);

	return ofs_span_text(result->name.p || !call ? result->name : call->name);
}

/* What was called, as the title of a pointer has it, allocated; or the tool's name alone. */
static char *describe(const struct ofs_chat *chat, const struct ofs_chat_result *result,
		      char **ret_name)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;
	const struct ofs_chat_call *call = call_of(chat, result);
	char *name = tool_of(chat, result);

	*ret_name = name ? name : ofs_strdup("result");
	if (call)
		ofs_called_title(call, &what);
	return what.len ? ofs_buf_steal_str(&what) : ofs_strdup(*ret_name);
}

int ofs_compaction_begin(const struct ofs_chat *chat, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compaction *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT;
	int r = ofs_access_find(shelf->access, err);

	*ret = (struct ofs_compaction){
		.n = chat->n_results,
		.tokens = ofs_chat_tokens(chat),
		.list = ofs_alloc((chat->n_results + 1) * sizeof(*ret->list)),
		.fixed = ofs_alloc(chat->n_results + 1),
	};
	for (size_t i = 0; i < chat->n_results && r >= 0; i++) {
		const struct ofs_chat_result *result = &chat->results[i];
		const struct ofs_chat_call *call = call_of(chat, result);

		ret->list[i].tokens = result->tokens;
		r = ofs_shelf_find_mark_in(shelf, result->text, err, &scratch, NULL);
		ret->fixed[i] = r > 0 || (call && result->text.len <= OFS_READBACK_MAX &&
					  ofs_readback_call(call->args, shelf->access));
	}
	return r < 0 ? r : 0;
}

/* ---- offloading */

static void replace(struct planning *p, size_t i, struct ofs_buf *text, uint64_t tokens)
{
	struct ofs_compacted *to = &p->plan->list[i];

	p->plan->tokens = p->plan->tokens - to->tokens + tokens;
	to->tokens = tokens;
	ofs_buf_finish(&to->text);
	to->text = ofs_buf_steal(text);
}

static int put(struct planning *p, size_t i, const struct ofs_shelf_item *item, const char *name,
	       const char *what, bool brief)
{
	OFS_CLEANUP(ofs_shelved_finish) struct ofs_shelved file = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_compacted *to = &p->plan->list[i];
	int r = ofs_shelf_put(p->shelf, item, name, what, brief, p->err, &file);

	if (r < 0)
		return r;
	ofs_buf_append_str(&text, file.pointer);
	r = ofs_shelf_sign(p->shelf, &text, p->err);
	if (r < 0)
		return r;
	to->file = ofs_alloc(sizeof(*to->file));
	*to->file = ofs_steal(file);
	replace(p, i, &text, ofs_tokens_count(text.data, text.len));
	p->plan->offloaded++;
	return 0;
}

/* Offloads one result where that pays; a brief pointer has only to be shorter. */
static int offload(struct planning *p, size_t i, bool brief)
{
	const struct ofs_chat_result *result = &p->chat->results[i];
	OFS_FREE char *name = NULL;
	OFS_FREE char *what = describe(p->chat, result, &name);
	uint64_t tokens = 0, own = p->plan->list[i].tokens;
	struct ofs_shelf_item item;
	int r = ofs_shelf_item_init(&item, result->text, &p->plan->style);

	if (r < 0)
		return ofs_error_set(p->err, -r, "cannot look at a result: %s", strerror(-r));
	if (brief || !ofs_pointer_certainly_pays(item.content.size))
		r = ofs_shelf_weigh(p->shelf, &item, what, brief, p->err, &tokens);
	if (r == 0 && (brief ? tokens < own : ofs_pointer_pays(own, tokens)))
		r = put(p, i, &item, name, what, brief);
	ofs_shelf_item_finish(&item);
	return r;
}

int ofs_compaction_plan(struct ofs_compaction *c, const struct ofs_chat *chat,
			const struct ofs_compaction_limits *limits, struct ofs_shelf *shelf,
			struct ofs_error *err)
{
	struct planning p = { chat, shelf, err, c };
	size_t kept = chat->n_results - OFS_MIN(limits->keep, chat->n_results);
	int r = 0;

	for (size_t i = 0; i < chat->n_results && r == 0; i++) {
		const struct ofs_chat_result *result = &chat->results[i];

		if (c->fixed[i] || (i >= kept && result->tokens <= limits->kept_tokens))
			continue;
		/* Without a limit wherever it pays; a pointer of no tokens tells where it cannot. */
		if (limits->result_tokens ? result->tokens > limits->result_tokens
					  : ofs_pointer_pays(result->tokens, 0))
			r = offload(&p, i, false);
	}
	return r;
}

/* ---- squeezing */

/* The result becomes a brief pointer, if it is shorter so. */
static int shorten(struct planning *p, size_t i)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT, shorter = OFS_BUF_INIT;
	const struct ofs_buf *text = &p->plan->list[i].text;
	uint64_t tokens;
	int r;

	if (text->data)
		r = ofs_shelf_find_mark(p->shelf, text->data, text->len, p->err, NULL);
	else
		r = ofs_shelf_find_mark_in(p->shelf, p->chat->results[i].text, p->err, &scratch,
					   NULL);
	if (r <= 0)
		return r < 0 ? r : offload(p, i, true);
	text = text->data ? text : &scratch;
	ofs_mark_shrink(text->data, text->len, &shorter);
	r = ofs_shelf_sign(p->shelf, &shorter, p->err);
	tokens = ofs_tokens_count(shorter.data, shorter.len);
	if (r < 0 || tokens >= p->plan->list[i].tokens)
		return r;
	replace(p, i, &shorter, tokens);
	p->plan->shortened++;
	return 0;
}

struct large {
	size_t number;
	uint64_t tokens;
};

/* The largest first, and of those the older. */
static int compare_sizes(const void *a, const void *b)
{
	const struct large *x = a, *y = b;

	if (x->tokens != y->tokens)
		return x->tokens > y->tokens ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

int ofs_compaction_squeeze(struct ofs_compaction *c, const struct ofs_chat *chat, size_t from,
			   uint64_t tokens, struct ofs_shelf *shelf, struct ofs_error *err)
{
	struct planning p = { chat, shelf, err, c };
	OFS_FREE struct large *list = ofs_alloc((c->n + 1) * sizeof(*list));
	uint64_t before = c->tokens;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (chat->results[i].message >= from && c->list[i].tokens > 2 * BRIEF_TOKENS)
			list[n++] = (struct large){ i, c->list[i].tokens };
	}
	qsort(list, n, sizeof(*list), compare_sizes);
	for (size_t i = 0; i < n && r == 0 && before - c->tokens < tokens; i++)
		r = shorten(&p, list[i].number);
	return r;
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
