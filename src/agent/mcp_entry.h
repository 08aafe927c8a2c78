/* SPDX-License-Identifier: MIT */
/*
 * The entry that makes an agent run our server of the Model Context Protocol, in that agent's
 * settings: an object of a JSON file or a table of a TOML file.
 */
#pragma once

#include "agent/settings_file.h"

/* The name of the server there. */
#define OFS_MCP_ENTRY "offload"

struct ofs_mcp_client {
	const char *name; /* as in `offload mcp install NAME` */
	const char *title;
	const char *file; /* in the workspace */
	const char *user_file; /* in the user's folder: $HOME, or what the variable says */
	const char *home_folder; /* in $HOME, where the variable is not set; NULL: $HOME itself */
	const char *variable; /* NULL: none */
	const char *
		other_file; /* is read in place of `file`, beside it, where it exists; NULL: none */
	const char *list; /* the member with all servers */
	const char *type; /* of the entry; NULL: it has none */
	bool one_list; /* the command and its arguments are one list */
	bool toml;
	const char *todo; /* what its user has to do; NULL: nothing */
};

/* The agents, the first is number 0; NULL after the last one. */
const struct ofs_mcp_client *ofs_mcp_client_number(size_t number);
const struct ofs_mcp_client *ofs_mcp_client_find(const char *name);

/*
 * The file of settings, allocated, of the user or of the workspace of the current directory, which
 * is `ret_workspace`, allocated (NULL: the user's). 0 or -errno with the reason in `err`.
 */
int ofs_mcp_entry_path(const struct ofs_mcp_client *client, bool user, struct ofs_error *err,
		       char **ret, char **ret_workspace);

/*
 * Appends the settings `text` with an entry that runs the NULL-terminated `argv`; all else stays. 1;
 * 0: it had it; -EEXIST: there is a server of that name that is not ours; -EINVAL: the text is
 * nothing that can be edited; with the reason in `err`.
 */
int ofs_mcp_entry_add(const struct ofs_mcp_client *client, const struct ofs_buf *text,
		      const char *const argv[], struct ofs_error *err, struct ofs_buf *out);

/* Appends the settings without it: "" if they had nothing else. 1; 0: there is none; as above. */
int ofs_mcp_entry_remove(const struct ofs_mcp_client *client, const struct ofs_buf *text,
			 struct ofs_error *err, struct ofs_buf *out);
