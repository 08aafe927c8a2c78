/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include <offloadfs/error.h>

#include "base/redact.h"
#include "base/text.h"

/* Bytes of a message that are shown. */
#define LINE_MAX_LEN 1023

/* Set at start, before any thread exists. */
static const char *log_program = "offloadfs";
static int log_syslog;
static int log_verbose;

void ofs_log_set_program(const char *name)
{
	log_program = name;
}

void ofs_log_use_syslog(void)
{
	openlog(log_program, LOG_PID, LOG_DAEMON);
	log_syslog = 1;
}

void ofs_log_set_verbose(int on)
{
	log_verbose = on;
}

void ofs_log(int level, const char *fmt, ...)
{
	int saved = errno;
	char line[LINE_MAX_LEN + OFS_REDACT_AHEAD];
	OFS_FREE char *shown = NULL;
	va_list ap;

	if (level >= LOG_INFO && !log_verbose)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	ofs_redact_line(line, sizeof(line));
	line[ofs_redact_cut(line, strlen(line), LINE_MAX_LEN)] = '\0';
	shown = ofs_text_shown(line);
	if (log_syslog)
		syslog(level, "%s", shown);
	else
		fprintf(stderr, "%s: %s\n", log_program, shown);
	errno = saved;
}

int ofs_error_set(struct ofs_error *err, int code, const char *fmt, ...)
{
	size_t len = err ? sizeof(err->text) - 1 : 0;
	va_list ap;
	int n;

	if (err) {
		va_start(ap, fmt);
		n = vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		/* Redaction does not recognise a cut secret, so the last word is dropped. */
		while (n >= (int)sizeof(err->text) && len && !strchr(" /'\"", err->text[len - 1]))
			err->text[--len] = '\0';
		/* Names may hold anything, but the text is one line. */
		for (char *c = err->text; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				*c = '?';
	}
	return -code;
}
