/* SPDX-License-Identifier: MIT */
#include "tree/expiry/verdict.h"

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? OFS_TTL_NEVER : sum;
}

int64_t ofs_verdict_due(int64_t used, int64_t ttl)
{
	return add(used, ttl);
}

int64_t ofs_verdict_pressable(const struct ofs_facts *f)
{
	return add(ofs_verdict_due(f->used, f->ttl), f->ttl / OFS_VERDICT_HIDDEN_PART);
}

int64_t ofs_verdict_over(const struct ofs_facts *f)
{
	return OFS_MAX(ofs_verdict_pressable(f), add(ofs_verdict_due(f->used, f->ttl), f->grace));
}

int64_t ofs_verdict_task_end(int64_t used, int64_t task_idle)
{
	return add(add(used, task_idle), task_idle / OFS_VERDICT_HIDDEN_PART);
}

static int64_t expiry_probation(const struct ofs_facts *f)
{
	return OFS_MIN(f->ttl, OFS_PROBATION_MAX);
}

/* Probations are as short as possible, since each takes memory. */
static int64_t probation_begin(const struct ofs_facts *f, enum ofs_verdict cause)
{
	return cause == OFS_REMOVE_EXPIRED ? OFS_MAX(ofs_verdict_due(f->used, f->ttl),
						     ofs_verdict_over(f) - expiry_probation(f))
					   : f->now;
}

static int64_t probation_end(const struct ofs_facts *f, enum ofs_verdict cause)
{
	int64_t since = f->probation ? f->probation : f->now;

	if (cause == OFS_REMOVE_ENDED)
		return f->now;
	return cause == OFS_REMOVE_EXPIRED
		       ? OFS_MAX(ofs_verdict_over(f), add(since, expiry_probation(f)))
		       : add(since, OFS_PROBATION_SURPLUS);
}

/* Returns why the file would be removed; OFS_KEEP_FOREVER or OFS_KEEP_USED if it would not. */
static enum ofs_verdict find_cause(const struct ofs_facts *f)
{
	enum ofs_verdict time, room = OFS_KEEP_USED;

	if (f->ended)
		return OFS_REMOVE_ENDED;
	if (f->ttl == OFS_TTL_NEVER)
		return OFS_KEEP_FOREVER;
	time = f->now >= ofs_verdict_due(f->used, f->ttl) ? OFS_REMOVE_EXPIRED : OFS_KEEP_USED;
	if (f->shortage == OFS_SHORTAGE_MAX)
		room = OFS_REMOVE_SURPLUS;
	else if (f->shortage && f->now >= ofs_verdict_pressable(f))
		room = OFS_REMOVE_PRESSED;
	if (room == OFS_KEEP_USED)
		return time;
	return time == OFS_KEEP_USED || probation_end(f, room) < probation_end(f, time) ? room
											: time;
}

bool ofs_verdict_promotes(const struct ofs_facts *f)
{
	if (!f->working || (f->ended && f->drop))
		return false;
	return f->wanted || (f->ended && (f->important || f->ttl == OFS_TTL_NEVER));
}

static enum ofs_verdict reach(const struct ofs_facts *f, int64_t *ret_at)
{
	enum ofs_verdict cause;

	if (!f->working)
		return OFS_KEEP_TIER;
	if (ofs_verdict_promotes(f))
		return OFS_PROMOTE;
	if (f->important && !f->ended)
		return OFS_KEEP_IMPORTANT;
	cause = find_cause(f);
	*ret_at = ofs_verdict_due(f->used, f->ttl);
	if (!ofs_verdict_is_removal(cause))
		return cause;
	*ret_at = f->live;
	if (f->now < f->live && cause != OFS_REMOVE_ENDED)
		return OFS_KEEP_LIVE;
	if (f->step)
		return OFS_KEEP_REFERENCED;
	*ret_at = probation_begin(f, cause);
	if (f->now < *ret_at)
		return OFS_KEEP_EVICTABLE;
	*ret_at = probation_end(f, cause);
	/* Nothing is removed without a probation, except at the end of a task. */
	if (f->now < *ret_at || (!f->probation && cause != OFS_REMOVE_ENDED))
		return OFS_KEEP_PROBATION;
	return f->open ? OFS_KEEP_OPEN : cause;
}

enum ofs_verdict ofs_verdict_reach(const struct ofs_facts *f, int64_t *ret_at)
{
	int64_t at = 0;
	enum ofs_verdict v = reach(f, &at);
	bool is_timed = v == OFS_KEEP_USED || v == OFS_KEEP_LIVE || v == OFS_KEEP_EVICTABLE ||
			v == OFS_KEEP_PROBATION;

	if (ret_at)
		*ret_at = is_timed ? at : 0;
	return v;
}

bool ofs_verdict_is_hidden(const struct ofs_facts *f, int64_t *ret_at)
{
	int64_t span = f->important ? OFS_TTL_NEVER : f->ttl, at;

	/* A use of the file is also a use of its task. */
	if (f->task_idle)
		span = OFS_MIN(span, f->task_idle);
	/* Half of that part, since the collector runs at intervals. */
	at = f->working && span != OFS_TTL_NEVER
		     ? add(f->used, span / (2 * OFS_VERDICT_HIDDEN_PART))
		     : OFS_TTL_NEVER;
	if (ret_at)
		*ret_at = at;
	return at != OFS_TTL_NEVER && f->now >= at;
}
