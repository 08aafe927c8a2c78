/* SPDX-License-Identifier: MIT */
#include "agent/text_event.h"

#include "context/json/literal.h"

int ofs_agent_read_text_event(const char *text, size_t len, const char *event,
			      const struct ofs_agent_alias aliases[], size_t n,
			      struct ofs_error *err, struct ofs_hook_event *ret)
{
	struct ofs_span root;
	int r = ofs_span_parse(text, len, err, &root);

	if (r < 0)
		return r;
	if (!ofs_span_is_object(root))
		return ofs_error_set(err, EINVAL,
				     "an event is a JSON object with tool_name, tool_input and "
				     "tool_response");
	*ret = (struct ofs_hook_event){ .kind = OFS_HOOK_OTHER };
	if (!ofs_span_is(ofs_span_member(root, "hook_event_name"), event))
		return 0;
	r = ofs_agent_read_event(root, aliases, n, err, ret);
	if (r == 0)
		ret->kind = OFS_HOOK_POST;
	return r;
}

int ofs_agent_take_text(struct ofs_span value, struct ofs_hook_text *ret)
{
	struct ofs_span_cursor cursor = ofs_span_enter(value);
	struct ofs_span block;

	if (ofs_span_is_string(value)) {
		ofs_span_decode(value, &ret->inline_text);
	} else if (ofs_span_is_array(value)) {
		while (ofs_span_next(&cursor, &block)) {
			struct ofs_span text =
				ofs_span_is_string(block) ? block : ofs_span_member(block, "text");

			if (!ofs_span_is_string(text))
				return 0;
			if (ret->inline_text.len)
				ofs_buf_append_str(&ret->inline_text, "\n");
			ofs_span_decode(text, &ret->inline_text);
		}
	} else {
		return 0;
	}
	ofs_spool_wrap(&ret->spool, ret->inline_text.data, ret->inline_text.len);
	return 1;
}

void ofs_agent_write_refusal(const char *decision, const char *pointer, struct ofs_buf *out)
{
	ofs_buf_printf(out, "{\"decision\":\"%s\",\"reason\":", decision);
	ofs_literal_encode(NULL, pointer, strlen(pointer), out);
	ofs_buf_append_str(out, "}");
}
