/* SPDX-License-Identifier: MIT */
/* offload export and offload import: write memory to an archive for tar(1), and read it back. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/report.h"
#include "client/access.h"
#include "client/bundle.h"
#include "client/spool.h"
#include "io/file.h"
#include "io/path.h"

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* The first signal ends the work in order; the second ends the tool. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++)
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(numbers[i], &action, NULL);
}

static int step(void *arg, uint64_t bytes, uint64_t total)
{
	ofs_progress_draw(arg, bytes, OFS_MAX(bytes, total));
	return caught;
}

static int bundle_failed(const struct ofs_error *err)
{
	ofs_report("%s", err->text);
	return caught ? 128 + caught : OFS_EXIT_FAILURE;
}

/* ---- export */

static const char *task;
static bool force;
static const struct ofs_option export_options[] = {
	OFS_TEXT('t', "task", "TASK", &task, "the files of this task"),
	OFS_FLAG(0, "force", &force, "replace FILE"),
	OFS_OPTIONS_END,
};

struct output {
	const char *file;
	char *temporary; /* NULL: standard output */
	int fd;
};

static int output_open(struct output *o, const char *file, struct ofs_error *err)
{
	struct stat st;

	*o = (struct output){ .file = file, .fd = -1 };
	if (strcmp(file, "-") == 0) {
		if (isatty(STDOUT_FILENO))
			return ofs_error_set(
				err, EINVAL,
				"an archive is binary: name a file instead of a terminal");
		o->fd = dup(STDOUT_FILENO);
		return o->fd < 0 ? ofs_error_set(err, errno, "%s", strerror(errno)) : 0;
	}
	if (!force && lstat(file, &st) == 0)
		return ofs_error_set(err, EEXIST, "'%s' exists; --force replaces it", file);
	o->temporary = ofs_format("%s.%ld.part", file, (long)getpid());
	o->fd = ofs_io_open(AT_FDCWD, o->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
	return o->fd < 0 ? ofs_error_set(err, -o->fd, "cannot write '%s': %s", o->temporary,
					 strerror(-o->fd))
			 : 0;
}

/* Makes the file durable before it gets its name, which others may have taken in the meantime. */
static int output_finish(struct output *o, struct ofs_error *err)
{
	OFS_FREE char *absolute = o->temporary ? ofs_path_absolute(o->file) : NULL;
	OFS_FREE char *parent = absolute ? ofs_path_parent(absolute) : NULL;
	OFS_CLOSE int dir = -1;
	int r;

	if (!o->temporary)
		return 0;
	r = ofs_io_sync(o->fd);
	if (r == 0 && force)
		r = ofs_io_rename(AT_FDCWD, o->temporary, o->file);
	else if (r == 0)
		r = renameat2(AT_FDCWD, o->temporary, AT_FDCWD, o->file, RENAME_NOREPLACE) < 0
			    ? -errno
			    : 0;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot write '%s': %s", o->file, strerror(-r));
	free(o->temporary);
	o->temporary = NULL;
	dir = parent ? ofs_io_open(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0) : -1;
	if (dir >= 0)
		ofs_io_sync(dir);
	return 0;
}

static void output_drop(struct output *o)
{
	if (o->temporary && o->fd >= 0)
		ofs_io_unlink(AT_FDCWD, o->temporary);
	ofs_io_close(&o->fd);
	free(o->temporary);
}

static int print_export(const struct ofs_export *e, const struct output *o)
{
	struct stat st = { 0 };
	FILE *out = strcmp(o->file, "-") == 0 ? stderr : stdout;

	fstat(o->fd, &st);
	if (ofs_command_json && out == stdout)
		return ofs_print_json(
			json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "archive", o->file,
				  "files", (json_int_t)e->files, "directories",
				  (json_int_t)e->directories, "links", (json_int_t)e->links,
				  "left_out", (json_int_t)e->left_out, "bytes",
				  (json_int_t)e->bytes, "archive_bytes", (json_int_t)st.st_size),
			o->file);
	fprintf(out, "%" PRIu64 " file%s, ", e->files, e->files == 1 ? "" : "s");
	ofs_text_size(out, e->bytes);
	if (e->left_out)
		fprintf(out, ", %" PRIu64 " left out: removed or moved meanwhile", e->left_out);
	fputs("\n", out);
	return OFS_EXIT_OK;
}

/* Turns the operands, paths or refs, into paths in the tree. */
static int take_paths(const struct ofs_access *a, int n, char **operands, char **ret,
		      struct ofs_error *err)
{
	int r = 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = ofs_access_inside(a, operands[i], err, &ret[i]);
	return r;
}

static int export_to(struct ofs_access *a, struct ofs_export *e, const char *file,
		     struct ofs_error *err)
{
	struct output o;
	int r = output_open(&o, file, err), code;

	catch_signals();
	if (r == 0)
		r = ofs_export(a->backend, e, o.fd, err);
	ofs_progress_clear(e->arg);
	if (r == 0)
		r = output_finish(&o, err);
	code = r < 0 ? bundle_failed(err) : print_export(e, &o);
	output_drop(&o);
	return code;
}

static int export_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access a = { 0 };
	int npaths = argc - 1, code = ofs_command_check_names(NULL, task, NULL), r;
	char **paths = ofs_alloc((size_t)argc * sizeof(*paths));
	struct ofs_progress progress;
	struct ofs_export e = {
		.task = task, .npaths = (size_t)npaths, .step = step, .arg = &progress
	};
	struct ofs_error err;

	if (code < 0) {
		ofs_access_init(&a, &ofs_command_target);
		a.read_only = true;
		ofs_progress_begin(&progress, "Exporting", NULL);
		r = ofs_access_open(&a, false, &err);
		if (r == 0)
			r = take_paths(&a, npaths, argv, paths, &err);
		e.paths = (const char *const *)paths;
		code = r < 0 ? ofs_report("%s", err.text) : export_to(&a, &e, argv[npaths], &err);
	} else {
		a = (struct ofs_access){ 0 };
	}
	for (int i = 0; i < npaths; i++)
		free(paths[i]);
	free(paths);
	return code;
}

const struct ofs_command ofs_cmd_export = {
	.name = "export",
	.synopsis = "[-t TASK] [REF|PATH...] [--force] [--json] FILE",
	.summary = "Writes memory into an archive, .tar.zst, to be kept or taken elsewhere",
	.help = "Writes the files at the paths, or those of the task, with names, attributes, origin,\n"
		"times and refs; without either, all but the trees of agents. FILE may be - for\n"
		"standard output. tar(1) can unpack it, and the same memory makes the same bytes.\n",
	.options = export_options,
	.json = "print a JSON object",
	.operands = OFS_OPERANDS_ANY,
	.missing = "name the archive to write",
	.run = export_run,
};

/* ---- import */

static int taken = OFS_IMPORT_REFUSE;
static bool dry_run;
static const struct ofs_option import_options[] = {
	OFS_FLAG(0, "dry-run", &dry_run, "only say what would become of each file"),
	OFS_SET("skip", &taken, OFS_IMPORT_SKIP, "skip files whose names have other content here"),
	OFS_SET("replace", &taken, OFS_IMPORT_REPLACE, "replace the files here"),
	OFS_SET("rename", &taken, OFS_IMPORT_RENAME, "give the imported files other names"),
	OFS_OPTIONS_END,
};

static ssize_t read_file(void *arg, void *buf, size_t size, uint64_t off)
{
	return ofs_io_pread(*(int *)arg, buf, size, off);
}

static ssize_t read_spool(void *arg, void *buf, size_t size, uint64_t off)
{
	return ofs_spool_read(arg, buf, size, off);
}

/* The archive is read more than once, so a pipe is spooled first. */
static int input_open(struct ofs_import *i, const char *file, int *fd, struct ofs_spool *spool,
		      struct ofs_error *err)
{
	bool standard = strcmp(file, "-") == 0;
	int r;

	*fd = standard ? dup(STDIN_FILENO) : ofs_io_open(AT_FDCWD, file, O_RDONLY, 0);
	r = *fd < 0 ? (standard ? -errno : *fd) : 0;
	i->read = read_file;
	i->read_arg = fd;
	if (r == 0 && lseek(*fd, 0, SEEK_SET) < 0) {
		r = ofs_spool_fill(spool, *fd);
		i->read = read_spool;
		i->read_arg = spool;
	}
	return r < 0 ? ofs_error_set(err, -r, "cannot read '%s': %s",
				     standard ? "standard input" : file, strerror(-r))
		     : 0;
}

static uint64_t room_for(const struct ofs_access *a)
{
	struct statvfs fs;

	if (statvfs(a->target.mounted ? a->target.root : a->target.store, &fs) < 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

struct outcome {
	json_int_t files, there, skipped, left_out;
	json_t *refs; /* old refs -> new ones */
};

static void count_item(struct outcome *o, const json_t *item)
{
	const char *action = json_string_value(json_object_get(item, "action"));
	const char *was = json_string_value(json_object_get(item, "was_ref"));
	const char *ref = json_string_value(json_object_get(item, "ref"));
	bool dir = strcmp(json_string_value(json_object_get(item, "kind")), "directory") == 0;

	o->skipped += strcmp(action, "skipped") == 0;
	o->left_out += strcmp(action, "left out") == 0;
	if (strcmp(action, "there") == 0)
		o->there += !dir;
	else if (strcmp(action, "imported") == 0 || strcmp(action, "replaced") == 0)
		o->files += !dir;
	if (was && ref && strcmp(was, ref) != 0 && strcmp(action, "skipped") != 0)
		json_object_set_new(o->refs, was, json_string(ref));
}

static void print_items(const struct outcome *o, const json_t *items)
{
	const char *was;
	json_t *item, *ref;
	size_t i;

	json_array_foreach((json_t *)items, i, item)
	{
		const char *action = json_string_value(json_object_get(item, "action"));
		const char *kind = json_string_value(json_object_get(item, "kind"));

		if (dry_run && strcmp(kind, "directory") != 0)
			ofs_report_line(stdout, "%-9s %s", action,
					json_string_value(json_object_get(item, "path")));
		else if (strcmp(action, "left out") == 0)
			ofs_report("left out '%s': a symbolic link that leads out of the tree",
				   json_string_value(json_object_get(item, "path")));
	}
	json_object_foreach(o->refs, was, ref)
		ofs_report_line(stdout, "%s is %s here", was, json_string_value(ref));
}

static int print_import(const struct ofs_import *import)
{
	struct outcome o = { .refs = json_object() };
	json_t *item;
	size_t i;

	json_array_foreach(import->items, i, item) count_item(&o, item);
	if (ofs_command_json)
		return ofs_print_json(json_pack("{s:b, s:I, s:I, s:I, s:I, s:o, s:O}", "dry_run",
						dry_run, "imported", o.files, "there", o.there,
						"skipped", o.skipped, "left_out", o.left_out,
						"refs", o.refs, "items", import->items),
				      "");
	print_items(&o, import->items);
	ofs_report_line(stdout,
			"%s%" JSON_INTEGER_FORMAT " file%s, %" JSON_INTEGER_FORMAT
			" already there, %" JSON_INTEGER_FORMAT " skipped",
			dry_run ? "would import " : "imported ", o.files, o.files == 1 ? "" : "s",
			o.there, o.skipped);
	json_decref(o.refs);
	return OFS_EXIT_OK;
}

/* Sets *ret to the directory to import into; "": each file goes to its own place. */
static int find_dest(const struct ofs_access *a, const char *operand, struct ofs_error *err,
		     char **ret)
{
	int r = operand ? ofs_access_inside(a, operand, err, ret) : 0;

	if (!operand)
		*ret = ofs_strdup("");
	if (r == 0 && **ret && !ofs_bundle_is_place(*ret))
		return ofs_error_set(err, EINVAL,
				     "'%s' holds no memory: give a path in cache, tasks, "
				     "persistent, archive or an agent's tree",
				     operand);
	return r;
}

static int import_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access a = { 0 };
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	OFS_FREE char *dest = NULL;
	struct ofs_progress progress;
	struct ofs_import import = { .taken = (enum ofs_import_taken)taken,
				     .dry_run = dry_run,
				     .step = step,
				     .arg = &progress };
	struct ofs_error err;
	int fd = -1, r, code;

	ofs_access_init(&a, &ofs_command_target);
	ofs_progress_begin(&progress, "Importing", NULL);
	r = input_open(&import, argv[0], &fd, &spool, &err);
	if (r == 0)
		r = ofs_access_open(&a, !dry_run, &err);
	if (r == 0)
		r = find_dest(&a, argc > 1 ? argv[1] : NULL, &err, &dest);
	import.dest = dest;
	catch_signals();
	if (r == 0) {
		import.room = room_for(&a);
		r = ofs_import(a.backend, &import, &err);
	}
	ofs_progress_clear(&progress);
	code = r < 0 ? bundle_failed(&err) : print_import(&import);
	json_decref(import.items);
	ofs_io_close(&fd);
	return code;
}

const struct ofs_command ofs_cmd_import = {
	.name = "import",
	.synopsis = "[--dry-run] [--skip|--replace|--rename] [--json] FILE [DEST]",
	.summary = "Brings memory back from an archive that export wrote",
	.help = "Each file returns to its place, or goes below DEST, with its attributes, origin\n"
		"and, if that is free here, its ref. Everything is checked before anything\n"
		"changes. FILE may be - for standard input.\n",
	.options = import_options,
	.json = "print a JSON object",
	.operands = 2,
	.missing = "name the archive to read",
	.run = import_run,
};
