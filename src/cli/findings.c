/* SPDX-License-Identifier: MIT */
#include "cli/findings.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"

static const char *const states[OFS_STATES] = { "ok", "note", "warning", "problem" };

void ofs_findings_finish(struct ofs_findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].found);
		free(f->list[i].advice);
	}
	free(f->list);
	*f = (struct ofs_findings){ 0 };
}

/* Allocated. */
__attribute__((format(printf, 1, 0))) static char *findings_text(const char *fmt, va_list ap)
{
	OFS_FREE char *raw = ofs_vformat(fmt, ap);
	struct ofs_text_stream s;

	ofs_text_line(ofs_text_open(&s), raw);
	return ofs_text_close(&s);
}

void ofs_findings_add(struct ofs_findings *f, enum ofs_state state, const char *name,
		      const char *fmt, ...)
{
	va_list ap;

	f->list = ofs_grow(f->list, &f->cap, f->count + 1, sizeof(*f->list));
	va_start(ap, fmt);
	f->list[f->count++] = (struct ofs_finding){
		.name = name,
		.state = state,
		.found = findings_text(fmt, ap),
	};
	va_end(ap);
}

void ofs_findings_advise(struct ofs_findings *f, const char *fmt, ...)
{
	struct ofs_finding *last = &f->list[f->count - 1];
	va_list ap;

	free(last->advice);
	va_start(ap, fmt);
	last->advice = findings_text(fmt, ap);
	va_end(ap);
}

size_t ofs_findings_count(const struct ofs_findings *f, enum ofs_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < f->count; i++)
		n += f->list[i].state == state;
	return n;
}

int ofs_findings_print(const struct ofs_findings *f, FILE *out)
{
	size_t problems = ofs_findings_count(f, OFS_STATE_PROBLEM);
	size_t warnings = ofs_findings_count(f, OFS_STATE_WARNING);

	for (size_t i = 0; i < f->count; i++) {
		const struct ofs_finding *one = &f->list[i];

		fprintf(out, "%-8s %-12s %s\n", states[one->state], one->name, one->found);
		if (one->advice)
			fprintf(out, "%-8s %-12s -> %s\n", "", "", one->advice);
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
	return fputc('\n', out) == EOF ? -EIO : 0;
}

int ofs_findings_print_json(const struct ofs_findings *f, FILE *out)
{
	json_t *checks = json_array(), *json;
	int r = 0;

	for (size_t i = 0; i < f->count && r == 0; i++) {
		const struct ofs_finding *one = &f->list[i];

		r = json_array_append_new(checks,
					  json_pack("{s:s, s:s, s:s, s:s?}", "name", one->name,
						    "state", states[one->state], "found",
						    one->found, "advice", one->advice));
	}
	json = json_pack("{s:o, s:I}", "checks", checks, "problems",
			 (json_int_t)ofs_findings_count(f, OFS_STATE_PROBLEM));
	if (r == 0)
		r = json ? json_dumpf(json, out, JSON_INDENT(2)) : -1;
	json_decref(json);
	if (r < 0)
		return -EIO;
	return fputc('\n', out) == EOF ? -EIO : 0;
}
