/* SPDX-License-Identifier: MIT */
#include "tree/expiry/step_file.h"

#include <string.h>

#define PREFIX "step_"
#define SUFFIX ".json"

size_t ofs_step_file_values(const char *text, size_t len)
{
	bool quoted = false;
	size_t n = 1;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			quoted = !quoted;
		else if (quoted)
			i += text[i] == '\\';
		else
			n += text[i] == ',' || text[i] == '[' || text[i] == '{';
	}
	return n;
}

bool ofs_step_file_is(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(PREFIX SUFFIX) && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Finds the digits of the number without leading zeros; false: there is no plain number. */
static bool find_number(const char *name, const char **ret, size_t *ret_len)
{
	const char *p = name + strlen(PREFIX);
	size_t len = strspn(p, "0123456789");

	if (!len || strcmp(p + len, SUFFIX) != 0)
		return false;
	while (len && *p == '0') {
		p++;
		len--;
	}
	*ret = p;
	*ret_len = len;
	return true;
}

int ofs_step_file_compare(const char *a, const char *b)
{
	const char *digits_a, *digits_b;
	size_t len_a, len_b;
	bool number_a = find_number(a, &digits_a, &len_a);
	bool number_b = find_number(b, &digits_b, &len_b);
	int r = 0;

	if (number_a != number_b)
		return number_a ? -1 : 1;
	if (number_a && len_a != len_b)
		return len_a < len_b ? -1 : 1;
	if (number_a)
		r = memcmp(digits_a, digits_b, len_a);
	return r ? r : strcmp(a, b);
}
