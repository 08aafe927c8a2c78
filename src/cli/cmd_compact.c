/* SPDX-License-Identifier: MIT */
/* offload compact: writes the history section of a prompt, from steps of a task or given ones. */
#include <fcntl.h>

#include "cli/command.h"
#include "cli/report.h"
#include "client/files.h"
#include "client/access.h"
#include "context/steps/recap.h"
#include "io/file.h"
#include "tree/expiry/step_file.h"

#define COMPACT_INPUT_MAX ((size_t)64 << 20)

static const char *task; /* NULL: the steps come from input */
static uint64_t keep = OFS_COUNT_NONE, budget = OFS_COUNT_NONE; /* as set */
static const struct ofs_option options[] = {
	OFS_TEXT('t', "task", "TASK", &task, "the steps of a task"),
	OFS_COUNT(0, "keep", "K", &keep, "steps", UINT64_MAX - 1, "steps in full (default: 3)"),
	OFS_COUNT(0, "budget", "N", &budget, "tokens", UINT64_MAX - 1,
		  "tokens of the section (default: 500)"),
	OFS_OPTIONS_END,
};

#define report_input(...) (ofs_report(__VA_ARGS__), OFS_EXIT_USAGE)

/* Adds the steps in a file; "-" is standard input. Returns an exit code. */
static int take_input(const char *name, struct ofs_step_list *steps)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf input = OFS_BUF_INIT;
	bool named = strcmp(name, "-") != 0;
	OFS_CLOSE int opened = named ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	struct ofs_error err = { "" };
	int r = named && opened < 0 ? -errno : 0;

	if (!named)
		name = "standard input";
	if (r == 0)
		r = ofs_io_read_fd(named ? opened : STDIN_FILENO, COMPACT_INPUT_MAX, &input);
	if (r == -EFBIG)
		return report_input("'%s' is larger than %zu MiB: give only the newest steps", name,
				    COMPACT_INPUT_MAX >> 20);
	if (r < 0)
		return report_input("cannot read '%s': %s", name, ofs_backend_strerror(-r));
	if (ofs_step_list_parse(steps, (char *)input.data, input.len, &err) < 0)
		return report_input("'%s': %s", name, err.text);
	return OFS_EXIT_OK;
}

/* ---- the steps of a task, from its files */

/* Names and texts are owned. */
struct step_files {
	struct ofs_task_step *list; /* in order */
	size_t n, cap;
};

static void step_files_finish(struct step_files *f)
{
	while (f->n--) {
		free((void *)(uintptr_t)f->list[f->n].name);
		free((void *)(uintptr_t)f->list[f->n].text);
	}
	free(f->list);
	*f = (struct step_files){ 0 };
}

static int add_step(void *arg, const char *name)
{
	struct step_files *f = arg;

	if (!ofs_step_file_is(name))
		return 0;
	*ofs_append(f->list, f->n, f->cap) = (struct ofs_task_step){ .name = ofs_strdup(name) };
	return 0;
}

static int compare_steps(const void *a, const void *b)
{
	return ofs_step_file_compare(((const struct ofs_task_step *)a)->name,
				     ((const struct ofs_task_step *)b)->name);
}

/* Returns 0, or -ENOENT if the step is gone or is not a file. */
static int read_step(struct ofs_backend *b, const char *dir, uint64_t *left,
		     struct ofs_task_step *step)
{
	OFS_FREE char *path = ofs_format("%s/%s", dir, step->name), *text = NULL;
	struct stat attr;
	size_t len = 0;
	ofs_handle h;
	int r = b->ops->lstat(b, path, &attr);

	if (r == 0 && !S_ISREG(attr.st_mode))
		return -ENOENT;
	if (r == 0)
		r = b->ops->open(b, path, &h);
	if (r == 0) {
		r = ofs_backend_read_all(b, h, OFS_MIN(*left, OFS_STEP_FILE_MAX), &text, &len);
		b->ops->close(b, h);
	}
	step->error = r;
	if (r < 0)
		return r == -ENOENT ? r : 0;
	*left -= len;
	step->len = len;
	step->text = ofs_steal(text);
	return 0;
}

/*
 * Reads the steps of the task. One that cannot be read, or is too large, has its `error` set.
 * Returns -ENOENT if the task has no history, or the error of listing it.
 */
static int load_step_files(struct ofs_backend *b, struct step_files *ret)
{
	OFS_CLEANUP(step_files_finish) struct step_files f = { 0 };
	uint64_t left = OFS_STEP_FILES_MAX;
	OFS_FREE char *dir = ofs_format("tasks/%s/" OFS_STEP_DIR, task);
	int r = b->ops->list(b, dir, add_step, &f);

	if (r < 0)
		return r == -ENOTDIR ? -ENOENT : r;
	if (f.n)
		qsort(f.list, f.n, sizeof(*f.list), compare_steps);
	/* Newest first: if there is too much, the oldest are left out. */
	for (size_t i = f.n; i-- > 0;) {
		if (read_step(b, dir, &left, &f.list[i]) == 0)
			continue;
		free((void *)(uintptr_t)f.list[i].name);
		memmove(&f.list[i], &f.list[i + 1], (--f.n - i) * sizeof(*f.list));
	}
	*ret = ofs_steal(f);
	return 0;
}

static int take_task(struct ofs_access *a, struct ofs_step_list *steps)
{
	OFS_CLEANUP(step_files_finish) struct step_files files = { 0 };
	struct ofs_error err;
	int r;

	if (ofs_access_open(a, false, &err) < 0 || ofs_task_check(a->backend, task, &err) < 0)
		return ofs_report("%s", err.text);
	r = load_step_files(a->backend, &files);
	if (r < 0 && r != -ENOENT)
		return ofs_report("cannot read the history of the task '%s': %s", task,
				  ofs_backend_strerror(-r));
	if (r == -ENOENT || !files.n)
		return ofs_report("the task '%s' has no steps: tasks/%s/history has no "
				  "step_*.json; 'offload reduce -t' writes them",
				  task, task);
	for (size_t i = 0; i < files.n; i++)
		ofs_step_list_add_file(steps, &files.list[i]);
	return OFS_EXIT_OK;
}

/* ---- the section */

/* Lists each ref once, in the order of the steps. */
static json_t *list_refs(const struct ofs_step_list *steps)
{
	json_t *refs = json_array(), *seen = json_object();

	for (size_t i = 0; i < steps->n; i++) {
		const char *ref = steps->steps[i].outcome_ref;

		if (!ref || json_object_get(seen, ref))
			continue;
		json_object_set_new(seen, ref, json_true());
		json_array_append_new(refs, json_string(ref));
	}
	json_decref(seen);
	return refs;
}

static int compact_print(const struct ofs_settings *s, const struct ofs_step_list *steps)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_recap_info info;

	ofs_recap_write(steps, s, &text, &info);
	if (!ofs_command_json) {
		fputs(ofs_buf_str(&text), stdout);
		return OFS_EXIT_OK;
	}
	return ofs_print_json(json_pack("{s:s%, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "text",
					ofs_buf_str(&text), text.len, "steps", (json_int_t)steps->n,
					"skipped", (json_int_t)steps->n_skipped, "folded",
					(json_int_t)info.folded, "tokens_before",
					(json_int_t)info.tokens_before, "tokens_after",
					(json_int_t)info.tokens_after, "compacted", info.compacted,
					"refs", list_refs(steps)),
			      "");
}

/* Loads the settings of the store, if there is one. Steps from input need none. */
static int load_settings(struct ofs_access *a, struct ofs_settings *s)
{
	bool named = task || ofs_command_target.dir || ofs_command_target.store;
	struct ofs_error err;

	if (ofs_access_find(a, &err) < 0)
		return named ? ofs_report("%s", err.text) : OFS_EXIT_OK;
	if (ofs_settings_load(s, a->target.store, &err) < 0)
		return report_input("%s", err.text);
	return OFS_EXIT_OK;
}

static int compact_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list steps = { 0 };
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings s = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access a = { 0 };
	int code;

	ofs_access_init(&a, &ofs_command_target);
	ofs_settings_init(&s);
	if (task && argc)
		return ofs_report_usage("-t reads the steps of a task: unexpected argument '%s'",
					argv[0]);
	code = load_settings(&a, &s);
	if (code == OFS_EXIT_OK && task)
		code = take_task(&a, &steps);
	else if (code == OFS_EXIT_OK && !argc)
		code = take_input("-", &steps);
	for (int i = 0; i < argc && code == OFS_EXIT_OK; i++)
		code = take_input(argv[i], &steps);
	if (code != OFS_EXIT_OK)
		return code;
	if (keep != OFS_COUNT_NONE)
		s.keep = keep;
	if (budget != OFS_COUNT_NONE)
		s.budget = budget;
	return compact_print(&s, &steps);
}

const struct ofs_command ofs_cmd_compact = {
	.name = "compact",
	.synopsis = "[-t TASK | FILE...] [--keep K] [--budget N] [--json]",
	.summary = "Writes the history section of a prompt",
	.help = "From steps in JSON (lines, an array, or {\"steps\": [...]}) in files or on\n"
		"standard input, or from those in tasks/TASK/history: older ones in a line\n"
		"each, the last ones in full. Over the budget the oldest become counts;\n"
		"failures and refs always stay.\n",
	.notes = "The defaults can be changed in context.ini: see offloadfs-context(5).\n",
	.options = options,
	.json = "print a JSON object",
	.operands = OFS_OPERANDS_ANY,
	.run = compact_run,
};
