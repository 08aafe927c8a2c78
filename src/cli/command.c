/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <getopt.h>

#include "base/redact.h"
#include "base/text.h"
#include "cli/report.h"
#include "client/naming.h"

#define HELP_COLUMN 26
#define LONG_FIRST 256 /* what getopt_long() returns for the first option */

struct ofs_target_options ofs_command_target;
bool ofs_command_json;

static const struct ofs_option common[] = {
	{ .kind = OFS_OPTION_JSON, .to = &ofs_command_json, .name = "json" },
	OFS_TEXT('d', "dir", "MOUNT", &ofs_command_target.dir,
		 "the mounted tree to use (default: OFFLOAD_DIR, or the\nworkspace's .offload)"),
	OFS_TEXT(0, "store", "STORE", &ofs_command_target.store,
		 "the store to use (default: OFFLOAD_STORE, or the workspace's)"),
	OFS_TEXT(0, "agent", "AGENT", &ofs_command_target.agent,
		 "the agent whose tree to use (default: OFFLOAD_AGENT);\na/b is an agent within a"),
	{ .kind = OFS_OPTION_NO_REDACT,
	  .name = "no-redact",
	  .text = "show secrets in previews and messages as they are" },
	{ .kind = OFS_OPTION_HELP, .letter = 'h', .name = "help", .text = "this text" },
	OFS_OPTIONS_END,
};

/* The options of a command, also in the form that getopt_long() wants. */
struct parser {
	const struct ofs_option *options[OFS_OPTIONS_MAX];
	size_t n;
	struct option longs[OFS_OPTIONS_MAX + 1];
	char shorts[2 * OFS_OPTIONS_MAX + 4];
};

static size_t add_options(const struct ofs_option *o, bool json, size_t n,
			  const struct ofs_option *ret[OFS_OPTIONS_MAX])
{
	for (; o && o->kind != OFS_OPTION_END; o++)
		if (o->kind != OFS_OPTION_JSON || json)
			ret[n++] = o;
	return n;
}

size_t ofs_command_options(const struct ofs_command *self,
			   const struct ofs_option *ret[OFS_OPTIONS_MAX])
{
	size_t n = add_options(self->options, true, 0, ret);

	return add_options(common, self->json != NULL, n, ret);
}

static void make_parser(const struct ofs_command *self, struct parser *ret)
{
	char *end;

	*ret = (struct parser){ 0 };
	/* '+': the first operand ends the options. ':': a missing value is reported as such. */
	end = stpcpy(ret->shorts, self->wraps ? "+:" : ":");
	ret->n = ofs_command_options(self, ret->options);
	for (size_t i = 0; i < ret->n; i++) {
		const struct ofs_option *o = ret->options[i];

		ret->longs[i] = (struct option){ o->name,
						 o->value ? required_argument : no_argument, NULL,
						 LONG_FIRST + (int)i };
		if (o->letter)
			end += sprintf(end, o->value ? "%c:" : "%c", o->letter);
	}
}

/* ---- help */

static void print_option(const struct ofs_option *o, const char *text)
{
	int width = o->letter ? printf("  -%c, ", o->letter) : printf("      ");

	width += printf("--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");

		printf("%*s%.*s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "", (int)len,
		       line);
		line += len + (line[len] == '\n');
		width = 0;
	}
}

const char *ofs_command_option_text(const struct ofs_command *self, const struct ofs_option *o)
{
	return o->text ? o->text : self->json;
}

void ofs_command_print_help(const struct ofs_command *self)
{
	const struct ofs_option *options[OFS_OPTIONS_MAX];
	size_t n = ofs_command_options(self, options);

	printf("usage: offload %s %s\n\n%s.\n\n", self->name, self->synopsis, self->summary);
	if (self->help)
		printf("%s\n", self->help);
	for (size_t i = 0; i < n; i++)
		print_option(options[i], ofs_command_option_text(self, options[i]));
	if (self->notes)
		printf("\n%s", self->notes);
}

/* ---- parsing */

static const char *long_name(const void *arg, size_t n)
{
	return ((const struct option *)arg)[n].name;
}

static int report_unknown(const struct ofs_command *self, const struct parser *p, int c,
			  char *const argv[])
{
	const char *word = argv[optind - 1], *nearest;
	bool is_long = !optopt || optopt >= LONG_FIRST; /* 0: an unknown one */
	char name[64];

	/* getopt_long() is still in the word, unless the short option is its last byte. */
	if (!is_long && argv[optind] && strchr(argv[optind], optopt))
		word = argv[optind];
	if (c == ':' && is_long)
		return ofs_report_usage("option '%s' needs a value", word);
	if (c == ':')
		return ofs_report_usage("option '-%c' needs a value", optopt);
	if (optopt > ' ' && optopt < 0x7f)
		return ofs_report_usage("unknown option '-%c'%s", optopt,
					self->unknown ? self->unknown : "");
	if (!is_long)
		return ofs_report_usage("unknown option '%s'", word);
	if (optopt)
		return ofs_report_usage("option '%s' takes no value", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	nearest = ofs_word_nearest(name, long_name, p->longs);
	return nearest ? ofs_report_usage("unknown option '%s': did you mean '--%s'?", word,
					  nearest)
		       : ofs_report_usage("unknown option '%s'", word);
}

static bool parse_count(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || *end || n > max)
		return false;
	*ret = n;
	return true;
}

static int take_choice(const struct ofs_option *o, const char *value)
{
	char list[256] = "";

	for (int i = 0; o->words[i]; i++) {
		if (strcmp(o->words[i], value) == 0) {
			*(int *)o->to = i;
			return -1;
		}
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "",
			 o->words[i]);
	}
	return ofs_report_usage("'%s' is not a %s: give one of %s", value, o->noun, list);
}

static int take_listed(const struct ofs_option *o, const char *value)
{
	struct ofs_option_list *l = o->to;

	if (l->n == OFS_OPTION_LIST_MAX)
		return ofs_report_usage("--%s is given more than %d times", o->name,
					OFS_OPTION_LIST_MAX);
	l->at[l->n++] = value;
	return -1;
}

/* Returns -1, or an exit code. */
static int take(const struct ofs_command *self, const struct ofs_option *o, const char *value)
{
	switch (o->kind) {
	case OFS_OPTION_FLAG:
	case OFS_OPTION_JSON:
		*(bool *)o->to = true;
		break;
	case OFS_OPTION_SET:
		*(int *)o->to = (int)o->number;
		break;
	case OFS_OPTION_TEXT:
		*(const char **)o->to = value;
		break;
	case OFS_OPTION_LIST:
		return take_listed(o, value);
	case OFS_OPTION_COUNT:
		if (!parse_count(value, o->number, o->to))
			return ofs_report_usage("'%s' is not a count of %s", value, o->noun);
		break;
	case OFS_OPTION_CHOICE:
		return take_choice(o, value);
	case OFS_OPTION_NO_REDACT:
		ofs_redact_set_enabled(false);
		break;
	case OFS_OPTION_HELP:
		ofs_command_print_help(self);
		return OFS_EXIT_OK;
	case OFS_OPTION_END:
		break;
	}
	return -1;
}

int ofs_command_parse(const struct ofs_command *self, int *argc, char ***argv)
{
	struct parser p;
	int c, code;

	make_parser(self, &p);
	opterr = 0;
	while ((c = getopt_long(*argc, *argv, p.shorts, p.longs, NULL)) != -1) {
		size_t i = c >= LONG_FIRST ? (size_t)(c - LONG_FIRST) : 0;

		if (c == '?' || c == ':')
			return report_unknown(self, &p, c, *argv);
		while (c < LONG_FIRST && p.options[i]->letter != c)
			i++;
		code = take(self, p.options[i], optarg);
		if (code >= 0)
			return code;
	}
	*argc -= optind;
	*argv += optind;
	if (*argc > self->operands)
		return ofs_report_usage("unexpected argument '%s'%s", (*argv)[self->operands],
					self->unexpected ? self->unexpected : "");
	return !*argc && self->missing ? ofs_report_usage("%s", self->missing) : -1;
}

int ofs_command_default_task(const char **task, bool session)
{
	struct ofs_error err;
	char *name;

	if (*task)
		return -1;
	if (ofs_naming_task(session ? ofs_naming_session() : NULL, &err, &name) < 0)
		return ofs_report_usage("%s", err.text);
	*task = name;
	return -1;
}

int ofs_command_check_names(const char *category, const char *task, const char *file)
{
	struct ofs_error err;

	if ((category && ofs_naming_check("category", category, &err) < 0) ||
	    (task && ofs_naming_check("task", task, &err) < 0) ||
	    (file && ofs_naming_check_file(file, &err) < 0))
		return ofs_report_usage("%s", err.text);
	return -1;
}

int ofs_command_check_place(int argc, char *const argv[])
{
	if (argc && (ofs_command_target.dir || ofs_command_target.store))
		return ofs_report_usage("name the tree once: '%s', or an option", argv[0]);
	return -1;
}
