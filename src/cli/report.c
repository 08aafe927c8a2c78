/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/redact.h"

static const char *report_command;

void ofs_report_set_command(const char *name)
{
	report_command = name;
}

__attribute__((format(printf, 2, 0))) static void report_write(const char *hint, const char *fmt,
							       va_list ap)
{
	char line[2048];

	vsnprintf(line, sizeof(line), fmt, ap);
	ofs_redact_line(line, sizeof(line));
	for (char *p = line; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	}
	fflush(stdout);
	fprintf(stderr, "offload: %s%s%s%s\n", report_command ? report_command : "",
		report_command ? ": " : "", line, hint);
}

int ofs_report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_write("", fmt, ap);
	va_end(ap);
	return OFS_EXIT_FAILURE;
}

int ofs_report_usage(const char *fmt, ...)
{
	char hint[64];
	va_list ap;

	snprintf(hint, sizeof(hint), "; see offload %s%s--help",
		 report_command ? report_command : "", report_command ? " " : "");
	va_start(ap, fmt);
	report_write(hint, fmt, ap);
	va_end(ap);
	return OFS_EXIT_USAGE;
}

const char *ofs_report_errno(int code)
{
	switch (code) {
	case EKEYEXPIRED:
		return "the file has expired and was removed";
	case ENOTCONN:
	case ECONNABORTED:
	case ECANCELED: /* a request that was on its way over io_uring */
		return "the mount has lost its daemon; 'offload up' mounts it again";
	default:
		return strerror(code);
	}
}
