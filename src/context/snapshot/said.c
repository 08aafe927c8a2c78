/* SPDX-License-Identifier: MIT */
#include "context/snapshot/said.h"

#include <string.h>

#include "base/util.h"
#include "context/snapshot/asked.h"
#include "context/snapshot/prose.h"

#define LINE_CHARS 200
#define GOAL_CHARS 600
#define GOAL_LINES 8
/* What is shorter than the first is no line; there is no use in one of less room than the second. */
#define GOAL_LINE_MIN 12
#define GOAL_ROOM_MIN 40
#define QUOTE_CHARS 150 /* of what somebody agreed to */
#define STEP_CHARS 120
#define STEPS_MAX 8
/* Sentences of a message of the user that are looked at. */
#define REQUEST_SENTENCES 4

void ofs_said_init(struct ofs_said *s, struct ofs_digest *digest, bool has_goal)
{
	*s = (struct ofs_said){ .digest = digest, .has_goal = has_goal };
}

void ofs_said_finish(struct ofs_said *s)
{
	ofs_buf_finish(&s->question.text);
	ofs_buf_finish(&s->request.text);
	for (size_t i = 0; i < OFS_SAID_RECENT; i++)
		ofs_buf_finish(&s->remains[i].text);
	ofs_buf_finish(&s->plan);
	ofs_buf_finish(&s->tasks);
	ofs_buf_finish(&s->topic);
}

static void add(struct ofs_said *s, enum ofs_topic topic, enum ofs_worth worth,
		const struct ofs_buf *line)
{
	if (line->len)
		ofs_digest_add(s->digest, topic, ofs_digest_key(line->data, line->len), worth,
			       line->data, line->len);
}

static void add_prefixed(struct ofs_said *s, enum ofs_topic topic, enum ofs_worth worth,
			 const char *prefix, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_buf_append_str(&line, prefix);
	ofs_prose_line(text, len, LINE_CHARS - strlen(prefix), &line);
	add(s, topic, worth, &line);
}

static void keep(struct ofs_said_line *to, const struct ofs_sentence *sentence, size_t message)
{
	to->text.len = 0;
	ofs_prose_line(sentence->p, sentence->len, LINE_CHARS, &to->text);
	to->message = message;
}

/* ---- the user */

/*
 * What a block of code says that a sentence leads to ("I get this error:"): its last line, which is the result where
 * it is an output.
 */
static void add_code(const struct ofs_sentence *sentence, const char *end, struct ofs_buf *line)
{
	const char *p = sentence->p + sentence->len, *close, *start;

	while (p < end && ofs_prose_is_blank(*p))
		p++;
	if (sentence->p[sentence->len - 1] != ':' || end - p < 3 || memcmp(p, "```", 3) != 0)
		return;
	close = memmem(p + 3, (size_t)(end - p - 3), "\n```", 4);
	if (!close)
		return;
	while (close > p + 3 && ofs_prose_is_blank(close[-1]))
		close--;
	start = memrchr(p + 3, '\n', (size_t)(close - p - 3));
	if (start && line->len + GOAL_ROOM_MIN < LINE_CHARS) {
		ofs_buf_append(line, " ", 1);
		ofs_prose_line(start, (size_t)(close - start), LINE_CHARS - line->len, line);
	}
}

/* The beginning of the task, a sentence a line. */
static void add_goal(struct ofs_said *s, const char *text, size_t len)
{
	struct ofs_prose prose = ofs_prose_enter(text, len);
	struct ofs_sentence sentence;
	size_t chars = 0;

	for (size_t lines = 0; lines < GOAL_LINES && chars + GOAL_ROOM_MIN < GOAL_CHARS; lines++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

		if (!ofs_prose_next(&prose, &sentence))
			break;
		/* "Hi there!" */
		if (sentence.len < GOAL_LINE_MIN && sentence.p + sentence.len < text + len &&
		    sentence.p[sentence.len - 1] == '!')
			continue;
		ofs_prose_line(sentence.p, sentence.len,
			       OFS_MIN((size_t)LINE_CHARS, GOAL_CHARS - chars), &line);
		add_code(&sentence, text + len, &line);
		add(s, OFS_TOPIC_GOAL, lines < OFS_GOAL_LINES ? OFS_WORTH_MOST : OFS_WORTH_MORE,
		    &line);
		chars += line.len;
	}
}

/* What a message wants: its first sentences that say so, on one line. */
static void gather_request(const char *text, size_t len, struct ofs_buf *ret)
{
	struct ofs_prose prose = ofs_prose_enter(text, len);
	struct ofs_sentence sentence;
	size_t taken = 0;
	const char *first = NULL, *last = NULL;

	for (size_t i = 0;
	     taken < 2 && i < REQUEST_SENTENCES * 4 && ofs_prose_next(&prose, &sentence); i++) {
		if (!first) {
			first = sentence.p;
			last = sentence.p + sentence.len;
		}
		if (!sentence.requests && !sentence.asks)
			continue;
		/* Short ones lead to what follows: "Hi! ..." */
		if (!taken && (size_t)(sentence.p - first) > LINE_CHARS / 2)
			first = sentence.p;
		last = sentence.p + sentence.len;
		taken++;
	}
	if (first)
		ofs_prose_line(first, (size_t)(last - first), LINE_CHARS, ret);
}

static void add_agreement(struct ofs_said *s, enum ofs_asked_kind kind, const char *text,
			  size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	if (kind == OFS_ASKED_AGREES) {
		add_prefixed(s, OFS_TOPIC_DECISIONS, OFS_WORTH_MORE, "User: ", text, len);
		return;
	}
	if (s->topic.len) {
		ofs_buf_printf(&line, "User said yes to: %.*s", (int)s->topic.len,
			       (const char *)s->topic.data);
		add(s, OFS_TOPIC_DECISIONS, OFS_WORTH_MORE, &line);
	}
}

void ofs_said_by_user(struct ofs_said *s, const char *text, size_t len, size_t message)
{
	enum ofs_asked_kind kind;
	const char *essence;
	size_t essence_len;

	ofs_asked_essence(text, len, &essence, &essence_len);
	kind = ofs_asked_judge(essence, essence_len);
	if (kind == OFS_ASKED_NOTHING && (s->has_goal || essence_len < GOAL_LINE_MIN))
		return;
	s->request.text.len = 0;
	s->request.message = message;
	gather_request(essence, essence_len, &s->request.text);
	if (!s->has_goal) {
		s->has_goal = true;
		add_goal(s, essence, essence_len);
	} else if (kind == OFS_ASKED_AGREES || kind == OFS_ASKED_CONFIRMS) {
		add_agreement(s, kind, essence, essence_len);
	} else {
		add(s, OFS_TOPIC_GOAL, kind == OFS_ASKED_WANTS ? OFS_WORTH_MUCH : OFS_WORTH_SOME,
		    &s->request.text);
	}
}

/* ---- the model */

static bool leads_to_plan(const struct ofs_sentence *sentence)
{
	static const char *const words[] = { "plan",	  "steps", "todo",     "to do",
					     "remaining", "next",  "approach", "do the following" };

	if (sentence->p[sentence->len - 1] != ':')
		return false;
	/* What is told to the user, or asked for. */
	if (ofs_prose_find(sentence->p, sentence->len, "you") ||
	    ofs_prose_find(sentence->p, sentence->len, "your"))
		return false;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		if (ofs_prose_find(sentence->p, sentence->len, words[i]))
			return true;
	}
	return false;
}

/* Takes numbered sentences behind one that speaks of a plan. */
struct planning {
	bool led;
	size_t steps;
	struct ofs_buf lines;
};

static void take_step(struct planning *p, const struct ofs_sentence *sentence)
{
	if (!sentence->numbered) {
		if (!p->steps)
			p->led = leads_to_plan(sentence);
		return;
	}
	if (!p->led || p->steps >= STEPS_MAX)
		return;
	ofs_buf_printf(&p->lines, "%zu. ", ++p->steps);
	ofs_prose_line(sentence->p, sentence->len, STEP_CHARS, &p->lines);
	ofs_buf_append(&p->lines, "\n", 1);
}

static void end_planning(struct ofs_said *s, struct planning *p)
{
	struct ofs_buf old = s->plan;

	if (p->steps > 1) {
		s->plan = p->lines;
		p->lines = old;
	}
	ofs_buf_finish(&p->lines);
}

/* "- [ ] what" */
static bool is_unchecked(const struct ofs_sentence *sentence)
{
	return (sentence->len > 5 && memcmp(sentence->p, "- [ ]", 5) == 0) ||
	       (sentence->len > 3 && memcmp(sentence->p, "[ ]", 3) == 0);
}

static void keep_topic(struct ofs_said *s, const struct ofs_sentence *sentence)
{
	s->topic.len = 0;
	ofs_prose_line(sentence->p, sentence->len, QUOTE_CHARS, &s->topic);
}

void ofs_said_by_model(struct ofs_said *s, const char *text, size_t len, size_t message)
{
	static const enum ofs_worth worth[] = {
		[OFS_PROSE_INTENDS] = OFS_WORTH_LITTLE,
		[OFS_PROSE_FINDS] = OFS_WORTH_SOME,
		[OFS_PROSE_DECIDES] = OFS_WORTH_MORE,
	};
	struct ofs_prose prose = ofs_prose_enter(text, len);
	struct ofs_sentence sentence, best = { 0 }, first = { 0 };
	struct planning planning = { 0 };
	bool asked = false;

	while (ofs_prose_next(&prose, &sentence)) {
		take_step(&planning, &sentence);
		if (!first.p)
			first = sentence;
		if (sentence.offers)
			continue;
		if (sentence.asks) {
			keep(&s->question, &sentence, message);
			keep_topic(s, &sentence);
			asked = true;
			continue;
		}
		if (sentence.decides > best.decides)
			best = sentence;
		if (sentence.remains || is_unchecked(&sentence))
			keep(&s->remains[s->n_remains++ % OFS_SAID_RECENT], &sentence, s->spoken);
	}
	end_planning(s, &planning);
	if (!first.p)
		return;
	s->spoken++;
	if (!asked) {
		s->question.text.len = 0;
		keep_topic(s, best.decides ? &best : &first);
	}
	if (best.decides)
		add_prefixed(s, OFS_TOPIC_DECISIONS, worth[best.decides], "", best.p, best.len);
}

/* ---- tasks kept with a tool */

/* The text of a task that is not done, behind its state. */
static void take_task(struct ofs_said *s, struct ofs_span task)
{
	static const char *const names[] = { "content", "step", "title", "task", "description" };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span status = ofs_span_member(task, "status");

	if (ofs_span_is(status, "completed") || ofs_span_is(status, "done") ||
	    ofs_span_is(status, "cancelled"))
		return;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names) && !text.len; i++) {
		struct ofs_span value = ofs_span_member(task, names[i]);

		if (ofs_span_is_string(value))
			ofs_span_decode(value, &text);
	}
	if (!text.len)
		return;
	ofs_buf_append_str(&s->tasks,
			   ofs_span_is(status, "in_progress") ? "In progress: " : "To do: ");
	ofs_prose_line((const char *)text.data, text.len, STEP_CHARS, &s->tasks);
	ofs_buf_append(&s->tasks, "\n", 1);
}

void ofs_said_tasks(struct ofs_said *s, struct ofs_span args)
{
	static const char *const names[] = { "todos", "plan", "tasks" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		struct ofs_span list = ofs_span_member(args, names[i]), task;
		struct ofs_span_cursor cursor = ofs_span_enter(list);
		size_t n = 0;

		if (!ofs_span_is_array(list))
			continue;
		while (ofs_span_next(&cursor, &task)) {
			if (!ofs_span_is_object(task) || !ofs_span_member(task, "status").p)
				break;
			if (n++ == 0)
				s->tasks.len = s->plan.len = 0;
			if (n <= STEPS_MAX * 2)
				take_task(s, task);
		}
	}
}

/* ---- what is open */

static void add_lines(struct ofs_said *s, enum ofs_worth worth, const char *prefix,
		      const struct ofs_buf *lines)
{
	const char *p = (const char *)lines->data, *end = p + lines->len;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		add_prefixed(s, OFS_TOPIC_OPEN, worth, prefix, p, (size_t)((eol ? eol : end) - p));
		p = eol ? eol + 1 : end;
	}
}

void ofs_said_open(struct ofs_said *s, size_t user, size_t model)
{
	add_lines(s, OFS_WORTH_SOME, "Plan: ", &s->plan);
	for (size_t i = 0; i < OFS_MIN(s->n_remains, (size_t)OFS_SAID_RECENT); i++) {
		size_t at = s->n_remains < OFS_SAID_RECENT ? i
							   : (s->n_remains + i) % OFS_SAID_RECENT;

		if (s->remains[at].message + OFS_SAID_RECENT >= s->spoken)
			add(s, OFS_TOPIC_OPEN, OFS_WORTH_SOME, &s->remains[at].text);
	}
	add_lines(s, OFS_WORTH_MORE, "", &s->tasks);
	if (s->question.text.len && user <= s->question.message)
		add_prefixed(s, OFS_TOPIC_OPEN, OFS_WORTH_MORE,
			     "Not answered yet: ", (const char *)s->question.text.data,
			     s->question.text.len);
	if (s->request.text.len && model <= s->request.message)
		add_prefixed(s, OFS_TOPIC_OPEN, OFS_WORTH_MUCH,
			     "Not answered yet: ", (const char *)s->request.text.data,
			     s->request.text.len);
}
