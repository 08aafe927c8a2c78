/* SPDX-License-Identifier: MIT */
#include "base/quantity.h"

#include <stdio.h>
#include <strings.h>

#define SUFFIXES 4

static const struct unit {
	const char *name; /* plural */
	const char *placeholder;
	struct {
		const char *text;
		uint64_t factor;
	} suffixes[SUFFIXES + 1]; /* ascending */
} units[] = {
	[OFS_UNIT_MS] = { "milliseconds",
			  "MS",
			  { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } } },
	[OFS_UNIT_S] = { "seconds",
			 "TIME",
			 { { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } } },
	[OFS_UNIT_BYTES] = { "bytes",
			     "BYTES",
			     { { "K", 1024 }, { "M", 1 << 20 }, { "G", 1 << 30 } } },
	[OFS_UNIT_MIB] = { "MiB", "MIB", { { "M", 1 }, { "G", 1024 } } },
	[OFS_UNIT_TOKENS] = { "tokens", "TOKENS", { { "K", 1000 } } },
	[OFS_UNIT_CHARS] = { "characters", "CHARS", { { "K", 1000 } } },
	[OFS_UNIT_LINES] = { "lines", "LINES", { { NULL, 0 } } },
	[OFS_UNIT_ITEMS] = { "items", "ITEMS", { { NULL, 0 } } },
	[OFS_UNIT_RESULTS] = { "results", "RESULTS", { { NULL, 0 } } },
	[OFS_UNIT_STEPS] = { "steps", "STEPS", { { NULL, 0 } } },
};

/* Returns 0 if there is no such suffix. */
static uint64_t factor_of(const struct unit *unit, const char *suffix, bool strict)
{
	if (!*suffix)
		return !strict;
	for (int i = 0; unit->suffixes[i].text; i++)
		if ((strict ? strcmp : strcasecmp)(unit->suffixes[i].text, suffix) == 0)
			return unit->suffixes[i].factor;
	return 0;
}

bool ofs_quantity_parse(const struct ofs_quantity *q, const char *text, uint64_t *ret)
{
	uint64_t n, factor;
	char *end;

	if (q->zero && strcmp(text, q->zero) == 0) {
		*ret = 0;
		return true;
	}
	/* strtoull() also accepts blanks and signs. */
	if (*text < (q->strict ? '1' : '0') || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	factor = factor_of(&units[q->unit], end, q->strict);
	if (errno || !factor || __builtin_mul_overflow(n, factor, &n))
		return false;
	if ((n < q->min || n > q->max) && (n || !q->zero))
		return false;
	*ret = n;
	return true;
}

struct ofs_quantity_text ofs_quantity_describe(const struct ofs_quantity *q)
{
	const struct unit *unit = &units[q->unit];
	struct ofs_quantity_text ret;
	char *to = ret.text;
	int i;

	to += sprintf(to, "a number of %s from %llu to %llu", unit->name,
		      (unsigned long long)q->min, (unsigned long long)q->max);
	for (i = 0; unit->suffixes[i].text; i++)
		to += sprintf(to, "%s%s",
			      i		  ? ", "
			      : q->strict ? ", with a unit ("
					  : ", also with a unit (",
			      unit->suffixes[i].text);
	if (i)
		to += sprintf(to, ")");
	if (q->zero)
		sprintf(to, ", or %s", q->zero);
	return ret;
}

struct ofs_quantity_text ofs_quantity_show(const struct ofs_quantity *q, uint64_t n)
{
	const struct unit *unit = &units[q->unit];
	struct ofs_quantity_text ret;
	uint64_t factor = 1;
	const char *suffix = "";

	for (int i = 0; n && unit->suffixes[i].text && n % unit->suffixes[i].factor == 0; i++) {
		factor = unit->suffixes[i].factor;
		suffix = unit->suffixes[i].text;
	}
	if (n == 0 && q->zero)
		snprintf(ret.text, sizeof(ret.text), "%s", q->zero);
	else
		snprintf(ret.text, sizeof(ret.text), "%llu%s", (unsigned long long)(n / factor),
			 suffix);
	return ret;
}

const char *ofs_unit_placeholder(enum ofs_unit unit)
{
	return units[unit].placeholder;
}
