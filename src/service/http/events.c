/* SPDX-License-Identifier: MIT */
#include "service/http/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/thread.h"
#include "client/trail.h"

#define POLL (250 * OFS_NS_PER_MS) /* interval between checks of the log */
#define ALIVE (15 * OFS_NS_PER_S) /* interval between signs of life */
#define PIECE ((uint64_t)64 << 10) /* maximum range of the log that is read at once */
#define TAIL_MAX ((size_t)256 << 10)

/* The log of a tree that at least one client follows. */
struct channel {
	LIST_ENTRY(channel) entry;
	unsigned int users; /* clients, and the thread while it reads the log */
	char *agent; /* whose tree it is; NULL: the server's own tree */
	uint64_t agent_dir; /* set by the thread; constant once it is not 0 */
	bool known; /* the log was found, and `start` and `end` are valid */
	uint64_t start, end;
	/* The newest lines, those of [from, to), as events. */
	uint64_t from, to;
	struct ofs_buf tail;
};

struct client {
	struct ofs_http_source source;
	struct ofs_events *events;
	struct channel *channel;
	LIST_ENTRY(client) entry;
	uint64_t at; /* its position in the log */
	int64_t alive; /* when something was last sent */
	void (*wake)(void *arg); /* NULL: not waiting */
	void *wake_arg;
};

struct ofs_events {
	struct ofs_target_options target;
	pthread_mutex_t lock; /* guards all that follows */
	pthread_cond_t changed;
	LIST_HEAD(, channel) channels;
	LIST_HEAD(, client) clients;
	unsigned int n, max;
	bool ending, ended; /* `ended`: the thread has ended */
	pthread_t thread;
};

/* ---- reading the log */

/* Returns the options for the tree of `agent`, which borrow *ret_agent, allocated or NULL. */
static struct ofs_target_options target_of(const struct ofs_events *e, const char *agent,
					   char **ret_agent)
{
	struct ofs_target_options t = e->target;

	*ret_agent = NULL;
	if (agent && t.agent && *t.agent)
		t.agent = *ret_agent = ofs_format("%s/%s", t.agent, agent);
	else if (agent)
		t.agent = agent;
	return t;
}

static void append_event(const char *line, size_t len, uint64_t position, struct ofs_buf *out)
{
	json_auto_t *json = json_loadb(line, len, 0, NULL);
	const char *event = json_string_value(json_object_get(json, "event"));

	if (!json)
		return;
	ofs_buf_printf(out, "id: %" PRIu64 "\n", position);
	if (event && !strpbrk(event, "\r\n"))
		ofs_buf_printf(out, "event: %s\n", event);
	ofs_buf_append_str(out, "data: ");
	ofs_json_append(json_incref(json), JSON_COMPACT, out);
	ofs_buf_append_str(out, "\n\n");
}

/*
 * Appends the lines of [from, to) as events. The id of an event is the position after its line. If
 * a part of the log is lost, ids are too low, so a client that continues there may see lines again
 * but misses none.
 */
static int read_events(struct ofs_trail *t, uint64_t agent_dir, uint64_t from, uint64_t to,
		       struct ofs_buf *out)
{
	OFS_FREE char *text = NULL;
	const char *at, *eol;
	int r = ofs_trail_read(t, agent_dir, from, to, &text);

	for (at = text; r == 0 && (eol = strchr(at, '\n')); at = eol + 1)
		append_event(at, (size_t)(eol - at), from + (uint64_t)(eol + 1 - text), out);
	return r;
}

/* ---- the thread */

static void release(struct channel *c)
{
	if (--c->users)
		return;
	LIST_REMOVE(c, entry);
	ofs_buf_finish(&c->tail);
	free(c->agent);
	free(c);
}

/* Looks for new lines. Called without the lock. Returns false if the log cannot be opened. */
static bool look(struct ofs_events *e, struct channel *c, struct channel *news)
{
	OFS_CLEANUP(ofs_trail_close) struct ofs_trail t = OFS_TRAIL_INIT;
	OFS_FREE char *agent = NULL;
	struct ofs_target_options target = target_of(e, c->agent, &agent);
	struct ofs_error err;

	if (ofs_trail_open(&t, &target, &news->agent_dir, &err) < 0)
		return false;
	news->start = t.start;
	news->end = t.end;
	/* Only this thread changes c->end. */
	if (c->known && t.end > c->end && t.end - c->end <= PIECE) {
		news->from = c->end;
		news->to = t.end;
		read_events(&t, news->agent_dir, news->from, news->to, &news->tail);
	}
	return true;
}

static void take_news(struct channel *c, struct channel *news)
{
	c->agent_dir = news->agent_dir;
	c->start = news->start;
	c->end = news->end;
	c->known = true;
	if (news->to && news->tail.len <= TAIL_MAX) {
		ofs_buf_finish(&c->tail);
		c->tail = ofs_buf_steal(&news->tail);
		c->from = news->from;
		c->to = news->to;
	}
}

static void wake(struct client *k)
{
	void (*fn)(void *arg) = k->wake;

	k->wake = NULL;
	if (fn)
		fn(k->wake_arg);
}

/* Wakes the clients that have something to send. */
static void wake_clients(struct ofs_events *e)
{
	int64_t now = ofs_clock_monotonic();
	struct client *k;

	LIST_FOREACH(k, &e->clients, entry)
	{
		const struct channel *c = k->channel;

		if (e->ending || now - k->alive >= ALIVE || (c->known && k->at < c->end))
			wake(k);
	}
}

static void look_at_all(struct ofs_events *e)
{
	struct channel *c = LIST_FIRST(&e->channels), *next;

	for (; c && !e->ending; c = next) {
		struct channel news = { .agent_dir = c->agent_dir };
		bool found;

		c->users++;
		pthread_mutex_unlock(&e->lock);
		found = look(e, c, &news);
		pthread_mutex_lock(&e->lock);
		if (found)
			take_news(c, &news);
		ofs_buf_finish(&news.tail);
		next = LIST_NEXT(c, entry);
		release(c);
	}
}

static void *follow(void *arg)
{
	struct ofs_events *e = arg;
	OFS_LOCKED(&e->lock);

	while (!e->ending) {
		int64_t now = ofs_clock_monotonic();

		look_at_all(e);
		wake_clients(e);
		while (!e->ending && LIST_EMPTY(&e->channels))
			pthread_cond_wait(&e->changed, &e->lock);
		while (!e->ending && ofs_cond_wait_until(&e->changed, &e->lock, now + POLL))
			;
	}
	wake_clients(e);
	e->ended = true;
	pthread_cond_broadcast(&e->changed);
	return NULL;
}

/* ---- clients */

/* Reads lines that the tail does not have, and moves *at past them. Called without the lock. */
static void catch_up(const struct ofs_events *e, const struct channel *c, uint64_t *at,
		     uint64_t end, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_trail_close) struct ofs_trail t = OFS_TRAIL_INIT;
	OFS_FREE char *agent = NULL;
	struct ofs_target_options target = target_of(e, c->agent, &agent);
	uint64_t agent_dir = c->agent_dir, to;
	struct ofs_error err;

	if (ofs_trail_open(&t, &target, &agent_dir, &err) < 0)
		return;
	*at = OFS_MAX(*at, t.start);
	to = OFS_MIN(OFS_MIN(end, t.end), *at - *at % PIECE + PIECE);
	if (*at < to && read_events(&t, agent_dir, *at, to, out) == 0)
		*at = to;
}

/* Appends the next events for a client. Releases the lock while it reads the log. */
static void take_new(struct client *k, struct ofs_buf *out)
{
	struct ofs_events *e = k->events;
	struct channel *c = k->channel;
	uint64_t at = k->at, end = c->end;

	if (!c->known || at >= end)
		return;
	if (at == c->from && c->to == end) {
		ofs_buf_append(out, c->tail.data, c->tail.len);
		k->at = c->to;
		return;
	}
	pthread_mutex_unlock(&e->lock);
	catch_up(e, c, &at, end, out);
	pthread_mutex_lock(&e->lock);
	k->at = at;
}

static int events_next(struct ofs_http_source *s, void (*fn)(void *arg), void *arg,
		       struct ofs_buf *out)
{
	struct client *k = (struct client *)s;
	struct ofs_events *e = k->events;
	int64_t now = ofs_clock_monotonic();
	size_t before = out->len;
	OFS_LOCKED(&e->lock);

	if (e->ending)
		return 0;
	take_new(k, out);
	if (out->len == before && now - k->alive >= ALIVE)
		ofs_buf_append_str(out, ": still there\n\n");
	if (out->len > before) {
		k->alive = now;
		return 0;
	}
	k->wake = fn;
	k->wake_arg = arg;
	return -EAGAIN;
}

static void events_destroy(struct ofs_http_source *s)
{
	struct client *k = (struct client *)s;
	struct ofs_events *e = k->events;
	OFS_LOCKED(&e->lock);

	LIST_REMOVE(k, entry);
	release(k->channel);
	e->n--;
	pthread_cond_broadcast(&e->changed);
	free(k);
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static struct channel *channel_of(struct ofs_events *e, const char *agent)
{
	struct channel *c;

	LIST_FOREACH(c, &e->channels, entry)
	{
		if (same(c->agent, agent))
			return c;
	}
	c = ofs_alloc(sizeof(*c));
	c->agent = agent ? ofs_strdup(agent) : NULL;
	LIST_INSERT_HEAD(&e->channels, c, entry);
	pthread_cond_broadcast(&e->changed);
	return c;
}

/* Adds a client. Returns false if there are too many. */
static bool subscribe(struct ofs_events *e, const char *agent, uint64_t at,
		      struct ofs_http_reply *ret)
{
	struct client *k;
	OFS_LOCKED(&e->lock);

	if (e->ending || e->n >= e->max)
		return false;
	k = ofs_alloc(sizeof(*k));
	k->source = (struct ofs_http_source){
		.next = events_next,
		.destroy = events_destroy,
		.size = -1,
	};
	k->events = e;
	k->channel = channel_of(e, agent);
	k->channel->users++;
	k->at = at;
	k->alive = ofs_clock_monotonic();
	LIST_INSERT_HEAD(&e->clients, k, entry);
	e->n++;
	ret->source = &k->source;
	return true;
}

/* The start of a client: a position, or a number of bytes before the end. */
struct beginning {
	uint64_t at; /* UINT64_MAX: not given */
	bool from_end;
};

/* Returns false if the value is not a number. */
static bool read_beginning(struct ofs_http_exchange *x, struct beginning *ret)
{
	const char *text = ofs_http_request_field(x->request, "Last-Event-ID");

	if (!text)
		text = ofs_http_target_parameter(&x->target, "after");
	ret->from_end = text && *text == '-';
	text += ret->from_end;
	ret->at = text ? strtoull(text, NULL, 10) : UINT64_MAX;
	return !text || (*text && strspn(text, "0123456789") == strlen(text));
}

/* Sets *at to the position that is asked for, or to the end of the log. 0 or -errno. */
static int place(struct ofs_http_exchange *x, const struct beginning *b, uint64_t *at,
		 struct ofs_error *err)
{
	OFS_CLEANUP(ofs_trail_close) struct ofs_trail t = OFS_TRAIL_INIT;
	OFS_FREE char *agent = NULL;
	struct ofs_target_options target = target_of(x->site->events, ofs_http_agent(x), &agent);
	uint64_t agent_dir = 0;
	int r = ofs_trail_open(&t, &target, &agent_dir, err);

	*at = OFS_MIN(b->at, t.end);
	if (b->from_end)
		*at = OFS_MAX(t.start, t.end - *at);
	return r;
}

void ofs_events_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	struct ofs_error err = { "" };
	struct beginning begin;
	uint64_t at;
	int r;

	if (!read_beginning(x, &begin) ||
	    x->target.n_parameters != (ofs_http_target_parameter(&x->target, "after") != NULL)) {
		ofs_http_reply_error(ret, 400,
				     "the only parameter is 'after': the id of an event, as in "
				     "Last-Event-ID, or -N for N bytes before the end");
		return;
	}
	r = place(x, &begin, &at, &err);
	if (r < 0) {
		ofs_http_reply_failed(ret, r, &err);
		return;
	}
	if (!subscribe(x->site->events, ofs_http_agent(x), at, ret)) {
		ofs_http_reply_error(ret, 503, "too many clients follow the events already");
		ofs_http_reply_field(ret, "Retry-After", ofs_strdup("10"));
		return;
	}
	ret->status = 200;
	ret->type = "text/event-stream";
}

/* ---- starting and ending */

int ofs_events_create(const struct ofs_target_options *target, unsigned int max,
		      struct ofs_events **ret)
{
	struct ofs_events *e = ofs_alloc(sizeof(*e));
	int r;

	e->target = *target;
	e->max = max;
	pthread_mutex_init(&e->lock, NULL);
	ofs_cond_init(&e->changed);
	r = ofs_thread_start(&e->thread, "events", follow, e);
	if (r < 0) {
		free(e);
		return r;
	}
	*ret = e;
	return 0;
}

void ofs_events_end(struct ofs_events *e)
{
	OFS_LOCKED(&e->lock);

	e->ending = true;
	wake_clients(e);
	pthread_cond_broadcast(&e->changed);
}

unsigned int ofs_events_count(struct ofs_events *e)
{
	OFS_LOCKED(&e->lock);

	return e->n;
}

bool ofs_events_destroy(struct ofs_events *e)
{
	int64_t until = ofs_clock_monotonic() + 5 * OFS_NS_PER_S;
	bool ended;

	if (!e)
		return true;
	pthread_mutex_lock(&e->lock);
	while (!e->ended && ofs_cond_wait_until(&e->changed, &e->lock, until))
		;
	ended = e->ended && !e->n;
	pthread_mutex_unlock(&e->lock);
	if (!ended)
		return false;
	pthread_join(e->thread, NULL);
	pthread_cond_destroy(&e->changed);
	pthread_mutex_destroy(&e->lock);
	free(e);
	return true;
}
