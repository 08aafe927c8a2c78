/* SPDX-License-Identifier: MIT */
/*
 * Styles of writing strings in JSON. The same text can be written in several ways, and each program
 * has its own; with its style the same bytes can be written again.
 */
#pragma once

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

/* The style of that name; false if there is none. */
bool ofs_literal_style_parse(const char *name, struct ofs_literal_style *ret);

/*
 * Appends a text as a string with its quotes, by NULL in the plainest style; halves of surrogate
 * pairs are as ofs_span_decode() writes them. Other bytes that are not UTF-8 become U+FFFD.
 */
void ofs_literal_encode(const struct ofs_literal_style *style, const void *text, size_t len,
			struct ofs_buf *out);

/*
 * Finds the style in which `string`, which decodes to `text`, is written. False if no style gives
 * these bytes. Members of `ret` that the string does not determine keep their values.
 */
bool ofs_literal_style_find(struct ofs_span string, const void *text, size_t len,
			    struct ofs_literal_style *ret);
