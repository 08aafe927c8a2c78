/* SPDX-License-Identifier: MIT */
/*
 * How a program writes strings in JSON. There are several ways to write the same text, and each program
 * has its own: who knows which, can write the very bytes again.
 */
#ifndef OFS_CONTEXT_JSON_LITERAL_H
#define OFS_CONTEXT_JSON_LITERAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"

struct ofs_literal_style {
	bool ascii; /* what is not ASCII is \uXXXX, as Python's json has it by default */
	bool upper; /* hex digits are upper case */
	bool slash; /* "\/", as PHP has it */
	bool html; /* "<", ">" and "&" are \u00XX, as Go has it */
	bool separators; /* U+2028 and U+2029 are \uXXXX, as Go has it */
	bool del; /* 0x7f is \u007f */
	bool plain_controls; /* \b and \f are \u00XX */
};

/* Room for the name of a style. */
#define OFS_LITERAL_NAME_MAX 16

/* A name for a style of letters and digits. */
void ofs_literal_style_name(const struct ofs_literal_style *style, char ret[OFS_LITERAL_NAME_MAX]);

/* The style of that name. False: it is none. */
bool ofs_literal_style_parse(const char *name, struct ofs_literal_style *ret);

/*
 * Appends a text (with halves of surrogate pairs as ofs_span_decode() has them) as a string with its quotes. Other bytes
 * that are not UTF-8 become U+FFFD.
 */
void ofs_literal_encode(const struct ofs_literal_style *style, const void *text, size_t len,
			struct ofs_buf *out);

/*
 * Finds the style that `string`, which says `text`, is written in. False: none of them gives these bytes. Where
 * the string does not show it, what `ret` says already is kept.
 */
bool ofs_literal_style_find(struct ofs_span string, const void *text, size_t len,
			    struct ofs_literal_style *ret);

#endif
