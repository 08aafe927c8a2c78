/* SPDX-License-Identifier: MIT */
/* Texts with places to fill in: "Read {path} ({size})". */
#ifndef OFS_CONTEXT_STEPS_TEMPLATE_H
#define OFS_CONTEXT_STEPS_TEMPLATE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends what stands for a name (its `len` bytes). 1, 0 when there is nothing of that name, or -errno. */
typedef int (*ofs_template_fn)(void *arg, const char *name, size_t len, struct ofs_buf *out);

/*
 * Appends the template with every "{name}" (letters, digits, '_', '-' and '.') replaced. What there is nothing
 * for becomes nothing, and is counted: returns the count or -errno.
 */
int ofs_template_expand(const char *tpl, ofs_template_fn fn, void *arg, struct ofs_buf *out);

/* Appends "812 bytes", "4.2 KB". */
void ofs_template_size(struct ofs_buf *out, uint64_t bytes);

/* Appends a text, number or boolean of at most `max` characters on one line. 1, 0 when it is none of these, or -errno. */
int ofs_template_scalar(struct ofs_buf *out, const json_t *value, size_t max);

#endif
