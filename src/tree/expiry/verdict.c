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

/* Why it would go; OFS_KEEP_FOREVER or OFS_KEEP_USED: it would not. */
static enum ofs_verdict find_cause(const struct ofs_facts *f)
{
	if (f->ended)
		return OFS_REMOVE_ENDED;
	if (f->ttl == OFS_TTL_NEVER)
		return OFS_KEEP_FOREVER;
	if (f->now >= ofs_verdict_due(f->used, f->ttl))
		return OFS_REMOVE_EXPIRED;
	return f->surplus ? OFS_REMOVE_SURPLUS : OFS_KEEP_USED;
}

static int64_t probation_end(const struct ofs_facts *f, enum ofs_verdict cause)
{
	int64_t since = f->probation ? f->probation : f->now;
	int64_t end = OFS_TTL_NEVER, hidden;

	if (cause == OFS_REMOVE_ENDED)
		return f->now;
	if (cause == OFS_REMOVE_EXPIRED) {
		hidden = add(ofs_verdict_due(f->used, f->ttl), f->ttl / OFS_VERDICT_HIDDEN_PART);
		end = OFS_MAX(hidden, add(since, OFS_MIN(f->ttl, OFS_PROBATION_MAX)));
	}
	return f->surplus ? OFS_MIN(end, add(since, OFS_PROBATION_SURPLUS)) : end;
}

enum ofs_verdict ofs_verdict_reach(const struct ofs_facts *f, int64_t *ret_at)
{
	enum ofs_verdict cause;
	int64_t end, nowhere;

	if (!ret_at)
		ret_at = &nowhere;
	*ret_at = 0;
	if (!f->working)
		return OFS_KEEP_TIER;
	if (f->important)
		return OFS_KEEP_IMPORTANT;
	cause = find_cause(f);
	if (cause == OFS_KEEP_USED)
		*ret_at = ofs_verdict_due(f->used, f->ttl);
	if (!ofs_verdict_is_removal(cause))
		return cause;
	if (f->step)
		return OFS_KEEP_REFERENCED;
	end = probation_end(f, cause);
	/* Nothing is removed without having been on probation, but at the end of a task. */
	if (f->now < end || (!f->probation && cause != OFS_REMOVE_ENDED)) {
		*ret_at = end;
		return OFS_KEEP_PROBATION;
	}
	return f->open ? OFS_KEEP_OPEN : cause;
}

bool ofs_verdict_is_hidden(const struct ofs_facts *f, int64_t *ret_at)
{
	/* Half of that part, as the collector runs at intervals. */
	int64_t at = add(f->used, f->ttl / (2 * OFS_VERDICT_HIDDEN_PART));

	if (ret_at)
		*ret_at = at;
	return f->working && !f->important && f->ttl != OFS_TTL_NEVER && f->now >= at;
}
