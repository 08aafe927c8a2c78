/* SPDX-License-Identifier: MIT */
#include "cli/checks.h"

#include <stdarg.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/util.h"
#include "io/mounts.h"
#include "io/probe.h"

#define ADVICE "\n-> "

/* ---- findings */

static const char *const states[OFS_STATES] = { "ok", "note", "warning", "problem" };
static json_t *findings; /* an array */
static size_t counts[OFS_STATES];

void ofs_findings_clear(void)
{
	json_decref(findings);
	findings = NULL;
	memset(counts, 0, sizeof(counts));
}

size_t ofs_findings_count(enum ofs_state state)
{
	return counts[state];
}

const json_t *ofs_findings_get(const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach(findings, i, one)
	{
		if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
			return one;
	}
	return NULL;
}

static json_t *as_line(const char *text)
{
	OFS_FREE char *line = ofs_text_shown(text);

	return json_string(line);
}

/* Takes ownership of the reference. */
static void add_finding(json_t *one)
{
	const char *state = json_string_value(json_object_get(one, "state"));

	for (size_t i = 0; i < OFS_STATES; i++)
		counts[i] += strcmp(states[i], state) == 0;
	if (!findings)
		findings = json_array();
	json_array_append_new(findings, one);
}

void ofs_found(enum ofs_state state, const char *name, const char *fmt, ...)
{
	OFS_FREE char *text = NULL;
	char *advice;
	va_list ap;

	va_start(ap, fmt);
	text = ofs_vformat(fmt, ap);
	va_end(ap);
	advice = strstr(text, ADVICE);
	if (advice) {
		*advice = '\0';
		advice += strlen(ADVICE);
	}
	add_finding(json_pack("{s:s, s:s, s:o, s:o}", "name", name, "state", states[state], "found",
			      as_line(text), "advice", advice ? as_line(advice) : json_null()));
}

void ofs_findings_print(bool json, FILE *out)
{
	size_t i, problems = counts[OFS_PROBLEM], warnings = counts[OFS_WARNING];
	const char *state, *name, *found, *advice;
	json_t *one;

	if (json) {
		ofs_text_json(out, json_pack("{s:O, s:I}", "checks", findings, "problems",
					     (json_int_t)problems));
		return;
	}
	json_array_foreach(findings, i, one)
	{
		json_unpack(one, "{s:s, s:s, s:s}", "state", &state, "name", &name, "found",
			    &found);
		fprintf(out, "%-8s %-12s %s\n", state, name, found);
		advice = json_string_value(json_object_get(one, "advice"));
		if (advice)
			fprintf(out, "%-8s %-12s -> %s\n", "", "", advice);
	}
	fputs("offload: ", out);
	if (problems)
		ofs_text_count(out, problems, "problem");
	else
		fputs("no problems", out);
	if (warnings) {
		fputs(", ", out);
		ofs_text_count(out, warnings, "warning");
	}
	fputc('\n', out);
}

/* ---- probes */

struct probe {
	int (*fn)(const void *arg, char *text);
	const void *arg;
	char *text; /* shared with the child */
};

static int run_probe(const void *arg)
{
	const struct probe *p = arg;

	return p->fn(p->arg, p->text);
}

int ofs_probe_run(int (*fn)(const void *arg, char *text), const void *arg, int64_t patience,
		  char **ret_text)
{
	char *text = mmap(NULL, OFS_PROBE_TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	int r;

	if (ret_text)
		*ret_text = NULL;
	if (text == MAP_FAILED)
		return -errno;
	r = ofs_process_probe(run_probe, &(struct probe){ fn, arg, text }, patience, -1, -1);
	if (ret_text)
		*ret_text = memcpy(ofs_alloc(OFS_PROBE_TEXT), text, OFS_PROBE_TEXT);
	munmap(text, OFS_PROBE_TEXT);
	return r;
}

struct check {
	void (*run)(const void *arg);
	const void *arg;
};

/* Writes the findings for the parent, as JSON. */
static int run_check(const void *arg, char *text)
{
	const struct check *check = arg;

	ofs_findings_clear();
	findings = json_array();
	check->run(check->arg);
	return json_dumpb(findings, text, OFS_PROBE_TEXT - 1, 0) >= OFS_PROBE_TEXT;
}

void ofs_probe_check(const char *name, void (*check)(const void *arg), const void *arg)
{
	OFS_FREE char *text = NULL;
	int r = ofs_probe_run(run_check, &(struct check){ check, arg }, OFS_CHECK_WAIT_NS, &text);
	json_t *found = r == 0 ? json_loads(text, 0, NULL) : NULL, *one;
	size_t i;

	if (!found)
		ofs_found(OFS_PROBLEM, name,
			  "not checked: %s\n"
			  "-> look for a filesystem on its path that does not answer",
			  r == -ETIMEDOUT ? "no answer within five seconds" : "the check failed");
	json_array_foreach(found, i, one)
	{
		add_finding(json_incref(one));
	}
	json_decref(found);
}
