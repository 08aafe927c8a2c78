/* SPDX-License-Identifier: MIT */
/*
 * The working memory service of ReMe, for programs that use it. Names, defaults and texts are those
 * of context_offload, grep and read_file (documentation of November 2025) and those of
 * summary_working_memory, grep_working_memory and read_working_memory (releases 0.2 and 0.3).
 * Summaries are made by the context engine, by rule, instead of by a model.
 */
#pragma once

#include "service/http/exchange.h"

void ofs_reme_offload(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_summary(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_grep(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_grep_file(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_read(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_reload(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
