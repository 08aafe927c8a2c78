/* SPDX-License-Identifier: MIT */
/* offload task: lists tasks, shows one, ends one and takes that back. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/collection.h"
#include "cli/files.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/tasks.h"
#include "client/target.h"

#define TASK_SIGNAL 128 /* and the signal's number is the exit code */

struct task_options {
	struct ofs_target_options target;
	const char *name;
	bool dry_run;
	bool json;
};

static int task_not_utf8(const char *name)
{
	return ofs_report_failure("the name '%s' is not UTF-8, which JSON needs", name);
}

/* ---- list */

static int task_list_json(const struct ofs_tasks *tasks)
{
	json_t *all = json_array();

	for (size_t i = 0; i < tasks->count; i++) {
		const struct ofs_task *t = &tasks->list[i];
		json_t *json = json_pack("{s:s, s:s, s:I, s:I}", "name", t->name, "state", t->state,
					 "files", (json_int_t)t->files, "bytes",
					 (json_int_t)t->bytes);

		if (!json) {
			json_decref(all);
			return task_not_utf8(t->name);
		}
		json_array_append_new(all, json);
	}
	ofs_text_json(stdout, json_pack("{s:o}", "tasks", all));
	return OFS_EXIT_OK;
}

static int task_list(const struct task_options *opts, const struct ofs_target *target,
		     struct ofs_backend *b)
{
	OFS_CLEANUP(ofs_tasks_finish) struct ofs_tasks tasks = OFS_TASKS_INIT;
	struct ofs_error err;

	(void)target;
	if (ofs_tasks_load(b, &err, &tasks) < 0)
		return ofs_report_failure("%s", err.text);
	if (opts->json)
		return task_list_json(&tasks);
	for (size_t i = 0; i < tasks.count; i++) {
		const struct ofs_task *t = &tasks.list[i];

		ofs_text_line(stdout, t->name);
		printf("  %s  ", t->state);
		ofs_text_count(stdout, t->files, "file");
		fputs("  ", stdout);
		ofs_text_count(stdout, t->bytes, "byte");
		putchar('\n');
	}
	return OFS_EXIT_OK;
}

/* ---- show */

/* What is told of one file of a task. */
struct task_file {
	char *ref;
	char *lifecycle; /* NULL: the tree does not say */
};

static void task_file_finish(struct task_file *f)
{
	free(f->ref);
	free(f->lifecycle);
}

/* What the file has not is left out, and so is what goes meanwhile. */
static void task_file_load(struct ofs_backend *b, const char *path, struct task_file *ret)
{
	*ret = (struct task_file){ 0 };
	if (ofs_backend_attribute(b, path, "ref", &ret->ref) < 0)
		ret->ref = NULL;
	if (ofs_backend_attribute(b, path, "lifecycle", &ret->lifecycle) < 0)
		ret->lifecycle = NULL;
}

static int task_files_json(const struct task_options *opts, struct ofs_backend *b,
			   const struct ofs_files *files)
{
	OFS_FREE char *path = ofs_task_path(opts->name), *state = NULL;
	json_t *all = json_array();

	for (size_t i = 0; i < files->count; i++) {
		OFS_CLEANUP(task_file_finish) struct task_file f;
		json_t *json;

		task_file_load(b, files->list[i].path, &f);
		json = json_pack("{s:s, s:s?, s:I, s:s?}", "path", files->list[i].path, "ref",
				 f.ref, "size", (json_int_t)files->list[i].attr.st_size,
				 "lifecycle", f.lifecycle);
		if (!json) {
			json_decref(all);
			return task_not_utf8(files->list[i].path);
		}
		json_array_append_new(all, json);
	}
	if (ofs_backend_attribute(b, path, "state", &state) < 0)
		state = NULL;
	if (ofs_text_json(stdout, json_pack("{s:s, s:s?, s:o}", "name", opts->name, "state", state,
					    "files", all)) == -EINVAL)
		return task_not_utf8(opts->name);
	return OFS_EXIT_OK;
}

static int task_gather(const struct task_options *opts, struct ofs_backend *b,
		       struct ofs_files *files)
{
	OFS_FREE char *path = ofs_task_path(opts->name);
	int r = ofs_files_gather(b, path, files);

	/* Nothing is left of a task whose last file went. */
	if (r < 0 && r != -ENOENT)
		return ofs_report_failure("cannot list '%s': %s", path, ofs_report_errno(-r));
	return OFS_EXIT_OK;
}

static int task_show(const struct task_options *opts, const struct ofs_target *target,
		     struct ofs_backend *b)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = OFS_FILES_INIT;

	(void)target;
	if (task_gather(opts, b, &files) != OFS_EXIT_OK)
		return OFS_EXIT_FAILURE;
	if (opts->json)
		return task_files_json(opts, b, &files);
	for (size_t i = 0; i < files.count; i++) {
		OFS_CLEANUP(task_file_finish) struct task_file f;

		task_file_load(b, files.list[i].path, &f);
		ofs_text_line(stdout, files.list[i].path);
		printf("  %s  ", f.ref ? f.ref : "-");
		ofs_text_count(stdout, (uint64_t)files.list[i].attr.st_size, "byte");
		if (f.lifecycle) {
			fputs("  ", stdout);
			ofs_text_line(stdout, f.lifecycle);
		}
		putchar('\n');
	}
	return OFS_EXIT_OK;
}

/* ---- done and reopen */

struct task_end {
	const struct task_options *opts;
	struct ofs_backend *b;
	struct ofs_collection collection;
	char *prefix; /* of the paths of its files */
	json_t *items; /* those that are about the task */
	json_t *told; /* their paths: an object */
	uint64_t removed, removed_bytes; /* of the task, or what would be */
	uint64_t kept;
};

static void task_end_finish(struct task_end *e)
{
	ofs_collection_finish(&e->collection);
	free(e->prefix);
	json_decref(e->items);
	json_decref(e->told);
}

static void task_print_item(struct task_end *e, const json_t *item)
{
	if (e->opts->json)
		return;
	ofs_progress_clear(&e->collection.job.progress);
	ofs_collection_print_item(&e->collection, item, stdout);
}

/* What has expired elsewhere goes in the same collection, but is not told of here. */
static int task_tell(void *arg, json_t *item)
{
	struct task_end *e = arg;

	const char *path = ofs_collected_path(item);

	if (strncmp(path, e->prefix, strlen(e->prefix)) != 0)
		return 0;
	if (ofs_collected_is(item, "remove")) {
		e->removed++;
		e->removed_bytes += (uint64_t)json_integer_value(json_object_get(item, "size"));
	} else {
		e->kept++;
	}
	task_print_item(e, item);
	json_object_set_new(e->told, path, json_true());
	return json_array_append(e->items, item) < 0 ? -ENOMEM : 0;
}

/* How many items the tree does not remember. */
static uint64_t task_unlisted(const struct task_end *e)
{
	return ofs_job_number(&e->collection.job, "items") - e->collection.job.told;
}

/* Files that are still there and that the collection said nothing of. */
static int task_tell_rest(struct task_end *e)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = OFS_FILES_INIT;

	/* Of those that are beyond what the tree remembers nobody can say what would be. */
	if (e->opts->dry_run && task_unlisted(e))
		return OFS_EXIT_OK;
	if (task_gather(e->opts, e->b, &files) != OFS_EXIT_OK)
		return OFS_EXIT_FAILURE;
	for (size_t i = 0; i < files.count; i++) {
		OFS_CLEANUP(task_file_finish) struct task_file f = { 0 };
		json_t *item;

		if (json_object_get(e->told, files.list[i].path))
			continue;
		task_file_load(e->b, files.list[i].path, &f);
		item = json_pack("{s:s, s:s?, s:I, s:s, s:s?, s:n}", "path", files.list[i].path,
				 "ref", f.ref, "size", (json_int_t)files.list[i].attr.st_size,
				 "action", "keep", "why", f.lifecycle, "at");
		if (!item)
			continue; /* its name has no place in JSON */
		e->kept++;
		task_print_item(e, item);
		json_array_append_new(e->items, item);
	}
	return OFS_EXIT_OK;
}

static int task_end_json(struct task_end *e)
{
	const struct task_options *opts = e->opts;
	OFS_FREE char *path = ofs_task_path(opts->name), *state = NULL;
	json_t *json;

	/* With its last file the directory of a task may have gone. */
	if (!opts->dry_run || ofs_backend_attribute(e->b, path, "state", &state) < 0)
		state = ofs_strdup("done");
	json = json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:O}", "task", opts->name, "state", state,
			 "dry_run", opts->dry_run, "removed", (json_int_t)e->removed,
			 "removed_bytes", (json_int_t)e->removed_bytes, "kept", (json_int_t)e->kept,
			 "items", e->items);
	return ofs_text_json(stdout, json) == -EINVAL ? task_not_utf8(opts->name) : OFS_EXIT_OK;
}

static int task_end_result(struct task_end *e)
{
	const struct task_options *opts = e->opts;

	if (opts->json)
		return task_end_json(e);
	if (task_unlisted(e)) {
		fputs("offload: ", stdout);
		ofs_text_count(stdout, task_unlisted(e), "more file");
		puts(" not listed");
	}
	fputs("offload: task '", stdout);
	ofs_text_line(stdout, opts->name);
	fputs(opts->dry_run ? "' would be done: " : "' is done: ", stdout);
	ofs_text_count(stdout, e->removed, "file");
	fputs(opts->dry_run ? " would be removed, " : " removed, ", stdout);
	ofs_text_size(stdout, e->removed_bytes);
	fputs("; ", stdout);
	ofs_text_number(stdout, e->kept);
	puts(opts->dry_run ? " would be kept" : " kept");
	return OFS_EXIT_OK;
}

static int task_done(const struct task_options *opts, const struct ofs_target *target,
		     struct ofs_backend *b)
{
	OFS_CLEANUP(task_end_finish)
	struct task_end e = { .opts = opts, .b = b, .items = json_array(), .told = json_object() };
	OFS_FREE char *path = ofs_task_path(opts->name);
	struct ofs_error err;
	int r = 0;

	e.prefix = ofs_alloc(strlen(path) + 2);
	sprintf(e.prefix, "%s/", path);
	ofs_collection_init(&e.collection, target, b, task_tell, &e);
	if (!opts->dry_run)
		r = ofs_tasks_set_state(b, opts->name, "done", &err);
	if (r == 0)
		r = ofs_collection_run(&e.collection, opts->dry_run, opts->name, &err);
	if (r == -EINTR) {
		ofs_report(opts->dry_run
				   ? "stopped"
				   : "the task is done; what is left of it goes by itself, or with "
				     "'offload gc'");
		return TASK_SIGNAL + ofs_job_signal();
	}
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	if (task_tell_rest(&e) != OFS_EXIT_OK)
		return OFS_EXIT_FAILURE;
	return task_end_result(&e);
}

static int task_reopen(const struct task_options *opts, const struct ofs_target *target,
		       struct ofs_backend *b)
{
	struct ofs_error err;

	(void)target;
	if (ofs_tasks_set_state(b, opts->name, "live", &err) < 0)
		return ofs_report_failure("%s", err.text);
	if (opts->json) {
		if (ofs_text_json(stdout, json_pack("{s:s, s:s}", "task", opts->name, "state",
						    "live")) == -EINVAL)
			return task_not_utf8(opts->name);
		return OFS_EXIT_OK;
	}
	fputs("offload: task '", stdout);
	ofs_text_line(stdout, opts->name);
	puts("' is live");
	return OFS_EXIT_OK;
}

/* ---- */

struct task_verb {
	const char *word;
	bool named; /* it is about one task */
	int (*run)(const struct task_options *opts, const struct ofs_target *target,
		   struct ofs_backend *b);
};

static const struct task_verb task_verbs[] = {
	{ "list", false, task_list },
	{ "show", true, task_show },
	{ "done", true, task_done },
	{ "reopen", true, task_reopen },
};

static int task_run_verb(const struct task_verb *verb, const struct task_options *opts)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	OFS_CLEANUP(ofs_backend_close_p) struct ofs_backend *b = NULL;
	struct ofs_error err;

	if (ofs_target_find(&opts->target, NULL, &err, &target) < 0 ||
	    ofs_target_open(&target, false, &err, &b) < 0 ||
	    (verb->named && ofs_task_check(b, opts->name, &err) < 0))
		return ofs_report_failure("%s", err.text);
	return verb->run(opts, &target, b);
}

/* What is left on the command line: "list", or a word and a task. */
static int task_choose(struct task_options *opts, int argc, char *const argv[])
{
	const struct task_verb *verb = argc ? NULL : &task_verbs[0];

	for (size_t i = 0; !verb && i < OFS_ARRAY_SIZE(task_verbs); i++) {
		if (strcmp(task_verbs[i].word, argv[0]) == 0)
			verb = &task_verbs[i];
	}
	if (!verb)
		return ofs_report_usage("'%s' is none of list, show, done and reopen", argv[0]);
	if (verb->named && argc < 2)
		return ofs_report_usage("%s which task?", verb->word);
	if (argc > 1 + verb->named)
		return ofs_report_usage("unexpected argument '%s'", argv[1 + verb->named]);
	if (opts->dry_run && verb->run != task_done)
		return ofs_report_usage("--dry-run goes with 'done' alone");
	opts->name = verb->named ? argv[1] : NULL;
	return task_run_verb(verb, opts);
}

static int task_run(const struct ofs_command *self, int argc, char **argv)
{
	struct task_options opts = { 0 };
	const struct ofs_option options[] = {
		OFS_FLAG(0, "dry-run", &opts.dry_run,
			 "with done: remove nothing, list what would go and what not"),
		OFS_FLAG(0, "json", &opts.json, "print a JSON object"),
		OFS_COMMON(&opts.target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	return code >= 0 ? code : task_choose(&opts, argc, argv);
}

const struct ofs_command ofs_cmd_task = {
	.name = "task",
	.synopsis = "[list | show TASK | done TASK [--dry-run] | reopen TASK] [--json]",
	.summary = "Lists tasks, shows the files of one, ends one and drops what it leaves",
	.help = "  list                    each task: live or done, its files, their bytes (the default)\n"
		"  show TASK               its files: path, ref, size, and when they go\n"
		"  done TASK               end it: what was not promoted or pinned is removed, unless\n"
		"                          somebody uses it\n"
		"  reopen TASK             take that back for what is still there\n",
	.operands = OFS_OPERANDS_ANY,
	.run = task_run,
};
