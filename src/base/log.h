/* SPDX-License-Identifier: MIT */
/* One line a message, to standard error or, once the daemon has left its terminal, to syslog. */
#pragma once

#include <syslog.h>

/* The name that opens every line; static storage, set once at start. Default "offloadfs". */
void ofs_log_set_program(const char *name);

/* From here on messages go to syslog. */
void ofs_log_use_syslog(void);

/* `level` is a syslog level: LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG (dropped unless verbose). */
void ofs_log(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void ofs_log_set_verbose(int on);
