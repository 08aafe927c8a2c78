/* SPDX-License-Identifier: MIT */
/* The user's own rules for secrets: $XDG_CONFIG_HOME/offloadfs/redact.toml, in gitleaks' form. */
#pragma once

#include <offloadfs/error.h>

/*
 * Adds the rules of the file, if there is one, to those of base/redact.h; at start, before any
 * thread exists. -EPERM: the file is not the user's own; -EINVAL: something in it is wrong; another
 * -errno: it cannot be read. All are said in `err`.
 */
int ofs_redact_file_load(struct ofs_error *err);
