/* SPDX-License-Identifier: MIT */
#include "context/steps/recap.h"

#include "base/tokens.h"
#include "context/steps/line.h"
#include "context/steps/summary.h"

#define GROUP_MAX 8 /* most steps in one line */
/* Longest label of a ref; over the budget, the second. */
#define LABEL_CHARS 40
#define LABEL_CHARS_MIN 20
#define NAMES_MAX 8 /* most tools counted by name */
#define NAME_CHARS 64

static const char header[] = "# Steps so far, oldest first; read the stored output [ref X] with "
			     "`offload slice X 1-100` or, in .offload, `cat refs/X:1-100`\n";

#define VERBS_MAX 2

/* Words for several steps of a rule. */
static const struct {
	const char *one; /* in counts */
	const char *verbs[VERBS_MAX]; /* starts of lines that are grouped; none: no groups */
	const char *things; /* after the verb and the count */
} words[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = { "other call", { NULL }, NULL },
	[OFS_TOOL_READ] = { "read", { "Read " }, "files" },
	[OFS_TOOL_WRITE] = { "write", { "Wrote ", "Edited " }, "files" },
	[OFS_TOOL_LIST] = { "listing", { "Listed " }, "directories" },
	[OFS_TOOL_GREP] = { "file search", { "Searched files for " }, "patterns" },
	[OFS_TOOL_SEARCH] = { "web search", { "Searched " }, "times" },
	[OFS_TOOL_VISIT] = { "visit", { "Visited " }, "pages" },
	[OFS_TOOL_SHELL] = { "command", { "Ran " }, "commands" },
};

/* A step before those shown in full. */
struct older {
	const struct ofs_step *step;
	char *text; /* its line, without the ref */
	enum ofs_tool_rule rule;
};

struct recap {
	const struct ofs_step_list *steps;
	const struct ofs_settings *settings;
	struct older *older;
	size_t n; /* number of older steps */
	struct ofs_buf text; /* the last rendering */
};

/* ---- older steps */

static void load_older(struct recap *rec)
{
	rec->older = ofs_realloc(NULL, rec->n, sizeof(*rec->older));
	for (size_t i = 0; i < rec->n; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
		const struct ofs_step *step = &rec->steps->steps[i];

		ofs_summary_text(step, rec->settings, &line);
		rec->older[i] = (struct older){
			.step = step,
			.text = ofs_buf_steal_str(&line),
			.rule = ofs_summary_rule(step, rec->settings),
		};
	}
}

static void recap_finish(struct recap *rec)
{
	for (size_t i = 0; rec->older && i < rec->n; i++)
		free(rec->older[i].text);
	free(rec->older);
	ofs_buf_finish(&rec->text);
}

/* Returns the length of the verb that the line starts with, or 0 if the step is not grouped. */
static size_t verb_length(const struct older *o)
{
	if (!o->step->success)
		return 0;
	for (size_t i = 0; i < VERBS_MAX && words[o->rule].verbs[i]; i++) {
		const char *verb = words[o->rule].verbs[i];

		if (strncmp(o->text, verb, strlen(verb)) == 0)
			return strlen(verb);
	}
	return 0;
}

/* Counts the steps from `o` on (of `n`) that have the same line as the first. */
static size_t count_same(const struct older *o, size_t n)
{
	size_t same = 1;

	while (same < n && o[same].step->success == o->step->success &&
	       strcmp(o[same].text, o->text) == 0)
		same++;
	return same;
}

/* Counts the steps from `o` on (of `n`) that share a line: equal ones, or a few with one verb. */
static size_t count_group(const struct older *o, size_t n)
{
	size_t verb = verb_length(o), count = count_same(o, n);

	if (!verb)
		return count;
	n = OFS_MIN(n, GROUP_MAX);
	while (count < n && o[count].rule == o->rule && verb_length(&o[count]) == verb &&
	       strncmp(o[count].text, o->text, verb) == 0)
		count++;
	return count;
}

/* Appends `n` equal steps, without the first `skip` bytes of their line, and their refs. */
static void write_item(const struct older *o, size_t n, size_t skip, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf refs = OFS_BUF_INIT;
	size_t marks = 0;

	ofs_buf_append_str(out, o->text + skip);
	if (n > 1)
		ofs_buf_printf(out, " %zu times", n);
	for (size_t i = 0; i < n; i++) {
		if (!o[i].step->outcome_ref)
			continue;
		ofs_buf_append_str(&refs, marks++ ? ", " : "");
		ofs_summary_ref(o[i].step->outcome_ref, &refs);
	}
	if (marks)
		ofs_buf_printf(out, " [ref%s %s]", marks == 1 ? "" : "s", ofs_buf_str(&refs));
}

static void write_group(const struct older *o, size_t n, struct ofs_buf *out)
{
	size_t verb = verb_length(o), items = 0, same;

	for (size_t i = 0; i < n; i += count_same(o + i, n - i))
		items++;
	ofs_buf_append_str(out, "- ");
	if (items > 1)
		ofs_buf_printf(out, "%.*s%zu %s: ", (int)verb, o->text, items,
			       words[o->rule].things);
	for (size_t i = 0; i < n; i += same) {
		same = count_same(o + i, n - i);
		ofs_buf_append_str(out, i ? ", " : "");
		write_item(o + i, same, items > 1 ? verb : 0, out);
	}
	ofs_buf_append_str(out, "\n");
}

/* ---- folded steps */

/* Appends "Earlier, 32 steps: 22 reads, 10 commands (2 failed)". Tools without a rule are named. */
static void write_counts(const struct recap *rec, size_t folded, struct ofs_buf *out)
{
	struct {
		const char *name;
		size_t count, failed;
	} list[OFS_TOOL_COUNT + NAMES_MAX] = { 0 };
	size_t n = OFS_TOOL_COUNT, written = 0;

	for (size_t i = 0; i < folded; i++) {
		const struct older *o = &rec->older[i];
		size_t at = o->rule;

		if (at == OFS_TOOL_OTHER && *o->step->tool_name) {
			for (at = OFS_TOOL_COUNT; at < n; at++)
				if (strcmp(list[at].name, o->step->tool_name) == 0)
					break;
			if (at == n && n < OFS_ARRAY_SIZE(list))
				list[n++].name = o->step->tool_name;
			at = at < n ? at : OFS_TOOL_OTHER;
		}
		list[at].count++;
		list[at].failed += !o->step->success;
	}
	ofs_buf_printf(out, "Earlier, %s", ofs_counted(folded, "step").text);
	for (size_t i = 1; i <= n; i++) {
		size_t at = i % n; /* others last */

		if (!list[at].count)
			continue;
		ofs_buf_append_str(out, written++ ? ", " : ": ");
		if (at < OFS_TOOL_COUNT) {
			ofs_buf_append_str(out, ofs_counted(list[at].count, words[at].one).text);
		} else {
			ofs_buf_printf(out, "%zu ", list[at].count);
			ofs_line_append_str(out, list[at].name, NAME_CHARS);
		}
		if (list[at].failed)
			ofs_buf_printf(out, " (%zu failed)", list[at].failed);
	}
	ofs_buf_append_str(out, "\n");
}

/* Appends a line for each failure, or for several equal ones that only successes separate. */
static void write_failures(const struct recap *rec, size_t folded, struct ofs_buf *out)
{
	OFS_FREE struct older *o = ofs_realloc(NULL, folded, sizeof(*o));
	size_t n = 0, same;

	for (size_t i = 0; i < folded; i++)
		if (!rec->older[i].step->success)
			o[n++] = rec->older[i];
	for (size_t i = 0; i < n; i += same) {
		same = count_same(o + i, n - i);
		write_group(o + i, same, out);
	}
}

/* Appends the end of a line, without a final part in parentheses. */
static void write_label(const char *text, size_t max, struct ofs_buf *out)
{
	const char *end = strrchr(text, '(');
	size_t len = strlen(text);

	if (end && end > text + 1 && end[-1] == ' ' && strchr(end, ')') == text + len - 1)
		len = (size_t)(end - text) - 1;
	ofs_line_append_end(out, text, len, max);
}

/* Appends "- refs: k3f9x2 (Read a.c), ..."; the lines of failures have their own refs. */
static void write_refs(const struct recap *rec, size_t folded, size_t label, struct ofs_buf *out)
{
	const char *last = NULL;

	for (size_t i = 0; i < folded; i++) {
		const struct older *o = &rec->older[i];
		const char *ref = o->step->outcome_ref;

		if (!ref || !o->step->success || (last && strcmp(ref, last) == 0))
			continue;
		ofs_buf_append_str(out, last ? ", " : "- refs: ");
		ofs_summary_ref(ref, out);
		ofs_buf_append_str(out, " (");
		write_label(o->text, label, out);
		ofs_buf_append_str(out, ")");
		last = ref;
	}
	if (last)
		ofs_buf_append_str(out, "\n");
}

/* ---- the section */

static void write_heading(size_t full, size_t n, struct ofs_buf *out)
{
	/* The total would change with each step, and is given only where no step is in full. */
	if (!full)
		ofs_buf_printf(out, "## %s so far\n", ofs_counted(n, "step").text);
	else if (full == n)
		ofs_buf_append_str(out, "## All steps, in full\n");
	else
		ofs_buf_printf(out, "## From step %zu on, in full\n", n - full + 1);
}

/* Renders the section with the first `folded` older steps folded; `label` is in characters. */
static void render(struct recap *rec, size_t folded, size_t label)
{
	const struct ofs_step_list *l = rec->steps;
	struct ofs_buf *out = &rec->text;
	size_t group;

	out->len = 0;
	ofs_buf_append_str(out, header);
	if (folded) {
		write_counts(rec, folded, out);
		write_failures(rec, folded, out);
		write_refs(rec, folded, label, out);
	}
	for (size_t i = folded; i < rec->n; i += group) {
		group = count_group(&rec->older[i], rec->n - i);
		write_group(&rec->older[i], group, out);
	}
	write_heading(l->n - rec->n, l->n, out);
	for (size_t i = rec->n; i < l->n; i++)
		ofs_summary_full(&l->steps[i], out);
}

static bool is_over(const struct recap *rec)
{
	return ofs_tokens_count(rec->text.data, rec->text.len) > rec->settings->budget;
}

/* Folds as few blocks as bring the section within its budget, or all. Returns the steps folded. */
static size_t fold(struct recap *rec)
{
	size_t low = 0, high = (rec->n + OFS_RECAP_FOLD - 1) / OFS_RECAP_FOLD, folded;

	render(rec, 0, LABEL_CHARS);
	if (!is_over(rec))
		return 0;
	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;

		render(rec, middle * OFS_RECAP_FOLD, LABEL_CHARS);
		if (is_over(rec))
			low = middle;
		else
			high = middle;
	}
	folded = OFS_MIN(high * OFS_RECAP_FOLD, rec->n);
	render(rec, folded, LABEL_CHARS);
	if (is_over(rec))
		render(rec, folded, LABEL_CHARS_MIN);
	return folded;
}

static void write_skipped(const struct ofs_step_list *l, struct ofs_buf *out)
{
	if (!l->n_skipped)
		return;
	ofs_buf_append_str(out, "Left out, as they are no steps: ");
	ofs_buf_append(out, l->skipped.data, l->skipped.len);
	if (l->n_skipped > OFS_STEP_LIST_NAMED)
		ofs_buf_printf(out, " and %zu more", l->n_skipped - OFS_STEP_LIST_NAMED);
	ofs_buf_append_str(out, "\n");
}

void ofs_recap_write(const struct ofs_step_list *steps, const struct ofs_settings *s,
		     struct ofs_buf *out, struct ofs_recap_info *ret)
{
	OFS_CLEANUP(recap_finish) struct recap rec = { .steps = steps, .settings = s };
	struct ofs_recap_info info = { 0 };

	if (steps->n)
		render(&rec, 0, LABEL_CHARS);
	info.tokens_before = ofs_tokens_count(rec.text.data, rec.text.len);
	if ((steps->n > s->steps || info.tokens_before > s->tokens) && steps->n > s->keep) {
		info.compacted = true;
		rec.n = steps->n - s->keep;
		if (s->keep && rec.n > OFS_RECAP_BLOCK)
			rec.n -= rec.n % OFS_RECAP_BLOCK;
		load_older(&rec);
		info.folded = fold(&rec);
	}
	write_skipped(steps, &rec.text);
	ofs_buf_append(out, rec.text.data, rec.text.len);
	info.tokens_after = ofs_tokens_count(rec.text.data, rec.text.len);
	if (ret)
		*ret = info;
}

static int write_for_tree(void *arg, const struct ofs_task_step *steps, size_t n, char **ret,
			  size_t *ret_len)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list list = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (size_t i = 0; i < n; i++)
		ofs_step_list_add_file(&list, &steps[i]);
	ofs_recap_write(&list, arg, &text, NULL);
	*ret_len = text.len;
	*ret = (char *)ofs_steal(text.data);
	return 0;
}

struct ofs_tree_recap ofs_recap_for_tree(const struct ofs_settings *s)
{
	return (struct ofs_tree_recap){ .write = write_for_tree, .arg = (void *)(uintptr_t)s };
}
