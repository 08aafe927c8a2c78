/* SPDX-License-Identifier: MIT */
/* offload stats: how much there is and what became of the rest, from the tree's status.json. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/target.h"

#define STATS_PATH ".offload/status.json"
#define STATS_WIDTH 11

static void stats_label(const char *label)
{
	printf("%-*s ", STATS_WIDTH, label);
}

static uint64_t stats_number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* ", 12 expired" for a number that is there and not 0. */
static void stats_more(const json_t *object, const char *key, const char *words)
{
	uint64_t n = stats_number(object, key);

	if (!n)
		return;
	fputs(", ", stdout);
	ofs_text_number(stdout, n);
	printf(" %s", words);
}

static void stats_files(const char *label, uint64_t files, uint64_t bytes)
{
	stats_label(label);
	ofs_text_count(stdout, files, "file");
	fputs(", ", stdout);
	ofs_text_size(stdout, bytes);
}

static void stats_part(const char *before, const char *what, uint64_t bytes)
{
	printf("%s%s ", before, what);
	ofs_text_size(stdout, bytes);
}

static void stats_print_content(const json_t *content, const json_t *lifecycle)
{
	uint64_t files = stats_number(content, "files"), bytes = stats_number(content, "bytes");
	uint64_t working = stats_number(lifecycle, "working_files");
	uint64_t working_bytes = stats_number(lifecycle, "working_bytes");
	uint64_t max = stats_number(lifecycle, "working_max");

	stats_files("files", files, bytes);
	fputs(", in ", stdout);
	ofs_text_number(stdout, stats_number(content, "directories"));
	puts(stats_number(content, "directories") == 1 ? " directory" : " directories");
	if (!lifecycle)
		return;
	/* A collection counts the working tier; what came since is not among it. */
	if (!json_is_string(json_object_get(lifecycle, "last_gc"))) {
		stats_label("  working");
		puts("not counted yet: a collection does that (offload gc)");
		return;
	}
	stats_files("  working", working, working_bytes);
	stats_part(", ", "stored in", stats_number(lifecycle, "working_stored"));
	if (max)
		stats_part(" of ", "at most", max);
	puts(", at the last collection");
	stats_files("  others", files - OFS_MIN(files, working),
		    bytes - OFS_MIN(bytes, working_bytes));
	puts(", in persistent/ and archive/, or newer than that");
}

static void stats_print_disk(const json_t *status)
{
	const json_t *disk = json_object_get(status, "disk");
	const json_t *unsealed = json_object_get(status, "unsealed");
	uint64_t bytes = stats_number(json_object_get(status, "content"), "bytes");
	uint64_t packs = stats_number(disk, "packs"), index = stats_number(disk, "index");
	uint64_t journal = stats_number(disk, "journal"), all = packs + index + journal;

	stats_label("stored");
	ofs_text_size(stdout, all);
	stats_part(": ", "packs", packs);
	stats_part(", ", "index", index);
	stats_part(", ", "journal", journal);
	stats_part("; ", "free on the disk:", stats_number(disk, "free"));
	putchar('\n');
	if (bytes && all) {
		stats_label("saved");
		printf("%.2f to 1\n", (double)bytes / (double)all);
	}
	if (stats_number(unsealed, "files")) {
		stats_files("unsealed", stats_number(unsealed, "files"),
			    stats_number(unsealed, "bytes"));
		putchar('\n');
	}
}

static void stats_time(const char *before, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		return;
	fputs(before, stdout);
	ofs_text_line(stdout, text);
}

static void stats_print_lifecycle(const json_t *lifecycle)
{
	if (!lifecycle)
		return;
	stats_label("expired");
	ofs_text_count(stdout, stats_number(lifecycle, "expired"), "file");
	stats_more(lifecycle, "task_ended", "more as their task ended");
	stats_more(lifecycle, "evicted", "more to make room");
	stats_part("; ", "freed", stats_number(lifecycle, "freed_bytes"));
	putchar('\n');
	stats_label("probation");
	ofs_text_count(stdout, stats_number(lifecycle, "probation"), "file");
	stats_time("; last collection ", lifecycle, "last_gc");
	stats_time("; next ", lifecycle, "next_gc");
	putchar('\n');
	stats_label("remembered");
	ofs_text_count(stdout, stats_number(lifecycle, "tombstones"), "removed file");
	putchar('\n');
}

static void stats_print_search(const json_t *search)
{
	if (!search)
		return;
	stats_label("search");
	ofs_text_count(stdout, stats_number(search, "files"), "file");
	stats_more(search, "documents", "text(s)");
	stats_part(", ", "index", stats_number(search, "bytes"));
	stats_more(search, "waiting", "waiting to be indexed");
	putchar('\n');
}

static void stats_print(const struct ofs_target *target, const json_t *status)
{
	const json_t *lifecycle = json_object_get(status, "lifecycle");
	const json_t *search = json_object_get(status, "search");
	const char *state = json_string_value(json_object_get(status, "state"));

	stats_label("store");
	ofs_text_line(stdout, target->store);
	putchar('\n');
	stats_label("mounted");
	ofs_text_line(stdout, target->mounted ? target->mountpoint : "no");
	putchar('\n');
	stats_label("state");
	ofs_text_line(stdout, state ? state : "unknown");
	stats_time(": ", status, "error");
	putchar('\n');
	stats_print_content(json_object_get(status, "content"),
			    json_is_object(lifecycle) ? lifecycle : NULL);
	stats_print_disk(status);
	stats_print_lifecycle(json_is_object(lifecycle) ? lifecycle : NULL);
	stats_print_search(json_is_object(search) ? search : NULL);
}

static int stats_tree(struct ofs_target *target, bool json)
{
	OFS_CLEANUP(ofs_backend_close_p) struct ofs_backend *backend = NULL;
	OFS_FREE char *text = NULL;
	struct ofs_error err;
	json_t *status;
	int r;

	if (ofs_target_open(target, false, &err, &backend) < 0)
		return ofs_report_failure("%s", err.text);
	r = ofs_backend_read_text(backend, STATS_PATH, &text);
	if (r < 0)
		return ofs_report_failure("cannot read %s of '%s': %s", STATS_PATH,
					  target->mounted ? target->mountpoint : target->store,
					  ofs_report_errno(-r));
	status = json_loads(text, 0, NULL);
	if (!json_is_object(status)) {
		json_decref(status);
		return ofs_report_failure("cannot make sense of %s", STATS_PATH);
	}
	if (json) {
		ofs_text_json(stdout, status);
		return OFS_EXIT_OK;
	}
	stats_print(target, status);
	json_decref(status);
	return OFS_EXIT_OK;
}

static int stats_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	struct ofs_target_options opts = { 0 };
	bool json = false;
	const struct ofs_option options[] = {
		OFS_FLAG(0, "json", &json, "print the tree's status.json"),
		OFS_COMMON(&opts),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (ofs_target_find(&opts, NULL, &err, &target) < 0)
		return ofs_report_failure("%s", err.text);
	return stats_tree(&target, json);
}

const struct ofs_command ofs_cmd_stats = {
	.name = "stats",
	.synopsis = "[--json]",
	.summary = "Tells how much is stored, what it costs on disk, and what has expired",
	.help = "",
	.run = stats_run,
};
