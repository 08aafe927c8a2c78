/* SPDX-License-Identifier: MIT */
/*
 * ReMe's service of working memory, as its programs use it: the names, defaults and words of
 * context_offload, grep and read_file (its documentation of November 2025) and of
 * summary_working_memory, grep_working_memory and read_working_memory (releases 0.2 and 0.3).
 * What a model does there, the context engine does here by rule.
 */
#pragma once

#include "service/http/exchange.h"

void ofs_reme_offload(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_summary(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_grep(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_grep_file(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_read(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
void ofs_reme_reload(struct ofs_http_exchange *x, struct ofs_http_reply *ret);
