/* SPDX-License-Identifier: MIT */
#include <offloadfs/error.h>

#include <stdarg.h>
#include <stdio.h>

int ofs_error_set(struct ofs_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -code;
}
