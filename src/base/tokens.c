/* SPDX-License-Identifier: MIT */
#include "base/tokens.h"
void ofs_tokens_init(struct ofs_tokens *t){ t->n = 0; }
void ofs_tokens_add(struct ofs_tokens *t, const void *data, size_t len){ (void)data; t->n += len; }
uint64_t ofs_tokens_total(const struct ofs_tokens *t){ return (t->n + 3) / 4; }
uint64_t ofs_tokens_count(const void *data, size_t len){ (void)data; return (len + 3) / 4; }
