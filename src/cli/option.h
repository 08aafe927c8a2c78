/* SPDX-License-Identifier: MIT */
/*
 * The options of commands: a table in each command's run function, from which they are parsed and
 * its --help is written. They may stand in any place; "--" ends them.
 */
#ifndef OFS_CLI_OPTION_H
#define OFS_CLI_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "client/target.h"

struct ofs_option {
	enum {
		OFS_OPTION_END,
		OFS_OPTION_FLAG, /* bool */
		OFS_OPTION_SET, /* int: it becomes `number` */
		OFS_OPTION_TEXT, /* const char *: borrowed from argv */
		OFS_OPTION_COUNT, /* uint64_t: digits, from `min` to `max` */
		OFS_OPTION_CHOICE, /* int: the place of one of `words` */
		OFS_OPTION_TARGET, /* struct ofs_target_options: those that every command takes */
	} kind;
	void *to;
	char letter; /* 0: none */
	const char *name;
	const char *value; /* in the help: "N"; NULL for those without a value */
	const char *text; /* in the help, of one line or several; NULL: it stands with the next */
	const char *noun; /* "tokens" of a count, "mode" of a choice */
	uint64_t min, max;
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
#define OFS_TARGET(to_)                                \
	{                                              \
		.kind = OFS_OPTION_TARGET, .to = (to_) \
	}
#define OFS_END                        \
	{                              \
		.kind = OFS_OPTION_END \
	}

/* A count that was not given, where 0 means something. */
#define OFS_COUNT_NONE UINT64_MAX

/*
 * Takes the options out of the arguments (argv[0] is the command's name): *argc and *argv are then
 * the operands. -1: go on; else an exit code, after --help or a reported error.
 */
int ofs_options_parse(const struct ofs_command *self, const struct ofs_option options[], int *argc,
		      char ***argv);

#endif
