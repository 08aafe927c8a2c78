/* SPDX-License-Identifier: MIT */
/*
 * A command of the tool. Each has a file cmd_<name>.c that defines its ofs_cmd_<name> (two that
 * differ in a word share one); to add one, list it in main.c. Its options are a table in its run
 * function, from which they are parsed and --help is written. They may stand in any place; "--"
 * ends them.
 */
#ifndef OFS_CLI_COMMAND_H
#define OFS_CLI_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/target.h"

#define OFS_OPERANDS_ANY INT_MAX

struct ofs_command {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *summary; /* one line */
	const char *help; /* paragraphs before the options in the help, each line ended; may be "" */
	const char *notes; /* the same after them; NULL: none */
	const char *unknown; /* said after "unknown option '-x'"; NULL: nothing */
	int operands; /* at most */
	const char *missing; /* said when there is no operand; NULL: it needs none */
	const char *unexpected; /* said after "unexpected argument 'x'"; NULL: nothing */
	bool wraps; /* the operands are a command, so options end with the first of them */
	/* argv[0] is the name. Returns an exit code. */
	int (*run)(const struct ofs_command *self, int argc, char **argv);
};

struct ofs_option {
	enum {
		OFS_OPTION_HELP, /* the last of each table */
		OFS_OPTION_FLAG, /* bool */
		OFS_OPTION_SET, /* int: it becomes `number` */
		OFS_OPTION_TEXT, /* const char *: borrowed from argv */
		OFS_OPTION_COUNT, /* uint64_t: digits, up to `max` */
		OFS_OPTION_CHOICE, /* int: the place of one of `words` */
		OFS_OPTION_NO_REDACT,
	} kind;
	void *to;
	char letter; /* 0: none */
	const char *name;
	const char *value; /* in the help: "N"; NULL for those without a value */
	const char *text; /* in the help, of one line or several */
	const char *noun; /* "tokens" of a count, "mode" of a choice */
	uint64_t max;
	const char *const *words; /* up to NULL */
	int number;
};

#define OFS_FLAG(letter_, name_, to_, text_)                                                \
	{                                                                                   \
		.kind = OFS_OPTION_FLAG, .to = (to_), .letter = (letter_), .name = (name_), \
		.text = (text_)                                                             \
	}
#define OFS_SET(name_, to_, number_, text_)                                            \
	{                                                                              \
		.kind = OFS_OPTION_SET, .to = (to_), .name = (name_), .text = (text_), \
		.number = (number_)                                                    \
	}
#define OFS_TEXT(letter_, name_, value_, to_, text_)                                        \
	{                                                                                   \
		.kind = OFS_OPTION_TEXT, .to = (to_), .letter = (letter_), .name = (name_), \
		.value = (value_), .text = (text_)                                          \
	}
#define OFS_COUNT(letter_, name_, value_, to_, noun_, max_, text_)                           \
	{                                                                                    \
		.kind = OFS_OPTION_COUNT, .to = (to_), .letter = (letter_), .name = (name_), \
		.value = (value_), .text = (text_), .noun = (noun_), .max = (max_)           \
	}
#define OFS_CHOICE(letter_, name_, value_, to_, noun_, words_, text_)                         \
	{                                                                                     \
		.kind = OFS_OPTION_CHOICE, .to = (to_), .letter = (letter_), .name = (name_), \
		.value = (value_), .text = (text_), .noun = (noun_), .words = (words_)        \
	}

/* Those that every command takes, at the end of the table; `target_`: struct ofs_target_options. */
#define OFS_COMMON(target_)                                                                 \
	OFS_TEXT('d', "dir", "MOUNT", &(target_)->dir,                                      \
		 "the mounted tree to use (default: OFFLOAD_DIR, or the\n"                  \
		 "workspace's .offload)"),                                                  \
		OFS_TEXT(0, "store", "STORE", &(target_)->store,                            \
			 "the store to use (default: OFFLOAD_STORE, or the workspace's)"),  \
		{ .kind = OFS_OPTION_NO_REDACT,                                             \
		  .name = "no-redact",                                                      \
		  .text = "show secrets in previews and messages as they are" },            \
	{                                                                                   \
		.kind = OFS_OPTION_HELP, .letter = 'h', .name = "help", .text = "this text" \
	}

/* A count that was not given, where 0 means something. */
#define OFS_COUNT_NONE UINT64_MAX

/*
 * Takes the options out of the arguments (argv[0] is the command's name) and checks the number of
 * operands, which *argc and *argv are then. -1: go on; else an exit code, after --help or a
 * reported error.
 */
int ofs_command_parse(const struct ofs_command *self, const struct ofs_option options[], int *argc,
		      char ***argv);

/* Checks names that options gave, NULL for none. -1: they are good; else the exit code. */
int ofs_command_check_names(const char *category, const char *task, const char *file);

#endif
