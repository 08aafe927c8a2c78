/* SPDX-License-Identifier: MIT */
/*
 * Styles of JSON strings. Programs write the same text in different ways; the style in which a
 * string was written allows the same bytes to be written again.
 */
#pragma once

#include "context/json/span.h"

struct ofs_literal_style {
	bool ascii; /* non-ASCII is \uXXXX, as in Python's json by default */
	bool upper; /* hex digits are upper case */
	bool slash; /* "/" is "\/", as in PHP */
	bool html; /* "<", ">" and "&" are \u00XX, as in Go */
	bool separators; /* U+2028 and U+2029 are \uXXXX, as in Go */
	bool del; /* 0x7f is \u007f */
	bool plain_controls; /* \b and \f are \u00XX */
};

/* Size of a buffer for the name of a style. */
#define OFS_LITERAL_NAME_MAX 16

/* Writes the name of a style: 'j', then a letter for each member that is set. */
void ofs_literal_style_name(const struct ofs_literal_style *style, char ret[OFS_LITERAL_NAME_MAX]);

/* Reads the name of a style. False if it is not one; then *ret is undefined. */
bool ofs_literal_style_parse(const char *name, struct ofs_literal_style *ret);

/*
 * Appends a text as a JSON string with its quotes; `style` NULL is the plainest. Halves of
 * surrogate pairs, as ofs_span_decode() writes them, become \uXXXX. Other bytes that are not UTF-8
 * become U+FFFD.
 */
void ofs_literal_encode(const struct ofs_literal_style *style, const void *text, size_t len,
			struct ofs_buf *out);

/*
 * Finds the style in which `string`, which decodes to `text`, is written. *ret must hold a style,
 * which is tried first; its members that the string does not determine keep their values. False if
 * no style yields these bytes.
 */
bool ofs_literal_style_find(struct ofs_span string, const void *text, size_t len,
			    struct ofs_literal_style *ret);
