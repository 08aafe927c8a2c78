/* SPDX-License-Identifier: MIT */
#include "context/steps/template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "context/steps/line.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

int ofs_template_expand(const char *tpl, ofs_template_fn fn, void *arg, struct ofs_buf *out)
{
	int missing = 0, r;

	while (*tpl) {
		size_t plain = strcspn(tpl, "{"), name;

		ofs_buf_append(out, tpl, plain);
		tpl += plain;
		if (!*tpl) {
			r = 0;
			break;
		}
		name = strspn(tpl + 1, NAME_CHARACTERS);
		if (!name || tpl[1 + name] != '}') {
			ofs_buf_append(out, tpl++, 1);
			r = 0;
		} else {
			r = fn(arg, tpl + 1, name, out);
			missing += r == 0;
			tpl += name + 2;
		}
		if (r < 0)
			return r;
	}
	return missing;
}

void ofs_template_size(struct ofs_buf *out, uint64_t bytes)
{
	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;

	ofs_text_size(ofs_text_open(&s), bytes);
	text = ofs_text_close(&s);
	ofs_buf_append(out, text, s.len);
}

int ofs_template_scalar(struct ofs_buf *out, const json_t *value, size_t max)
{
	int r;

	if (json_is_string(value))
		r = ofs_line_append(out, json_string_value(value), json_string_length(value), max);
	else {
		if (json_is_integer(value))
			ofs_buf_printf(out, "%lld", (long long)json_integer_value(value));
		else if (json_is_real(value))
			ofs_buf_printf(out, "%g", json_real_value(value));
		else if (json_is_boolean(value))
			ofs_buf_append_str(out, json_is_true(value) ? "true" : "false");
		else
			return 0;
		r = 0;
	}
	return r < 0 ? r : 1;
}
