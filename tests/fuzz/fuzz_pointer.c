/* SPDX-License-Identifier: MIT */
/*
 * Texts that may be pointers, snapshots or notices of saved outputs, and pointers made of any
 * content. A shortened pointer stands for the same content and keeps its tag. Reported places lie
 * in the text, and all output is harmless UTF-8.
 */
#include "agent/claude_output.h"
#include "base/text.h"
#include "client/pointer.h"
#include "context/chat/mark.h"
#include "context/manage/seam.h"
#include "fuzz.h"

#define KEY "0123456789abcdef"

static void check_mark(const char *text, size_t len)
{
	struct ofs_mark mark, again;
	char tag[OFS_MARK_TAG + 1], code[OFS_MARK_CODE_MAX];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shorter = OFS_BUF_INIT;
	size_t at;

	if (!ofs_mark_read(text, len, &mark))
		return;
	ofs_mark_code(&mark, code);
	FUZZ_ASSERT(memmem(text, len, code, strlen(code)));
	FUZZ_ASSERT(ofs_mark_tag(text, len, KEY, tag, &at));
	FUZZ_ASSERT(strlen(tag) == OFS_MARK_TAG && !memcmp(text + at, mark.tag, OFS_MARK_TAG));
	ofs_mark_shrink(text, len, &shorter);
	FUZZ_ASSERT(ofs_mark_read(shorter.data, shorter.len, &again));
	FUZZ_ASSERT(strcmp(again.ref, mark.ref) == 0);
	FUZZ_ASSERT(strcmp(again.hash, mark.hash) == 0);
	FUZZ_ASSERT(strcmp(again.tag, mark.tag) == 0);
}

static void check_snapshot(const char *text, size_t len)
{
	struct ofs_snapshot_place place;

	if (!ofs_seam_find(text, len, &place))
		return;
	FUZZ_ASSERT(place.start <= place.inside && place.inside + place.inside_len <= place.end);
	FUZZ_ASSERT(place.end <= len && place.ref[0] && strlen(place.tag) == OFS_MARK_TAG);
}

static void check_notice(const char *text, size_t len)
{
	struct ofs_persisted p;

	if (!ofs_persisted_read(text, len, &p))
		return;
	FUZZ_ASSERT(p.path[0] == '/' && !strchr(p.path, '\n'));
	FUZZ_ASSERT(p.preview > text && p.preview_len && p.preview + p.preview_len <= text + len);
	FUZZ_ASSERT(p.end <= len);
	free(p.path);
}

static void check_printed(const char *text, size_t len)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	OFS_FREE char *what = strndup(text, len), *printed = NULL;
	struct ofs_content content;
	const struct ofs_pointer pointer = {
		.what = what,
		.content = &content,
		.ref = "k3f9x2",
		.mount = len % 2 ? "/w/.offload" : NULL,
		.hint = "",
		.brief = len % 5 == 0,
		.mark = len % 3 ? "ja-9f86d081-k2m4x9" : NULL,
	};
	struct ofs_text_stream s;

	ofs_spool_wrap(&spool, text, len);
	FUZZ_ASSERT(ofs_content_scan(&spool, &content) == 0);
	FUZZ_ASSERT(ofs_pointer_print(&pointer, ofs_text_open(&s)) == 0);
	printed = ofs_text_close(&s);
	FUZZ_ASSERT(ofs_text_is_utf8(printed));
	for (const char *p = printed; *p; p++)
		FUZZ_ASSERT((unsigned char)*p >= ' ' || *p == '\n' || *p == '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_FREE char *text = fuzz_copy(data, size);

	check_mark(text, size);
	check_snapshot(text, size);
	check_notice(text, size);
	check_printed(text, size);
	return 0;
}
