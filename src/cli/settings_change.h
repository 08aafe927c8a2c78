/* SPDX-License-Identifier: MIT */
/* Changes of agents' settings, which their users are asked about. */
#pragma once

#include "agent/settings_file.h"

/* Allocated: how an agent starts this program: by its name if PATH leads to it, else its path. */
char *ofs_settings_program(void);

/*
 * Settings in a workspace (NULL: they are the user's) lie in it: the agent's folder there, or the
 * file, may be a link that somebody left to have another file changed. 0 or -EXDEV.
 */
int ofs_settings_check_place(const char *path, const char *workspace, struct ofs_error *err);

enum ofs_settings_change {
	OFS_SETTINGS_WRITE,
	OFS_SETTINGS_REMOVE, /* the file */
	OFS_SETTINGS_REMOVE_ALL, /* and its folder, if that is empty then */
};

/* Asks first, unless `yes`, then does it and says so. An exit code. */
int ofs_settings_change(const struct ofs_settings_file *s, enum ofs_settings_change change,
			bool yes);
