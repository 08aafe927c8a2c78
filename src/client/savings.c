/* SPDX-License-Identifier: MIT */
#include "client/savings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/quantity.h"

#define SECONDS_PER_DAY 86400

/* The columns of the ledger after those of ofs_savings_column. */
enum column {
	RESULTS = OFS_SAVINGS_COLUMNS,
	OFFLOADED,
	POINTERS,
	READ,
	COLUMNS
};

const char *const ofs_savings_columns[] = { "day", "way", "agent", "task", NULL };

bool ofs_savings_since(const char *since, char ret[OFS_SAVINGS_DAY_SIZE])
{
	static const struct ofs_quantity age = { OFS_UNIT_S, 1, INT64_C(100000) * SECONDS_PER_DAY,
						 NULL, true };
	uint64_t seconds;
	struct tm tm = { 0 };
	const char *end;
	time_t day;

	*ret = '\0';
	if (!since)
		return true;
	if (ofs_quantity_parse(&age, since, &seconds)) {
		day = (time_t)(ofs_clock_wall() / OFS_NS_PER_S - (int64_t)seconds);
		return strftime(ret, OFS_SAVINGS_DAY_SIZE, "%Y-%m-%d", gmtime_r(&day, &tm));
	}
	end = strptime(since, "%Y-%m-%d", &tm);
	return end && !*end && strftime(ret, OFS_SAVINGS_DAY_SIZE, "%Y-%m-%d", &tm);
}

/* Splits a line at its tabs. Returns false if the number of columns is wrong. */
static bool cut(char *line, char *ret[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		ret[i] = line ? strsep(&line, "\t") : NULL;
		if (!ret[i])
			return false;
	}
	return !line;
}

/* Turns the name of an agent in the ledger, "agents/a/agents/b/", into "a/b". */
static void shorten_agent(char *name)
{
	static const char dir[] = "agents/";
	size_t n = strlen(dir), len;

	for (char *p = name; p && strncmp(p, dir, n) == 0;) {
		memmove(p, p + n, strlen(p + n) + 1);
		p = strchr(p, '/');
		p = p ? p + 1 : NULL;
	}
	len = strlen(name);
	if (len && name[len - 1] == '/')
		name[len - 1] = '\0';
}

static void add_to(json_t *row, const char *name, json_int_t n)
{
	json_object_set_new(row, name,
			    json_integer(json_integer_value(json_object_get(row, name)) + n));
}

static void add_line(json_t *row, char *const columns[COLUMNS])
{
	json_int_t offloaded = atoll(columns[OFFLOADED]), pointers = atoll(columns[POINTERS]);
	json_int_t read = atoll(columns[READ]);

	add_to(row, "results", atoll(columns[RESULTS]));
	add_to(row, "offloaded", offloaded);
	add_to(row, "pointers", pointers);
	add_to(row, "read", read);
	add_to(row, "saved", offloaded - pointers - read);
}

/* Returns the row of a line, new if it is the first of its kind. `index` maps names to rows. */
static json_t *find_row(json_t *rows, json_t *index, unsigned int by, char *const columns[COLUMNS])
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf key = OFS_BUF_INIT;
	json_t *row;

	for (int i = 0; i < OFS_SAVINGS_COLUMNS; i++)
		ofs_buf_printf(&key, "%s\t", by & 1u << i ? columns[i] : "");
	row = json_object_get(index, ofs_buf_str(&key));
	if (row)
		return row;
	row = json_object();
	for (int i = 0; i < OFS_SAVINGS_COLUMNS; i++)
		if (by & 1u << i)
			json_object_set_new(row, ofs_savings_columns[i], json_string(columns[i]));
	json_array_append(rows, row);
	json_object_set_new(index, ofs_buf_str(&key), row);
	return row;
}

json_t *ofs_savings_sum(char *text, const char *first, unsigned int by)
{
	json_t *rows = json_array(), *index = json_object(),
	       *total = json_pack("{s:i, s:i, s:i, s:i, s:i}", "results", 0, "offloaded", 0,
				  "pointers", 0, "read", 0, "saved", 0);
	char *line, *columns[COLUMNS];

	strsep(&text, "\n"); /* the header */
	while ((line = strsep(&text, "\n"))) {
		if (!cut(line, columns) || strcmp(columns[OFS_SAVINGS_DAY], first) < 0)
			continue;
		shorten_agent(columns[OFS_SAVINGS_AGENT]);
		add_line(find_row(rows, index, by, columns), columns);
		add_line(total, columns);
	}
	json_decref(index);
	return json_pack("{s:o, s:o}", "rows", rows, "total", total);
}
