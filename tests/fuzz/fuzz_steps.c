/* SPDX-License-Identifier: MIT */
/*
 * Arguments of a call in JSON, a newline, and its result: JSON, or any text; or a history of steps.
 * Every rule describes any call on one line, and what is read as steps becomes a section in UTF-8.
 */
#include "base/text.h"
#include "context/json/literal.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"
#include "context/steps/recap.h"
#include "fuzz.h"

static struct ofs_settings settings;

static void check_call(struct ofs_span args, struct ofs_span result)
{
	static char tool[] = "x";
	const struct ofs_tool_call call = { .tool = tool, .args = args, .result = result };

	for (int rule = 0; rule < OFS_TOOL_COUNT; rule++) {
		struct ofs_observing o;

		FUZZ_ASSERT(ofs_observe(&o, &call, (enum ofs_tool_rule)rule, &settings) == 0);
		FUZZ_ASSERT(ofs_text_is_line(ofs_buf_str(&o.observation)));
		FUZZ_ASSERT(ofs_line_characters(o.observation.data, o.observation.len) <=
			    OFS_OBSERVATION_MAX);
		FUZZ_ASSERT(ofs_text_is_line(ofs_buf_str(&o.error)));
		FUZZ_ASSERT(o.failed == (o.error.len > 0));
		ofs_observe_finish(&o);
	}
}

static void check_steps(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_step_list_finish) struct ofs_step_list steps = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_error err = { "" };

	if (ofs_step_list_parse(&steps, text, len, &err) < 0) {
		FUZZ_ASSERT(err.text[0]);
		return;
	}
	ofs_recap_write(&steps, &settings, &out, NULL);
	FUZZ_ASSERT(ofs_text_is_utf8(ofs_buf_str(&out)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf string = OFS_BUF_INIT;
	OFS_FREE char *text = fuzz_copy(data, size), *literal = NULL;
	const char *end = size ? memchr(text, '\n', size) : NULL, *rest = end ? end + 1 : text;
	size_t len = (size_t)(text + size - rest);
	struct ofs_span args = { "{}", 2 }, json;

	ofs_settings_init(&settings);
	if (end && ofs_span_parse(text, (size_t)(end - text), NULL, &json) == 0 &&
	    ofs_span_is_object(json))
		args = json;
	ofs_literal_encode(NULL, rest, len, &string);
	literal = fuzz_copy(string.data, string.len);
	check_call(args, (struct ofs_span){ literal, string.len });
	if (ofs_span_parse(rest, len, NULL, &json) == 0)
		check_call(args, json);
	check_steps(text, size);
	ofs_settings_finish(&settings);
	return 0;
}
