/* SPDX-License-Identifier: MIT */
#include "client/usage.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/tokens.h"

#define ATTRIBUTE "user.offload.ledger"
#define NAME_BYTES 255 /* of an agent or task at most; longer names are cut */
#define CHUNK ((size_t)64 << 10)

/* Appends a name and a tab. Control characters become blanks. */
static void append_name(const char *name, struct ofs_buf *out)
{
	size_t len = ofs_text_utf8_prefix(name, strnlen(name, NAME_BYTES));

	ofs_buf_append(out, name, len);
	for (size_t i = out->len - len; i < out->len; i++)
		if (iscntrl(out->data[i]))
			out->data[i] = ' ';
	ofs_buf_append_str(out, "\t");
}

void ofs_usage_tell(struct ofs_backend *b, const struct ofs_usage *usage)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *agent = usage->agent;

	if (!usage->way)
		return;
	append_name(usage->way, &text);
	append_name(agent ? agent : "", &text);
	append_name(usage->task ? usage->task : "", &text);
	ofs_buf_printf(&text, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, usage->results,
		       usage->offloaded, usage->pointers, usage->read);
	b->ops->setxattr(b, "", ATTRIBUTE, text.data, text.len);
}

uint64_t ofs_usage_tokens(const struct ofs_content *content)
{
	OFS_FREE char *chunk = ofs_alloc(CHUNK);
	struct ofs_tokens tokens;
	ssize_t n;

	ofs_tokens_init(&tokens);
	for (uint64_t off = 0; off < content->size; off += (uint64_t)n) {
		n = ofs_spool_read(content->spool, chunk, CHUNK, off);
		if (n <= 0)
			return 0;
		ofs_tokens_add(&tokens, chunk, (size_t)n);
	}
	return ofs_tokens_total(&tokens);
}
