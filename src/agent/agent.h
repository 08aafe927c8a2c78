/* SPDX-License-Identifier: MIT */
/*
 * Agents that run `offload hook NAME` after they used a tool. What differs between them
 * (the form of events and answers, their tools, their settings) is a struct ofs_agent; what an
 * answer says is decided once, in ofs_hook_answer().
 *
 * An agent is added by one file, src/agent/NAME.c, that defines its struct, and one line in the
 * table of src/agent/agent.c.
 */
#pragma once

#include "base/util.h"
#include "client/access.h"
#include "client/spool.h"
#include "context/json/span.h"

enum ofs_hook_kind {
	OFS_HOOK_OTHER, /* an event that needs no answer */
	OFS_HOOK_POST, /* a tool was used, or failed */
};

/* The form of the answer to OFS_HOOK_POST. */
enum ofs_hook_form {
	OFS_HOOK_TEXT, /* the pointer as a string */
	OFS_HOOK_TOOL, /* the tool's own response, with the pointer in place of its text */
};

/* Strings are allocated, and NULL where the event has none; spans lie in the event's text. */
struct ofs_hook_event {
	enum ofs_hook_kind kind;
	char *tool;
	char *session;
	char *cwd;
	char *saved_in; /* the folder in which the agent saves outputs of this session */
	struct ofs_span root; /* all of the event */
	struct ofs_span input; /* of the tool */
	struct ofs_span response;
	char *category; /* for the tool's output */
	char *title; /* of the pointer: the command, the path, the query, ... */
	bool failed; /* the tool did, and its result can only be added to */
	int exit_code; /* of a command that failed; -1: there is none */
	bool kept; /* the agent must have the result itself, or it is short */
	bool reads_file; /* it reads a file on disk, whose lines an agent needs to edit it */
	bool delegates; /* it asks another agent, whose answer is a new text whatever it was told */
};

void ofs_hook_event_finish(struct ofs_hook_event *e);

/* The text of a tool's response that a pointer can stand for. */
struct ofs_hook_text {
	struct ofs_buf inline_text; /* as the response has it */
	struct ofs_spool spool; /* the whole; it may borrow `inline_text` */
	bool saved_elsewhere; /* the agent found it too long and had put it into a file */
	int shape; /* the agent's own: how the response holds it */
};

#define OFS_HOOK_TEXT_INIT              \
	{                               \
		.spool = OFS_SPOOL_INIT \
	}

void ofs_hook_text_finish(struct ofs_hook_text *t);

/* An entry in an agent's settings that makes it run the hook. */
struct ofs_agent_entry {
	const char *event;
	const char *matcher; /* a regular expression for the names of tools */
};

enum ofs_agent_place {
	OFS_AGENT_PROJECT, /* settings of the workspace that are shared */
	OFS_AGENT_LOCAL, /* settings of the workspace that are one's own */
	OFS_AGENT_USER,
};

struct ofs_agent {
	const char *name; /* as in `offload hook NAME` */
	const char *title; /* what people call it */
	const char *minimal_version; /* the first that takes our answers */
	const char *project_variable; /* of the environment: the project's folder; NULL: none */
	const char *program; /* that tells its version when asked; NULL: none */
	const struct ofs_agent_entry *entries;
	size_t n_entries;

	/* Reads an event; `text` must stay while it is used. -EINVAL with the reason in `err`. */
	int (*read_event)(const char *text, size_t len, struct ofs_error *err,
			  struct ofs_hook_event *ret);
	/*
	 * Finds the text of e->response. 1; 0: there is none that a pointer could stand for, such
	 * as an image; or -errno with the reason in `err`.
	 */
	int (*find_text)(const struct ofs_hook_event *e, enum ofs_hook_form form,
			 struct ofs_error *err, struct ofs_hook_text *ret);
	/* Appends the answer that replaces the text by the pointer. */
	void (*write_pointer)(const struct ofs_hook_event *e, enum ofs_hook_form form,
			      const struct ofs_hook_text *t, const char *pointer,
			      struct ofs_buf *out);
	bool takes_form; /* it wants OFS_HOOK_TOOL */
	/*
	 * The text of a file of our own that makes the agent run `command`, allocated. NULL: there
	 * are entries in settings.
	 */
	char *(*plugin)(const char *command);
	const char *allow; /* rules that let its model read back unasked; NULL: none are needed */
	const char *todo; /* what its user has to do once it is installed; NULL: nothing */

	/* Where settings, or the plugin, are: in a folder of the workspace, or of the user. */
	const char *folder;
	const char *user_folder; /* in $HOME */
	const char *user_variable; /* of the environment: another one; NULL: none */
	const char *file;
	const char *local_file; /* of the workspace, one's own; NULL: there is none */
};

/* The path of an agent's settings, allocated. 0 or -errno with the reason in `err`. */
int ofs_agent_settings_path(const struct ofs_agent *agent, enum ofs_agent_place place,
			    struct ofs_error *err, char **ret);

/* The agent of that name; NULL: none. */
const struct ofs_agent *ofs_agent_find(const char *name);

/* The agents in the order of the table, the first is number 0; NULL after the last one. */
const struct ofs_agent *ofs_agent_number(size_t number);

/*
 * True if the agent that is installed is older than its minimal version; then `ret_version`,
 * allocated, is what it is. Waits for it for five seconds at most.
 */
bool ofs_agent_is_too_old(const struct ofs_agent *agent, char **ret_version);

/* No pointer is worth it for an output whose JSON is no longer, whatever the limits are. */
#define OFS_HOOK_SHORT 1024

/*
 * True if the call names offload. Then even a short output can be something that was read back,
 * which the ledger counts.
 */
bool ofs_hook_may_read_back(const struct ofs_hook_event *e);

/* All strings borrowed. */
struct ofs_hook_options {
	const char *task; /* of what is stored, checked; NULL: the session's, or the default */
	const char *ttl; /* of what is stored; NULL: the category's */
	uint64_t max_bytes; /* output over this is offloaded where that pays */
	uint64_t read_bytes; /* a file that was read, over this */
	bool given; /* such a limit was: then a pointer has only to be shorter */
	enum ofs_hook_form form;
};

/*
 * Appends the answer to `ret`, or nothing where all stays as it is. The current directory must be
 * that of the event, as far as it can be: pointers are relative to it. 0; or -errno with the reason
 * in `err`: something could not be stored or taken in, and `ret` is as it was.
 */
int ofs_hook_answer(const struct ofs_agent *agent, const struct ofs_hook_event *e,
		    const struct ofs_hook_options *options, struct ofs_access *access,
		    struct ofs_error *err, struct ofs_buf *ret);
