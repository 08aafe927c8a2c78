/* SPDX-License-Identifier: MIT */
/* Every combination of what garbage collection looks at, under a clock that is set. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "base/util.h"
#include "tree/expiry/verdict.h"

#define SECOND OFS_NS_PER_S
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define USED (1000000 * HOUR) /* when a file was used; any time does */

TestSuite(tree_verdict);

static const int64_t ttls[] = { SECOND,	  2 * MINUTE,	 30 * MINUTE,
				6 * HOUR, 7 * 24 * HOUR, OFS_TTL_NEVER };

/* How long ago the last use was, in quarters of the time to live; and a little before and after. */
static const int quarters[] = { 0, 1, 3, 4, 5, 8, 100 };
static const int64_t shifts[] = { -1, 0, 1 };

/* Since when the file is on probation, as a part of the time since its last use. */
enum since {
	SINCE_NEVER,
	SINCE_NOW,
	SINCE_DUE, /* from the moment on at which its time was over */
	SINCES
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/*
 * The rules as the design has them, put together otherwise than the program does: it is removed
 * when all hold.
 */
static bool goes(const struct ofs_facts *f)
{
	bool over = f->ttl != OFS_TTL_NEVER && f->now - f->used >= f->ttl;
	bool too_much = f->surplus && f->ttl != OFS_TTL_NEVER;
	bool tried;

	tried = f->ended || (f->probation && over && f->now - f->used >= f->ttl + f->ttl / 4 &&
			     f->now - f->probation >= least(f->ttl, 10 * MINUTE));
	tried = tried || (f->probation && too_much && f->now - f->probation >= 62 * SECOND);
	return (f->ended || over || too_much) && tried && f->working && !f->important &&
	       !f->step && !f->open;
}

static const char *describe(const struct ofs_facts *f)
{
	static char text[256];

	snprintf(
		text, sizeof(text),
		"working %d important %d step %d open %d ended %d surplus %d ttl %lld idle %lld "
		"probation %lld",
		f->working, f->important, f->step != 0, f->open, f->ended, f->surplus,
		(long long)f->ttl, (long long)(f->now - f->used),
		f->probation ? (long long)(f->now - f->probation) : -1);
	return text;
}

static void check(const struct ofs_facts *f)
{
	int64_t at = -1;
	enum ofs_verdict v = ofs_verdict_reach(f, &at);
	struct ofs_facts later = *f;

	cr_assert_eq(ofs_verdict_is_removal(v), goes(f), "%s: %d", describe(f), v);
	/* What is said of the future comes true, and not a moment earlier. */
	if (v != OFS_KEEP_USED && v != OFS_KEEP_PROBATION) {
		cr_assert_eq(at, 0, "%s", describe(f));
		return;
	}
	cr_assert_gt(at, f->now - 1, "%s", describe(f));
	if (v == OFS_KEEP_PROBATION && !later.probation)
		later.probation = f->now;
	later.now = at - 1;
	/* But where the size is limited its time may be over before. */
	cr_assert(later.now < f->now || f->surplus || ofs_verdict_reach(&later, NULL) == v, "%s",
		  describe(f));
	later.now = at;
	cr_assert_neq(ofs_verdict_reach(&later, NULL), v, "%s", describe(f));
}

static void check_times(struct ofs_facts f)
{
	for (size_t q = 0; q < OFS_ARRAY_SIZE(quarters); q++)
		for (size_t s = 0; s < OFS_ARRAY_SIZE(shifts); s++)
			for (int since = 0; since < SINCES; since++) {
				int64_t ttl = f.ttl == OFS_TTL_NEVER ? 24 * HOUR : f.ttl;

				f.used = USED;
				f.now = USED + quarters[q] * (ttl / 4) + shifts[s];
				f.probation = since == SINCE_NEVER ? 0
					      : since == SINCE_NOW ? f.now
								   : least(f.now, USED + ttl);
				check(&f);
			}
}

Test(tree_verdict, every_combination)
{
	struct ofs_facts f = { 0 };

	for (unsigned int bits = 0; bits < 64; bits++)
		for (size_t t = 0; t < OFS_ARRAY_SIZE(ttls); t++) {
			f = (struct ofs_facts){ .working = bits & 1,
						.important = bits & 2,
						.step = bits & 4,
						.open = bits & 8,
						.ended = bits & 16,
						.surplus = bits & 32,
						.ttl = ttls[t] };
			check_times(f);
		}
}

/*
 * The reason that is given is the first that holds, in the order in which a user can do something.
 */
Test(tree_verdict, reasons)
{
	static const struct {
		struct ofs_facts facts;
		enum ofs_verdict verdict;
	} table[] = {
		{ { .working = false, .important = true, .ttl = SECOND }, OFS_KEEP_TIER },
		{ { .working = true, .important = true, .ttl = SECOND }, OFS_KEEP_IMPORTANT },
		{ { .working = true, .ttl = OFS_TTL_NEVER }, OFS_KEEP_FOREVER },
		{ { .working = true, .ttl = OFS_TTL_NEVER, .surplus = true }, OFS_KEEP_FOREVER },
		{ { .working = true, .ttl = 48 * HOUR }, OFS_KEEP_USED },
		{ { .working = true, .ttl = 48 * HOUR, .step = 1 }, OFS_KEEP_USED },
		{ { .working = true, .ttl = HOUR, .step = 1, .open = true },
		  OFS_KEEP_REFERENCED },
		{ { .working = true, .ttl = HOUR, .open = true }, OFS_KEEP_PROBATION },
		{ { .working = true, .ttl = HOUR, .open = true, .probation = USED },
		  OFS_KEEP_OPEN },
		{ { .working = true, .ttl = HOUR, .probation = USED }, OFS_REMOVE_EXPIRED },
		{ { .working = true, .ttl = OFS_TTL_NEVER, .ended = true }, OFS_REMOVE_ENDED },
		{ { .working = true, .ttl = 48 * HOUR, .surplus = true }, OFS_KEEP_PROBATION },
		{ { .working = true, .ttl = 48 * HOUR, .surplus = true, .probation = USED },
		  OFS_REMOVE_SURPLUS },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++) {
		struct ofs_facts f = table[i].facts;

		f.used = USED;
		f.now = USED + 24 * HOUR;
		cr_assert_eq(ofs_verdict_reach(&f, NULL), table[i].verdict, "%zu", i);
	}
}

/*
 * Whatever the use was that nobody has seen: it was no later than the moment at which the caches
 * were dropped, and the file stays for its whole time after that.
 */
Test(tree_verdict, a_hidden_use_counts)
{
	for (size_t t = 0; t < OFS_ARRAY_SIZE(ttls) - 1; t++) {
		struct ofs_facts f = { .working = true, .ttl = ttls[t], .used = USED };
		int64_t dropped, goes_at;

		f.now = USED;
		cr_assert_not(ofs_verdict_is_hidden(&f, &dropped));
		f.now = dropped;
		cr_assert(ofs_verdict_is_hidden(&f, NULL));
		/* Whoever looks may be as late as that again. */
		dropped = USED + 2 * (dropped - USED);
		f.probation = f.now = USED + f.ttl;
		cr_assert_eq(ofs_verdict_reach(&f, &goes_at), OFS_KEEP_PROBATION);
		cr_assert_geq(goes_at - dropped, f.ttl);
	}
}

Test(tree_verdict, the_end_of_time)
{
	struct ofs_facts f = {
		.working = true, .ttl = OFS_TTL_NEVER - 1, .used = USED, .now = INT64_MAX - 1
	};

	cr_assert_eq(ofs_verdict_due(USED, OFS_TTL_NEVER - 1), OFS_TTL_NEVER);
	cr_assert_eq(ofs_verdict_reach(&f, NULL), OFS_KEEP_USED);
}
