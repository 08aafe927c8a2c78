/* SPDX-License-Identifier: MIT */
/*
 * Settings of the context engine: numbers with defaults, and rules for tools. They are read from
 * the user's own file ($XDG_CONFIG_HOME/offloadfs/context.ini) and from STORE/context.ini, with
 * sections [reduce], [compact], [context] and [tool NAME]. The summarizer's command is taken only
 * from the user's file, as a store may have been made by somebody else.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"
#include "io/ini.h"

/* When the output of a tool is offloaded. */
enum ofs_offload_when {
	OFS_OFFLOAD_BY_RULE, /* as the tool's rule decides */
	OFS_OFFLOAD_ALWAYS,
	OFS_OFFLOAD_NEVER,
	OFS_OFFLOAD_OVER, /* if it is longer than a size in bytes */
};

/* A section [tool NAME]. */
struct ofs_tool_setting {
	char *name; /* matched as loosely as the names of the rules */
	char *like; /* name of a tool whose rule is used; NULL: by `name` */
	char *category; /* category of what is offloaded; NULL: the rule's */
	/* Template with {args.NAME}, {size}, {lines}, ...; NULL: the rule's text. */
	char *observation;
	char *summary; /* template of the line in a compacted history; NULL: the rule's */
	enum ofs_offload_when when;
	uint64_t over; /* in bytes, for OFS_OFFLOAD_OVER */
};

struct ofs_settings {
	/* [reduce]: output that exceeds its limit is offloaded */
	uint64_t max_bytes; /* 2048; for a tool without a rule */
	uint64_t max_lines; /* 50; for a tool without a rule */
	uint64_t read_bytes; /* for fs:read_file: 1024 */
	uint64_t list_items; /* for fs:list_dir: 10 */
	uint64_t search_results; /* for web:search: 5; 0: always */
	uint64_t shell_chars; /* for system:shell: 500 */

	/* [compact] */
	uint64_t keep; /* steps that stay in full: 3 */
	uint64_t steps; /* a history of more steps is compacted: 5 */
	uint64_t tokens; /* so is one of more tokens: 2000 */
	uint64_t budget; /* tokens of the compacted section: 500 */

	/* [context] */
	uint64_t max_total_tokens; /* limit of a whole prompt: 20000 */
	uint64_t max_tool_message_tokens; /* limit for a result; 0: wherever a pointer pays */
	uint64_t group_token_threshold; /* input of a summarizer at a time; 0: all at once */
	uint64_t snapshot_tokens; /* size of a summary: 1500 */
	uint64_t summarizer_timeout_s; /* time limit of a summarizer: 60 */
	char *summarizer; /* command or "endpoint"; NULL: summaries are made by rule */
	char ttl[24]; /* lifetime of results offloaded from chats, as in the attribute: "30d" */

	struct ofs_tool_setting *tools; /* in the order of the file */
	size_t n_tools;
};

/* The sections and keys of a settings file. */
extern const struct ofs_ini_table ofs_settings_table;

/* Sets the defaults. */
void ofs_settings_init(struct ofs_settings *s);
void ofs_settings_finish(struct ofs_settings *s);

/*
 * Adds the user's own file and then that of the store, as far as they exist. A store that
 * ofs_trust_open_store() refuses is skipped. Every error has a message. -EINVAL: a file is wrong
 * and was not applied; `err` says "PATH:LINE: what is wrong, and what would be right".
 */
int ofs_settings_load(struct ofs_settings *s, const char *store, struct ofs_error *err);

/*
 * Adds one file, found as by ofs_ini_load(). `of_store`: it is a store's file, not the user's own.
 * Returns -ENOENT if there is none.
 */
int ofs_settings_load_file(struct ofs_settings *s, int dirfd, const char *path, bool of_store,
			   struct ofs_error *err);
