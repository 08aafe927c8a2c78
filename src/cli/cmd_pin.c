/* SPDX-License-Identifier: MIT */
/* offload pin and offload unpin: keep files from expiring, or let them expire again. */
#include "cli/command.h"
#include "client/files.h"
#include "cli/each.h"
#include "cli/report.h"

/* `value` is the new value of the attribute: "1" or "0". */
static int pin_file(const char *value, struct ofs_backend *b, const char *path, json_t *list)
{
	OFS_FREE char *ref = NULL, *place = NULL;
	bool important = *value == '1';
	int r = ofs_backend_set_attribute(b, path, "important", value);

	if (r == -EROFS || r == -EOPNOTSUPP)
		return ofs_report("'%s' cannot be pinned: it is not a stored file", path);
	if (r < 0)
		return ofs_report("cannot %s '%s': %s", important ? "pin" : "unpin", path,
				  ofs_backend_strerror(-r));
	/* A file that is removed in the meantime is named by its path. */
	if (ofs_backend_attribute(b, path, "ref", &ref) < 0)
		ref = NULL;
	if (ofs_backend_attribute(b, path, "path", &place) < 0)
		place = NULL;
	return ofs_print_item(
		list,
		json_pack("{s:o, s:o, s:b}", "ref", ofs_json_string(ref), "path",
			  ofs_json_string(place ? place : path), "important", important),
		important ? "{ref|-}  {path}  pinned\n" : "{ref|-}  {path}  unpinned\n");
}

static int pin_operand(const void *arg, const struct ofs_operand *o, const char *name, json_t *list)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	int failed = 0, r;

	if (!*o->path)
		return ofs_report("'%s' is the whole tree: name files or directories in it", name);
	r = ofs_files_gather(o->backend, o->path, &files);
	if (r < 0)
		return ofs_report("cannot list '%s': %s", name, ofs_backend_strerror(-r));
	if (!files.count)
		return ofs_report("there is no file in '%s'", name);
	for (size_t i = 0; i < files.count; i++)
		failed += pin_file(arg, o->backend, files.list[i].path, list);
	return failed;
}

static int run(const struct ofs_command *self, int argc, char **argv)
{
	return ofs_operand_each(argc, argv, pin_operand, self->data);
}

#define PIN_COMMON                                                         \
	.synopsis = "[--json] REF|PATH...", .json = "print a JSON object", \
	.help = "A directory stands for every file in it and below.\n",    \
	.operands = OFS_OPERANDS_ANY,                                      \
	.missing = "name files or directories by their refs or paths"

const struct ofs_command ofs_cmd_pin = {
	.name = "pin",
	.summary = "Keeps files from expiring, where they are",
	PIN_COMMON,
	.data = "1",
	.run = run,
};

const struct ofs_command ofs_cmd_unpin = {
	.name = "unpin",
	.summary = "Lets pinned files expire again",
	PIN_COMMON,
	.data = "0",
	.run = run,
};
