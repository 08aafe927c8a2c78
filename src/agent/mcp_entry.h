/* SPDX-License-Identifier: MIT */
/*
 * The entry in an agent's settings that makes it run our server of the Model Context Protocol: an
 * object in a JSON file, or a table in a TOML file.
 */
#pragma once

#include "agent/settings_file.h"

/* The name of our server in the settings. */
#define OFS_MCP_ENTRY "offload"

struct ofs_mcp_client {
	const char *name; /* as in `offload mcp install NAME` */
	const char *title;
	const char *file; /* relative to the workspace */
	const char *user_file; /* relative to the user's folder, which the variable sets */
	const char *home_folder; /* that folder in $HOME, if the variable is unset; NULL: $HOME */
	const char *variable; /* environment variable; NULL: none */
	const char *other_file; /* used in place of `file`, beside it, if it exists; NULL: none */
	const char *list; /* the member that holds all servers */
	const char *type; /* `type` of the entry; NULL: not needed */
	bool one_list; /* command and arguments form one list */
	bool toml;
	const char *todo; /* what the user has to do; NULL: nothing */
};

/* Returns an agent by its index, or NULL after the last one. */
const struct ofs_mcp_client *ofs_mcp_client_number(size_t number);
const struct ofs_mcp_client *ofs_mcp_client_find(const char *name);

/*
 * Returns the path of the settings, allocated, in *ret: the user's, or those of the workspace
 * around the current directory, which *ret_workspace is set to, allocated (for the user's: NULL).
 * Returns 0, or -errno with the reason in `err`.
 */
int ofs_mcp_entry_path(const struct ofs_mcp_client *client, bool user, struct ofs_error *err,
		       char **ret, char **ret_workspace);

/*
 * Appends the settings `text` with an entry that runs `argv` (ended by NULL); all else stays.
 * Returns 1; 0 if the entry was there; or, with the reason in `err`, -EEXIST if another program's
 * server has that name, or -EINVAL if the text cannot be edited.
 */
int ofs_mcp_entry_add(const struct ofs_mcp_client *client, const struct ofs_buf *text,
		      const char *const argv[], struct ofs_error *err, struct ofs_buf *out);

/*
 * Appends the settings without the entry, or nothing if that was all. Returns 1, 0 if there is
 * none, or errors as above.
 */
int ofs_mcp_entry_remove(const struct ofs_mcp_client *client, const struct ofs_buf *text,
			 struct ofs_error *err, struct ofs_buf *out);
