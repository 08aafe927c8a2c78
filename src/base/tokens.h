/* SPDX-License-Identifier: MIT */
#ifndef OFS_BASE_TOKENS_H
#define OFS_BASE_TOKENS_H
#include <stddef.h>
#include <stdint.h>
struct ofs_tokens { uint64_t n; };
void ofs_tokens_init(struct ofs_tokens *t);
void ofs_tokens_add(struct ofs_tokens *t, const void *data, size_t len);
uint64_t ofs_tokens_total(const struct ofs_tokens *t);
uint64_t ofs_tokens_count(const void *data, size_t len);
#endif
