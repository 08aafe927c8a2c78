/* SPDX-License-Identifier: MIT */
#include "cli/collection.h"

#include "base/text.h"
#include "cli/report.h"

static const struct ofs_job_kind collection = {
	.name = "gc",
	.doing = "Collecting",
	.verb = "collect in",
	.noun = "collection",
	.unit = "files",
	.count = "items",
	.waits = true,
};

int ofs_collection_run(struct ofs_job *job, bool dry_run, const char *task, struct ofs_error *err)
{
	OFS_FREE char *command = dry_run && task ? ofs_format("dry-run task %s", task)
						 : ofs_strdup(dry_run ? "dry-run" : "run");

	job->kind = &collection;
	return ofs_job_run(job, command, err);
}

bool ofs_collected_is(const json_t *item, const char *action)
{
	const char *is = json_string_value(json_object_get(item, "action"));

	return is && strcmp(is, action) == 0;
}

void ofs_collection_print_item(const json_t *item, bool dry_run, FILE *out)
{
	if (ofs_collected_is(item, "remove"))
		fputs(dry_run ? "would remove " : "removed ", out);
	else
		fputs(dry_run ? "would keep " : "kept ", out);
	ofs_print_form(out, item, "{path|} ({size:size})[: {why}]\n");
}

void ofs_collection_print_summary(const struct ofs_job *job, bool dry_run, FILE *out)
{
	static const struct {
		const char *key, *words;
	} kinds[] = { { "probation", "on probation" }, { "open", "open" }, { "kept", "kept" } };
	const char *before = "; ";

	ofs_job_print_untold(job, "file", out);
	fputs(ofs_job_is(job, "stopped") ? "offload: stopped: " : "offload: ", out);
	if (!ofs_job_number(job, "removed"))
		fputs("nothing to remove", out);
	else if (dry_run)
		ofs_print_form(out, job->status,
			       "{removed:file} would be removed, {removed_bytes:size}");
	else
		ofs_print_form(out, job->status,
			       "{removed:file} removed, {removed_bytes:size}"
			       "[, {+freed_bytes:size} of disk freed]");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds); i++) {
		uint64_t n = ofs_job_number(job, kinds[i].key);

		if (!n)
			continue;
		fputs(before, out);
		ofs_text_number(out, n);
		fprintf(out, " %s", kinds[i].words);
		before = ", ";
	}
	ofs_print_form(out, job->status, "[; the next file can go at {next}]\n");
}
