/* SPDX-License-Identifier: MIT */
/* Verdicts of garbage collection for all combinations of facts, with a clock that is set. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/util.h"
#include "tree/expiry/verdict.h"

#define SECOND OFS_NS_PER_S
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define USED (1000000 * HOUR) /* when a file was used; an arbitrary time */
#define LIVE (USED + 25 * HOUR) /* in a table, until when its task is live */
#define W .working = true

TestSuite(tree_verdict);

static const int64_t ttls[] = { SECOND,	  2 * MINUTE,	 30 * MINUTE,
				6 * HOUR, 7 * 24 * HOUR, OFS_TTL_NEVER };

/* Time since the last use in quarters of the lifetime, and the ns to add. */
static const int quarters[] = { 0, 1, 3, 4, 5, 8, 100 };
static const int64_t shifts[] = { -1, 0, 1 };

/* When the probation of the file began. */
enum since {
	SINCE_NEVER,
	SINCE_NOW,
	SINCE_DUE, /* as soon as its lifetime was over */
	SINCES
};

static const int64_t graces[] = { 0, HOUR, 7 * 24 * HOUR };

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool is_promoted(const struct ofs_facts *f)
{
	bool forever = f->important || f->ttl == OFS_TTL_NEVER;

	return f->working && !(f->ended && f->drop) && (f->wanted || (f->ended && forever));
}

/*
 * The rules as designed, written differently from the program. Returns true if the file is removed.
 */
static bool goes(const struct ofs_facts *f)
{
	int64_t idle = f->now - f->used, tried = f->probation ? f->now - f->probation : -1;
	bool evictable = f->ttl != OFS_TTL_NEVER && idle >= f->ttl;
	/* The whole lifetime again after a use that nobody saw. */
	bool surely = evictable && idle >= f->ttl + f->ttl / 4;
	bool expired = surely && idle >= f->ttl + f->grace && tried >= least(f->ttl, 10 * MINUTE);
	bool evicted = f->shortage && surely && tried >= 62 * SECOND;
	bool too_much = f->shortage == OFS_SHORTAGE_MAX && f->ttl != OFS_TTL_NEVER &&
			tried >= 62 * SECOND;
	bool live = f->now < f->live;

	return (f->ended || (!live && (expired || evicted || too_much))) && f->working &&
	       (f->ended || !f->important) && !f->step && !f->open && !is_promoted(f);
}

static const char *describe(const struct ofs_facts *f)
{
	static char text[320];

	snprintf(
		text, sizeof(text),
		"working %d important %d drop %d wanted %d step %d open %d ended %d shortage %d live for %lld "
		"ttl %lld grace %lld idle %lld probation %lld",
		f->working, f->important, f->drop, f->wanted, f->step != 0, f->open, f->ended,
		f->shortage, (long long)(f->live - f->now), (long long)f->ttl, (long long)f->grace,
		(long long)(f->now - f->used),
		f->probation ? (long long)(f->now - f->probation) : -1);
	return text;
}

static bool is_timed(enum ofs_verdict v)
{
	return v == OFS_KEEP_USED || v == OFS_KEEP_LIVE || v == OFS_KEEP_EVICTABLE ||
	       v == OFS_KEEP_PROBATION;
}

static void check(const struct ofs_facts *f)
{
	int64_t at = -1;
	enum ofs_verdict v = ofs_verdict_reach(f, &at);
	struct ofs_facts later = *f;

	cr_assert_eq(ofs_verdict_is_removal(v), goes(f), "%s: %d", describe(f), v);
	cr_assert_eq(v == OFS_PROMOTE, is_promoted(f), "%s: %d", describe(f), v);
	/* A verdict lasts exactly until the time it gives. */
	if (!is_timed(v)) {
		cr_assert_eq(at, 0, "%s", describe(f));
		return;
	}
	cr_assert_gt(at, f->now - 1, "%s", describe(f));
	if (v == OFS_KEEP_PROBATION && !later.probation)
		later.probation = f->now;
	later.now = at - 1;
	/* If space is short, it may end earlier. */
	cr_assert(later.now < f->now || f->shortage || ofs_verdict_reach(&later, NULL) == v, "%s",
		  describe(f));
	later.now = at;
	cr_assert_neq(ofs_verdict_reach(&later, NULL), v, "%s", describe(f));
}

static void check_times(struct ofs_facts f)
{
	int64_t ttl = f.ttl == OFS_TTL_NEVER ? 24 * HOUR : f.ttl;

	for (size_t q = 0; q < OFS_ARRAY_SIZE(quarters); q++)
		for (size_t s = 0; s < OFS_ARRAY_SIZE(shifts); s++)
			for (int since = 0; since < SINCES; since++) {
				f.used = USED;
				f.now = USED + quarters[q] * (ttl / 4) + shifts[s];
				f.probation = since == SINCE_NEVER ? 0
					      : since == SINCE_NOW ? f.now
								   : least(f.now, USED + ttl);
				f.live = 0;
				check(&f);
				f.live = f.now;
				check(&f);
				f.live = f.now + 1;
				check(&f);
			}
}

Test(tree_verdict, every_combination)
{
	struct ofs_facts f = { 0 };

	for (unsigned int bits = 0; bits < 512; bits++)
		for (size_t t = 0; t < OFS_ARRAY_SIZE(ttls); t++)
			for (size_t g = 0; g < OFS_ARRAY_SIZE(graces); g++) {
				f = (struct ofs_facts){ .working = bits & 1,
							.important = bits & 2,
							.step = bits & 4,
							.open = bits & 8,
							.ended = bits & 16,
							.drop = bits & 32,
							.wanted = bits & 64,
							.shortage = bits >> 7,
							.ttl = ttls[t],
							.grace = graces[g] };
				check_times(f);
			}
}

/* The first reason that holds is given, in the order in which a user can act on it. */
Test(tree_verdict, reasons)
{
	static const struct {
		struct ofs_facts facts;
		enum ofs_verdict verdict;
	} table[] = {
		{ { .important = true, .ttl = SECOND }, OFS_KEEP_TIER },
		{ { W, .important = true, .ttl = SECOND }, OFS_KEEP_IMPORTANT },
		{ { W, .important = true, .ttl = SECOND, .ended = true }, OFS_PROMOTE },
		{ { W, .important = true, .ttl = SECOND, .ended = true, .drop = true },
		  OFS_REMOVE_ENDED },
		{ { W, .ttl = OFS_TTL_NEVER }, OFS_KEEP_FOREVER },
		{ { W, .ttl = OFS_TTL_NEVER, .shortage = OFS_SHORTAGE_MAX }, OFS_KEEP_FOREVER },
		{ { W, .ttl = OFS_TTL_NEVER, .live = LIVE }, OFS_KEEP_FOREVER },
		{ { W, .ttl = OFS_TTL_NEVER, .ended = true }, OFS_PROMOTE },
		{ { W, .ttl = OFS_TTL_NEVER, .ended = true, .step = 1, .open = true },
		  OFS_PROMOTE },
		{ { W, .ttl = OFS_TTL_NEVER, .ended = true, .drop = true, .live = LIVE },
		  OFS_REMOVE_ENDED },
		{ { W, .ttl = HOUR, .wanted = true }, OFS_PROMOTE },
		{ { W, .ttl = HOUR, .ended = true, .step = 1 }, OFS_KEEP_REFERENCED },
		{ { W, .ttl = HOUR, .ended = true, .open = true }, OFS_KEEP_OPEN },
		/* Not due: only the size limit can remove it, and not in a live task. */
		{ { W, .ttl = 48 * HOUR }, OFS_KEEP_USED },
		{ { W, .ttl = 48 * HOUR, .live = LIVE }, OFS_KEEP_USED },
		{ { W, .ttl = 48 * HOUR, .step = 1 }, OFS_KEEP_USED },
		{ { W, .ttl = 48 * HOUR, .shortage = OFS_SHORTAGE_KEEP }, OFS_KEEP_USED },
		{ { W, .ttl = 48 * HOUR, .shortage = OFS_SHORTAGE_DISK }, OFS_KEEP_USED },
		{ { W, .ttl = 48 * HOUR, .shortage = OFS_SHORTAGE_MAX }, OFS_KEEP_PROBATION },
		{ { W, .ttl = 48 * HOUR, .shortage = OFS_SHORTAGE_MAX, .live = LIVE },
		  OFS_KEEP_LIVE },
		{ { W, .ttl = 48 * HOUR, .shortage = OFS_SHORTAGE_MAX, .probation = USED },
		  OFS_REMOVE_SURPLUS },
		/* Evictable, within its grace. */
		{ { W, .ttl = HOUR, .grace = 48 * HOUR }, OFS_KEEP_EVICTABLE },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .probation = USED }, OFS_KEEP_EVICTABLE },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .step = 1 }, OFS_KEEP_REFERENCED },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .step = 1, .live = LIVE }, OFS_KEEP_LIVE },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_KEEP },
		  OFS_KEEP_PROBATION },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_KEEP,
		    .probation = USED },
		  OFS_REMOVE_PRESSED },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_DISK,
		    .probation = USED },
		  OFS_REMOVE_PRESSED },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_DISK,
		    .probation = USED, .live = LIVE },
		  OFS_KEEP_LIVE },
		{ { W, .ttl = HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_DISK,
		    .probation = USED, .open = true },
		  OFS_KEEP_OPEN },
		/* There may be a use that nobody saw. */
		{ { W, .ttl = 20 * HOUR, .grace = 48 * HOUR, .shortage = OFS_SHORTAGE_DISK },
		  OFS_KEEP_EVICTABLE },
		/* Its grace is over. */
		{ { W, .ttl = HOUR, .step = 1, .open = true }, OFS_KEEP_REFERENCED },
		{ { W, .ttl = HOUR, .live = LIVE, .probation = USED }, OFS_KEEP_LIVE },
		{ { W, .ttl = HOUR, .open = true }, OFS_KEEP_PROBATION },
		{ { W, .ttl = HOUR, .open = true, .probation = USED }, OFS_KEEP_OPEN },
		{ { W, .ttl = HOUR, .probation = USED }, OFS_REMOVE_EXPIRED },
		{ { W, .ttl = HOUR, .grace = 23 * HOUR, .probation = USED }, OFS_REMOVE_EXPIRED },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++) {
		struct ofs_facts f = table[i].facts;

		f.used = USED;
		f.now = USED + 24 * HOUR;
		cr_assert_eq(ofs_verdict_reach(&f, NULL), table[i].verdict, "%zu", i);
	}
}

/*
 * A use that nobody saw happened before the kernel's caches were dropped. The file stays for its
 * whole lifetime after that.
 */
Test(tree_verdict, a_hidden_use_counts)
{
	for (size_t t = 0; t < OFS_ARRAY_SIZE(ttls) - 1; t++) {
		struct ofs_facts f = { W, .ttl = ttls[t], .used = USED };
		int64_t dropped, goes_at;

		f.now = USED;
		cr_assert_not(ofs_verdict_is_hidden(&f, &dropped));
		f.now = dropped;
		cr_assert(ofs_verdict_is_hidden(&f, NULL));
		/* Looking may be late by the same time again. */
		dropped = USED + 2 * (dropped - USED);
		f.now = ofs_verdict_over(&f) - 1;
		f.probation = USED + f.ttl;
		cr_assert_eq(ofs_verdict_reach(&f, &goes_at), OFS_KEEP_PROBATION);
		cr_assert_geq(goes_at - dropped, f.ttl);
		f.grace = 24 * HOUR;
		f.shortage = OFS_SHORTAGE_DISK;
		f.now = dropped + f.ttl - 1;
		cr_assert_not(ofs_verdict_is_removal(ofs_verdict_reach(&f, NULL)));
	}
}

/* A task stays live for task_idle after a use in it that nobody saw. */
Test(tree_verdict, a_hidden_use_counts_for_the_task)
{
	static const int64_t idles[] = { SECOND, HOUR, 24 * HOUR };

	for (size_t t = 0; t < OFS_ARRAY_SIZE(ttls); t++)
		for (size_t i = 0; i < OFS_ARRAY_SIZE(idles); i++) {
			struct ofs_facts f = { W, .ttl = ttls[t], .task_idle = idles[i],
					       .used = USED, .now = USED };
			int64_t dropped;

			cr_assert_not(ofs_verdict_is_hidden(&f, &dropped));
			cr_assert_eq(dropped, USED + least(ttls[t], idles[i]) / 8);
			f.important = true;
			cr_assert_not(ofs_verdict_is_hidden(&f, &dropped));
			cr_assert_eq(dropped, USED + idles[i] / 8);
			dropped = USED + 2 * (dropped - USED);
			cr_assert_geq(ofs_verdict_task_end(USED, idles[i]) - dropped, idles[i]);
			f.task_idle = 0;
			cr_assert_not(ofs_verdict_is_hidden(&f, &dropped));
			cr_assert_eq(dropped, OFS_TTL_NEVER);
		}
}

/* Probations take memory, so they are short. */
Test(tree_verdict, probation_begins_late)
{
	struct ofs_facts f = { W, .ttl = 30 * MINUTE, .grace = 7 * 24 * HOUR, .used = USED };
	int64_t begins;

	f.now = USED + f.ttl;
	cr_assert_eq(ofs_verdict_reach(&f, &begins), OFS_KEEP_EVICTABLE);
	cr_assert_eq(begins, USED + 30 * MINUTE + 7 * 24 * HOUR - 10 * MINUTE);
	cr_assert_eq(ofs_verdict_over(&f), USED + 30 * MINUTE + 7 * 24 * HOUR);
	f.grace = 0;
	cr_assert_eq(ofs_verdict_reach(&f, NULL), OFS_KEEP_PROBATION);
}

Test(tree_verdict, the_end_of_time)
{
	struct ofs_facts f = {
		.working = true, .ttl = OFS_TTL_NEVER - 1, .used = USED, .now = INT64_MAX - 1
	};

	cr_assert_eq(ofs_verdict_due(USED, OFS_TTL_NEVER - 1), OFS_TTL_NEVER);
	cr_assert_eq(ofs_verdict_reach(&f, NULL), OFS_KEEP_USED);
}
