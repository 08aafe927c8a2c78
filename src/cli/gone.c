/* SPDX-License-Identifier: MIT */
#include "cli/gone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"

#define GONE_REFS "refs/"

int ofs_gone_load(struct ofs_backend *b, const char *path, json_t **ret)
{
	OFS_FREE char *info = NULL, *text = NULL;
	json_t *json;
	size_t len;
	int r;

	if (strncmp(path, GONE_REFS, strlen(GONE_REFS)) != 0)
		return -ENOENT;
	len = strcspn(path, ":#@");
	info = ofs_alloc(len + sizeof(":info"));
	memcpy(info, path, len);
	strcpy(info + len, ":info");
	r = ofs_backend_read_text(b, info, &text);
	if (r < 0)
		return r;
	json = json_loads(text, 0, NULL);
	if (!json_is_object(json)) {
		json_decref(json);
		return -EPROTO;
	}
	*ret = json;
	return 0;
}

const char *ofs_gone_text(const json_t *gone, const char *key)
{
	const char *text = json_string_value(json_object_get(gone, key));

	return text && *text ? text : NULL;
}

static void gone_print_count(FILE *out, const json_t *gone, const char *key, const char *noun)
{
	const json_t *n = json_object_get(gone, key);

	if (!json_is_integer(n))
		return;
	fputs(", ", out);
	ofs_text_count(out, (uint64_t)json_integer_value(n), noun);
}

static void gone_print(FILE *out, const json_t *gone)
{
	const char *ref = ofs_gone_text(gone, "ref"), *path = ofs_gone_text(gone, "path");
	const char *removed = ofs_gone_text(gone, "removed"), *why = ofs_gone_text(gone, "why");
	const char *reason = ofs_gone_text(gone, "reason");

	ofs_text_line(out, ref ? ref : "it");
	fputs(" was ", out);
	ofs_text_line(out, path ? path : "a file");
	gone_print_count(out, gone, "size", "byte");
	gone_print_count(out, gone, "lines", "line");
	fputs("; it was removed", out);
	if (removed) {
		fputs(" at ", out);
		ofs_text_line(out, removed);
	}
	if (reason) {
		fputs(" (", out);
		ofs_text_line(out, reason);
		putc(')', out);
	}
	if (why) {
		fputs(": ", out);
		ofs_text_line(out, why);
	}
}

char *ofs_gone_sentence(const json_t *gone)
{
	struct ofs_text_stream s;

	gone_print(ofs_text_open(&s), gone);
	return ofs_text_close(&s);
}
