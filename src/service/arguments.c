/* SPDX-License-Identifier: MIT */
#include "service/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/util.h"

#define SHOWN_MAX 80
#define EXACT 0x1p53 /* whole numbers below are exact as reals */

static const char *type_of(const json_t *member)
{
	const char *type = json_string_value(json_object_get(member, "type"));

	return type ? type : json_object_get(member, "enum") ? "string" : "";
}

/* Appends the words of an array: "a, b or c". */
static void append_words(struct ofs_buf *out, const json_t *words)
{
	size_t n = json_array_size(words);

	for (size_t i = 0; i < n; i++)
		ofs_buf_printf(out, "%s%s",
			       !i	   ? ""
			       : i + 1 < n ? ", "
					   : " or ",
			       json_string_value(json_array_get(words, i)));
}

/* Appends what a member must be: "a whole number from 1 to 50". */
static void append_right(struct ofs_buf *out, const json_t *member)
{
	const char *type = type_of(member);
	const json_t *min = json_object_get(member, "minimum"),
		     *max = json_object_get(member, "maximum");
	const json_t *shortest = json_object_get(member, "minLength"),
		     *longest = json_object_get(member, "maxLength");

	if (json_object_get(member, "enum")) {
		append_words(out, json_object_get(member, "enum"));
	} else if (strcmp(type, "integer") == 0) {
		ofs_buf_append_str(out, "a whole number");
		if (min)
			ofs_buf_printf(out, " from %lld", (long long)json_integer_value(min));
		if (max)
			ofs_buf_printf(out, " to %lld", (long long)json_integer_value(max));
	} else if (strcmp(type, "boolean") == 0) {
		ofs_buf_append_str(out, "true or false");
	} else if (strcmp(type, "array") == 0) {
		ofs_buf_append_str(out, "a list");
		if (json_object_get(member, "items")) {
			ofs_buf_append_str(out, ", each ");
			append_right(out, json_object_get(member, "items"));
		}
	} else {
		ofs_buf_append_str(out, strcmp(type, "object") == 0 ? "an object" : "a text");
		if (shortest)
			ofs_buf_append_str(out, " that is not empty");
		if (longest)
			ofs_buf_printf(out, " of at most %lld bytes",
				       (long long)json_integer_value(longest));
	}
}

static bool is_listed(const json_t *words, const json_t *value)
{
	for (size_t i = 0; i < json_array_size(words); i++)
		if (json_equal(json_array_get(words, i), value))
			return true;
	return false;
}

/* True for 10 and 10.0, which some languages write for it. */
static bool is_whole(const json_t *value)
{
	double n = json_number_value(value);

	return json_is_integer(value) ||
	       (json_is_real(value) && n > -EXACT && n < EXACT && n == (double)(int64_t)n);
}

/* Checks the type alone, not the items of an array. */
static bool is_of_type(const char *type, const json_t *value)
{
	static const struct {
		const char *name;
		json_type type;
	} types[] = {
		{ "string", JSON_STRING },
		{ "object", JSON_OBJECT },
		{ "array", JSON_ARRAY },
	};

	if (strcmp(type, "boolean") == 0)
		return json_is_boolean(value);
	if (strcmp(type, "integer") == 0)
		return is_whole(value);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(types); i++)
		if (strcmp(types[i].name, type) == 0)
			return json_typeof(value) == types[i].type;
	return true;
}

static bool is_right(const json_t *member, const json_t *value)
{
	const json_t *words = json_object_get(member, "enum"),
		     *items = json_object_get(member, "items");
	const json_t *min = json_object_get(member, "minimum"),
		     *max = json_object_get(member, "maximum"),
		     *shortest = json_object_get(member, "minLength"),
		     *longest = json_object_get(member, "maxLength");
	size_t len = json_string_length(value);

	if (!is_of_type(type_of(member), value) || (words && !is_listed(words, value)))
		return false;
	for (size_t i = 0; items && i < json_array_size(value); i++)
		if (!is_right(items, json_array_get(value, i)))
			return false;
	if (json_is_number(value))
		return (!min || json_number_value(value) >= json_number_value(min)) &&
		       (!max || json_number_value(value) <= json_number_value(max));
	return !json_is_string(value) ||
	       ((!shortest || (json_int_t)len >= json_integer_value(shortest)) &&
		(!longest || (json_int_t)len <= json_integer_value(longest)));
}

/* True if a text has a NUL, which only content may have: others are read as C strings. */
static bool has_nul(const json_t *member, const json_t *value)
{
	if (json_object_get(member, "contentMediaType"))
		return false;
	for (size_t i = 0; i < json_array_size(value); i++)
		if (has_nul(member, json_array_get(value, i)))
			return true;
	return json_is_string(value) &&
	       strlen(json_string_value(value)) != json_string_length(value);
}

static int wrong(const char *name, const json_t *member, const json_t *value, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf right = OFS_BUF_INIT;
	OFS_FREE char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	OFS_FREE char *shown = text ? ofs_text_shown(text) : ofs_strdup("?");

	append_right(&right, member);
	return ofs_error_set(err, EINVAL, "%s must be %s, not %.*s%s", name, ofs_buf_str(&right),
			     (int)ofs_text_utf8_prefix(shown, strnlen(shown, SHOWN_MAX)), shown,
			     strlen(shown) > SHOWN_MAX ? "..." : "");
}

static int unknown(const json_t *properties, const char *name, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	OFS_FREE char *shown = ofs_text_shown(name);
	const char *each;
	json_t *member;

	json_object_foreach((json_t *)properties, each, member)
		ofs_buf_printf(&names, "%s%s", names.len ? ", " : "; there are: ", each);
	return ofs_error_set(err, EINVAL, "unknown argument '%.*s'%s",
			     (int)strnlen(shown, SHOWN_MAX), shown, ofs_buf_str(&names));
}

int ofs_arguments_check(const json_t *schema, const json_t *args, struct ofs_error *err)
{
	const json_t *properties = json_object_get(schema, "properties"),
		     *required = json_object_get(schema, "required");
	bool open = json_is_true(json_object_get(schema, "additionalProperties"));
	const char *name;
	json_t *value;

	if (args && !json_is_object(args))
		return ofs_error_set(err, EINVAL, "the arguments must be an object");
	for (size_t i = 0; i < json_array_size(required); i++) {
		name = json_string_value(json_array_get(required, i));
		if (!json_object_get(args, name) || json_is_null(json_object_get(args, name)))
			return ofs_error_set(err, EINVAL, "%s is missing", name);
	}
	json_object_foreach((json_t *)args, name, value)
	{
		const json_t *member = json_object_get(properties, name);

		if (!member && !open)
			return unknown(properties, name, err);
		/* Some clients send null for an argument that they leave out. */
		if (member && !json_is_null(value) && !is_right(member, value))
			return wrong(name, member, value, err);
		if (member && has_nul(member, value))
			return ofs_error_set(err, EINVAL, "%s has a NUL in it: remove it", name);
	}
	return 0;
}

json_t *ofs_arguments_read(const json_t *member, const char *text)
{
	const char *type = type_of(member);
	char *end;
	long long n;

	if (strcmp(type, "integer") == 0) {
		errno = 0;
		n = strtoll(text, &end, 10);
		if (*text && !*end && !errno)
			return json_integer(n);
	} else if (strcmp(type, "boolean") == 0) {
		if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
			return json_true();
		if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
			return json_false();
	} else if (strcmp(type, "array") == 0) {
		OFS_FREE char *words = ofs_strdup(text);
		json_t *list = json_array();
		char *rest = words;

		for (const char *word; (word = strsep(&rest, ","));)
			if (*word)
				json_array_append_new(
					list,
					ofs_arguments_read(json_object_get(member, "items"), word));
		return list;
	}
	return json_string(text);
}
