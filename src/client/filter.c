/* SPDX-License-Identifier: MIT */
#include "client/filter.h"

#include <stdio.h>

#include "base/text.h"

/* What the command has written so far. */
struct written {
	size_t max;
	struct ofs_buf text;
	char tail[4096]; /* the last of its standard error */
	size_t tail_len;
};

static int take(void *arg, int fd, const void *data, size_t len)
{
	struct written *w = arg;
	size_t more, kept;

	if (fd == STDOUT_FILENO) {
		if (len > w->max - w->text.len)
			return -EFBIG;
		ofs_buf_append(&w->text, data, len);
		return 0;
	}
	more = OFS_MIN(len, sizeof(w->tail));
	kept = OFS_MIN(w->tail_len, sizeof(w->tail) - more);
	memmove(w->tail, w->tail + (w->tail_len - kept), kept);
	memcpy(w->tail + kept, (const char *)data + (len - more), more);
	w->tail_len = kept + more;
	return 0;
}

static void find_last_line(const struct written *w, char *ret, size_t size)
{
	size_t end = w->tail_len, start, used;
	FILE *out = fmemopen(ret, size, "w");

	ret[0] = '\0';
	while (end && w->tail[end - 1] && strchr(" \t\r\n", w->tail[end - 1]))
		end--;
	start = end;
	while (start && w->tail[start - 1] != '\n' && w->tail[start - 1] != '\r')
		start--;
	if (!out)
		return;
	ofs_text_printable(out, w->tail + start, end - start, false, size - 1, &used);
	fclose(out);
}

int ofs_filter_run(const struct ofs_filter *filter, const void *input, size_t len,
		   struct ofs_filter_end *ret_end, struct ofs_buf *ret_output)
{
	const char *const argv[] = { "/bin/sh", "-c", "--", filter->command, NULL };
	struct written written = { .max = filter->max };
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FILTER,
		.argv = argv,
		.environment = filter->environment,
		.take = take,
		.arg = &written,
		.input = input,
		.input_len = len,
		.timeout_s = filter->timeout_s,
	};
	int r;

	*ret_end = (struct ofs_filter_end){ 0 };
	r = ofs_process_run(&process, &ret_end->end);
	find_last_line(&written, ret_end->last, sizeof(ret_end->last));
	if (r == 0)
		*ret_output = ofs_buf_steal(&written.text);
	ofs_buf_finish(&written.text);
	return r;
}
