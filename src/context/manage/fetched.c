/* SPDX-License-Identifier: MIT */
#include "context/manage/fetched.h"

#include <string.h>

#include "base/util.h"
#include "codec/hash.h"

#define OPEN "<offloaded_context id=\""
#define BEHIND_ID "\">\n"
#define CLOSE "</offloaded_context>"
#define ID_LEN 16

static bool make_id(const void *slices, size_t len, char ret[65])
{
	uint8_t sha[OFS_SHA256_SIZE];

	if (ofs_sha256(slices, len, sha) < 0)
		return false;
	ofs_sha256_hex(sha, ret);
	ret[ID_LEN] = '\0';
	return true;
}

void ofs_fetched_write(const void *slices, size_t len, const struct ofs_literal_style *style,
		       struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char id[65];

	make_id(slices, len, id);
	ofs_buf_printf(&text, OPEN "%s" BEHIND_ID, id);

	ofs_buf_append(&text, slices, len);
	ofs_buf_append_str(&text, CLOSE);
	ofs_buf_append_str(out, "{\"role\": \"user\", \"content\": ");
	ofs_literal_encode(style, text.data, text.len, out);
	ofs_buf_append_str(out, "}, ");
}

bool ofs_fetched_is(const struct ofs_message *message)
{
	static const size_t before = sizeof(OPEN BEHIND_ID) - 1 + ID_LEN,
			    behind = sizeof(CLOSE) - 1;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span content = ofs_span_member(message->whole, "content");
	char id[65];

	/* A look at its first letter, which some escape, spares most messages the rest. */
	if (message->role != OFS_ROLE_USER || !ofs_span_is_string(content) ||
	    (content.p[1] != *OPEN && content.p[1] != '\\'))
		return false;
	ofs_span_decode(content, &text);
	if (text.len < before + behind || memcmp(text.data, OPEN, strlen(OPEN)) != 0 ||
	    memcmp(text.data + text.len - behind, CLOSE, behind) != 0)
		return false;
	return make_id(text.data + before, text.len - before - behind, id) &&
	       memcmp(text.data + strlen(OPEN), id, ID_LEN) == 0;
}
