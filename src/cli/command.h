/* SPDX-License-Identifier: MIT */
/*
 * A command of the tool. Each has a file cmd_<name>.c that defines ofs_cmd_<name> (two that differ
 * in a word share one). main.c lists all commands. A table holds the options of a command: it is
 * used to parse them into static variables before the command runs, and to print --help. Options
 * may stand anywhere; "--" ends them.
 */
#pragma once

#include <limits.h>

#include "client/target.h"

#define OFS_OPTION_LIST_MAX 16

struct ofs_option_list {
	const char *at[OFS_OPTION_LIST_MAX]; /* borrowed from argv */
	size_t n;
};

struct ofs_option {
	enum {
		OFS_OPTION_END,
		OFS_OPTION_FLAG, /* bool */
		OFS_OPTION_SET, /* int: set to `number` */
		OFS_OPTION_TEXT, /* const char *: borrowed from argv */
		OFS_OPTION_LIST, /* struct ofs_option_list: may be given more than once */
		OFS_OPTION_COUNT, /* uint64_t: digits, at most `number` */
		OFS_OPTION_CHOICE, /* int: index in `words` */
		OFS_OPTION_JSON,
		OFS_OPTION_NO_REDACT,
		OFS_OPTION_HELP,
	} kind;
	void *to;
	char letter; /* 0: none */
	const char *name;
	const char *value; /* in the help: "N"; NULL: it takes no value */
	const char *text; /* in the help, one or more lines */
	uint64_t number;
	const char *noun; /* for messages: "tokens" of a count, "mode" of a choice */
	const char *const *words; /* ends with NULL */
};

/* clang-format off */
#define OFS_FLAG(letter, name, to, text) { OFS_OPTION_FLAG, to, letter, name, NULL, text }
#define OFS_SET(name, to, number, text) { OFS_OPTION_SET, to, 0, name, NULL, text, number }
#define OFS_TEXT(letter, name, value, to, text) { OFS_OPTION_TEXT, to, letter, name, value, text }
#define OFS_LIST(letter, name, value, to, text) { OFS_OPTION_LIST, to, letter, name, value, text }
#define OFS_COUNT(letter, name, value, to, noun, max, text) \
	{ OFS_OPTION_COUNT, to, letter, name, value, text, max, noun }
#define OFS_CHOICE(letter, name, value, to, noun, words, text) \
	{ OFS_OPTION_CHOICE, to, letter, name, value, text, 0, noun, words }
#define OFS_OPTIONS_END { OFS_OPTION_END }
/* clang-format on */

/* A count that was not given, where 0 has a meaning. */
#define OFS_COUNT_NONE UINT64_MAX

#define OFS_OPERANDS_ANY INT_MAX

#define OFS_OPTIONS_MAX 32 /* per command */

struct ofs_command {
	const char *name;
	/*
	 * The text after the name. Words in lower case are typed as they are. Words in capitals are
	 * placeholders: like the `value` of an option, they say what is completed there
	 * (candidates.h). Forms are separated by " | " or a new line.
	 */
	const char *synopsis;
	const char *summary; /* one line */
	const char *help; /* paragraphs before the options, in whole lines; NULL: none */
	const char *notes; /* the same, after the options */
	const struct ofs_option *options; /* besides those that every command takes; NULL: none */
	const char *json; /* text of its option --json; NULL: it has none */
	const char *unknown; /* follows "unknown option '-x'"; NULL: nothing */
	int operands; /* at most */
	const char *missing; /* message if there is no operand; NULL: it needs none */
	const char *unexpected; /* follows "unexpected argument 'x'"; NULL: nothing */
	bool wraps; /* the operands are a command, so the first of them ends the options */
	bool parses; /* `run` gets all arguments, with the name as argv[0], and parses them */
	bool hidden; /* for programs: not in help, manual or completion */
	bool no_content; /* shows no content, so it runs even if the rules for secrets are wrong */
	const void *data; /* for `run` */
	/* Gets the operands. Returns an exit code. */
	int (*run)(const struct ofs_command *self, int argc, char **argv);
};

/* The values of the options that every command takes, and of --json. */
extern struct ofs_target_options ofs_command_target;
extern bool ofs_command_json;

/*
 * Removes the options from the arguments (argv[0] is the command's name) and checks the number of
 * operands, which *argc and *argv then describe. Returns -1, or an exit code after --help or a
 * reported error.
 */
int ofs_command_parse(const struct ofs_command *self, int *argc, char ***argv);

void ofs_command_print_help(const struct ofs_command *self);

/* Lists the options of a command, the ones that all commands take last. Returns their number. */
size_t ofs_command_options(const struct ofs_command *self,
			   const struct ofs_option *ret[OFS_OPTIONS_MAX]);

/* Returns what the help says about an option of the command. */
const char *ofs_command_option_text(const struct ofs_command *self, const struct ofs_option *o);

/* Checks that an operand and an option do not both name a tree. Returns -1, or an exit code. */
int ofs_command_check_place(int argc, char *const argv[]);

/*
 * Sets *task to the default of ofs_naming_task() if no option named a task. `session`: the session
 * of the agent counts, as for what is stored. Returns -1, or an exit code.
 */
int ofs_command_default_task(const char **task, bool session);

/* Checks names from options, NULL where none was given. Returns -1, or an exit code. */
int ofs_command_check_names(const char *category, const char *task, const char *file);
