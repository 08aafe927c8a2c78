/* SPDX-License-Identifier: MIT */
#include "context/steps/step_text.h"

#include <jansson.h>

#include "base/util.h"
#include "context/steps/line.h"

#define DEL 0x7f
#define NAME_CHARS 64
#define ARGS_CHARS 1024
#define OBSERVATION_CHARS 4096
#define ERROR_CHARS 1024
#define OUTPUT_MAX 8192 /* bytes of an output that stands in its step */

static int append_line(struct ofs_buf *out, const char *text, size_t max)
{
	return ofs_line_append(out, text, strlen(text), max);
}

void ofs_step_write_ref(const char *ref, struct ofs_buf *out)
{
	size_t before = out->len;

	ofs_buf_append_str(out, ref);
	for (size_t i = before; i < out->len; i++)
		if (out->data[i] < ' ' || out->data[i] == DEL)
			out->data[i] = '?';
}

static int write_args(const struct ofs_step *step, struct ofs_buf *out)
{
	OFS_FREE char *args = NULL;
	int r;

	if (!json_object_size(step->minimal_args))
		return 0;
	args = json_dumps(step->minimal_args, JSON_COMPACT);
	ofs_buf_append_str(out, " ");
	r = 0;
	if (args)
		r = append_line(out, args, ARGS_CHARS);
	return r;
}

static int write_failure(const struct ofs_step *step, struct ofs_buf *out)
{
	int r;

	if (step->success)
		return 0;
	ofs_buf_append_str(out, "  failed");
	r = 0;
	if (step->error && *step->error) {
		ofs_buf_append_str(out, ": ");
		r = append_line(out, step->error, ERROR_CHARS);
	}
	if (r == 0)
		ofs_buf_append_str(out, "\n");
	return r;
}

/* An output that was not offloaded is here or nowhere. */
static void write_output(const struct ofs_step *step, struct ofs_buf *out)
{
	const char *text = json_string_value(json_object_get(step->metadata, "output"));
	json_t *whole;

	if (!text || !*text)
		return;
	whole = ofs_line_json_whole(text, OFS_MIN(strlen(text), OUTPUT_MAX));
	text = json_string_value(whole);
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		ofs_buf_append_str(out, "  | ");
		ofs_buf_append(out, text, len);
		ofs_buf_append_str(out, "\n");
		text += len + (text[len] == '\n');
	}
	json_decref(whole);
}

int ofs_step_write_full(const struct ofs_step *step, struct ofs_buf *out)
{
	int r;

	ofs_buf_append_str(out, "-");
	r = 0;
	for (int i = 0; i < 2 && r == 0; i++) {
		const char *name = i == 0 ? step->id : step->tool_name;

		if (*name)
			ofs_buf_append_str(out, " ");
		r = append_line(out, name, NAME_CHARS);
	}
	if (r == 0)
		r = write_args(step, out);
	if (r == 0)
		ofs_buf_append_str(out, ": ");
	if (r == 0)
		r = append_line(out, step->observation, OBSERVATION_CHARS);
	if (r == 0 && step->outcome_ref) {
		ofs_buf_append_str(out, " [ref ");
		ofs_step_write_ref(step->outcome_ref, out);
		ofs_buf_append_str(out, "]");
	}
	if (r == 0)
		ofs_buf_append_str(out, "\n");
	if (r == 0)
		r = write_failure(step, out);
	if (r == 0)
		write_output(step, out);
	return r;
}
