/* SPDX-License-Identifier: MIT */
/*
 * An agent's settings: a JSON file, in which our entries are added and removed. Members keep their
 * order and the file its indentation; it is replaced as a whole or not at all.
 *
 *   {"hooks": {"PostToolUse": [{"matcher": "...",
 *                              "hooks": [{"type": "command", "command": "..."}]}]}}
 */
#pragma once

#include "agent/agent.h"

struct ofs_settings_file {
	char *path; /* what it is a link to, where it is one */
	struct stat st; /* when it was read; st_ino is 0 when there was none */
	struct ofs_buf text;
	json_t *json;
	const char *whole; /* borrowed: what is to be written in place of `json`; NULL: that */
};

/* Reads the text, whatever it is. -errno, with the reason in `err`. */
int ofs_settings_file_load(const char *path, struct ofs_error *err, struct ofs_settings_file *ret);

/* -EINVAL: it is not what the agent could read; or -errno; with the reason in `err`. */
int ofs_settings_file_read(const char *path, struct ofs_error *err, struct ofs_settings_file *ret);
void ofs_settings_file_finish(struct ofs_settings_file *s);

/* The same for a text, which may be empty. */
int ofs_settings_file_parse(const char *text, size_t len, struct ofs_error *err,
			    struct ofs_settings_file *ret);

/*
 * Adds an entry that runs `command`, or gives the one of the event that is ours this command. 1:
 * the settings are changed; 0: they had it; -EINVAL: there is something else in its place.
 */
int ofs_settings_file_add(struct ofs_settings_file *s, const struct ofs_agent *agent,
			  const struct ofs_agent_entry *entry, const char *command,
			  struct ofs_error *err);

/* Removes entries of ours for events that are not among the agent's. True when there was one. */
bool ofs_settings_file_prune(struct ofs_settings_file *s, const struct ofs_agent *agent);

/* Removes all entries of ours, and the lists that are empty then. True when there was one. */
bool ofs_settings_file_remove(struct ofs_settings_file *s, const struct ofs_agent *agent);

/* The settings as text, allocated, in the form of the text that was read. */
char *ofs_settings_file_format(const struct ofs_settings_file *s);

/* Replaces the file. -ESTALE: it was changed since it was read; or -errno. */
int ofs_settings_file_write(const struct ofs_settings_file *s);

/*
 * Removes the file and, with `folder_too`, its folder if that is empty then. -ESTALE as above; or
 * -errno.
 */
int ofs_settings_file_delete(const struct ofs_settings_file *s, bool folder_too);

/* Whether a command is `offload hook NAME` for that agent, whatever the path and the options. */
bool ofs_settings_file_is_ours(const char *command, const struct ofs_agent *agent);
