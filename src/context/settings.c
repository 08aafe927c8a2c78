/* SPDX-License-Identifier: MIT */
#include "context/settings.h"

#include <fcntl.h>
#include <stdio.h>

#include "client/naming.h"
#include "context/tool.h"
#include "io/path.h"
#include "io/trust.h"

#define FILE_NAME "context.ini"
#define OVER "over "
#define COUNT_MAX 1000000000
#define SIZE_LIMIT (UINT64_C(1) << 40)
#define SUMMARIZER_MAX 3600
#define TTL_MAX (36500 * UINT64_C(86400))
#define TTL_PRESET (30 * 86400)

/* ---- the table */

enum section {
	GENERAL, /* keys before the first section */
	REDUCE,
	COMPACT,
	CONTEXT,
	TOOL,
	SECTIONS
};

static int check_tool(const char *name, struct ofs_error *err)
{
	(void)name;
	(void)err;
	return 0;
}

static const struct ofs_ini_section sections[SECTIONS] = {
	[GENERAL] = { "" },	   [REDUCE] = { "reduce" },	    [COMPACT] = { "compact" },
	[CONTEXT] = { "context" }, [TOOL] = { "tool", check_tool },
};

static int check_like(const char *text, struct ofs_error *must)
{
	char rules[256];
	size_t len = 0;

	if (ofs_tool_rule(text) != OFS_TOOL_OTHER)
		return 0;
	for (int rule = OFS_TOOL_OTHER + 1; rule < OFS_TOOL_COUNT && len < sizeof(rules); rule++)
		len += (size_t)snprintf(rules + len, sizeof(rules) - len, "%s%s", len ? ", " : "",
					ofs_tool_name((enum ofs_tool_rule)rule));
	return ofs_error_set(must, EINVAL, "a tool that has a rule: %s", rules);
}

static int check_category(const char *text, struct ofs_error *must)
{
	if (ofs_naming_check("category", text, NULL) == 0)
		return 0;
	return ofs_error_set(must, EINVAL,
			     "a name of 1 to 64 letters, digits, '.', '_' and '-' that does not "
			     "begin with a dot");
}

static bool read_when(const char *text, enum ofs_offload_when *ret, uint64_t *ret_over)
{
	static const struct ofs_quantity size = { OFS_UNIT_BYTES, 0, SIZE_LIMIT, NULL, false };

	if (strcmp(text, "always") == 0)
		*ret = OFS_OFFLOAD_ALWAYS;
	else if (strcmp(text, "never") == 0)
		*ret = OFS_OFFLOAD_NEVER;
	else if (strncmp(text, OVER, strlen(OVER)) == 0 &&
		 ofs_quantity_parse(&size, text + strlen(OVER), ret_over))
		*ret = OFS_OFFLOAD_OVER;
	else
		return false;
	return true;
}

static int check_when(const char *text, struct ofs_error *must)
{
	enum ofs_offload_when when;
	uint64_t over;

	if (read_when(text, &when, &over))
		return 0;
	return ofs_error_set(must, EINVAL,
			     "always, never, or a size in bytes as in 'over 1000' or 'over 4K'");
}

#define PLACE(member) offsetof(struct ofs_settings, member)
#define TOOL_PLACE(member) offsetof(struct ofs_tool_setting, member)
#define COUNT(in, key, unit, most, standard, member, about)                         \
	{                                                                           \
		.section = in, .name = key, .number = { OFS_UNIT_##unit, 0, most }, \
		.preset = standard, .at = PLACE(member), .text = about              \
	}
#define OF_TOOL(key, placeholder, checked_by, member, about)                             \
	{                                                                                \
		.section = TOOL, .name = key, .type = OFS_INI_TEXT, .check = checked_by, \
		.at = TOOL_PLACE(member), .value = placeholder, .text = about            \
	}

/* An entry is all that a key needs to be read, checked and given its default. */
/* clang-format off */
static const struct ofs_ini_key keys[] = {
	COUNT(REDUCE, "max_bytes", BYTES, SIZE_LIMIT, 2048, max_bytes,
		"Offload longer output of a tool without a rule"),
	COUNT(REDUCE, "max_lines", LINES, COUNT_MAX, 50, max_lines,
		"Offload it if it has more lines"),
	COUNT(REDUCE, "read_bytes", BYTES, SIZE_LIMIT, 1024, read_bytes,
		"Offload longer text read from a file"),
	COUNT(REDUCE, "list_items", ITEMS, COUNT_MAX, 10, list_items,
		"Offload a longer list of files"),
	COUNT(REDUCE, "search_results", RESULTS, COUNT_MAX, 5, search_results,
		"Offload search results if there are more; 0: always"),
	COUNT(REDUCE, "shell_chars", CHARS, SIZE_LIMIT, 500, shell_chars,
		"Offload longer output of a command"),
	COUNT(COMPACT, "keep", STEPS, COUNT_MAX, 3, keep,
		"Steps that stay in full"),
	COUNT(COMPACT, "steps", STEPS, COUNT_MAX, 5, steps,
		"Compact a history of more steps"),
	COUNT(COMPACT, "tokens", TOKENS, COUNT_MAX, 2000, tokens,
		"Compact a history of more tokens"),
	COUNT(COMPACT, "budget", TOKENS, COUNT_MAX, 500, budget,
		"Size of a compacted history"),
	COUNT(CONTEXT, "max_total_tokens", TOKENS, COUNT_MAX, 20000, max_total_tokens,
		"Size of a whole prompt"),
	COUNT(CONTEXT, "max_tool_message_tokens", TOKENS, COUNT_MAX, 0, max_tool_message_tokens,
		"Size of one result; 0: a pointer wherever it pays"),
	COUNT(CONTEXT, "group_token_threshold", TOKENS, COUNT_MAX, 0, group_token_threshold,
		"Input of a summarizer at a time; 0: all at once"),
	COUNT(CONTEXT, "snapshot_tokens", TOKENS, COUNT_MAX, 1500, snapshot_tokens,
		"Size of a summary"),
	{ .section = CONTEXT, .name = "summarizer", .type = OFS_INI_TEXT, .at = PLACE(summarizer),
	  .user_only = true, .value = "CMD|endpoint",
	  .text = "What makes summaries in place of the rules" },
	{ .section = CONTEXT, .name = "summarizer_timeout",
	  .number = { OFS_UNIT_S, 1, SUMMARIZER_MAX }, .preset = 60,
	  .at = PLACE(summarizer_timeout_s), .text = "Time limit of the summarizer" },
	{ .section = CONTEXT, .name = "ttl", .number = { OFS_UNIT_S, 1, TTL_MAX, "never" },
	  .preset = TTL_PRESET, .at = PLACE(ttl),
	  .text = "Lifetime of output offloaded by hooks, since its last use" },
	OF_TOOL("like", "TOOL", check_like, like,
		"A tool whose rule applies"),
	OF_TOOL("category", "CATEGORY", check_category, category,
		"Category of offloaded output"),
	OF_TOOL("observation", "TEXT", NULL, observation,
		"Template of the observation"),
	OF_TOOL("summary", "TEXT", NULL, summary,
		"Template of the line in a compacted history"),
	OF_TOOL("offload", "always|never|over SIZE", check_when, when,
		"When output is offloaded"),
};
/* clang-format on */

const struct ofs_ini_table ofs_settings_table = { sections, SECTIONS, keys, OFS_ARRAY_SIZE(keys) };

/* ---- settings */

static void set_number(struct ofs_settings *s, const struct ofs_ini_key *key, uint64_t n)
{
	if (key->at == PLACE(ttl))
		snprintf(s->ttl, sizeof(s->ttl), "%.*s", (int)sizeof(s->ttl) - 1,
			 ofs_quantity_show(&key->number, n).text);
	else
		*(uint64_t *)((char *)s + key->at) = n;
}

void ofs_settings_init(struct ofs_settings *s)
{
	*s = (struct ofs_settings){ 0 };
	for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++)
		if (keys[i].type == OFS_INI_NUMBER)
			set_number(s, &keys[i], keys[i].preset);
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
	*s = (struct ofs_settings){ 0 };
}

static void take(void *arg, const struct ofs_ini_entry *entry)
{
	const struct ofs_ini_key *key = entry->key;
	struct ofs_settings *s = arg;
	struct ofs_tool_setting *tool;
	char *base = arg, **text;

	if (!key) {
		s->tools = ofs_realloc(s->tools, s->n_tools + 1, sizeof(*s->tools));
		s->tools[s->n_tools++] = (struct ofs_tool_setting){ .name = ofs_strdup(entry->x) };
		return;
	}
	tool = s->n_tools ? &s->tools[s->n_tools - 1] : NULL;
	if (key->section == TOOL)
		base = (char *)tool;
	if (key->type == OFS_INI_NUMBER) {
		set_number(s, key, entry->number);
	} else if (key->check == check_when) {
		read_when(entry->text, &tool->when, &tool->over);
	} else {
		text = (char **)(base + key->at);
		free(*text);
		*text = *entry->text ? ofs_strdup(entry->text) : NULL;
	}
}

int ofs_settings_load_file(struct ofs_settings *s, int dirfd, const char *path, bool of_store,
			   struct ofs_error *err)
{
	OFS_FREE char *own = of_store ? ofs_trust_user_file(FILE_NAME) : NULL;
	struct ofs_ini_table table = ofs_settings_table;

	if (of_store)
		table.user_file = own ? own : "~/.config/offloadfs/" FILE_NAME;
	return ofs_ini_load(dirfd, path, &table, take, s, err);
}

static int load_own(struct ofs_settings *s, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_trust_user_file(FILE_NAME);
	int r = path ? ofs_trust_check_file(path, err) : 0;

	return r > 0 ? ofs_settings_load_file(s, AT_FDCWD, path, false, err) : r;
}

int ofs_settings_load(struct ofs_settings *s, const char *store, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_path_join(store, FILE_NAME);
	OFS_CLOSE int dir = -1;
	int r = load_own(s, err);

	if (r < 0)
		return r;
	/* A store that cannot be used is reported elsewhere. */
	dir = ofs_trust_open_store(store, NULL);
	if (dir < 0)
		return 0;
	r = ofs_settings_load_file(s, dir, path, true, err);
	return r == -ENOENT || r == -EACCES ? 0 : r;
}
