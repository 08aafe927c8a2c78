/* SPDX-License-Identifier: MIT */
#include "tree/config.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>

#include "base/text.h"
#include "io/file.h"
#include "io/path.h"
#include "io/trust.h"
#include "tree/core/category.h"
#include "tree/expiry/promote.h"

#define FILE_NAME "config.ini"
#define FILE_MAX ((size_t)1 << 20)
#define HOUR_MS 3600000
#define TTL_MAX (36500 * UINT64_C(86400))

/* ---- the table */

enum section {
	GENERAL, /* keys before the first section */
	PROMOTE,
	AGENT,
	CATEGORY,
	SECTIONS
};

static int check_agent(const char *name, struct ofs_error *err)
{
	if (ofs_agent_is_name(name))
		return 0;
	return ofs_error_set(
		err, EINVAL,
		"agent '%s': must be a name that a directory in agents/ can have, or several "
		"joined by '/', such as a/b",
		ofs_word_show(name).text);
}

static int check_category(const char *name, struct ofs_error *err)
{
	if (ofs_category_is_name(name))
		return 0;
	return ofs_error_set(err, EINVAL,
			     "category '%s': must be a name that a directory in cache/ can have",
			     ofs_word_show(name).text);
}

static const struct ofs_ini_section sections[SECTIONS] = {
	[GENERAL] = { "" },
	[PROMOTE] = { "promote" },
	[AGENT] = { "agent", check_agent, NULL },
	[CATEGORY] = { "category", check_category, "ttl_" },
};

static int check_when(const char *text, struct ofs_error *must)
{
	uint32_t reads;

	return ofs_promote_parse_when(text, &reads, must);
}

static const char *const switches[] = { "auto", "on", "off", NULL };
static const char *const onoff[] = { "on", "off", NULL };
static const char *const blocks[] = { "cost", "data", NULL };

#define NUMBER(key, unit, min, max, standard, zero, about)                                      \
	{                                                                                       \
		.name = key, .number = { OFS_UNIT_##unit, min, max, zero }, .preset = standard, \
		.text = about                                                                   \
	}
/* The first word is the default. */
#define WORD(key, list, about)                                                  \
	{                                                                       \
		.name = key, .type = OFS_INI_WORD, .words = list, .text = about \
	}
#define TEXT(key, placeholder, about)                                                  \
	{                                                                              \
		.name = key, .type = OFS_INI_TEXT, .value = placeholder, .text = about \
	}
#define LIFETIME(name, ttl, about) \
	NUMBER("ttl_" #name, S, 1, TTL_MAX, ttl, "never", "Lifetime unused: " about),

/*
 * An entry holds all that is needed to read a key from the file and from options, to check it, and
 * to list it in the usage text and by ofs_config_format(): name, unit, minimum, maximum, default,
 * word for 0, text.
 */
/* clang-format off */
static const struct ofs_ini_key keys[] = {
	NUMBER("seal_delay", MS, 0, HOUR_MS, 1000, NULL,
		"Seal a file after this long without a write"),
	NUMBER("journal_max", MIB, 1, 1 << 20, 2048, NULL,
		"Unsealed content above which writers wait"),
	NUMBER("cache_max", MIB, 1, 1 << 20, 32, NULL,
		"Decompressed content kept in memory"),
	NUMBER("scrub", MS, 0, HOUR_MS, 1000, "never",
		"Check one portion at this interval, when idle"),
	NUMBER("slice_max_lines", LINES, 0, INT_MAX, 2000, "unlimited",
		"Lines in one slice"),
	NUMBER("slice_max_bytes", BYTES, 0, INT_MAX, 65536, "unlimited",
		"Bytes in one slice"),
	NUMBER("search_time", MS, 1, HOUR_MS, 250, NULL,
		"Time to read the working tier in a search"),
	OFS_CATEGORY_TABLE(LIFETIME)
	NUMBER("working_max", MIB, 1, 1 << 30, 0, "unlimited",
		"Size on disk of the working tier; more is removed"),
	NUMBER("working_keep", MIB, 1, 1 << 30, 0, "auto",
		"Size on disk up to which evictable files stay"),
	NUMBER("grace", S, 0, TTL_MAX, 7 * 86400, NULL,
		"Time an evictable file stays while there is room"),
	NUMBER("task_idle", S, 1, TTL_MAX, 86400, NULL,
		"A task unused for this long is not live"),
	NUMBER("agent_max", MIB, 1, 1 << 30, 0, "unlimited",
		"Size of all files of an agent; more is refused"),
	NUMBER("gc_interval", MS, 1, 24 * HOUR_MS, 60000, NULL,
		"Shortest time between looks for expired files"),
	NUMBER("tombstones", S, 3600, TTL_MAX, 365 * 86400, "never",
		"Time to remember expired files"),
	NUMBER("log_max", MIB, 1, 1 << 20, 64, "off",
		"Size on disk of the log of events"),
	TEXT("embed_model", "DIR|NAME",
		"Search by meaning: a model's directory, or its name at embed_url"),
	TEXT("embed_url", "URL",
		"An endpoint that makes vectors: http://127.0.0.1:11434/v1"),
	TEXT("remote", "URL",
		"Replicate to object storage: s3://BUCKET/PREFIX?endpoint=URL"),
	TEXT("replicate_key", "FILE",
		"Seal objects with the key in this file"),
	NUMBER("replicate_every", MS, 0, HOUR_MS, 5000, "fsync",
		"Interval at which new data is sent"),
	NUMBER("local_max", MIB, 1, 1 << 30, 0, "unlimited",
		"Content kept on this disk; the remote has all"),
	TEXT("peers", "NAME=URL...",
		"Mounted by 'offload up' at peers/NAME"),
	WORD("redact", onoff,
		"Hide secrets in previews and in the log"),
	WORD("hide_working", switches,
		"Do not list cache, tasks, agents and .offload"),
	WORD("blocks", blocks,
		"st_blocks: bytes on disk, or bytes not in holes"),
	WORD("io_uring", switches,
		"FUSE over io_uring; auto: when the kernel offers it"),
	WORD("awake", switches,
		"Keep processors awake while requests come; auto: not on battery"),
	{ .section = PROMOTE, .name = "match", .type = OFS_INI_TEXT, .value = "PATTERN,...",
	  .check = ofs_promote_check_match,
	  .text = "Move these to persistent/, by their names, tags or titles" },
	{ .section = PROMOTE, .name = "when", .type = OFS_INI_TEXT, .check = check_when,
	  .value = "task done|after N reads",
	  .text = "When: task done (the default), or after N reads" },
	{ .section = AGENT, .name = "max", .number = { OFS_UNIT_MIB, 1, 1 << 30, "unlimited" },
	  .text = "Size of all files of the agent" },
	{ .section = CATEGORY, .name = "ttl", .number = { OFS_UNIT_S, 1, TTL_MAX, "never" },
	  .text = "Lifetime unused" },
};
/* clang-format on */

/*
 * The last two keys belong to the sections with a name, of agents and of categories; the two before
 * them belong to [promote].
 */
#define VALUES (OFS_ARRAY_SIZE(keys) - 2)
#define KEYS (VALUES - 2)
#define AGENT_MAX (&keys[VALUES])
#define CATEGORY_TTL (&keys[VALUES + 1])

const struct ofs_ini_table ofs_config_table = { sections, SECTIONS, keys, OFS_ARRAY_SIZE(keys) };

#define NAME_OF(name, ttl, about) #name,
static const char *const categories[] = { OFS_CATEGORY_TABLE(NAME_OF) };

#define KNOWN OFS_ARRAY_SIZE(categories)

enum origin {
	ORIGIN_DEFAULT,
	ORIGIN_FILE,
	ORIGIN_OPTION,
};

struct ofs_config {
	struct value {
		uint64_t number;
		char *text; /* NULL: empty */
		enum origin origin;
		unsigned int line; /* of the file, for ORIGIN_FILE */
	} values[VALUES];
	/* The lifetimes of the table first, then those that only the file names. */
	struct ofs_lifetime *lifetimes;
	unsigned int *lines; /* in the file, for each lifetime after those of the table */
	size_t n_lifetimes;
	struct ofs_agent_limit *agents;
	unsigned int *agent_lines; /* in the file, for each agent */
	size_t n_agents;
	char *file; /* path of the loaded file; NULL: none */
};

const struct ofs_ini_key *ofs_config_key(size_t number)
{
	return number < KEYS ? &keys[number] : NULL;
}

bool ofs_config_has(const char *name)
{
	return ofs_ini_find(&ofs_config_table, GENERAL, name);
}

const char *ofs_config_nearest(const char *name)
{
	return ofs_ini_nearest(&ofs_config_table, GENERAL, name);
}

/* ---- values */

struct ofs_config *ofs_config_create(void)
{
	struct ofs_config *c = ofs_alloc(sizeof(*c));

	for (size_t i = 0; i < KEYS; i++)
		c->values[i].number = keys[i].preset;
	c->n_lifetimes = KNOWN;
	c->lifetimes = ofs_alloc(KNOWN * sizeof(*c->lifetimes));
	for (size_t i = 0; i < KNOWN; i++)
		c->lifetimes[i].category = categories[i];
	return c;
}

void ofs_config_destroy(struct ofs_config *c)
{
	int saved = errno;

	if (!c)
		return;
	for (size_t i = 0; i < VALUES; i++)
		free(c->values[i].text);
	for (size_t i = KNOWN; i < c->n_lifetimes; i++)
		free((char *)c->lifetimes[i].category);
	free(c->lifetimes);
	free(c->lines);
	for (size_t i = 0; i < c->n_agents; i++)
		free((char *)c->agents[i].agent);
	free(c->agents);
	free(c->agent_lines);
	free(c->file);
	free(c);
	errno = saved;
}

static void set_value(struct ofs_config *c, const struct ofs_ini_key *key, uint64_t number,
		      const char *text, enum origin origin, unsigned int line)
{
	struct value *v = &c->values[key - keys];

	free(v->text);
	*v = (struct value){ number, NULL, origin, line };
	if (key->type == OFS_INI_TEXT)
		v->text = ofs_strdup(text);
}

int ofs_config_set(struct ofs_config *c, const char *name, const char *value, struct ofs_error *err)
{
	const struct ofs_ini_key *key = ofs_ini_find(&ofs_config_table, GENERAL, name);
	struct ofs_error must;
	uint64_t n;

	if (!key)
		return ofs_ini_unknown(&ofs_config_table, GENERAL, name, err);
	if (ofs_ini_parse(key, value, &n, &must) < 0)
		return ofs_error_set(err, EINVAL, "option '%s=%s': must be %s", name,
				     ofs_word_show(value).text, must.text);
	set_value(c, key, n, value, ORIGIN_OPTION, 0);
	return 0;
}

uint64_t ofs_config_get(const struct ofs_config *c, const char *name)
{
	const struct ofs_ini_key *key = ofs_ini_find(&ofs_config_table, GENERAL, name);

	if (!key)
		abort();
	return c->values[key - keys].number;
}

static const char *get_text(const struct ofs_config *c, enum section section, const char *name)
{
	return c->values[ofs_ini_find(&ofs_config_table, section, name) - keys].text;
}

const char *ofs_config_get_text(const struct ofs_config *c, const char *name)
{
	const char *text = get_text(c, GENERAL, name);

	return text ? text : "";
}

/* Sets all options of the configuration in `ret`, which must be of full size. */
static void apply(const struct ofs_config *c, struct ofs_tree_options *ret)
{
	const struct ofs_ini_key *first = ofs_ini_find(&ofs_config_table, GENERAL, "ttl_shell");
	const char *when = get_text(c, PROMOTE, "when");

	for (size_t i = 0; i < KNOWN; i++)
		c->lifetimes[i].ttl_s = c->values[first - keys + (ptrdiff_t)i].number;
	ret->lifetimes = c->lifetimes;
	ret->n_lifetimes = c->n_lifetimes;
	ret->seal_delay_ms = (uint32_t)ofs_config_get(c, "seal_delay");
	ret->journal_max = ofs_config_get(c, "journal_max") << 20;
	ret->cache_bytes = (size_t)ofs_config_get(c, "cache_max") << 20;
	ret->scrub_ms = (uint32_t)ofs_config_get(c, "scrub");
	ret->working_max = ofs_config_get(c, "working_max") << 20;
	ret->working_keep = ofs_config_get(c, "working_keep") << 20;
	ret->agent_max = ofs_config_get(c, "agent_max") << 20;
	ret->agent_limits = c->agents;
	ret->n_agent_limits = c->n_agents;
	ret->grace_s = ofs_config_get(c, "grace");
	ret->task_idle_s = ofs_config_get(c, "task_idle");
	ret->gc_interval_ms = (uint32_t)ofs_config_get(c, "gc_interval");
	ret->tombstones_s = ofs_config_get(c, "tombstones");
	ret->log_max = ofs_config_get(c, "log_max") << 20;
	ret->slice_max_lines = (uint32_t)ofs_config_get(c, "slice_max_lines");
	ret->slice_max_bytes = (uint32_t)ofs_config_get(c, "slice_max_bytes");
	ret->search_ms = (uint32_t)ofs_config_get(c, "search_time");
	ret->embed_model = get_text(c, GENERAL, "embed_model");
	ret->embed_url = get_text(c, GENERAL, "embed_url");
	ret->promote_match = get_text(c, PROMOTE, "match");
	ret->promote_reads = 0;
	if (when)
		ofs_promote_parse_when(when, &ret->promote_reads, NULL);
	ret->remote = get_text(c, GENERAL, "remote");
	ret->replicate_key = get_text(c, GENERAL, "replicate_key");
	ret->replicate_on_sync = !ofs_config_get(c, "replicate_every");
	ret->replicate_ms = ret->replicate_on_sync ? 5000
						   : (uint32_t)ofs_config_get(c, "replicate_every");
	ret->local_max = ofs_config_get(c, "local_max") << 20;
	/* Never from the file: its contents may be shown to others. */
	ret->embed_key = secure_getenv("OFFLOAD_EMBED_KEY");
	ret->blocks = (enum ofs_blocks)ofs_config_get(c, "blocks");
	ret->hide_working = (enum ofs_hide_working)ofs_config_get(c, "hide_working");
}

void ofs_config_apply(const struct ofs_config *c, struct ofs_tree_options *ret)
{
	struct ofs_tree_options known = { 0 };
	size_t size = OFS_MIN(ret->size, sizeof(known));

	memcpy(&known, ret, size);
	apply(c, &known);
	memcpy(ret, &known, size);
}

/* ---- the file */

static void take_agent(struct ofs_config *c, const struct ofs_ini_entry *entry)
{
	size_t n = c->n_agents++;

	c->agents = ofs_realloc(c->agents, n + 1, sizeof(*c->agents));
	c->agents[n] = (struct ofs_agent_limit){ ofs_strdup(entry->x), entry->number << 20 };
	c->agent_lines = ofs_realloc(c->agent_lines, n + 1, sizeof(*c->agent_lines));
	c->agent_lines[n] = entry->line;
}

static void take(void *arg, const struct ofs_ini_entry *entry)
{
	struct ofs_config *c = arg;
	size_t n = c->n_lifetimes;

	if (!entry->key)
		return;
	if (entry->key == AGENT_MAX) {
		take_agent(c, entry);
		return;
	}
	if (entry->key != CATEGORY_TTL) {
		if (c->values[entry->key - keys].origin != ORIGIN_OPTION)
			set_value(c, entry->key, entry->number, entry->text, ORIGIN_FILE,
				  entry->line);
		return;
	}
	c->lifetimes = ofs_realloc(c->lifetimes, n + 1, sizeof(*c->lifetimes));
	c->lifetimes[n] = (struct ofs_lifetime){ ofs_strdup(entry->x), entry->number };
	c->lines = ofs_realloc(c->lines, n + 1 - KNOWN, sizeof(*c->lines));
	c->lines[n - KNOWN] = entry->line;
	c->n_lifetimes++;
}

static int load(struct ofs_config *c, int dir, const char *path, struct ofs_error *err)
{
	int r = ofs_ini_load(dir, path, &ofs_config_table, take, c, err);

	if (r == 0)
		c->file = ofs_strdup(path);
	return r;
}

int ofs_config_load(struct ofs_config *c, const char *path, struct ofs_error *err)
{
	return load(c, AT_FDCWD, path, err);
}

int ofs_config_load_store(struct ofs_config *c, const char *store, struct ofs_error *err)
{
	OFS_CLOSE int dir = ofs_trust_open_store(store, err);
	OFS_FREE char *path = ofs_path_join(store, FILE_NAME);
	int r = dir < 0 ? dir : load(c, dir, path, err);

	/* A missing store is reported by whoever opens it. */
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* Returns whether the line sets the key `name`. */
static bool sets(const char *line, size_t len, const char *name)
{
	size_t skip = strspn(line, " \t"), n = strlen(name);

	if (skip + n >= len || strncmp(line + skip, name, n) != 0)
		return false;
	skip += n + strspn(line + skip + n, " \t");
	return line[skip] == '=' || line[skip] == ':';
}

/* Returns whether a value survives being written to a line and read back. */
static bool is_kept(const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)value[i]) ||
		    (value[i] == ';' && (!i || isspace((unsigned char)value[i - 1]))))
			return false;
	return len && !isspace((unsigned char)*value) && !isspace((unsigned char)value[len - 1]);
}

/* Appends `text`, a config.ini, to `ret` with the key set to `value`; NULL removes the key. */
static void edit(const char *text, const char *name, const char *value, struct ofs_buf *ret)
{
	bool general = true;

	if (value)
		ofs_buf_printf(ret, "%s = %s\n", name, value);
	while (*text) {
		size_t len = strcspn(text, "\n");

		general = general && text[strspn(text, " \t")] != '[';
		len += text[len] == '\n';
		if (!general || !sets(text, len, name))
			ofs_buf_append(ret, text, len);
		text += len;
	}
}

int ofs_config_store_set(const char *store, const char *name, const char *value,
			 struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, edited = OFS_BUF_INIT;
	OFS_CLOSE int dir = ofs_trust_open_store(store, err);
	struct ofs_config *c = ofs_config_create();
	int r = dir < 0 ? dir : value ? ofs_config_set(c, name, value, err) : 0;

	ofs_config_destroy(c);
	if (r == 0 && value && !is_kept(value))
		r = ofs_error_set(
			err, EINVAL,
			"'%s' cannot be written in config.ini: it must not begin or end with "
			"a space, begin with ';', or contain ' ;' or control characters",
			ofs_word_show(value).text);
	if (r < 0)
		return r;
	r = ofs_io_read_file(dir, FILE_NAME, FILE_MAX, &text);
	if (r == 0 || r == -ENOENT) {
		edit(ofs_buf_str(&text), name, value, &edited);
		r = ofs_io_write_file(dir, FILE_NAME, edited.data, edited.len);
	}
	return r < 0 ? ofs_error_set(err, -r, "'%s/" FILE_NAME "' cannot be changed: %s", store,
				     strerror(-r))
		     : 0;
}

/* ---- the configuration in effect */

static void format_value(const struct ofs_ini_key *key, uint64_t value, const char *text,
			 struct ofs_buf *ret)
{
	if (key->type == OFS_INI_TEXT)
		ofs_buf_printf(ret, "%s\n", text ? text : "");
	else if (key->type == OFS_INI_WORD)
		ofs_buf_printf(ret, "%s\n", key->words[value]);
	else
		ofs_buf_printf(ret, "%llu\n", (unsigned long long)value);
}

static void format_about(const struct ofs_ini_key *key, struct ofs_buf *ret)
{
	struct ofs_error allowed;

	ofs_ini_describe(key, &allowed);
	ofs_buf_printf(ret, "# %s.\n# Allowed: %s\n", key->text, allowed.text);
}

static void format_origin(const struct ofs_config *c, enum origin origin, unsigned int line,
			  struct ofs_buf *ret)
{
	ofs_buf_append_str(ret, "# Set by: ");
	if (origin == ORIGIN_DEFAULT)
		ofs_buf_append_str(ret, "default");
	if (origin == ORIGIN_OPTION)
		ofs_buf_append_str(ret, "mount option");
	if (origin == ORIGIN_FILE) {
		/* A control character in the path must not end the comment. */
		for (const char *p = c->file; *p; p++)
			ofs_buf_append(ret, iscntrl((unsigned char)*p) ? "?" : p, 1);
		ofs_buf_printf(ret, ":%u", line);
	}
	ofs_buf_append_str(ret, "\n");
}

/* Appends the section [KIND x] with its one key. */
static void format_named(const struct ofs_config *c, const struct ofs_ini_key *key, const char *x,
			 uint64_t value, unsigned int line, struct ofs_buf *ret)
{
	ofs_buf_printf(ret, "\n[%s %s]\n", sections[key->section].name, x);
	format_about(key, ret);
	format_origin(c, ORIGIN_FILE, line, ret);
	ofs_buf_printf(ret, "%s = ", key->name);
	format_value(key, value, NULL, ret);
}

char *ofs_config_format(const struct ofs_config *c)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_buf_append_str(&text, "# The configuration in effect. To change it, write lines "
				  "KEY = VALUE into config.ini in the\n"
				  "# store, or mount with -o KEY=VALUE, which wins over the "
				  "file; then mount again.\n");
	for (size_t i = 0; i < KEYS; i++) {
		const struct value *v = &c->values[i];

		ofs_buf_append_str(&text, "\n");
		format_about(&keys[i], &text);
		ofs_buf_append_str(&text, "# Default: ");
		format_value(&keys[i], keys[i].preset, NULL, &text);
		format_origin(c, v->origin, v->line, &text);
		ofs_buf_printf(&text, "%s = ", keys[i].name);
		format_value(&keys[i], v->number, v->text, &text);
	}
	for (size_t i = KEYS; i < VALUES; i++) {
		const struct value *v = &c->values[i];

		if (v->origin == ORIGIN_DEFAULT)
			continue;
		if (i == KEYS || c->values[i - 1].origin == ORIGIN_DEFAULT)
			ofs_buf_printf(&text, "\n[%s]", sections[keys[i].section].name);
		ofs_buf_append_str(&text, "\n");
		format_about(&keys[i], &text);
		format_origin(c, v->origin, v->line, &text);
		ofs_buf_printf(&text, "%s = ", keys[i].name);
		format_value(&keys[i], v->number, v->text, &text);
	}
	for (size_t i = KNOWN; i < c->n_lifetimes; i++)
		format_named(c, CATEGORY_TTL, c->lifetimes[i].category, c->lifetimes[i].ttl_s,
			     c->lines[i - KNOWN], &text);
	for (size_t i = 0; i < c->n_agents; i++)
		format_named(c, AGENT_MAX, c->agents[i].agent, c->agents[i].max_bytes >> 20,
			     c->agent_lines[i], &text);
	return ofs_buf_steal_str(&text);
}
