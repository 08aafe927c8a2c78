/* SPDX-License-Identifier: MIT */
#include "service/mcp/mcp_stdio.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/thread.h"
#include "service/mcp/mcp.h"
#include "service/pool.h"

#define THREADS 4
#define READ_SIZE ((size_t)64 << 10)
/* Reading pauses while pending messages have more bytes than this. */
#define BYTES_MAX OFS_MCP_LINE_MAX
/* Interval at which a wait for answers checks for signals. */
#define LOOK_NS (20 * OFS_NS_PER_MS)

/* Lock order: `lock` and `output` are never held together. */
struct session {
	struct ofs_service *service;
	struct ofs_pool *pool;
	int in, out, signals;
	struct ofs_buf line; /* the part of the next message read so far */
	bool skipping; /* that message is too long, and its rest is dropped */
	atomic_bool ended; /* no more answers are wanted */

	pthread_mutex_t output; /* held while an answer is written */
	pthread_mutex_t lock; /* guards all below, and jobs */
	pthread_cond_t settled;
	struct job *jobs; /* not claimed yet */
	size_t pending; /* number of jobs that are not claimed, or whose answer is being written */
	size_t bytes; /* of their messages */
	size_t running; /* jobs that the pool has not ended */
};

/* A request in progress. */
struct job {
	struct ofs_pool_job base;
	struct session *session;
	struct ofs_mcp_message message;
	size_t bytes;
	bool claimed; /* answered or cancelled, or about to be */
	struct job *prev, *next;
};

/* ---- answers */

/* True if the session is to end: there was a signal, or `out` has no reader. */
static bool is_over(struct session *s)
{
	struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN }, { .fd = s->out } };

	if (poll(fds, OFS_ARRAY_SIZE(fds), 0) > 0)
		s->ended = true;
	return s->ended;
}

/* A signal interrupts this in the main thread; other threads may stay in write(2) for ever. */
static void write_all(struct session *s, const char *text, size_t len)
{
	while (len && !s->ended) {
		ssize_t n = write(s->out, text, len);

		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = s->out, .events = POLLOUT }, 1, -1);
		else if (n < 0 && errno != EINTR)
			s->ended = true;
		text += OFS_MAX(n, 0);
		len -= (size_t)OFS_MAX(n, 0);
		if (len)
			is_over(s);
	}
}

/* Locks `output`, whose holder may wait for the client. Returns false if the session is to end. */
static bool lock_output(struct session *s)
{
	while (!is_over(s)) {
		int64_t until = ofs_clock_wall() + LOOK_NS;
		const struct timespec at = { until / OFS_NS_PER_S, until % OFS_NS_PER_S };

		if (pthread_mutex_timedlock(&s->output, &at) == 0)
			return true;
	}
	return false;
}

static void send_answer(struct session *s, struct ofs_mcp_answer *answer)
{
	size_t len = strlen(answer->text);

	if (!lock_output(s))
		return;
	answer->text[len] = '\n'; /* replaces the NUL, so that a message is one write */
	write_all(s, answer->text, len + 1);
	answer->text[len] = 0;
	pthread_mutex_unlock(&s->output);
}

/* Takes over a job to answer or cancel it. Returns false if another thread has. `lock` is held. */
static bool claim(struct job *j)
{
	struct session *s = j->session;

	if (j->claimed)
		return false;
	j->claimed = true;
	*(j->prev ? &j->prev->next : &s->jobs) = j->next;
	if (j->next)
		j->next->prev = j->prev;
	return true;
}

/* Called after claim(), once the job is answered or cancelled. `lock` is held. */
static void settle(struct job *j)
{
	j->session->pending--;
	j->session->bytes -= j->bytes;
	pthread_cond_broadcast(&j->session->settled);
}

static bool claim_locked(struct job *j)
{
	OFS_LOCKED(&j->session->lock);

	return claim(j);
}

static void answer_job(struct job *j, struct ofs_mcp_answer *answer)
{
	if (claim_locked(j)) {
		send_answer(j->session, answer);
		pthread_mutex_lock(&j->session->lock);
		settle(j);
		pthread_mutex_unlock(&j->session->lock);
	}
	ofs_mcp_answer_finish(answer);
}

/* ---- jobs */

static struct job *job_of(struct ofs_pool_job *base)
{
	return (struct job *)((char *)base - offsetof(struct job, base));
}

static void run_job(struct ofs_pool_job *base)
{
	struct job *j = job_of(base);
	struct ofs_mcp_answer answer;

	ofs_mcp_answer(j->session->service, NULL, &j->message, &answer);
	answer_job(j, &answer);
}

static void decline_job(struct job *j, const char *reason)
{
	struct ofs_mcp_answer answer;

	ofs_mcp_decline(&j->message, reason, &answer);
	answer_job(j, &answer);
}

static void job_is_late(struct ofs_pool_job *base)
{
	decline_job(job_of(base), OFS_MCP_LATE);
}

static void end_job(struct ofs_pool_job *base)
{
	struct job *j = job_of(base);
	struct session *s = j->session;

	ofs_mcp_message_finish(&j->message);
	free(j);
	OFS_LOCKED(&s->lock);
	s->running--;
}

/* Takes ownership of the message. */
static void start_job(struct session *s, struct ofs_mcp_message *message, size_t bytes)
{
	struct job *j = ofs_alloc(sizeof(*j));

	*j = (struct job){
		.base = { .run = run_job, .late = job_is_late, .end = end_job },
		.session = s,
		.message = ofs_steal(*message),
		.bytes = bytes,
	};
	pthread_mutex_lock(&s->lock);
	j->next = s->jobs;
	if (j->next)
		j->next->prev = j;
	s->jobs = j;
	s->pending++;
	s->running++;
	s->bytes += bytes;
	pthread_mutex_unlock(&s->lock);
	if (ofs_pool_submit(s->pool, &j->base, ofs_mcp_patience()) == 0)
		return;
	decline_job(j, "too many requests are in progress: try again when one is answered");
	end_job(&j->base);
}

/* Cancels a request, which then gets no answer, unless it is being answered already. */
static void cancel(struct session *s, const json_t *id)
{
	OFS_LOCKED(&s->lock);

	for (struct job *j = s->jobs; j; j = j->next) {
		if (!json_equal(j->message.id, id))
			continue;
		claim(j);
		settle(j);
		return;
	}
}

/* ---- waiting */

/* Waits until at most `pending` answers are due, to messages of at most `bytes` bytes. */
static void wait_for_answers(struct session *s, size_t pending, size_t bytes)
{
	OFS_LOCKED(&s->lock);

	while ((s->pending > pending || s->bytes > bytes) && !is_over(s))
		ofs_cond_wait_until(&s->settled, &s->lock, ofs_clock_monotonic() + LOOK_NS);
}

/* ---- messages */

static void take_message(struct session *s, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message message = { 0 };
	struct ofs_mcp_answer answer;
	const json_t *cancelled;

	if (strspn(text, " \t\r") >= len)
		return;
	if (ofs_mcp_read(text, len, NULL, &message, &answer)) {
		if (ofs_mcp_asks_tree(&message)) {
			start_job(s, &message, len);
			wait_for_answers(s, SIZE_MAX, BYTES_MAX);
			return;
		}
		ofs_mcp_answer(s->service, NULL, &message, &answer);
	}
	cancelled = ofs_mcp_message_cancels(&message);
	if (cancelled)
		cancel(s, cancelled);
	if (answer.text)
		send_answer(s, &answer);
	ofs_mcp_answer_finish(&answer);
}

static void refuse_line(struct session *s)
{
	struct ofs_mcp_answer answer;

	ofs_mcp_refuse_length(OFS_MCP_LINE_MAX, &answer);
	send_answer(s, &answer);
	ofs_mcp_answer_finish(&answer);
}

/* Handles a complete line. */
static void end_line(struct session *s)
{
	if (!s->skipping)
		take_message(s, ofs_buf_str(&s->line), s->line.len);
	s->skipping = false;
	if (s->line.cap > READ_SIZE)
		ofs_buf_finish(&s->line);
	s->line.len = 0;
}

static void take_bytes(struct session *s, const char *p, size_t len)
{
	for (const char *end = p + len; p < end && !s->ended;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p);

		if (!s->skipping && n > OFS_MCP_LINE_MAX - s->line.len) {
			refuse_line(s);
			s->skipping = true;
		}
		if (!s->skipping)
			ofs_buf_append(&s->line, p, n);
		p += n;
		if (newline) {
			end_line(s);
			p++;
		}
	}
}

/* Waits for input. Returns false on failure or if the session is to end. */
static bool wait_for_input(struct session *s)
{
	struct pollfd fds[] = {
		{ .fd = s->in, .events = POLLIN },
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->out },
	};

	while (poll(fds, OFS_ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return false;
	if (fds[1].revents || fds[2].revents)
		s->ended = true;
	return !s->ended;
}

static int read_messages(struct session *s)
{
	OFS_FREE char *bytes = ofs_alloc(READ_SIZE);
	ssize_t n;

	while (wait_for_input(s)) {
		n = read(s->in, bytes, READ_SIZE);
		if (n > 0)
			take_bytes(s, bytes, (size_t)n);
		else if (n == 0)
			break;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	if (!s->ended && s->line.len)
		end_line(s);
	return 0;
}

int ofs_mcp_serve(struct ofs_service *service, int in, int out, int signals)
{
	struct session *s = ofs_alloc(sizeof(*s));
	size_t stuck;
	int r;

	*s = (struct session){ .service = service, .in = in, .out = out, .signals = signals };
	pthread_mutex_init(&s->output, NULL);
	pthread_mutex_init(&s->lock, NULL);
	ofs_cond_init(&s->settled);
	r = ofs_pool_create(THREADS, &s->pool);
	if (r == 0)
		r = read_messages(s);
	if (r == 0)
		wait_for_answers(s, 0, SIZE_MAX);
	s->ended = true;
	ofs_buf_finish(&s->line);
	pthread_mutex_lock(&s->lock);
	stuck = s->running;
	pthread_mutex_unlock(&s->lock);
	if (stuck) /* jobs that wait for the tree still use the session */
		return r;
	ofs_pool_destroy(s->pool);
	free(s);
	return r;
}
