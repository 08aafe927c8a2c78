/* SPDX-License-Identifier: MIT */
/* Changes the settings of agents, after asking the user. */
#pragma once

#include "agent/settings_file.h"

/*
 * Returns how an agent starts this program: by name if PATH leads to it, else by path. Allocated.
 */
char *ofs_settings_program(void);

/*
 * Checks that settings in a workspace (NULL: they are the user's) really lie in it. Somebody may
 * have left a link there to have another file changed. 0, or -EXDEV with a message.
 */
int ofs_settings_check_place(const char *path, const char *workspace, struct ofs_error *err);

enum ofs_settings_change {
	OFS_SETTINGS_WRITE,
	OFS_SETTINGS_REMOVE, /* the file */
	OFS_SETTINGS_REMOVE_ALL, /* and its folder, if that is empty afterwards */
};

/* Asks first, unless `yes`, then makes the change and reports it. Returns an exit code. */
int ofs_settings_change(const struct ofs_settings_file *s, enum ofs_settings_change change,
			bool yes);
