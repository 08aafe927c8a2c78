/* SPDX-License-Identifier: MIT */
/* offload task: lists tasks, shows one, ends one and reopens it. */
#include <fnmatch.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/ending.h"
#include "client/promotion.h"
#include "cli/report.h"

static bool dry_run, drop_all;
static struct ofs_option_list keep;

static const struct ofs_option options[] = {
	OFS_FLAG(0, "dry-run", &dry_run,
		 "with done: remove nothing, list what would be removed and what not"),
	OFS_LIST(0, "keep", "PATTERN", &keep,
		 "with done: first promote files that match, by name as in a shell, or\n"
		 "with a '/' by path in the task; may be repeated"),
	OFS_FLAG(0, "drop-all", &drop_all,
		 "with done: also remove files that never expire, pinned ones included"),
	OFS_OPTIONS_END,
};

#define KEEP_NAMED 10 /* files named in a message; no more are added above this length: */
#define KEEP_NAMED_BYTES 320

struct task {
	struct ofs_access access;
	struct ofs_backend *b; /* of `access` */
	const char *name; /* NULL for "list" */
	char *path; /* of its directory; NULL for "list" */

	struct ofs_ending end; /* for "done" */
};

/* ---- list */

static int task_list(struct task *t)
{
	json_t *tasks, *all = ofs_command_json ? json_array() : NULL;
	struct ofs_error err;
	int code = OFS_EXIT_OK;

	if (ofs_tasks_load(t->b, &err, &tasks) < 0)
		return ofs_report("%s", err.text);
	for (size_t i = 0; i < json_array_size(tasks); i++)
		code |= ofs_print_item(all, json_incref(json_array_get(tasks, i)),
				       "{name}  {state}  {files:file}  {bytes:byte}\n");
	json_decref(tasks);
	if (all)
		ofs_print_json(json_pack("{s:o}", "tasks", all), "");
	return code;
}

/* ---- show */

static int task_gather(struct task *t, struct ofs_files *files)
{
	int r = ofs_files_gather(t->b, t->path, files);

	/* The directory of a task may go with its last file. */
	if (r < 0 && r != -ENOENT)
		return ofs_report("cannot list '%s': %s", t->path, ofs_backend_strerror(-r));
	return OFS_EXIT_OK;
}

static int task_show(struct task *t)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	json_t *all = ofs_command_json ? json_array() : NULL;
	OFS_FREE char *state = NULL;
	int code = task_gather(t, &files);

	for (size_t i = 0; i < files.count; i++)
		code |= ofs_print_item(all, ofs_file_describe(t->b, &files.list[i]),
				       "{path}  {ref|-}  {size:byte}[  {lifecycle}]\n");
	if (!all)
		return code;
	if (ofs_backend_attribute(t->b, t->path, "state", &state) < 0)
		state = NULL;
	return code | ofs_print_json(json_pack("{s:o, s:o, s:o}", "name", ofs_json_string(t->name),
					       "state", ofs_json_string(state), "files", all),
				     t->name);
}

/* ---- done and reopen */

static int task_end_result(struct task *t)
{
	OFS_FREE char *state = NULL;
	json_t *json;

	/* The directory of a task may have gone with its last file. */
	if (!dry_run || ofs_backend_attribute(t->b, t->path, "state", &state) < 0)
		state = ofs_strdup("done");
	json = ofs_ending_sum(&t->end);
	json_object_set_new(json, "task", ofs_json_string(t->name));
	json_object_set_new(json, "state", json_string(state));
	if (ofs_command_json)
		return ofs_print_json(json, t->name);
	ofs_job_print_untold(&t->end.job, "file", stdout);
	return ofs_print_item(
		NULL, json,
		dry_run ? "offload: task '{task}' would be done: [{+promoted:file} would be "
			  "promoted, ]{removed:file} would be removed, {removed_bytes:size}; "
			  "{kept} would be kept\n"
			: "offload: task '{task}' is done: [{+promoted:file} promoted, "
			  "]{removed:file} removed, {removed_bytes:size}; {kept} kept\n");
}

/* ---- promotion before the end */

/* A pattern that ends in '/' matches everything in that directory. */
static bool keep_matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);
	OFS_FREE char *dir = NULL;

	if (len && pattern[len - 1] == '/') {
		dir = ofs_strndup(pattern, len - 1);
		return fnmatch(dir, path, FNM_PATHNAME | FNM_LEADING_DIR) == 0 &&
		       fnmatch(dir, path, FNM_PATHNAME) != 0;
	}
	if (!strchr(pattern, '/') && strrchr(path, '/'))
		path = strrchr(path, '/') + 1;
	return fnmatch(pattern, path, FNM_PATHNAME) == 0;
}

/* Returns the first pattern that the file matches, or NULL. */
static const char *keep_find(const struct task *t, const struct ofs_file *file)
{
	for (size_t i = 0; i < keep.n; i++)
		if (keep_matches(keep.at[i], file->path + strlen(t->path) + 1))
			return keep.at[i];
	return NULL;
}

static int keep_unmatched(const struct task *t, const struct ofs_files *files, const char *pattern)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	size_t named = 0;

	while (named < OFS_MIN(files->count, (size_t)KEEP_NAMED) && names.len < KEEP_NAMED_BYTES) {
		const char *path = files->list[named].path + strlen(t->path) + 1;

		ofs_buf_printf(&names, "%s%s", named++ ? ", " : "", path);
	}
	if (!files->count)
		return ofs_report("--keep '%s' matches nothing: there is no file in '%s'", pattern,
				  t->path);
	if (named < files->count)
		ofs_buf_printf(&names, ", and %zu more", files->count - named);
	return ofs_report("--keep '%s' matches nothing in '%s'; there are: %.*s", pattern, t->path,
			  (int)names.len, (const char *)names.data);
}

static int keep_check(const struct task *t, const struct ofs_files *files)
{
	for (size_t i = 0; i < keep.n; i++) {
		size_t k = 0;

		while (k < files->count &&
		       !keep_matches(keep.at[i], files->list[k].path + strlen(t->path) + 1))
			k++;
		if (k == files->count)
			return keep_unmatched(t, files, keep.at[i]);
	}
	return OFS_EXIT_OK;
}

static int keep_file(struct task *t, const struct ofs_file *file, const char *pattern)
{
	const struct ofs_promotion p = { .top = "persistent", .numbered = true, .dry = dry_run };
	OFS_FREE char *why = ofs_format("it matches --keep '%s'", pattern);
	struct ofs_error err;
	json_t *done, *item;
	int r = ofs_promote(&p, t->b, file->path, &file->attr, &err, &done);

	if (r < 0)
		return ofs_report(dry_run ? "%s"
					  : "%s; the task was not ended, and what was promoted "
					    "before stays in persistent/",
				  err.text);
	item = json_pack("{s:O, s:O, s:I, s:s, s:o, s:n, s:O}", "path",
			 json_object_get(done, "was"), "ref", json_object_get(done, "ref"), "size",
			 (json_int_t)file->attr.st_size, "action", "promote", "why",
			 ofs_json_string(why), "at", "to", json_object_get(done, "path"));
	r = ofs_ending_take(&t->end, item);
	json_decref(item);
	json_decref(done);
	return r;
}

/*
 * Promotes what matches the patterns while the task is still live. If that fails, nothing has been
 * removed, and it can be repeated.
 */
static int keep_all(struct task *t)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	int code = keep.n ? task_gather(t, &files) : OFS_EXIT_OK;

	if (code == OFS_EXIT_OK)
		code = keep_check(t, &files);
	for (size_t i = 0; i < files.count && code == OFS_EXIT_OK; i++) {
		const char *pattern = keep_find(t, &files.list[i]);

		if (pattern)
			code = keep_file(t, &files.list[i], pattern);
	}
	return code;
}

static int task_done(struct task *t)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	struct ofs_error err;
	int r = 0, code;

	ofs_ending_init(&t->end, &t->access, t->path, false, dry_run);
	t->end.job.drop_all = drop_all;
	code = keep_all(t);
	if (code != OFS_EXIT_OK)
		return code;
	if (!dry_run)
		r = ofs_tasks_set_state(t->b, t->name, drop_all ? "done drop-all" : "done", &err);
	if (r == 0)
		r = ofs_collection_run(&t->end.job, dry_run, t->name, &err);
	if (r == -EINTR) {
		ofs_report(dry_run ? "stopped"
				   : "the task is done; its remaining files are removed in time, "
				     "or with 'offload gc'");
		return ofs_job_exit_code();
	}
	if (r < 0)
		return ofs_report("%s", err.text);
	code = task_gather(t, &files) | ofs_ending_take_rest(&t->end, &files);
	return code == OFS_EXIT_OK ? task_end_result(t) : code;
}

static int task_reopen(struct task *t)
{
	struct ofs_error err;
	json_t *json;

	if (ofs_tasks_set_state(t->b, t->name, "live", &err) < 0)
		return ofs_report("%s", err.text);
	json = json_pack("{s:o, s:s}", "task", ofs_json_string(t->name), "state", "live");
	return ofs_command_json ? ofs_print_json(json, t->name)
				: ofs_print_item(NULL, json, "offload: task '{task}' is {state}\n");
}

/* ---- the command */

static const struct verb {
	const char *word;
	bool named; /* it takes the name of a task */
	int (*run)(struct task *t);
} verbs[] = {
	{ "list", false, task_list },
	{ "show", true, task_show },
	{ "done", true, task_done },
	{ "reopen", true, task_reopen },
};

static int task_run_verb(const struct verb *verb, struct task *t)
{
	struct ofs_error err;

	if (ofs_access_open(&t->access, false, &err) < 0 ||
	    (verb->named && ofs_task_check(t->access.backend, t->name, &err) < 0))
		return ofs_report("%s", err.text);
	t->b = t->access.backend;
	t->path = verb->named ? ofs_task_path(t->name) : NULL;
	return verb->run(t);
}

/* The operands are "list", or an action and a task. */
static int task_choose(struct task *t, int argc, char *const argv[])
{
	const struct verb *verb = argc ? NULL : &verbs[0];

	for (size_t i = 0; !verb && i < OFS_ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].word, argv[0]) == 0)
			verb = &verbs[i];
	}
	if (!verb)
		return ofs_report_usage(
			"unknown action '%s': there are list, show, done and reopen", argv[0]);
	if (verb->named && argc < 2)
		return ofs_report_usage("%s which task?", verb->word);
	if (argc > 1 + verb->named)
		return ofs_report_usage("unexpected argument '%s'", argv[1 + verb->named]);
	if ((dry_run || drop_all || keep.n) && verb->run != task_done)
		return ofs_report_usage("%s is for 'done' only", dry_run    ? "--dry-run"
								 : drop_all ? "--drop-all"
									    : "--keep");
	t->name = verb->named ? argv[1] : NULL;
	return task_run_verb(verb, t);
}

static int task_run(const struct ofs_command *self, int argc, char **argv)
{
	struct task t = { 0 };
	int code;

	ofs_access_init(&t.access, &ofs_command_target);
	code = task_choose(&t, argc, argv);
	ofs_access_finish(&t.access);
	ofs_ending_finish(&t.end);
	free(t.path);
	return code;
}

const struct ofs_command ofs_cmd_task = {
	.name = "task",
	.synopsis =
		"[list | show TASK | reopen TASK] [--json] |\n"
		"       offload task done TASK [--keep PATTERN]... [--drop-all] [--dry-run] [--json]",
	.summary = "Lists tasks, shows the files of one, ends one and drops what it leaves",
	.help = "  list         each task: live, idle or done, its files, their bytes (the default)\n"
		"  show TASK    its files: path, ref, size, and when they are removed\n"
		"  done TASK    end it: files that never expire (reports, ttl never, pinned) move\n"
		"               to persistent/CATEGORY/; others that were not promoted are\n"
		"               removed, unless somebody uses them\n"
		"  reopen TASK  undo that for the files that still exist\n",
	.options = options,
	.json = "print a JSON object",
	.operands = OFS_OPERANDS_ANY,
	.run = task_run,
};
