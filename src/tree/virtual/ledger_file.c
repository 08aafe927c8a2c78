/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "tree/virtual/nodes.h"

#define SECONDS_PER_DAY 86400
#define NUMBERS 4
/* More tokens at once are a mistake. */
#define TOKENS_MAX (UINT64_C(1) << 40)
#define WHO_FIELDS 3

/* ---- "WAY\tAGENT\tTASK\tRESULTS\tOFFLOADED\tPOINTERS\tREAD" */

static bool read_numbers(const char *p, uint64_t ret[NUMBERS])
{
	for (int i = 0; i < NUMBERS; i++) {
		char *end;

		if (*p < '0' || *p > '9')
			return false;
		ret[i] = strtoull(p, &end, 10);
		if (ret[i] > TOKENS_MAX || *end != (i + 1 < NUMBERS ? '\t' : '\0'))
			return false;
		p = end + 1;
	}
	return true;
}

int ofs_ledger_file_add(struct ofs_tree *t, const void *value, size_t size)
{
	OFS_FREE char *text = ofs_strndup(value, size);
	struct ofs_ledger_entry e = { .who = text };
	uint64_t n[NUMBERS];
	char *p = text;

	if (strlen(text) != size || !ofs_text_is_utf8(text))
		return -EINVAL;
	for (int i = 0; i < WHO_FIELDS; i++) {
		p = strchr(p, '\t');
		if (!p)
			return -EINVAL;
		p++;
	}
	p[-1] = '\0';
	if (*text == '\t' || strchr(text, '\n') || !read_numbers(p, n))
		return -EINVAL;
	e.results = n[0];
	e.offloaded = n[1];
	e.pointers = n[2];
	e.read = n[3];
	return ofs_store_add_to_ledger(t->store, &e);
}

static int print_entry(void *arg, const struct ofs_ledger_entry *e)
{
	time_t seconds = (time_t)e->day * SECONDS_PER_DAY;
	char day[32];
	struct tm tm;

	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&seconds, &tm));
	ofs_buf_printf(arg, "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", day,
		       e->who, e->results, e->offloaded, e->pointers, e->read);
	return 0;
}

int ofs_ledger_file_write(struct ofs_tree *t, struct ofs_buf *out)
{
	ofs_buf_append_str(out, "day\tway\tagent\ttask\tresults\toffloaded\tpointers\tread\n");
	return ofs_store_list_ledger(t->store, 0, print_entry, out);
}

static int add_entry(void *arg, const struct ofs_ledger_entry *e)
{
	ofs_ledger_entry_add(arg, e);
	return 0;
}

int ofs_ledger_file_sum(struct ofs_tree *t, struct ofs_ledger_entry *ret)
{
	*ret = (struct ofs_ledger_entry){ 0 };
	return ofs_store_list_ledger(t->store, 0, add_entry, ret);
}
