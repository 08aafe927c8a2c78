/* SPDX-License-Identifier: MIT */
/*
 * Settings of the context engine: numbers with defaults, and rules for tools. They come from the
 * user's own file ($XDG_CONFIG_HOME/offloadfs/context.ini) and from STORE/context.ini, which have the
 * sections [reduce], [compact], [context] and [tool NAME]. A command is taken from the first alone:
 * a store may have been made by somebody else.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"
#include "io/ini.h"

/* When the output of a tool is offloaded. */
enum ofs_offload_when {
	OFS_OFFLOAD_BY_RULE, /* as the rule has it */
	OFS_OFFLOAD_ALWAYS,
	OFS_OFFLOAD_NEVER,
	OFS_OFFLOAD_OVER, /* a size in bytes */
};

/* A section [tool NAME]. */
struct ofs_tool_setting {
	char *name; /* matched as loosely as those of the rules */
	char *like; /* a tool whose rule is used; NULL: its own, or that for any other tool */
	char *category; /* of what is offloaded; NULL: as the rule has it */
	/* Template with {args.NAME}, {size}, {lines}, ...; NULL: as the rule has it. */
	char *observation;
	char *summary; /* the same for the line in a compacted history */
	enum ofs_offload_when when;
	uint64_t over;
};

struct ofs_settings {
	/* [reduce]: over either the output of a tool without a rule is offloaded. */
	uint64_t max_bytes; /* 2048 */
	uint64_t max_lines; /* 50 */
	uint64_t read_bytes; /* of fs:read_file: 1024 */
	uint64_t list_items; /* of fs:list_dir: 10 */
	uint64_t search_results; /* of web:search: 5 */
	uint64_t shell_chars; /* of system:shell: 500 */

	/* [compact] */
	uint64_t keep; /* steps that stay in full: 3 */
	uint64_t steps; /* it is compacted when there are more steps: 5 */
	uint64_t tokens; /* or more tokens in them: 2000 */
	uint64_t budget; /* tokens of the section: 500 */

	/* [context] */
	uint64_t max_total_tokens; /* 20000 */
	uint64_t max_tool_message_tokens; /* 0: wherever a pointer pays */
	uint64_t group_token_threshold; /* 0 */
	uint64_t snapshot_tokens; /* of a summary that is made by rule: 1500 */
	uint64_t summarizer_timeout_s; /* 60 */
	char *summarizer; /* command; NULL: none */
	char ttl[24]; /* of results that are offloaded from chats, as the attribute has it: "30d" */

	struct ofs_tool_setting *tools; /* in the order of the file */
	size_t n_tools;
};

/* The sections and keys of such a file. */
extern const struct ofs_ini_table ofs_settings_table;

/* The defaults. */
void ofs_settings_init(struct ofs_settings *s);
void ofs_settings_finish(struct ofs_settings *s);

/*
 * Adds the user's own file, and then that of the store, as far as there are any; not that of a store
 * which ofs_trust_open_store() refuses. -EINVAL: something in one is wrong, and it changed nothing;
 * `err` says "PATH:LINE: what is wrong, and what would be right". Other errors come with a message
 * as well.
 */
int ofs_settings_load(struct ofs_settings *s, const char *store, struct ofs_error *err);

/*
 * Adds one file, found as by ofs_ini_load(); `of_store` as opposed to the user's own. -ENOENT: there
 * is none.
 */
int ofs_settings_load_file(struct ofs_settings *s, int dirfd, const char *path, bool of_store,
			   struct ofs_error *err);
