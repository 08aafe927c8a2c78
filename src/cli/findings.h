/* SPDX-License-Identifier: MIT */
/* What `offload doctor` has found, one finding a check. */
#ifndef OFS_CLI_FINDINGS_H
#define OFS_CLI_FINDINGS_H

#include <stddef.h>
#include <stdio.h>

enum ofs_state {
	OFS_STATE_OK,
	OFS_STATE_NOTE, /* works, and could be better or is not there yet */
	OFS_STATE_WARNING, /* works, and may cost something one day */
	OFS_STATE_PROBLEM, /* does not work, or breaks a promise */
	OFS_STATES
};

struct ofs_finding {
	const char *name; /* of the check: a static string */
	enum ofs_state state;
	char *found;
	char *advice; /* NULL: none needed */
};

struct ofs_findings {
	struct ofs_finding *list;
	size_t count;
	size_t cap;
};

void ofs_findings_finish(struct ofs_findings *f);

/* Adds one. The text becomes one line of valid UTF-8, whatever names and paths are in it. */
void ofs_findings_add(struct ofs_findings *f, enum ofs_state state, const char *name,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* What to do about the one that was added last. */
void ofs_findings_advise(struct ofs_findings *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

size_t ofs_findings_count(const struct ofs_findings *f, enum ofs_state state);

/* Both print everything; 0 or -errno. */
int ofs_findings_print(const struct ofs_findings *f, FILE *out);
int ofs_findings_print_json(const struct ofs_findings *f, FILE *out);

#endif
