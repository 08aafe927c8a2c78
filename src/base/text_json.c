/* SPDX-License-Identifier: MIT */
/* Writes JSON as text, with deceptive characters as \uXXXX. */
#include <float.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/text_form.h"

#define DEL 0x7f

/* ---- strings */

/* An ASCII character that needs no escape. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < DEL && c != '"' && c != '\\';
}

static void append_escape(struct ofs_buf *out, uint32_t c)
{
	static const char controls[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *control = c && c < DEL ? strchr(controls, (int)c) : NULL;

	if (control)
		ofs_buf_append(out, (const char[]){ '\\', letters[control - controls] }, 2);
	else if (c < 0x10000)
		ofs_buf_printf(out, "\\u%04x", c);
	else
		ofs_buf_printf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 | (c & 0x3ff));
}

/*
 * Returns false if the text is not UTF-8; invalid bytes are copied unchanged. `plain`: deceptive
 * characters as well.
 */
static bool append_string(const char *text, size_t len, bool plain, struct ofs_buf *out)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + len, *done = p;
	bool valid = true;

	ofs_buf_append_str(out, "\"");
	while (p < end) {
		uint32_t c;
		int n;

		if (is_plain(*p)) {
			p++;
			continue;
		}
		n = ofs_text_utf8(p, (size_t)(end - p));
		valid &= n > 0;
		n = OFS_MAX(n, 1);
		c = ofs_text_code_point(p, n);
		if ((ofs_text_deceives(c) && !plain) || *p < DEL) {
			ofs_buf_append(out, done, (size_t)(p - done));
			append_escape(out, c);
			done = p + n;
		}
		p += n;
	}
	ofs_buf_append(out, done, (size_t)(end - done));
	ofs_buf_append_str(out, "\"");
	return valid;
}

void ofs_json_append_string(const char *text, struct ofs_buf *out)
{
	append_string(text, strlen(text), false, out);
}

/* ---- values */

static bool append_compact(const json_t *json, bool plain, struct ofs_buf *out);

static bool append_object(const json_t *json, bool plain, struct ofs_buf *out)
{
	bool valid = true;
	const char *key, *before = "{";
	json_t *value;

	json_object_foreach((json_t *)json, key, value)
	{
		ofs_buf_append_str(out, before);
		valid &= append_string(key, strlen(key), plain, out);
		ofs_buf_append_str(out, ":");
		valid &= append_compact(value, plain, out);
		before = ",";
	}
	ofs_buf_append_str(out, *before == '{' ? "{}" : "}");
	return valid;
}

static bool append_array(const json_t *json, bool plain, struct ofs_buf *out)
{
	bool valid = true;

	ofs_buf_append_str(out, "[");
	for (size_t i = 0; i < json_array_size(json); i++) {
		if (i)
			ofs_buf_append_str(out, ",");
		valid &= append_compact(json_array_get(json, i), plain, out);
	}
	ofs_buf_append_str(out, "]");
	return valid;
}

/* Appends as few digits as tell the number from others: 0.1, and not 0.10000000000000001. */
static bool append_number(const json_t *json, struct ofs_buf *out)
{
	OFS_FREE char *text = NULL;

	for (size_t digits = DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
		free(text);
		text = json_dumps(json, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
		if (!text || strtod(text, NULL) == json_real_value(json))
			break;
	}
	if (text)
		ofs_buf_append_str(out, text);
	return text;
}

/*
 * Writes the same as json_dumps() with JSON_COMPACT, but for numbers. Much faster for long strings,
 * which jansson writes one character at a time. Returns false if a string is not UTF-8.
 */
static bool append_compact(const json_t *json, bool plain, struct ofs_buf *out)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return append_object(json, plain, out);
	case JSON_ARRAY:
		return append_array(json, plain, out);
	case JSON_STRING:
		return append_string(json_string_value(json), json_string_length(json), plain, out);
	case JSON_INTEGER:
		ofs_buf_printf(out, "%lld", (long long)json_integer_value(json));
		return true;
	case JSON_REAL:
		return append_number(json, out);
	case JSON_TRUE:
		ofs_buf_append_str(out, "true");
		return true;
	case JSON_FALSE:
		ofs_buf_append_str(out, "false");
		return true;
	default:
		ofs_buf_append_str(out, "null");
		return true;
	}
}

/* Appends JSON text, in which only strings can contain deceptive characters. */
static void append_text(const char *text, struct ofs_buf *out)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + strlen(text), *done = p;

	for (int n; p < end; p += n) {
		uint32_t c;

		n = *p < DEL ? 1 : OFS_MAX(ofs_text_utf8(p, (size_t)(end - p)), 1);
		c = ofs_text_code_point(p, n);
		if (!ofs_text_deceives(c))
			continue;
		ofs_buf_append(out, done, (size_t)(p - done));
		append_escape(out, c);
		done = p + n;
	}
	ofs_buf_append(out, done, (size_t)(end - done));
}

int ofs_json_append(json_t *json, size_t flags, struct ofs_buf *out)
{
	bool compact = flags == JSON_COMPACT && (json_is_object(json) || json_is_array(json));
	OFS_FREE char *text = json && !compact ? json_dumps(json, flags) : NULL;
	size_t before = out->len;
	bool valid = compact ? append_compact(json, false, out) : text != NULL;

	json_decref(json);
	if (text)
		append_text(text, out);
	if (!valid)
		out->len = before;
	return valid ? 0 : -EINVAL;
}

int ofs_json_append_plain(const json_t *json, struct ofs_buf *out)
{
	size_t before = out->len;

	if (append_compact(json, true, out))
		return 0;
	out->len = before;
	return -EINVAL;
}

int ofs_text_json(FILE *out, json_t *json)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = ofs_json_append(json, JSON_INDENT(2), &text);

	if (r == 0)
		fprintf(out, "%s\n", ofs_buf_str(&text));
	return r;
}

/* ---- reading */

/* Returns 0xd800 or 0xdc00 for an escape that is the one or the other half of a surrogate pair. */
static unsigned int half_at(const char *p, const char *end)
{
	char digits[5] = "";

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return 0;
	memcpy(digits, p + 2, 4);
	return (unsigned int)strtoul(digits, NULL, 16) & 0xfc00;
}

json_t *ofs_json_load(const char *text, size_t len, size_t flags, json_error_t *err)
{
	json_t *json = json_loadb(text, len, flags, err);
	OFS_FREE char *copy = NULL;
	bool mended = false;
	char *end;

	if (json)
		return json;
	copy = ofs_strndup(text, len);
	end = copy + len;
	for (char *p = copy; (p = memchr(p, '\\', (size_t)(end - p))); p = OFS_MIN(p + 2, end)) {
		unsigned int half = half_at(p, end);

		if (half == 0xd800 && half_at(p + 6, end) == 0xdc00) {
			p += 6;
		} else if (half == 0xd800 || half == 0xdc00) {
			memcpy(p + 2, "fffd", 4);
			mended = true;
		}
	}
	return mended ? json_loadb(copy, len, flags, err) : NULL;
}

bool ofs_json_is_deep(const char *text, size_t len)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '[' || c == '{') && ++depth > OFS_JSON_DEPTH)
			return true;
		else if (!quoted && (c == ']' || c == '}') && depth)
			depth--;
	}
	return false;
}
