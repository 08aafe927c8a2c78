/* SPDX-License-Identifier: MIT */
#include <offloadfs/error.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int ofs_error_set(struct ofs_error *err, int code, const char *fmt, ...)
{
	size_t len = err ? sizeof(err->text) - 1 : 0;
	va_list ap;
	int n;

	if (err) {
		va_start(ap, fmt);
		n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		/* Nobody could tell that the start of a secret is one: the last word goes. */
		while (n >= (int)sizeof(err->text) && len && !strchr(" /'\"", err->text[len - 1]))
			err->text[--len] = '\0';
	}
	return -code;
}
