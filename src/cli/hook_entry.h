/* SPDX-License-Identifier: MIT */
/*
 * The entries of `offload hook` in a settings file of Claude Code, as text in and text out: all that
 * is not ours stays byte for byte.
 *
 *   {"hooks": {"PostToolUse": [{"matcher": "...", "hooks": [{"type": "command", "command": "..."}]}]}}
 */
#ifndef OFS_CLI_HOOK_ENTRY_H
#define OFS_CLI_HOOK_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_hook_entry {
	const char *event; /* "PostToolUse" */
	const char *matcher; /* a regular expression for the names of tools */
	const char *command;
};

/* Whether a command is `offload hook claude-code`, whatever the path and the options. */
bool ofs_hook_entry_is_ours(const char *command);

/*
 * Adds an entry to the settings (an empty text: there are none yet), or gives the one that is ours this
 * command. Returns 1 and the new text in `ret`, which is emptied first; 0: it is there already, and `ret`
 * has the text as it was; -EINVAL: the settings are not what Claude Code could read.
 */
int ofs_hook_entry_add(const char *text, size_t len, const struct ofs_hook_entry *entry,
		       struct ofs_error *err, struct ofs_buf *ret);

/* Takes all of ours out again, with the lists that are empty then; the same returns. */
int ofs_hook_entry_remove(const char *text, size_t len, struct ofs_error *err, struct ofs_buf *ret);

#endif
