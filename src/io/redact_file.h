/* SPDX-License-Identifier: MIT */
/* The user's own redaction rules: $XDG_CONFIG_HOME/offloadfs/redact.toml, in gitleaks' format. */
#pragma once

#include <offloadfs/error.h>

/*
 * Adds the rules of the file, if it exists, to those of base/redact.h. Call it at start, before any
 * thread exists. -EPERM: the file is not the user's own; -EINVAL: it contains an error; another
 * -errno: it cannot be read. All set *err.
 */
int ofs_redact_file_load(struct ofs_error *err);
