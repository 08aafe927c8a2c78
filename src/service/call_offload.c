/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "base/redact.h"
#include "client/naming.h"
#include "client/pointer.h"
#include "client/usage.h"
#include "codec/base64.h"
#include "service/call_run.h"

#define CATEGORY "general"

static int check_names(struct ofs_call_run *c, const struct ofs_deposit *d)
{
	int r = ofs_naming_check("category", d->category, c->err);

	if (r == 0 && d->task)
		r = ofs_naming_check("task", d->task, c->err);
	if (r == 0 && d->name)
		r = ofs_naming_check_file(d->name, c->err);
	return r;
}

static void answer(struct ofs_call_run *c, const struct ofs_deposit *d,
		   const struct ofs_content *content, const struct ofs_offloaded *done)
{
	OFS_FREE char *path = ofs_call_shown(c, done->file.path);
	OFS_FREE char *uri = ofs_format("offload://%s", done->file.ref);
	OFS_FREE char *title = d->title ? ofs_redact_string(d->title) : NULL;
	json_t *mime = ofs_call_attribute(c, done->file.path, "mime");
	json_t *entry;

	if (!json_is_string(mime)) {
		json_decref(mime);
		mime = json_string("application/octet-stream");
	}
	entry = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s?, s:o, s:I, s:I, s:I, s:s, s:b}", "id",
			  done->file.ref, "uri", uri, "path", ofs_call_string(path), "title",
			  ofs_call_string(title), "category", d->category, "task", d->task, "mime",
			  mime, "bytes", (json_int_t)content->size, "lines",
			  (json_int_t)content->lines, "tokens",
			  (json_int_t)ofs_usage_tokens(content), "sha256", content->sha256, "new",
			  done->file.is_new);
	c->result = json_pack("{s:o, s:[o]}", "pointer", ofs_call_string(done->pointer),
			      "memory_refs", entry);
}

/* Wraps the content, which stays in the arguments, or in `buf` if it has to be decoded. */
static int wrap_content(struct ofs_call_run *c, struct ofs_buf *buf, struct ofs_spool *spool)
{
	const json_t *text = json_object_get(c->args, "content");
	const char *encoding = ofs_call_text(c, "encoding"), *data = json_string_value(text);
	size_t len = json_string_length(text);

	if (encoding && strcmp(encoding, "base64") == 0) {
		if (!ofs_base64_decode(data, len, buf))
			return ofs_error_set(c->err, EINVAL, "content is not base64");
		data = ofs_buf_str(buf);
		len = buf->len;
	}
	ofs_spool_wrap(spool, data, len);
	return 0;
}

static int offload_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf decoded = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	int64_t ttl = ofs_call_number(c, "ttl_seconds", -1);
	OFS_FREE char *life = ttl < 0 ? NULL
			      : ttl   ? ofs_format("%" PRId64 "s", ttl)
				      : ofs_strdup("never");
	const char *category = ofs_call_text(c, "category"), *task = ofs_call_text(c, "task");
	const struct ofs_deposit deposit = {
		.category = category ? category : CATEGORY,
		.task = task ? task : c->task,
		.name = ofs_call_text(c, "name"),
		.title = ofs_call_text(c, "title"),
		.ttl = life,
		.way = c->way,
	};
	struct ofs_content content;
	const struct ofs_pointer pointer = {
		.what = deposit.title ? deposit.title : deposit.category,
		.content = &content,
		.by_call = c->way && strcmp(c->way, "mcp") == 0,
	};
	int r = check_names(c, &deposit);

	if (r == 0)
		r = wrap_content(c, &decoded, &spool);
	if (r < 0)
		return r;
	r = ofs_content_scan(&spool, &content);
	if (r < 0)
		return ofs_error_set(c->err, -r, "cannot read the content: %s", strerror(-r));
	r = ofs_offload(&deposit, &pointer, c->access, c->err, &done);
	if (r == 0)
		answer(c, &deposit, &content, &done);
	return r;
}

const struct ofs_call ofs_call_memory_offload = { "memory_offload",
						  OFS_CALL_TOOL | OFS_CALL_CHANGES | OFS_CALL_MAKES,
						  offload_call };
