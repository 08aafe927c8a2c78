/* SPDX-License-Identifier: MIT */
#include "client/usage.h"
#include "base/tokens.h"
#include "service/call_run.h"
#include "service/grep.h"

#define LIMIT 100

struct told {
	json_t *lines;
	uint64_t tokens;
};

static void take(void *arg, const char *text, size_t len)
{
	struct told *t = arg;

	json_array_append_new(t->lines, json_stringn(text, len));
	t->tokens += ofs_tokens_count(text, len);
}

static int grep(struct ofs_call_run *c, const char *path)
{
	OFS_FREE char *dir = ofs_call_shown(c, "");
	OFS_FREE char *prefix = ofs_format("%s%s", dir, *dir ? "/" : "");
	const struct ofs_grep g = {
		.pattern = ofs_call_text(c, "pattern"),
		.ignore_case = ofs_call_flag(c, "ignore_case", false),
		.glob = ofs_call_text(c, "glob"),
		.context = (unsigned int)ofs_call_number(c, "context", 0),
		.limit = (uint64_t)ofs_call_number(c, "limit", LIMIT),
		.prefix = prefix,
	};
	struct ofs_grep_result done;
	struct told t = { json_array(), 0 };
	int r = ofs_grep_run(&g, c->access->backend, path, take, &t, c->err, &done);

	if (r < 0) {
		json_decref(t.lines);
		return r;
	}
	c->result = json_pack("{s:o, s:I, s:I, s:b}", "lines", t.lines, "matches",
			      (json_int_t)done.matches, "files_searched", (json_int_t)done.files,
			      "complete", done.complete);
	ofs_usage_tell(c->access->backend,
		       &(struct ofs_usage){ .way = c->way, .task = c->task, .read = t.tokens });
	return 0;
}

static int grep_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(ofs_call_file_finish) struct ofs_call_file file = { 0 };
	const char *path = ofs_call_text(c, "path");
	OFS_FREE char *real = NULL;
	int r;

	if (!path || !*path)
		return grep(c, "");
	r = ofs_call_find_file(c, path, &file);
	if (r < 0)
		return r;
	/* The lines have the path of the file, not its ref. */
	if (ofs_backend_attribute(c->access->backend, file.path, "path", &real) < 0)
		real = ofs_strdup(file.path);
	return grep(c, real);
}

const struct ofs_call ofs_call_memory_grep = { "memory_grep", OFS_CALL_TOOL, grep_call };
