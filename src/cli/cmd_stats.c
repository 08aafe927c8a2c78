/* SPDX-License-Identifier: MIT */
/* offload stats: how much there is and what became of the rest, from the tree's status.json. */
#include "cli/command.h"
#include "cli/report.h"
#include "client/access.h"

#define STATS_PATH ".offload/status.json"

static const char general[] =
	"store       {store}\n"
	"mounted     {mounted|no}\n"
	"state       {state|unknown}[: {error}]\n"
	"files       {content.files:file}, {content.bytes:size}, in {content.directories} ";

/* A collection counts the working tier; what came since is not among it. */
static const char uncounted[] =
	"  working   not counted yet: a collection does that (offload gc)\n";
static const char counted[] =
	"  working   {lifecycle.working_files:file}, {lifecycle.working_bytes:size}, stored in "
	"{lifecycle.working_stored:size}[ of at most {+lifecycle.working_max:size}], at the last "
	"collection\n"
	"  others    {other_files:file}, {other_bytes:size}, in persistent/ and archive/, or newer "
	"than that\n";

static const char disk[] =
	"stored      {stored:size}: packs {disk.packs:size}, index {disk.index:size}, journal "
	"{disk.journal:size}; free on the disk: {disk.free:size}\n"
	"[saved       {saved} to 1\n]"
	"[unsealed    {+unsealed.files:file}, {unsealed.bytes:size}\n]";

static const char lifecycle[] =
	"expired     {lifecycle.expired:file}[, {+lifecycle.task_ended} more as their task ended]"
	"[, {+lifecycle.evicted} more to make room]; freed {lifecycle.freed_bytes:size}\n"
	"probation   {lifecycle.probation:file}[; last collection {lifecycle.last_gc}]"
	"[; next {lifecycle.next_gc}]\n"
	"remembered  {lifecycle.tombstones:removed file}\n";

static const char search[] =
	"search      {search.files:file}[, {+search.documents} text(s)], index {search.bytes:size}"
	"[, {+search.waiting} waiting to be indexed]\n";

static json_int_t number(const json_t *status, const char *part, const char *key)
{
	return json_integer_value(json_object_get(json_object_get(status, part), key));
}

static void add_number(json_t *status, const char *key, json_int_t n)
{
	json_object_set_new(status, key, json_integer(OFS_MAX(n, 0)));
}

/* Adds what the forms need and is not in status.json. */
static void stats_complete(json_t *status, const struct ofs_target *target)
{
	json_int_t bytes = number(status, "content", "bytes");
	json_int_t stored = number(status, "disk", "packs") + number(status, "disk", "index") +
			    number(status, "disk", "journal");

	json_object_set_new(status, "store", ofs_print_string(target->store));
	json_object_set_new(status, "mounted",
			    ofs_print_string(target->mounted ? target->mountpoint : NULL));
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

	ofs_print_form(stdout, status, general);
	puts(number(status, "content", "directories") == 1 ? "directory" : "directories");
	if (json_is_object(life))
		ofs_print_form(stdout, status,
			       json_is_string(json_object_get(life, "last_gc")) ? counted
										: uncounted);
	ofs_print_form(stdout, status, disk);
	if (json_is_object(life))
		ofs_print_form(stdout, status, lifecycle);
	if (json_is_object(json_object_get(status, "search")))
		ofs_print_form(stdout, status, search);
}

static int stats_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	const struct ofs_target *target = &access.target;
	OFS_FREE char *text = NULL;
	struct ofs_error err;
	json_t *status;
	int r;

	ofs_access_init(&access, &ofs_command_target);
	if (ofs_access_open(&access, false, &err) < 0)
		return ofs_report("%s", err.text);
	r = ofs_backend_read_text(access.backend, STATS_PATH, &text);
	if (r < 0)
		return ofs_report("cannot read %s of '%s': %s", STATS_PATH,
				  target->mounted ? target->mountpoint : target->store,
				  ofs_report_errno(-r));
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
	.synopsis = "[--json]",
	.summary = "Tells how much is stored, what it costs on disk, and what has expired",
	.json = "print the tree's status.json",
	.run = stats_run,
};
