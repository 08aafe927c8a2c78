/* SPDX-License-Identifier: MIT */
/*
 * A command of the tool. Each has a file cmd_<name>.c that defines its ofs_cmd_<name> (two that
 * differ in a word share one); to add one, list it in main.c. Its options are a table, from which
 * they are parsed into static variables, before it runs, and --help is written. They may stand in
 * any place; "--" ends them.
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
		OFS_OPTION_SET, /* int: it becomes `number` */
		OFS_OPTION_TEXT, /* const char *: borrowed from argv */
		OFS_OPTION_LIST, /* struct ofs_option_list: it may be given more than once */
		OFS_OPTION_COUNT, /* uint64_t: digits, up to `number` */
		OFS_OPTION_CHOICE, /* int: the place of one of `words` */
		OFS_OPTION_JSON,
		OFS_OPTION_NO_REDACT,
		OFS_OPTION_HELP,
	} kind;
	void *to;
	char letter; /* 0: none */
	const char *name;
	const char *value; /* in the help: "N"; NULL for those without a value */
	const char *text; /* in the help, of one line or several */
	uint64_t number;
	const char *noun; /* "tokens" of a count, "mode" of a choice */
	const char *const *words; /* up to NULL */
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

/* A count that was not given, where 0 means something. */
#define OFS_COUNT_NONE UINT64_MAX

#define OFS_OPERANDS_ANY INT_MAX

#define OFS_OPTIONS_MAX 32 /* of one command */

struct ofs_command {
	const char *name;
	/*
	 * What follows the name: words in lower case are typed as they are; those in capitals are
	 * placeholders, which say what is completed there (candidates.h), as `value` of an option
	 * does. Forms are parted by " | " or a further line.
	 */
	const char *synopsis;
	const char *summary; /* one line */
	const char *help; /* paragraphs before the options, each line ended; NULL: none */
	const char *notes; /* the same after them */
	const struct ofs_option *options; /* beside those that every command takes; NULL: none */
	const char *json; /* the text of its option --json; NULL: it has none */
	const char *unknown; /* said after "unknown option '-x'"; NULL: nothing */
	int operands; /* at most */
	const char *missing; /* said when there is no operand; NULL: it needs none */
	const char *unexpected; /* said after "unexpected argument 'x'"; NULL: nothing */
	bool wraps; /* the operands are a command, so options end with the first of them */
	bool parses; /* `run` gets all arguments, argv[0] is the name, and parses them */
	bool hidden; /* for programs: no help, page or completion tells of it */
	bool no_content; /* it shows none, so it runs although the rules for secrets are wrong */
	const void *data; /* its own */
	/* Gets the operands. Returns an exit code. */
	int (*run)(const struct ofs_command *self, int argc, char **argv);
};

/* The values of the options that every command takes, and of --json. */
extern struct ofs_target_options ofs_command_target;
extern bool ofs_command_json;

/*
 * Takes the options out of the arguments (argv[0] is the command's name) and checks the number of
 * operands, which *argc and *argv are then. -1: go on; else an exit code, after --help or a
 * reported error.
 */
int ofs_command_parse(const struct ofs_command *self, int *argc, char ***argv);

void ofs_command_print_help(const struct ofs_command *self);

/* All options of a command, those that every command takes last. Returns how many there are. */
size_t ofs_command_options(const struct ofs_command *self,
			   const struct ofs_option *ret[OFS_OPTIONS_MAX]);

/* What the help says of one of them. */
const char *ofs_command_option_text(const struct ofs_command *self, const struct ofs_option *o);

/* Checks that not both an operand and an option name a tree. -1, or the exit code. */
int ofs_command_check_place(int argc, char *const argv[]);

/*
 * Where no option named a task, *task becomes the default, as of ofs_naming_task(); for what a
 * session's agent stores, `session`. -1, or the exit code.
 */
int ofs_command_default_task(const char **task, bool session);

/* Checks names that options gave, NULL for none. -1: they are good; else the exit code. */
int ofs_command_check_names(const char *category, const char *task, const char *file);
