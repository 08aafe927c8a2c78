/* SPDX-License-Identifier: MIT */
/*
 * Agents that run `offload hook NAME` after they used a tool. What differs between them (the form
 * of events and answers, their tools, their settings) is in a struct ofs_agent; ofs_hook_answer()
 * decides for all of them what the answer is.
 *
 * To add an agent, define its struct in a file src/agent/NAME.c, and list it in the table of
 * src/agent/agent.c.
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

/* The form of the answer to an OFS_HOOK_POST. */
enum ofs_hook_form {
	OFS_HOOK_TEXT, /* the pointer as a string */
	OFS_HOOK_TOOL, /* the tool's own response, with its text replaced by the pointer */
};

/* An event. Strings are allocated, NULL if the event lacks them; spans point into its text. */
struct ofs_hook_event {
	enum ofs_hook_kind kind;
	char *tool;
	char *session;
	char *cwd;
	char *saved_in; /* the folder where the agent saves outputs of this session */
	struct ofs_span root; /* the whole event */
	struct ofs_span input; /* that of the tool */
	struct ofs_span response;
	char *category; /* category of the tool's output */
	char *title; /* of the pointer: the command, the path, the query, ... */
	bool failed; /* the tool failed; its result cannot be replaced, only added to */
	int exit_code; /* that of a command that failed; -1: none */
	bool kept; /* the result is short, or the agent itself needs it */
	bool reads_file; /* it reads a file on disk, whose lines an agent needs for editing */
	bool delegates; /* it asks another agent, whose answer is new text in any case */
};

void ofs_hook_event_finish(struct ofs_hook_event *e);

/* The text of a tool's response, which a pointer can replace. */
struct ofs_hook_text {
	struct ofs_buf inline_text; /* as in the response */
	struct ofs_spool spool; /* the whole text; may borrow `inline_text` */
	bool saved_elsewhere; /* the agent found it too long, and saved it in a file */
	int shape; /* how the response holds it, for the agent's own functions */
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
	OFS_AGENT_PROJECT, /* shared settings of the workspace */
	OFS_AGENT_LOCAL, /* the user's own settings in the workspace */
	OFS_AGENT_USER,
};

struct ofs_agent {
	const char *name; /* as in `offload hook NAME` */
	const char *title; /* for people */
	const char *minimal_version; /* the first one that supports our answers */
	const char *project_variable; /* environment variable: the project's folder; NULL: none */
	const char *program; /* run with --version to learn the version; NULL: none */
	const struct ofs_agent_entry *entries;
	size_t n_entries;

	/* Reads an event. `text` must outlive it. Returns 0, or -EINVAL with a reason in `err`. */
	int (*read_event)(const char *text, size_t len, struct ofs_error *err,
			  struct ofs_hook_event *ret);
	/*
	 * Finds the text of e->response. Returns 1; 0 if it has none that a pointer could replace,
	 * such as for an image; or -errno with the reason in `err`.
	 */
	int (*find_text)(const struct ofs_hook_event *e, enum ofs_hook_form form,
			 struct ofs_error *err, struct ofs_hook_text *ret);
	/* Appends the answer that replaces the text by the pointer. */
	void (*write_pointer)(const struct ofs_hook_event *e, enum ofs_hook_form form,
			      const struct ofs_hook_text *t, const char *pointer,
			      struct ofs_buf *out);
	bool takes_form; /* supports OFS_HOOK_TOOL */
	/*
	 * Returns the content of our own file that makes the agent run `command`, allocated. NULL:
	 * entries in its settings do that.
	 */
	char *(*plugin)(const char *command);
	const char *allow; /* rules that let the model read back without asking; NULL: not needed */
	const char *todo; /* what the user has to do after the installation; NULL: nothing */

	/* Location of the settings or the plugin: `file` in a folder of the workspace or user. */
	const char *folder;
	const char *user_folder; /* relative to $HOME */
	const char *user_variable; /* environment variable that overrides it; NULL: none */
	const char *file;
	const char *local_file; /* the user's own settings in the workspace; NULL: none */
};

/*
 * Sets *ret to the path of an agent's settings, allocated. Returns 0, or -errno with a reason in
 * `err`.
 */
int ofs_agent_settings_path(const struct ofs_agent *agent, enum ofs_agent_place place,
			    struct ofs_error *err, char **ret);

/* Returns the agent with that name, or NULL. */
const struct ofs_agent *ofs_agent_find(const char *name);

/* Returns an agent by its index in the table, or NULL after the last one. */
const struct ofs_agent *ofs_agent_number(size_t number);

/*
 * Returns whether the installed agent is older than its minimal version; then sets *ret_version to
 * the installed version, allocated. Waits up to five seconds for the agent.
 */
bool ofs_agent_is_too_old(const struct ofs_agent *agent, char **ret_version);

/* Bytes of JSON; no pointer pays for an output of this length or less, whatever the limits are. */
#define OFS_HOOK_SHORT 1024

/*
 * Returns whether the input of the call mentions offload. Then even a short output may have been
 * read back, which the ledger counts.
 */
bool ofs_hook_may_read_back(const struct ofs_hook_event *e);

/* All strings are borrowed. */
struct ofs_hook_options {
	const char *task; /* already checked; NULL: the session's task, or the default */
	const char *ttl; /* lifetime of what is stored; NULL: the category's */
	uint64_t max_bytes; /* longer output is offloaded if that pays */
	uint64_t read_bytes; /* the same for a file that was read */
	bool given; /* a limit was given explicitly: a pointer only has to be shorter */
	enum ofs_hook_form form;
};

/*
 * Appends the answer to `ret`, or nothing if all stays as it is. Pointers are relative to the
 * current directory, which should be that of the event. Returns 0, or -errno with the reason in
 * `err` if something could not be stored or read; then `ret` is unchanged.
 */
int ofs_hook_answer(const struct ofs_agent *agent, const struct ofs_hook_event *e,
		    const struct ofs_hook_options *options, struct ofs_access *access,
		    struct ofs_error *err, struct ofs_buf *ret);
