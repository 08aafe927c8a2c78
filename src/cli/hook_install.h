/* SPDX-License-Identifier: MIT */
/* Putting the hooks into a settings file of Claude Code, and taking them out again. */
#ifndef OFS_CLI_HOOK_INSTALL_H
#define OFS_CLI_HOOK_INSTALL_H

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "cli/hook_entry.h"

enum ofs_hook_place {
	OFS_HOOK_PROJECT, /* WORKSPACE/.claude/settings.json */
	OFS_HOOK_LOCAL, /* WORKSPACE/.claude/settings.local.json */
	OFS_HOOK_USER, /* ${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json */
};

/* The path of the settings, allocated in `ret`; what it is a link to, where it is one. 0 or -errno. */
int ofs_hook_settings_path(enum ofs_hook_place place, struct ofs_error *err, char **ret);

/*
 * Each shows what it would change and asks on the terminal, unless `yes`; returns an exit code of
 * cli/report.h and has reported. The file is replaced as a whole or not at all.
 */
int ofs_hook_install(const char *path, const struct ofs_hook_entry *entries, size_t n, bool yes);
int ofs_hook_uninstall(const char *path, bool yes);

#endif
