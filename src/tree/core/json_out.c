/* SPDX-License-Identifier: MIT */
#include "tree/core/json_out.h"

#include "base/text.h"

json_t *ofs_json_time(int64_t ns)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_text_time(ns, &text) < 0)
		return json_null();
	return json_stringn((const char *)text.data, text.len);
}

static int append(const char *text, size_t len, void *arg)
{
	ofs_buf_append(arg, text, len);
	return 0;
}

void ofs_json_append(json_t *json, size_t flags, struct ofs_buf *out)
{
	json_dump_callback(json, append, out, flags);
	json_decref(json);
}
