/* SPDX-License-Identifier: MIT */
/* Writes one-line messages to standard error or, after the daemon left its terminal, to syslog. */
#pragma once

#include <syslog.h>

/* Sets the name that starts every line: a static string, set once at start. Default "offloadfs". */
void ofs_log_set_program(const char *name);

/* Sends all further messages to syslog. */
void ofs_log_use_syslog(void);

/*
 * Logs a message at a syslog level: LOG_ERR, LOG_WARNING, or, only if verbose, LOG_INFO and
 * LOG_DEBUG. Secrets are redacted and control characters made visible. Keeps errno.
 */
void ofs_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void ofs_log_set_verbose(int on);
