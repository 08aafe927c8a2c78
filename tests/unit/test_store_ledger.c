/* SPDX-License-Identifier: MIT */
/* The ledger of tokens: no entry is lost or counted twice, whenever the process dies. */
#include "test_store_fixture.h"

static struct ofs_clock_control clocks;

static void begin(void)
{
	setup();
	ofs_clock_set_control(&clocks);
	open_store();
}

TestSuite(store_ledger, .init = begin, .fini = teardown);

#define DAY (86400 * OFS_NS_PER_S)

static struct ofs_ledger_made made;

static void add(const char *who, uint64_t offloaded)
{
	struct ofs_ledger_entry e = { .who = who,
				      .results = 1,
				      .offloaded = offloaded,
				      .pointers = offloaded / 10,
				      .read = 1 };

	cr_assert_eq(ofs_store_add_to_ledger(s, &e, &made, "rest"), 0);
}

static int64_t today;
static char *listed;

static int print(void *arg, const struct ofs_ledger_entry *e)
{
	fprintf(arg, "%d %s %llu %llu %llu %llu\n", (int)(e->day - today), e->who,
		(unsigned long long)e->results, (unsigned long long)e->offloaded,
		(unsigned long long)e->pointers, (unsigned long long)e->read);
	return 0;
}

static void list(int64_t from)
{
	size_t size;
	FILE *out = open_memstream(&listed, &size);

	cr_assert_eq(ofs_store_list_ledger(s, from, print, out), 0);
	fclose(out);
}

static void expect(int64_t from, const char *want)
{
	list(from);
	cr_expect_str_eq(listed, want);
	free(listed);
}

Test(store_ledger, sums_stay)
{
	static void (*const steps[])(void) = { seal, crash_store, reopen_store, crash_store, seal };
	char want[100];

	today = ofs_clock_wall() / DAY;
	expect(0, "");
	for (int i = 0; i < 5; i++) {
		add("b", 100);
		add("a", 10);
		add("b", 100);
		snprintf(want, sizeof(want), "0 a %d %d %d %d\n0 b %d %d %d %d\n", i + 1,
			 10 * (i + 1), i + 1, i + 1, 2 * i + 2, 200 * (i + 1), 20 * (i + 1),
			 2 * i + 2);
		expect(0, want);
		steps[i]();
		expect(0, want);
	}
}

Test(store_ledger, days_are_apart)
{
	today = ofs_clock_wall() / DAY;
	add("a", 10);
	seal();
	clocks.wall_offset += DAY;
	add("a", 10);
	expect(0, "0 a 1 10 1 1\n1 a 1 10 1 1\n");
	expect(today + 1, "1 a 1 10 1 1\n");
	expect(today + 2, "");
}

/* Too many names in a day are one, whether memory or the index has the others. */
Test(store_ledger, names_have_a_limit)
{
	struct ofs_ledger_made others = { 0 };
	struct ofs_ledger_entry e = { .who = "z", .results = 1 };
	static const char first[] = "0 n0000 3 30 3 3\n",
			  last[] = "0 n0999 1 10 1 1\n0 rest 7 250 25 7\n0 z 1 0 0 0\n"
				   "1 tomorrow 1 10 1 1\n";
	char name[16];

	today = ofs_clock_wall() / DAY;
	for (int i = 0; i < (int)OFS_LEDGER_ROWS_MAX + 5; i++) {
		snprintf(name, sizeof(name), "n%04d", i);
		add(name, 10);
		if (i % 300 == 0)
			seal();
	}
	for (int i = 0; i < 2; i++) {
		add("n0000", 10);
		add("more", 100);
		seal();
	}
	cr_assert_eq(ofs_store_add_to_ledger(s, &e, &others, "rest"), 0);
	clocks.wall_offset += DAY;
	add("tomorrow", 10);
	list(today);
	cr_expect(strncmp(listed, first, strlen(first)) == 0, "%s", listed);
	cr_expect_str_eq(listed + strlen(listed) - strlen(last), last);
	free(listed);
}

Test(store_ledger, who_has_a_length)
{
	static char who[OFS_LEDGER_WHO_MAX + 2];
	struct ofs_ledger_entry e = { .who = who, .results = 1 };

	cr_expect_eq(ofs_store_add_to_ledger(s, &e, &made, "rest"), -EINVAL);
	memset(who, 'w', sizeof(who) - 1);
	cr_expect_eq(ofs_store_add_to_ledger(s, &e, &made, "rest"), -EINVAL);
	who[OFS_LEDGER_WHO_MAX] = 0;
	cr_expect_eq(ofs_store_add_to_ledger(s, &e, &made, "rest"), 0);
}

/* A failed checkpoint must leave the entries in memory. */
static int fail_commit(const char *name)
{
	return strcmp(name, "index.commit") == 0 ? -EIO : 0;
}

Test(store_ledger, a_checkpoint_that_fails)
{
	today = ofs_clock_wall() / DAY;
	add("a", 10);
	fault_for = fail_commit;
	ofs_store_seal(s);
	fault_for = NULL;
	expect(0, "0 a 1 10 1 1\n");
	crash_store();
	expect(0, "0 a 1 10 1 1\n");
}
