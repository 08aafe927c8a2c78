/* SPDX-License-Identifier: MIT */
#include "context/manage/compaction.h"

#include "base/thread.h"
#include "base/tokens.h"
#include "client/pointer.h"
#include "context/chat/readback.h"
#include "context/snapshot/called.h"

/* The approximate tokens of a brief pointer. It pays only for at least twice that. */
#define BRIEF_TOKENS 60

/* The most results that get their own files although they are about to be summarized. */
#define SUMMED_MAX 256

/* The state of planning. */
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

/* Returns the name of the tool that returned a result, allocated, or NULL if unknown. */
static char *tool_of(const struct ofs_chat *chat, const struct ofs_chat_result *result)
{
	const struct ofs_chat_call *call = call_of(chat, result);

	return ofs_span_text(result->name.p || !call ? result->name : call->name);
}

/* Returns the title of a result's pointer, allocated: the call, or just the tool's name. */
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

/* Returns the first message after the model's last one. */
static size_t find_news(const struct ofs_chat *chat)
{
	size_t i = chat->n;

	while (i && chat->messages[i - 1].role != OFS_ROLE_ASSISTANT)
		i--;
	return i;
}

int ofs_compaction_begin(const struct ofs_chat *chat, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compaction *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf scratch = OFS_BUF_INIT;
	size_t news = find_news(chat);
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
		bool reads;

		ret->list[i].tokens = result->tokens;
		r = ofs_shelf_find_mark_in(shelf, result->text, err, &scratch, NULL);
		reads = r == 0 && call && result->text.len <= OFS_READBACK_MAX &&
			ofs_readback_call(call->args, shelf->access);
		ret->fixed[i] = r > 0 || reads;
		if (reads && result->message >= news && !ofs_readback_tells(call->args))
			ret->usage.read += result->tokens;
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
	uint64_t tokens;
	int r = ofs_shelf_put(p->shelf, item, name, what, brief, p->err, &file);

	if (r < 0)
		return r;
	ofs_buf_append_str(&text, file.pointer);
	r = ofs_shelf_sign(p->shelf, &text, p->err);
	if (r < 0)
		return r;
	to->file = ofs_alloc(sizeof(*to->file));
	*to->file = ofs_steal(file);
	tokens = ofs_tokens_count(text.data, text.len);
	if (to->file->is_new) {
		p->plan->usage.results++;
		p->plan->usage.offloaded += to->tokens;
		p->plan->usage.pointers += tokens;
	}
	replace(p, i, &text, tokens);
	p->plan->offloaded++;
	return 0;
}

/* Offloads one result if that pays. A brief pointer only has to be shorter. */
static int offload_item(struct planning *p, size_t i, struct ofs_shelf_item *item, bool brief)
{
	OFS_FREE char *name = NULL;
	OFS_FREE char *what = describe(p->chat, &p->chat->results[i], &name);
	uint64_t tokens = 0, own = p->plan->list[i].tokens;
	int r = 0;

	if (brief || !ofs_pointer_certainly_pays(item->content.size))
		r = ofs_shelf_weigh(p->shelf, item, what, brief, p->err, &tokens);
	if (r == 0 && (brief ? tokens < own : ofs_pointer_pays(own, tokens)))
		r = put(p, i, item, name, what, brief);
	return r;
}

static int fail_to_look(struct ofs_error *err, int r)
{
	return ofs_error_set(err, -r, "cannot examine a result: %s", strerror(-r));
}

static int offload_brief(struct planning *p, size_t i)
{
	struct ofs_shelf_item item;
	int r = ofs_shelf_item_init(&item, p->chat->results[i].text, &p->plan->style);

	if (r < 0)
		return fail_to_look(p->err, r);
	r = offload_item(p, i, &item, true);
	ofs_shelf_item_finish(&item);
	return r;
}

/* ---- preparing ahead */

/* The most items prepared, each with its text. Preparing resumes when half of them are used up. */
#define AHEAD 16

/*
 * A thread prepares results for storing, including the outlines of their pointers, because storing
 * one mostly waits for the daemon.
 */
struct ahead {
	const struct ofs_chat *chat;
	const size_t *numbers; /* indices of results */
	size_t n;
	size_t brief; /* results of messages before this one need no outline */
	struct ofs_literal_style *style;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	size_t ready, taken; /* counts of `numbers`; guarded by `lock` */
	bool stop; /* guarded by `lock` */
	struct ofs_shelf_item items[AHEAD]; /* of taken..ready */
	int results[AHEAD];
};

static void *look_ahead(void *arg)
{
	struct ahead *a = arg;

	for (size_t k = 0; k < a->n; k++) {
		const struct ofs_chat_result *result = &a->chat->results[a->numbers[k]];
		struct ofs_shelf_item *item = &a->items[k % AHEAD];
		bool stop;
		int r;

		pthread_mutex_lock(&a->lock);
		if (k == a->taken + AHEAD)
			while (k > a->taken + AHEAD / 2 && !a->stop)
				pthread_cond_wait(&a->changed, &a->lock);
		stop = a->stop;
		pthread_mutex_unlock(&a->lock);
		if (stop)
			break;
		r = ofs_shelf_item_init(item, result->text, a->style);
		if (r == 0 && result->message >= a->brief)
			r = ofs_pointer_outline(&item->content, &item->outline);
		pthread_mutex_lock(&a->lock);
		a->results[k % AHEAD] = r;
		a->ready++;
		pthread_cond_signal(&a->changed);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* Waits for the next item, or for its error. */
static struct ofs_shelf_item *wait_ahead(struct ahead *a, int *ret_result)
{
	OFS_LOCKED(&a->lock);
	while (a->ready == a->taken)
		pthread_cond_wait(&a->changed, &a->lock);
	*ret_result = a->results[a->taken % AHEAD];
	return &a->items[a->taken % AHEAD];
}

static void take_ahead(struct ahead *a, struct ofs_shelf_item *item)
{
	ofs_shelf_item_finish(item);
	OFS_LOCKED(&a->lock);
	a->taken++;
	if (a->ready <= a->taken + AHEAD / 2)
		pthread_cond_signal(&a->changed);
}

static void stop_ahead(struct ahead *a, pthread_t thread)
{
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(thread, NULL);
	while (a->taken < a->ready)
		ofs_shelf_item_finish(&a->items[a->taken++ % AHEAD]);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
}

/* Stores results in the order of the chat, which determines their refs. */
static int offload_all(struct planning *p, const size_t numbers[], size_t n, size_t brief)
{
	struct ahead a = {
		.chat = p->chat,
		.numbers = numbers,
		.n = n,
		.brief = brief,
		.style = &p->plan->style,
	};
	pthread_t thread;
	int r;

	if (!n)
		return 0;
	pthread_mutex_init(&a.lock, NULL);
	pthread_cond_init(&a.changed, NULL);
	r = -pthread_create(&thread, NULL, look_ahead, &a);
	if (r < 0) {
		pthread_cond_destroy(&a.changed);
		pthread_mutex_destroy(&a.lock);
		return fail_to_look(p->err, r);
	}
	for (size_t k = 0; k < n && r == 0; k++) {
		struct ofs_shelf_item *item = wait_ahead(&a, &r);

		if (r < 0)
			r = fail_to_look(p->err, r);
		else
			r = offload_item(p, numbers[k], item,
					 p->chat->results[numbers[k]].message < brief);
		take_ahead(&a, item);
	}
	stop_ahead(&a, thread);
	return r;
}

uint64_t ofs_compaction_least(const struct ofs_compaction *c, size_t result)
{
	uint64_t tokens = c->list[result].tokens;

	return !c->fixed[result] && ofs_pointer_pays(tokens, 0) ? 0 : tokens;
}

int ofs_compaction_plan(struct ofs_compaction *c, const struct ofs_chat *chat,
			const struct ofs_compaction_limits *limits, struct ofs_shelf *shelf,
			struct ofs_error *err)
{
	struct planning p = { chat, shelf, err, c };
	size_t kept = chat->n_results - OFS_MIN(limits->keep, chat->n_results);
	OFS_FREE size_t *numbers = ofs_alloc((chat->n_results + 1) * sizeof(*numbers));
	size_t n = 0, summed = 0, left;

	for (size_t i = 0; i < chat->n_results; i++) {
		const struct ofs_chat_result *result = &chat->results[i];
		bool is_summed = result->message < limits->brief;

		if (c->fixed[i] || (i >= kept && result->tokens <= limits->kept_tokens) ||
		    (is_summed && result->text.len <= OFS_OFFLOAD_BYTES))
			continue;
		/* Without a limit, skip those for which even an empty pointer would not pay. */
		if (limits->result_tokens ? result->tokens > limits->result_tokens
					  : ofs_pointer_pays(result->tokens, 0)) {
			numbers[n++] = i;
			summed += is_summed;
		}
	}
	left = summed - OFS_MIN(summed, (size_t)SUMMED_MAX);
	return offload_all(&p, numbers + left, n - left, limits->brief);
}

/* ---- squeezing */

/* Makes the result a brief pointer, if that is shorter. */
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
		return r < 0 ? r : offload_brief(p, i);
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

/* The largest first; of equals, the older. */
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
