/* SPDX-License-Identifier: MIT */
/*
 * offload stats: prints how much is stored and what happened to the rest, from the tree's
 * status.json, and what was kept out of prompts, from its ledger.
 */
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/savings.h"

#define STATS_PATH ".offload/status.json"

static const char *since;
static int by = -1;

static const struct ofs_option options[] = {
	OFS_TEXT(0, "since", "WHEN", &since, "tokens since a day (2026-01-31) or for a time (7d)"),
	OFS_CHOICE(0, "by", "WHAT", &by, "column", ofs_savings_columns,
		   "tokens by day, way, agent or task"),
	OFS_OPTIONS_END,
};

static const char general[] =
	"store       {store}\n"
	"mounted     {mounted|no}\n"
	"state       {state|unknown}[: {error}]\n"
	"files       {content.files:file}, {content.bytes:size}, in {content.directories} ";

/* A collection counts the working tier. Files that are newer than it are not included. */
static const char uncounted[] =
	"  working   not counted yet: a collection does that (offload gc)\n";
static const char counted[] =
	"  working   {lifecycle.working_files:file}, {lifecycle.working_bytes:size}, stored in "
	"{lifecycle.working_stored:size}[ of at most {+lifecycle.working_max:size}], at the last "
	"collection\n"
	"  others    {other_files:file}, {other_bytes:size}, in persistent/ and archive/, or newer "
	"than that collection\n"
	"pressure    begins at {lifecycle.working_keep:size}: {lifecycle.working_stored:size} now, "
	"{lifecycle.evictable_stored:size} of it evictable ({lifecycle.evictable_files:file})\n"
	"[            the disk lacks {+lifecycle.disk_lacks:size} of 5% available\n]";

static const char disk[] =
	"stored      {stored:size}: packs {disk.packs:size}, index {disk.index:size}, journal "
	"{disk.journal:size}; free on the disk: {disk.free:size}\n"
	"[saved       {saved} to 1\n]"
	"[unsealed    {+unsealed.files:file}, {unsealed.bytes:size}\n]";

static const char lifecycle[] =
	"expired     {lifecycle.expired:file}[, {+lifecycle.task_ended} more as their task ended]"
	"[, {+lifecycle.pressed} more for want of room][, {+lifecycle.evicted} more beyond "
	"working_max]; freed {lifecycle.freed_bytes:size}\n"
	"probation   {lifecycle.probation:file}[; last collection {lifecycle.last_gc}]"
	"[; next {lifecycle.next_gc}]\n"
	"remembered  {lifecycle.tombstones:removed file}\n";

static const char search[] =
	"search      {search.files:file}[, {+search.documents:passage}], index {search.bytes:size}"
	"[, {+search.waiting} waiting to be indexed]\n";

static const char tokens[] =
	"tokens      {tokens.offloaded} kept out of prompts by {tokens.results:result}; pointers "
	"{tokens.pointers}, read back {tokens.read}\n";

static const char row_form[] =
	"{name|-}: {offloaded:token} kept out by {results:result}; pointers {pointers}, read back "
	"{read}; saved {saved}\n";

static json_int_t number(const json_t *status, const char *part, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(status, part), key));
}

static void add_number(json_t *status, const char *key, json_int_t n)
{
	json_object_set_new(status, key, json_integer(OFS_MAX(n, 0)));
}

/* Adds what the forms need and status.json lacks. */
static void stats_complete(json_t *status, const struct ofs_target *target)
{
	json_int_t bytes = number(status, "content", "bytes");
	json_int_t stored = number(status, "disk", "packs") + number(status, "disk", "index") +
			    number(status, "disk", "journal");

	json_object_set_new(status, "store", ofs_json_string(target->store));
	json_object_set_new(status, "mounted",
			    ofs_json_string(target->mounted ? target->mountpoint : NULL));
	add_number(status, "stored", stored);
	add_number(status, "other_files",
		   number(status, "content", "files") -
			   number(status, "lifecycle", "working_files"));
	add_number(status, "other_bytes", bytes - number(status, "lifecycle", "working_bytes"));
	if (bytes && stored)
		json_object_set_new(status, "saved",
				    json_sprintf("%.2f", (double)bytes / (double)stored));
}

static void stats_print(const json_t *status)
{
	const json_t *life = json_object_get(status, "lifecycle");

	ofs_text_form(stdout, status, general);
	puts(number(status, "content", "directories") == 1 ? "directory" : "directories");
	if (json_is_object(life))
		ofs_text_form(stdout, status,
			      json_is_string(json_object_get(life, "last_gc")) ? counted
									       : uncounted);
	ofs_text_form(stdout, status, disk);
	if (json_is_object(life))
		ofs_text_form(stdout, status, lifecycle);
	if (json_is_object(json_object_get(status, "search")))
		ofs_text_form(stdout, status, search);
	if (number(status, "tokens", "results"))
		ofs_text_form(stdout, status, tokens);
}

/* ---- the ledger */

/* Returns {"since": DAY, "by": COLUMN, "rows": {NAME: {...}}, "total": {...}}. */
static json_t *sum_up(char *text, const char *first)
{
	unsigned int column = by < 0 ? OFS_SAVINGS_WAY : (unsigned int)by;
	json_t *sums = ofs_savings_sum(text, first, 1u << column), *rows = json_object(), *row;
	const char *name = ofs_savings_columns[column];
	size_t i;

	json_array_foreach(json_object_get(sums, "rows"), i, row)
	{
		json_object_set(rows, json_string_value(json_object_get(row, name)), row);
		json_object_del(row, name);
	}
	row = json_pack("{s:s?, s:s, s:o, s:O}", "since", *first ? first : NULL, "by", name, "rows",
			rows, "total", json_object_get(sums, "total"));
	json_decref(sums);
	return row;
}

static int print_ledger(const struct ofs_access *access)
{
	OFS_FREE char *text = NULL;
	char first[OFS_SAVINGS_DAY_SIZE];
	const char *name;
	json_t *sums, *row;
	int r;

	if (!ofs_savings_since(since, first))
		return ofs_report_usage("'%s' is not a day (2026-01-31) or a time (7d)", since);
	r = ofs_backend_read_text(access->backend, OFS_SAVINGS_PATH, &text);
	if (r < 0)
		return ofs_report("cannot read %s: %s", OFS_SAVINGS_PATH, ofs_backend_strerror(-r));
	sums = sum_up(text, first);
	if (ofs_command_json)
		return ofs_print_json(sums, "");
	json_object_foreach(json_object_get(sums, "rows"), name, row)
	{
		json_object_set_new(row, "name", json_string(name));
		ofs_text_form(stdout, row, row_form);
	}
	row = json_object_get(sums, "total");
	json_object_set_new(row, "name", json_string("all"));
	ofs_text_form(stdout, row, row_form);
	json_decref(sums);
	return OFS_EXIT_OK;
}

static int stats_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	const struct ofs_target *target = &access.target;
	OFS_FREE char *text = NULL;
	struct ofs_error err;
	json_t *status;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	if (ofs_access_open(&access, false, &err) < 0)
		return ofs_report("%s", err.text);
	if (since || by >= 0)
		return print_ledger(&access);
	r = ofs_backend_read_text(access.backend, STATS_PATH, &text);
	if (r < 0)
		return ofs_report("cannot read %s of '%s': %s", STATS_PATH,
				  target->mounted ? target->mountpoint : target->store,
				  ofs_backend_strerror(-r));
	status = json_loads(text, 0, NULL);
	if (!json_is_object(status)) {
		json_decref(status);
		return ofs_report("cannot make sense of %s", STATS_PATH);
	}
	if (ofs_command_json)
		return ofs_print_json(status, "");
	stats_complete(status, target);
	stats_print(status);
	json_decref(status);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_stats = {
	.name = "stats",
	.synopsis = "[--since WHEN] [--by WHAT] [--json]",
	.summary = "Shows how much is stored, what it costs on disk, and what has expired",
	.help = "With --since or --by: the tokens that were kept out of prompts.\n",
	.options = options,
	.json = "print the tree's status.json, or the sums",
	.run = stats_run,
};
