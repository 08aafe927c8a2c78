/* SPDX-License-Identifier: MIT */
/* offload slice: prints some lines or bytes of a file. */
#include "base/text.h"
#include "base/tokens.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "client/operand.h"
#include "cli/report.h"
#include "client/usage.h"

#define SLICE_CHUNK ((size_t)64 << 10)
#define SLICE_FORMS "10-20, 120, 120-, -50 (lines) or b0-4095 (bytes)"

static void tell_read(struct ofs_backend *b, uint64_t tokens)
{
	if (tokens)
		ofs_usage_tell(b, &(struct ofs_usage){ .way = "slice", .read = tokens });
}

static int slice_print(struct ofs_backend *b, ofs_handle h)
{
	OFS_FREE char *chunk = ofs_alloc(SLICE_CHUNK);
	struct ofs_tokens tokens;
	uint64_t off = 0;
	ssize_t n;

	ofs_tokens_init(&tokens);
	/* If the output fails, main() reports that. */
	while ((n = b->ops->read(b, h, chunk, SLICE_CHUNK, off)) > 0 &&
	       fwrite(chunk, 1, (size_t)n, stdout) == (size_t)n) {
		off += (uint64_t)n;
		ofs_tokens_add(&tokens, chunk, (size_t)n);
	}
	tell_read(b, ofs_tokens_total(&tokens));
	return n < 0 ? (int)n : 0;
}

/* Returns 0, 1 if JSON cannot hold the slice, or -errno. */
static int slice_print_json(const struct ofs_operand *o, ofs_handle h, const char *spec)
{
	OFS_FREE char *text = NULL, *path = ofs_operand_display(o);
	json_t *json;
	size_t len;
	int r = ofs_backend_read_all(o->backend, h, UINT64_MAX, &text, &len);

	if (r < 0)
		return r;
	json = json_pack("{s:s, s:s, s:s%}", "path", path, "slice", spec, "text", text, len);
	if (!json)
		return 1;
	tell_read(o->backend, ofs_tokens_count(text, len));
	ofs_print_json(json, path);
	return 0;
}

/* Reports, for example: "'x' has 912 lines; 2000 starts past the end". */
static int slice_report_end(const struct ofs_operand *o, const char *name, const char *spec,
			    bool bytes)
{
	OFS_FREE char *lines = NULL, *text = NULL;
	const char *start = spec + strcspn(spec, "0123456789");
	uint64_t count = (uint64_t)o->attr.st_size;
	struct ofs_text_stream s;

	if (!bytes && ofs_backend_attribute(o->backend, o->path, "lines", &lines) == 0)
		count = strtoull(lines, NULL, 10);
	ofs_text_count(ofs_text_open(&s), count, bytes || !lines ? "byte" : "line");
	text = ofs_text_close(&s);
	return ofs_report("'%s' has %s; %s%.*s starts past the end", name, text,
			  bytes ? "byte " : "", (int)strspn(start, "0123456789"), start);
}

static int slice(const void *arg)
{
	const char *const *words = arg;
	const char *name = words[0], *spec = words[1];
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	OFS_FREE char *suffix = ofs_slice_suffix(spec), *path = NULL;
	struct ofs_error err;
	ofs_handle h;
	int r;

	if (!suffix)
		return ofs_report_usage("'%s' is not a slice: give %s", spec, SLICE_FORMS);
	if (ofs_operand_open(&ofs_command_target, name, &err, &o) < 0)
		return ofs_report("%s", err.text);
	if (!S_ISREG(o.attr.st_mode))
		return ofs_report("'%s' is not a regular file, so it has no slices", name);
	path = ofs_format("%s%s", o.path, suffix);
	r = o.backend->ops->open(o.backend, path, &h);
	if (r == -ERANGE)
		return slice_report_end(&o, name, spec, suffix[1] == 'b');
	/* The file exists, so a name that is not found was not understood as a slice of it. */
	if (r == -EINVAL || r == -ENOENT)
		return ofs_report("'%s' is not a slice, or reversed: give %s", spec, SLICE_FORMS);
	if (r < 0)
		return ofs_report("cannot read %s of '%s': %s", spec, name,
				  ofs_backend_strerror(-r));
	r = ofs_command_json ? slice_print_json(&o, h, spec) : slice_print(o.backend, h);
	o.backend->ops->close(o.backend, h);
	if (r < 0)
		return ofs_report("cannot read '%s': %s", name, ofs_backend_strerror(-r));
	if (r > 0)
		return ofs_report("'%s' is not UTF-8, which JSON needs: leave --json out", name);
	return OFS_EXIT_OK;
}

static int slice_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_FREE char *name = NULL, *last = NULL;
	char *spec;
	int code;

	/* "-50", the last lines, is not an option. */
	for (int i = 1; i < argc && !last && strcmp(argv[i], "--") != 0; i++)
		if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9')
			argv[i] = last = ofs_format(":%s", argv[i]);
	code = ofs_command_parse(self, &argc, &argv);
	if (code >= 0)
		return code;
	if (argc == 2)
		return ofs_guard_command(slice, argv);
	/* File and slice in one word, as pointers and search results have them: REF:10-20. */
	name = ofs_strdup(argv[0]);
	spec = strrchr(name, ':');
	if (!spec || spec == name)
		return ofs_report_usage("which part of '%s'? Give " SLICE_FORMS, name);
	*spec++ = '\0';
	return ofs_guard_command(slice, (const char *[]){ name, spec });
}

const struct ofs_command ofs_cmd_slice = {
	.name = "slice",
	.synopsis = "[--json] REF|PATH LINES",
	.summary = "Prints some lines or bytes of a file",
	.help = "LINES counts from 1 and includes both ends:\n\n"
		"  10-20      lines 10 to 20 (L10-L20 is the same)\n"
		"  120        line 120\n"
		"  120-       from line 120 on\n"
		"  -50        the last 50 lines\n"
		"  b0-4095    bytes, from 0\n",
	.json = "print a JSON object with the text in it",
	.operands = 2,
	.missing = "name a file by its ref or path, and give a slice: " SLICE_FORMS,
	.parses = true,
	.run = slice_run,
};
