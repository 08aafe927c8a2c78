/* SPDX-License-Identifier: MIT */
#include "cli/option.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"
#include "base/util.h"
#include "base/word.h"
#include "cli/report.h"

#define OPTIONS_MAX 32 /* of one command */
#define HELP_COLUMN 26
#define LONG_FIRST 256 /* what getopt_long() gives for the first of the table */

/* ---- the common ones */

static void set_redact_off(void *to)
{
	(void)to;
	ofs_redact_set_enabled(false);
}

static const struct {
	const char *name, *value, *text;
	char letter;
	size_t at; /* in struct ofs_target_options */
	void (*set)(void *to); /* of those without a value */
} common[] = {
	{ "dir", "MOUNT",
	  "the mounted tree to use (default: OFFLOAD_DIR, or the\nworkspace's .offload)", 'd',
	  offsetof(struct ofs_target_options, dir), NULL },
	{ "store", "STORE", "the store to use (default: OFFLOAD_STORE, or the workspace's)", 0,
	  offsetof(struct ofs_target_options, store), NULL },
	{ "no-redact", NULL, "show secrets in previews and messages as they are", 0, 0,
	  set_redact_off },
};

/* ---- help */

static void print_option(char letter, const char *name, const char *value, const char *text)
{
	int width = letter ? printf("  -%c, ", letter) : printf("      ");

	width += printf("--%s%s%s", name, value ? " " : "", value ? value : "");
	if (!text) {
		putchar('\n');
		return;
	}
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		printf("%*s%.*s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", (int)len,
		       line);
		line += len + (line[len] == '\n');
		width = 0;
	}
}

static void print_help(const struct ofs_command *self, const struct ofs_option options[])
{
	printf("usage: offload %s %s\n\n%s.\n\n%s%s", self->name, self->synopsis, self->summary,
	       self->help, *self->help ? "\n" : "");
	for (; options->kind != OFS_OPTION_END; options++) {
		if (options->kind != OFS_OPTION_TARGET) {
			print_option(options->letter, options->name, options->value, options->text);
			continue;
		}
		for (size_t i = 0; i < OFS_ARRAY_SIZE(common); i++)
			print_option(common[i].letter, common[i].name, common[i].value,
				     common[i].text);
	}
	print_option('h', "help", NULL, "this text");
	if (self->notes)
		printf("\n%s", self->notes);
}

/* ---- parsing */

/* The table as getopt_long() wants it. */
struct parser {
	const struct ofs_option *of[OPTIONS_MAX];
	struct option longs[OPTIONS_MAX + 1];
	char shorts[2 * OPTIONS_MAX + 4];
	size_t n;
};

static void add(struct parser *p, const struct ofs_option *o, const char *name, char letter,
		bool has_value)
{
	char *end = p->shorts + strlen(p->shorts);

	p->of[p->n] = o;
	p->longs[p->n] = (struct option){ name, has_value ? required_argument : no_argument, NULL,
					  LONG_FIRST + (int)p->n };
	p->n++;
	if (!letter)
		return;
	*end++ = letter;
	if (has_value)
		*end = ':';
}

static void make_parser(const struct ofs_command *self, const struct ofs_option options[],
			struct parser *ret)
{
	*ret = (struct parser){ .n = 0 };
	/* '+': the first operand ends them. ':' tells of a missing value. */
	strcpy(ret->shorts, self->wraps ? "+:h" : ":h");
	for (const struct ofs_option *o = options; o->kind != OFS_OPTION_END; o++) {
		if (o->kind != OFS_OPTION_TARGET) {
			add(ret, o, o->name, o->letter, o->value != NULL);
			continue;
		}
		for (size_t i = 0; i < OFS_ARRAY_SIZE(common); i++)
			add(ret, o, common[i].name, common[i].letter, common[i].value != NULL);
	}
	add(ret, NULL, "help", 'h', false);
}

/* The place in the table of what getopt_long() returned. */
static size_t place_of(const struct parser *p, int c)
{
	size_t i;

	if (c >= LONG_FIRST)
		return (size_t)(c - LONG_FIRST);
	for (i = 0; i < p->n; i++) {
		const struct ofs_option *o = p->of[i];
		char letter = o ? o->letter : 'h';

		for (size_t k = 0; o && o->kind == OFS_OPTION_TARGET && k < OFS_ARRAY_SIZE(common);
		     k++)
			if (strcmp(p->longs[i].name, common[k].name) == 0)
				letter = common[k].letter;
		if (letter == c)
			break;
	}
	return i;
}

static const char *long_name(const void *arg, size_t n)
{
	const struct parser *p = arg;

	return n < p->n ? p->longs[n].name : NULL;
}

static int report_unknown(const struct ofs_command *self, const struct parser *p, int c,
			  char *const argv[])
{
	const char *word = argv[optind - 1], *nearest;
	bool is_long = word[0] == '-' && word[1] == '-';
	char name[64];

	/* A short option may stand in the middle of a word; optopt is 0 for an unknown long one. */
	if (c == ':' && is_long)
		return ofs_report_usage("option '%s' needs a value", word);
	if (c == ':')
		return ofs_report_usage("option '-%c' needs a value", optopt);
	if (optopt > ' ' && optopt < 0x7f && !is_long)
		return ofs_report_usage("unknown option '-%c'%s", optopt,
					self->unknown ? self->unknown : "");
	if (optopt)
		return ofs_report_usage("option '%s' takes no value", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	nearest = ofs_word_nearest(name, long_name, p);
	return nearest ? ofs_report_usage("unknown option '%s': did you mean '--%s'?", word,
					  nearest)
		       : ofs_report_usage("unknown option '%s'", word);
}

static bool parse_count(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n > max)
		return false;
	*ret = n;
	return true;
}

static int take_choice(const struct ofs_option *o, const char *value)
{
	char list[256] = "";
	int i;

	for (i = 0; o->words[i]; i++) {
		if (strcmp(o->words[i], value) == 0) {
			*(int *)o->to = i;
			return -1;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 o->words[i]);
	}
	return ofs_report_usage("'%s' is not a %s: give one of %s", value, o->noun, list);
}

static void take_common(struct ofs_target_options *to, const char *name, const char *value)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(common); i++) {
		if (strcmp(common[i].name, name) != 0)
			continue;
		if (common[i].set)
			common[i].set(to);
		else
			*(const char **)((char *)to + common[i].at) = value;
	}
}

/* -1, or an exit code. */
static int take(const struct ofs_option *o, const char *name, const char *value)
{
	uint64_t n;

	switch (o->kind) {
	case OFS_OPTION_FLAG:
		*(bool *)o->to = true;
		break;
	case OFS_OPTION_SET:
		*(int *)o->to = o->number;
		break;
	case OFS_OPTION_TEXT:
		*(const char **)o->to = value;
		break;
	case OFS_OPTION_COUNT:
		if (!parse_count(value, o->max, &n) || n < o->min)
			return ofs_report_usage("'%s' is not a count of %s", value, o->noun);
		*(uint64_t *)o->to = n;
		break;
	case OFS_OPTION_CHOICE:
		return take_choice(o, value);
	case OFS_OPTION_TARGET:
		take_common(o->to, name, value);
		break;
	case OFS_OPTION_END:
		break;
	}
	return -1;
}

int ofs_options_parse(const struct ofs_command *self, const struct ofs_option options[], int *argc,
		      char ***argv)
{
	struct parser p;
	int c, code;

	make_parser(self, options, &p);
	opterr = 0;
	while ((c = getopt_long(*argc, *argv, p.shorts, p.longs, NULL)) != -1) {
		size_t i;

		if (c == '?' || c == ':')
			return report_unknown(self, &p, c, *argv);
		i = place_of(&p, c);
		if (!p.of[i]) {
			print_help(self, options);
			return OFS_EXIT_OK;
		}
		code = take(p.of[i], p.longs[i].name, optarg);
		if (code >= 0)
			return code;
	}
	*argc -= optind;
	*argv += optind;
	return -1;
}
