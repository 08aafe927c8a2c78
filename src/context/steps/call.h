/* SPDX-License-Identifier: MIT */
/* A tool call as a harness reports it: its name, arguments and result. */
#pragma once

#include "context/json/span.h"

struct ofs_tool_call {
	struct ofs_span object; /* the whole call; borrowed, as are `args` and `result` */
	char *tool; /* UTF-8, not empty */
	struct ofs_span args; /* an object */
	struct ofs_span result; /* any value, or no value */
	bool has_timestamp;
	int64_t timestamp_ms;
	struct ofs_buf args_text; /* decoded, if `args` came as a string */
};

/* Fit for OFS_CLEANUP. */
void ofs_tool_call_finish(struct ofs_tool_call *call);

/*
 * Reads {"tool", "args", "result"} under the names that harnesses use. Returns -EINVAL with the
 * reason in `err` if `object` is not such a call. The text that holds `object` must outlive `ret`.
 */
int ofs_tool_call_parse(struct ofs_span object, struct ofs_error *err, struct ofs_tool_call *ret);
