/* SPDX-License-Identifier: MIT */
#include "context/settings.h"

#include <ctype.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/util.h"
#include "base/word.h"
#include "client/label.h"
#include "base/text.h"
#include "context/tool.h"
#include "io/ini.h"
#include "io/path.h"
#include "tree/config.h"

#define FILE_NAME "context.ini"
#define OVER "over "
#define COUNT_MAX 1000000000
#define SIZE_LIMIT (UINT64_C(1) << 40)
#define SUMMARIZER_MAX 3600
#define TTL_MAX (36500 * UINT64_C(86400))

/* ---- the table */

enum section {
	GENERAL, /* before the first one */
	REDUCE,
	COMPACT,
	CONTEXT,
	TOOL, /* followed by a name, once for each tool */
	SECTIONS
};

static const char *const sections[SECTIONS + 1] = { "", "reduce", "compact", "context", "tool" };

enum kind {
	NUMBER,
	TEXT,
	TTL,
	LIKE, /* the name of a tool that has a rule */
	CATEGORY,
	OFFLOAD, /* when, and the size with it */
};

struct key {
	enum section section;
	struct ofs_config_key value;
	enum kind kind;
	size_t at; /* its place in the settings or, in a section of a tool, in those of the tool */
};

static const struct ofs_config_unit bytes = {
	"bytes",
	"BYTES",
	{ { "K", 1024 }, { "M", 1 << 20 }, { "G", 1 << 30 } }
};
static const struct ofs_config_unit tokens = { "tokens", "TOKENS", { { "K", 1000 } } };
static const struct ofs_config_unit lines = { "lines", "LINES", { { NULL, 0 } } };
static const struct ofs_config_unit items = { "items", "ITEMS", { { NULL, 0 } } };
static const struct ofs_config_unit results = { "results", "RESULTS", { { NULL, 0 } } };
static const struct ofs_config_unit characters = { "characters", "CHARS", { { "K", 1000 } } };
static const struct ofs_config_unit steps = { "steps", "STEPS", { { NULL, 0 } } };
static const struct ofs_config_unit seconds = {
	"seconds",
	"TIME",
	{ { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } }
};

#define PLACE(member) offsetof(struct ofs_settings, member)
#define TOOL_PLACE(member) offsetof(struct ofs_tool_setting, member)
#define COUNT(section, key, unit, max, preset, member)                                             \
	{                                                                                          \
		section, { key, &(unit), NULL, 0, max, preset, NULL, NULL }, NUMBER, PLACE(member) \
	}
#define OF_TOOL(key, kind, member)                              \
	{                                                       \
		TOOL, { .name = key }, kind, TOOL_PLACE(member) \
	}

/* An entry here is all that a key needs to be read, checked and have its default. */
/* clang-format off */
static const struct key table[] = {
	COUNT(REDUCE, "max_bytes", bytes, SIZE_LIMIT, 2048, max_bytes),
	COUNT(REDUCE, "max_lines", lines, COUNT_MAX, 50, max_lines),
	COUNT(REDUCE, "read_bytes", bytes, SIZE_LIMIT, 1024, read_bytes),
	COUNT(REDUCE, "list_items", items, COUNT_MAX, 10, list_items),
	COUNT(REDUCE, "search_results", results, COUNT_MAX, 5, search_results),
	COUNT(REDUCE, "shell_chars", characters, SIZE_LIMIT, 500, shell_chars),
	COUNT(COMPACT, "keep", steps, COUNT_MAX, 3, keep),
	COUNT(COMPACT, "steps", steps, COUNT_MAX, 5, steps),
	COUNT(COMPACT, "tokens", tokens, COUNT_MAX, 2000, tokens),
	COUNT(COMPACT, "budget", tokens, COUNT_MAX, 500, budget),
	COUNT(CONTEXT, "max_total_tokens", tokens, COUNT_MAX, 20000, max_total_tokens),
	COUNT(CONTEXT, "max_tool_message_tokens", tokens, COUNT_MAX, 2000,
	      max_tool_message_tokens),
	COUNT(CONTEXT, "group_token_threshold", tokens, COUNT_MAX, 0, group_token_threshold),
	COUNT(CONTEXT, "bare_tokens", tokens, COUNT_MAX, 40000, bare_tokens),
	COUNT(CONTEXT, "snapshot_tokens", tokens, COUNT_MAX, 1500, snapshot_tokens),
	{ CONTEXT, { "summarizer", .text = "a command" }, TEXT, PLACE(summarizer) },
	{ CONTEXT, { "summarizer_timeout", &seconds, NULL, 1, SUMMARIZER_MAX, 60 }, NUMBER,
	  PLACE(summarizer_timeout_s) },
	{ CONTEXT, { "ttl", &seconds, NULL, 1, TTL_MAX, 0, "never" }, TTL, PLACE(ttl) },
	OF_TOOL("like", LIKE, like),
	OF_TOOL("category", CATEGORY, category),
	OF_TOOL("observation", TEXT, observation),
	OF_TOOL("summary", TEXT, summary),
	OF_TOOL("offload", OFFLOAD, when),
};
/* clang-format on */

#define KEYS OFS_ARRAY_SIZE(table)
#define TTL_PRESET "30d"

void ofs_settings_init(struct ofs_settings *s)
{
	*s = (struct ofs_settings){ .ttl = ofs_strdup(TTL_PRESET) };
	for (size_t i = 0; i < KEYS; i++) {
		if (table[i].kind == NUMBER)
			*(uint64_t *)((char *)s + table[i].at) = table[i].value.preset;
	}
}

static void tool_finish(struct ofs_tool_setting *tool)
{
	free(tool->name);
	free(tool->like);
	free(tool->category);
	free(tool->observation);
	free(tool->summary);
}

void ofs_settings_finish(struct ofs_settings *s)
{
	for (size_t i = 0; i < s->n_tools; i++)
		tool_finish(&s->tools[i]);
	free(s->tools);
	free(s->summarizer);
	free(s->ttl);
	*s = (struct ofs_settings){ 0 };
}

/* ---- reading */

struct reading {
	struct ofs_settings
		read; /* becomes the caller's when all of it is right; only new tools are in it */
	enum section section;
	unsigned int *tools; /* the lines where the sections of the tools begin */
	unsigned int lines[KEYS]; /* where a key is set; of a tool's keys in its section */
};

static int wrong_value(const struct ofs_ini_line *line, const char *allowed, struct ofs_error *err)
{
	return ofs_error_set(err, EINVAL, "%s = '%s': must be %s", line->name,
			     ofs_word_show(line->value).text, allowed);
}

static int take_number(const struct key *key, const struct ofs_ini_line *line, uint64_t *ret,
		       struct ofs_error *err)
{
	char allowed[256];

	if (ofs_config_value_parse(&key->value, line->value, ret))
		return 0;
	ofs_config_value_describe(&key->value, allowed, sizeof(allowed));
	return wrong_value(line, allowed, err);
}

/* Texts end up in JSON. */
static int take_text(const struct ofs_ini_line *line, char **ret, struct ofs_error *err)
{
	if (!ofs_text_is_utf8(line->value))
		return wrong_value(line, "UTF-8", err);
	free(*ret);
	*ret = *line->value ? ofs_strdup(line->value) : NULL;
	return 0;
}

/* In the one form that the attribute of a file has, too. */
static int take_ttl(const struct key *key, const struct ofs_ini_line *line, char **ret,
		    struct ofs_error *err)
{
	size_t len = strlen(line->value);
	uint64_t n;
	char *text;
	int r = take_number(key, line, &n, err);

	if (r < 0)
		return r;
	text = ofs_alloc(OFS_MAX(len + sizeof("s"), strlen(key->value.zero) + 1));
	memcpy(text, line->value, len);
	if (n == 0)
		strcpy(text, key->value.zero);
	else if (isdigit((unsigned char)text[len - 1]))
		text[len] = 's';
	else
		text[len - 1] = (char)tolower((unsigned char)text[len - 1]);
	free(*ret);
	*ret = text;
	return 0;
}

static int take_like(const struct ofs_ini_line *line, char **ret, struct ofs_error *err)
{
	char allowed[256] = "a tool that has a rule: ";

	if (ofs_tool_rule(line->value) != OFS_TOOL_OTHER) {
		*ret = ofs_strdup(line->value);
		return 0;
	}
	for (int rule = OFS_TOOL_OTHER + 1; rule < OFS_TOOL_COUNT; rule++) {
		size_t len = strlen(allowed);

		snprintf(allowed + len, sizeof(allowed) - len, "%s%s",
			 rule > OFS_TOOL_OTHER + 1 ? ", " : "",
			 ofs_tool_name((enum ofs_tool_rule)rule));
	}
	return wrong_value(line, allowed, err);
}

static int take_category(const struct ofs_ini_line *line, char **ret, struct ofs_error *err)
{
	if (ofs_label_check("category", line->value, NULL) < 0)
		return wrong_value(line,
				   "a name of 1 to 64 letters, digits, '.', '_' and '-' that does "
				   "not begin with a dot",
				   err);
	*ret = ofs_strdup(line->value);
	return 0;
}

static int take_when(const struct ofs_ini_line *line, struct ofs_tool_setting *tool,
		     struct ofs_error *err)
{
	static const struct ofs_config_key size = { "over", &bytes, NULL, 0, SIZE_LIMIT };
	const char *value = line->value;

	if (strcmp(value, "always") == 0) {
		tool->when = OFS_OFFLOAD_ALWAYS;
	} else if (strcmp(value, "never") == 0) {
		tool->when = OFS_OFFLOAD_NEVER;
	} else if (strncmp(value, OVER, strlen(OVER)) == 0 &&
		   ofs_config_value_parse(&size, value + strlen(OVER), &tool->over)) {
		tool->when = OFS_OFFLOAD_OVER;
	} else {
		return wrong_value(
			line, "always, never, or a size in bytes as in 'over 1000' or 'over 4K'",
			err);
	}
	return 0;
}

static int take_value(struct reading *r, const struct key *key, const struct ofs_ini_line *line,
		      struct ofs_error *err)
{
	struct ofs_tool_setting *tool = r->read.n_tools ? &r->read.tools[r->read.n_tools - 1]
							: NULL;
	char *at = (key->section == TOOL ? (char *)tool : (char *)&r->read) + key->at;

	switch (key->kind) {
	case NUMBER:
		return take_number(key, line, (uint64_t *)at, err);
	case TEXT:
		return take_text(line, (char **)at, err);
	case TTL:
		return take_ttl(key, line, (char **)at, err);
	case LIKE:
		return take_like(line, (char **)at, err);
	case CATEGORY:
		return take_category(line, (char **)at, err);
	case OFFLOAD:
		return take_when(line, tool, err);
	}
	return -EINVAL;
}

/* ---- sections */

static const char *section_name(const void *arg, size_t n)
{
	(void)arg;
	return n < SECTIONS ? sections[n] : NULL;
}

static int unknown_section(const char *name, struct ofs_error *err)
{
	const char *nearest = ofs_word_nearest(name, section_name, NULL);

	if (nearest && *nearest && strcmp(nearest, name) != 0)
		return ofs_error_set(err, EINVAL, "unknown section [%s]: did you mean [%s%s]?",
				     ofs_word_show(name).text, nearest,
				     nearest == sections[TOOL] ? " NAME" : "");
	return ofs_error_set(err, EINVAL,
			     "unknown section [%s]: the sections are [reduce], [compact], "
			     "[context] and [tool NAME]",
			     ofs_word_show(name).text);
}

static int begin_tool(struct reading *r, const char *name, unsigned int line, struct ofs_error *err)
{
	size_t n = r->read.n_tools;

	for (size_t i = 0; i < n; i++)
		if (strcmp(r->read.tools[i].name, name) == 0)
			return ofs_error_set(err, EINVAL,
					     "[tool %s] is there twice, first in line %u: keep one",
					     ofs_word_show(name).text, r->tools[i]);
	r->tools = ofs_realloc(r->tools, n + 1, sizeof(*r->tools));
	r->tools[n] = line;
	r->read.tools = ofs_realloc(r->read.tools, n + 1, sizeof(*r->read.tools));
	r->read.tools[n] = (struct ofs_tool_setting){ .name = ofs_strdup(name) };
	r->read.n_tools++;
	for (size_t i = 0; i < KEYS; i++)
		if (table[i].section == TOOL)
			r->lines[i] = 0;
	return 0;
}

static int begin_section(struct reading *r, const struct ofs_ini_line *line, struct ofs_error *err)
{
	const char *tool = sections[TOOL], *name = line->section;
	size_t len = strlen(tool);

	for (int i = REDUCE; i < TOOL; i++) {
		if (strcmp(name, sections[i]) == 0) {
			r->section = (enum section)i;
			return 0;
		}
	}
	if (strncmp(name, tool, len) != 0 || (name[len] && !isblank((unsigned char)name[len])))
		return unknown_section(name, err);
	for (name += len; isblank((unsigned char)*name);)
		name++;
	if (!*name)
		return ofs_error_set(err, EINVAL,
				     "[tool] names no tool: write it as in [tool fs:read_file]");
	r->section = TOOL;
	return begin_tool(r, name, line->number, err);
}

/* ---- lines */

static const char *key_name(const void *arg, size_t n)
{
	const enum section *section = arg;

	for (size_t i = 0; i < KEYS; i++)
		if (table[i].section == *section && n-- == 0)
			return table[i].value.name;
	return NULL;
}

/* There is no such key in this section; perhaps it is one of another. */
static int unknown_key(const struct reading *r, const char *name, struct ofs_error *err)
{
	const char *nearest = ofs_word_nearest(name, key_name, &r->section);
	const char *key;
	char all[256] = "";

	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(table[i].value.name, name) == 0)
			return ofs_error_set(err, EINVAL, "'%s' belongs in [%s]", name,
					     sections[table[i].section]);
	if (r->section == GENERAL)
		return ofs_error_set(
			err, EINVAL,
			"unknown key '%s', before any section: they are [reduce], [compact], "
			"[context] and [tool NAME]",
			ofs_word_show(name).text);
	if (nearest)
		return ofs_error_set(err, EINVAL, "unknown key '%s': did you mean '%s'?",
				     ofs_word_show(name).text, nearest);
	for (size_t i = 0; (key = key_name(&r->section, i)); i++) {
		size_t len = strlen(all);

		snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "", key);
	}
	return ofs_error_set(err, EINVAL, "unknown key '%s': the keys of [%s] are %s",
			     ofs_word_show(name).text, sections[r->section], all);
}

static int take_line(void *arg, const struct ofs_ini_line *line, struct ofs_error *err)
{
	struct reading *r = arg;
	size_t i = 0;
	int e;

	if (!line->name)
		return begin_section(r, line, err);
	while (i < KEYS &&
	       (table[i].section != r->section || strcmp(table[i].value.name, line->name) != 0))
		i++;
	if (i == KEYS)
		return unknown_key(r, line->name, err);
	if (r->lines[i])
		return ofs_error_set(err, EINVAL, "'%s' is set twice, first in line %u: keep one",
				     line->name, r->lines[i]);
	e = take_value(r, &table[i], line, err);
	if (e == 0)
		r->lines[i] = line->number;
	return e;
}

/* Puts the tools behind those that the caller's settings have, and takes the place of these. */
static void commit(struct reading *r, struct ofs_settings *s)
{
	size_t n = s->n_tools;

	if (r->read.n_tools) {
		s->tools = ofs_realloc(s->tools, n + r->read.n_tools, sizeof(*s->tools));
		memcpy(s->tools + n, r->read.tools, r->read.n_tools * sizeof(*s->tools));
	}
	free(r->read.tools);
	free(s->summarizer);
	free(s->ttl);
	r->read.tools = s->tools;
	r->read.n_tools += n;
	*s = r->read;
}

int ofs_settings_load(struct ofs_settings *s, const char *path, struct ofs_error *err)
{
	struct reading r = { .read = *s };
	int e;

	r.read.summarizer = s->summarizer ? ofs_strdup(s->summarizer) : NULL;
	r.read.ttl = s->ttl ? ofs_strdup(s->ttl) : NULL;
	r.read.tools = NULL;
	r.read.n_tools = 0;
	e = ofs_ini_load(path, take_line, &r, err);
	if (e == 0)
		commit(&r, s);
	else
		ofs_settings_finish(&r.read);
	free(r.tools);
	return e;
}

int ofs_settings_load_store(struct ofs_settings *s, const char *store, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_path_join(store, FILE_NAME);
	struct stat st;

	/* Whether there is a store at all is for others to say; that of others is closed. */
	if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0;
	return ofs_settings_load(s, path, err);
}
