/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "tree/virtual/nodes.h"

#define SECONDS_PER_DAY 86400
#define NUMBERS 4
/* A larger number of tokens is a mistake. */
#define TOKENS_MAX (UINT64_C(1) << 40)
#define WHO_FIELDS 3
#define REST "other\t\t" /* of a day with too many rows */

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

/* Rejects control characters: each entry is a line, which may be shown on a terminal. */
static bool has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

/*
 * Appends "WAY\tAGENT\tTASK". In an agent's tree the agent is preceded by '@', the inode of the
 * tree's directory and '/', so that a later agent of the same name does not get to see the entry.
 */
static void write_who(const struct ofs_root *root, const char *who, struct ofs_buf *out)
{
	const char *agent = strchr(who, '\t') + 1;

	ofs_buf_append(out, who, (size_t)(agent - who));
	if (root->above)
		ofs_buf_printf(out, "@%" PRIu64 "/", root->ino);
	ofs_buf_append_str(out, agent);
}

int ofs_ledger_file_add(struct ofs_tree *t, struct ofs_root *root, const void *value, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf who = OFS_BUF_INIT, rest = OFS_BUF_INIT;
	OFS_FREE char *text = ofs_strndup(value, size);
	struct ofs_ledger_entry e = { 0 };
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
	if (*text == '\t' || has_control(text) || !read_numbers(p, n))
		return -EINVAL;
	if (strchr(text, '\t')[1] == '@')
		return -EINVAL;
	write_who(root, text, &who);
	write_who(root, REST, &rest);
	e.who = ofs_buf_str(&who);
	e.results = n[0];
	e.offloaded = n[1];
	e.pointers = n[2];
	e.read = n[3];
	return ofs_store_add_to_ledger(t->store, &e, &ofs_root_agent(root)->ledger,
				       ofs_buf_str(&rest));
}

/* A listing of a tree and those in it. */
struct listing {
	struct ofs_tree *tree;
	struct ofs_root *root;
	struct ofs_buf *out;
	struct ofs_ledger_entry *sum;
};

/*
 * Returns the part of `who` from the agent on, or NULL if the entry belongs to none of the trees.
 * Appends the path of its tree to `ret_path` (may be NULL).
 */
static const char *agent_in(const struct listing *l, const char *who, struct ofs_buf *ret_path)
{
	const char *agent = strchr(who, '\t');
	struct ofs_root *in = l->tree->root;
	char *end;

	if (!agent)
		return NULL;
	if (*++agent == '@') {
		in = ofs_root_at(l->tree, strtoull(agent + 1, &end, 10));
		agent = *end == '/' ? end + 1 : end;
	}
	/* The sums of a removed agent remain, and are shown at the store's root. */
	if (!in && !l->root->above) {
		if (ret_path)
			ofs_buf_append_str(ret_path, "agents/(removed)/");
		return agent;
	}
	if (!in || !ofs_root_is_in(in, l->root))
		return NULL;
	if (ret_path)
		ofs_root_path(l->tree, in, l->root, ret_path);
	return agent;
}

static int print_entry(void *arg, const struct ofs_ledger_entry *e)
{
	const struct listing *l = arg;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	const char *agent = agent_in(l, e->who, &path);
	time_t seconds = (time_t)e->day * SECONDS_PER_DAY;
	OFS_FREE char *shown = NULL;
	char day[32];
	struct tm tm;

	if (!agent)
		return 0;
	strftime(day, sizeof(day), "%Y-%m-%d", gmtime_r(&seconds, &tm));
	shown = ofs_text_shown(ofs_buf_str(&path));
	for (char *tab = shown; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	ofs_buf_printf(l->out,
		       "%s\t%.*s\t%s%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", day,
		       (int)strcspn(e->who, "\t"), e->who, shown, agent, e->results, e->offloaded,
		       e->pointers, e->read);
	return 0;
}

static int add_entry(void *arg, const struct ofs_ledger_entry *e)
{
	const struct listing *l = arg;

	if (agent_in(l, e->who, NULL))
		ofs_ledger_entry_add(l->sum, e);
	return 0;
}

int ofs_ledger_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	struct listing l = { .tree = t, .root = root, .out = out };

	ofs_buf_append_str(out, "day\tway\tagent\ttask\tresults\toffloaded\tpointers\tread\n");
	return ofs_store_list_ledger(t->store, 0, print_entry, &l);
}

int ofs_ledger_file_sum(struct ofs_tree *t, struct ofs_root *root, struct ofs_ledger_entry *ret)
{
	struct listing l = { .tree = t, .root = root, .sum = ret };

	*ret = (struct ofs_ledger_entry){ 0 };
	return ofs_store_list_ledger(t->store, 0, add_entry, &l);
}
