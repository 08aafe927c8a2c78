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

/* Each entry is a line, and what a terminal is shown. */
static bool has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

/* "WAY\tAGENT\tTASK" with the path of the agent's tree before the agent. */
static int who_of(struct ofs_tree *t, struct ofs_root *root, const char *who, struct ofs_buf *out)
{
	const char *agent = strchr(who, '\t') + 1;
	int r;

	ofs_buf_append(out, who, (size_t)(agent - who));
	r = ofs_root_path(t, root, t->root, out);
	ofs_buf_append_str(out, agent);
	return r;
}

int ofs_ledger_file_add(struct ofs_tree *t, struct ofs_root *root, const void *value, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf who = OFS_BUF_INIT;
	OFS_FREE char *text = ofs_strndup(value, size);
	struct ofs_ledger_entry e = { 0 };
	uint64_t n[NUMBERS];
	char *p = text;
	int r;

	if (strlen(text) != size || !ofs_text_is_utf8(text))
		return -EINVAL;
	for (int i = 0; i < WHO_FIELDS; i++) {
		p = strchr(p, '\t');
		if (!p)
			return -EINVAL;
		p++;
	}
	p[-1] = '\0';
	if (*text == '\t' || has_control(text) || !read_numbers(p, n))
		return -EINVAL;
	r = who_of(t, root, text, &who);
	if (r < 0)
		return r;
	e.who = ofs_buf_str(&who);
	e.results = n[0];
	e.offloaded = n[1];
	e.pointers = n[2];
	e.read = n[3];
	return ofs_store_add_to_ledger(t->store, &e);
}

/* What is listed of a tree. */
struct listing {
	struct ofs_buf path; /* of it, "" or "agents/a/" */
	struct ofs_buf *out;
	struct ofs_ledger_entry *sum;
};

/* The agent of an entry, and what follows it, as the tree knows them; NULL: it is another's. */
static const char *agent_in(const struct listing *l, const char *who)
{
	const char *agent = strchr(who, '\t');
	size_t len = l->path.len;

	if (!agent || strncmp(++agent, (const char *)l->path.data, len) != 0)
		return NULL;
	return agent + len;
}

static int print_entry(void *arg, const struct ofs_ledger_entry *e)
{
	const struct listing *l = arg;
	const char *agent = agent_in(l, e->who);
	time_t seconds = (time_t)e->day * SECONDS_PER_DAY;
	char day[32];
	struct tm tm;

	if (!agent)
		return 0;
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&seconds, &tm));
	ofs_buf_printf(l->out, "%s\t%.*s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		       day, (int)strcspn(e->who, "\t"), e->who, agent, e->results, e->offloaded,
		       e->pointers, e->read);
	return 0;
}

static int add_entry(void *arg, const struct ofs_ledger_entry *e)
{
	const struct listing *l = arg;

	if (agent_in(l, e->who))
		ofs_ledger_entry_add(l->sum, e);
	return 0;
}

static int list(struct ofs_tree *t, struct ofs_root *root, struct listing *l,
		int (*fn)(void *arg, const struct ofs_ledger_entry *e))
{
	int r = ofs_root_path(t, root, t->root, &l->path);

	ofs_buf_str(&l->path);

	if (r == 0)
		r = ofs_store_list_ledger(t->store, 0, fn, l);
	ofs_buf_finish(&l->path);
	return r;
}

int ofs_ledger_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	struct listing l = { .path = OFS_BUF_INIT, .out = out };

	ofs_buf_append_str(out, "day\tway\tagent\ttask\tresults\toffloaded\tpointers\tread\n");
	return list(t, root, &l, print_entry);
}

int ofs_ledger_file_sum(struct ofs_tree *t, struct ofs_root *root, struct ofs_ledger_entry *ret)
{
	struct listing l = { .path = OFS_BUF_INIT, .sum = ret };

	*ret = (struct ofs_ledger_entry){ 0 };
	return list(t, root, &l, add_entry);
}
