/* SPDX-License-Identifier: MIT */
/*
 * An agent's settings: a JSON file in which our entries are added and removed. The order of members
 * and the indentation stay. The file is replaced atomically.
 *
 *   {"hooks": {"PostToolUse": [{"matcher": "...",
 *                              "hooks": [{"type": "command", "command": "..."}]}]}}
 */
#pragma once

#include "agent/agent.h"

struct ofs_settings_file {
	char *path; /* of the file itself, if the settings are a link to it */
	struct stat st; /* when it was read; st_ino is 0 if it did not exist */
	struct ofs_buf text;
	json_t *json;
	const char *whole; /* borrowed; written in place of `json`; NULL: `json` is written */
};

/* Reads the text only; a missing file is empty. Returns 0, or -errno with the reason in `err`. */
int ofs_settings_file_load(const char *path, struct ofs_error *err, struct ofs_settings_file *ret);

/*
 * Reads and parses the file. Returns 0, -EINVAL if the agent could not read it, or another -errno,
 * with the reason in `err`.
 */
int ofs_settings_file_read(const char *path, struct ofs_error *err, struct ofs_settings_file *ret);
void ofs_settings_file_finish(struct ofs_settings_file *s);

/* Parses a text, which may be empty. Returns 0, or -EINVAL with the reason in `err`. */
int ofs_settings_file_parse(const char *text, size_t len, struct ofs_error *err,
			    struct ofs_settings_file *ret);

/*
 * Sets the command of our entry for an event, or adds that entry. Returns 1 if this changed the
 * settings, 0 if not, or -EINVAL with the reason in `err` if something else is in its place.
 */
int ofs_settings_file_add(struct ofs_settings_file *s, const struct ofs_agent *agent,
			  const struct ofs_agent_entry *entry, const char *command,
			  struct ofs_error *err);

/* Removes our entries for events that the agent's table lacks. Returns whether there were any. */
bool ofs_settings_file_prune(struct ofs_settings_file *s, const struct ofs_agent *agent);

/* Removes all our entries, and lists that become empty. Returns whether there were any. */
bool ofs_settings_file_remove(struct ofs_settings_file *s, const struct ofs_agent *agent);

/* Returns the settings as text, allocated, in the format of the text that was read. */
char *ofs_settings_file_format(const struct ofs_settings_file *s);

/* Replaces the file. Returns 0, -ESTALE if it has changed since it was read, or another -errno. */
int ofs_settings_file_write(const struct ofs_settings_file *s);

/*
 * Removes the file and, with `folder_too`, its folder if that becomes empty. Returns 0, -ESTALE as
 * above, or another -errno.
 */
int ofs_settings_file_delete(const struct ofs_settings_file *s, bool folder_too);

/* Returns whether a command is `offload hook NAME` for that agent, with any path and options. */
bool ofs_settings_file_is_ours(const char *command, const struct ofs_agent *agent);
