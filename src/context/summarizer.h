/* SPDX-License-Identifier: MIT */
#ifndef OFS_CONTEXT_SUMMARIZER_H
#define OFS_CONTEXT_SUMMARIZER_H
#include <stddef.h>
#include <stdint.h>
#include <offloadfs/error.h>
#include "base/buf.h"
struct ofs_summarizer {
	const char *command;
	const char *url;
	const char *key;
	const char *model;
	uint64_t timeout_s;
	uint64_t max_tokens;
};
int ofs_summarizer_run(const struct ofs_summarizer *s, const void *messages, size_t len, struct ofs_error *err, struct ofs_buf *ret_summary);
#endif
