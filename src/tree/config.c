/* SPDX-License-Identifier: MIT */
#include "tree/config.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "base/word.h"
#include "io/ini.h"
#include "io/path.h"

#define FILE_NAME "config.ini"
#define HOUR_MS 3600000
#define TTL_MAX (36500 * UINT64_C(86400))

/* ---- the table */

static const struct ofs_config_unit milliseconds = {
	"milliseconds",
	"MS",
	{ { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", HOUR_MS } }
};
static const struct ofs_config_unit mebibytes = { "MiB", "MIB", { { "M", 1 }, { "G", 1024 } } };
static const struct ofs_config_unit bytes = {
	"bytes",
	"BYTES",
	{ { "K", 1024 }, { "M", 1 << 20 }, { "G", 1 << 30 } }
};
static const struct ofs_config_unit lines = { "lines", "LINES", { { NULL, 0 } } };

static const struct ofs_config_unit seconds = {
	"seconds",
	"TIME",
	{ { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } }
};

static const char *const switches[] = { "auto", "on", "off", NULL };
static const char *const onoff[] = { "on", "off", NULL };

#define NUMBER(name, unit, min, max, preset, zero, text)          \
	{                                                         \
		name, &(unit), NULL, min, max, preset, zero, text \
	}
/* The first word is the default. */
#define CHOICE(name, words, text)                      \
	{                                              \
		name, NULL, words, 0, 0, 0, NULL, text \
	}

/*
 * An entry here is all that a key needs to be read from the file and from options, checked, and
 * listed in the usage text and by ofs_config_format(): name, unit, least, most, default, word for
 * 0, text.
 */
/* clang-format off */
static const struct ofs_config_key table[] = {
	NUMBER("seal_delay", milliseconds, 0, HOUR_MS, 1000, NULL,
		"Seal a file that was not written for so long"),
	NUMBER("journal_max", mebibytes, 1, 1 << 20, 2048, NULL,
		"Writers wait when so much waits to be sealed"),
	NUMBER("cache_max", mebibytes, 1, 1 << 20, 32, NULL,
		"Keep up to so much decompressed content in memory"),
	NUMBER("scrub", milliseconds, 0, HOUR_MS, 1000, "never",
		"Check one portion each so long, when idle"),
	NUMBER("slice_max_lines", lines, 0, INT_MAX, 2000, "unlimited",
		"Lines in one slice"),
	NUMBER("slice_max_bytes", bytes, 0, INT_MAX, 65536, "unlimited",
		"Bytes in one slice"),
	NUMBER("ttl_shell", seconds, 1, TTL_MAX, 1800, "never",
		"In shell, what is so long unused expires"),
	NUMBER("ttl_search", seconds, 1, TTL_MAX, 6 * 3600, "never",
		"In search"),
	NUMBER("ttl_web", seconds, 1, TTL_MAX, 6 * 3600, "never",
		"In web"),
	NUMBER("ttl_file_read", seconds, 1, TTL_MAX, 24 * 3600, "never",
		"In file_read"),
	NUMBER("ttl_notes", seconds, 1, TTL_MAX, 7 * 86400, "never",
		"In notes"),
	NUMBER("ttl_reports", seconds, 1, TTL_MAX, 0, "never",
		"In reports"),
	NUMBER("ttl_context", seconds, 1, TTL_MAX, 30 * 86400, "never",
		"In context (see offload context)"),
	NUMBER("ttl_other", seconds, 1, TTL_MAX, 24 * 3600, "never",
		"In all other categories"),
	NUMBER("working_max", mebibytes, 1, 1 << 30, 0, "unlimited",
		"Size on disk of the working tier; more goes"),
	NUMBER("gc_interval", milliseconds, 1, 24 * HOUR_MS, 60000, NULL,
		"Look for what has expired at most so often"),
	NUMBER("tombstones", seconds, 3600, TTL_MAX, 365 * 86400, "never",
		"Remember so long what has expired"),
	CHOICE("redact", onoff,
		"Hide secrets in previews and in the log"),
	CHOICE("io_uring", switches,
		"FUSE over io_uring; auto: when the kernel offers it"),
};
/* clang-format on */

#define KEYS OFS_ARRAY_SIZE(table)

enum origin {
	ORIGIN_DEFAULT,
	ORIGIN_FILE,
	ORIGIN_OPTION,
};

struct ofs_config {
	struct {
		uint64_t number;
		enum origin origin;
		unsigned int line; /* of the file that names it, also when an option wins; 0: none */
	} values[KEYS];
	char *file; /* NULL: none was taken in */
};

const struct ofs_config_key *ofs_config_key(size_t number)
{
	return number < KEYS ? &table[number] : NULL;
}

/* KEYS: there is none. */
static size_t find(const char *name)
{
	size_t i;

	for (i = 0; i < KEYS; i++)
		if (strcmp(table[i].name, name) == 0)
			break;
	return i;
}

bool ofs_config_has(const char *name)
{
	return find(name) < KEYS;
}

static const char *name_of(const void *arg, size_t number)
{
	(void)arg;
	return number < KEYS ? table[number].name : NULL;
}

const char *ofs_config_nearest(const char *name)
{
	return ofs_word_nearest(name, name_of, NULL);
}

/* ---- values */

void ofs_config_value_describe(const struct ofs_config_key *key, char *ret, size_t size)
{
	size_t len;
	int i;

	if (key->words) {
		len = (size_t)snprintf(ret, size, "one of %s", key->words[0]);
		for (i = 1; key->words[i] && len < size; i++)
			len += (size_t)snprintf(ret + len, size - len, ", %s", key->words[i]);
		return;
	}
	len = (size_t)snprintf(ret, size, "a number of %s from %llu to %llu", key->unit->name,
			       (unsigned long long)key->min, (unsigned long long)key->max);
	for (i = 0; key->unit->suffixes[i].suffix && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s%s",
					i ? ", " : ", also with a unit (",
					key->unit->suffixes[i].suffix);
	if (i && len < size)
		len += (size_t)snprintf(ret + len, size - len, ")");
	if (key->zero && len < size)
		snprintf(ret + len, size - len, ", or %s", key->zero);
}

static bool take_suffix(const struct ofs_config_unit *unit, const char *suffix, uint64_t *n)
{
	int i;

	if (!*suffix)
		return true;
	for (i = 0; unit->suffixes[i].suffix; i++)
		if (strcasecmp(unit->suffixes[i].suffix, suffix) == 0)
			return !__builtin_mul_overflow(*n, unit->suffixes[i].factor, n);
	return false;
}

bool ofs_config_value_parse(const struct ofs_config_key *key, const char *text, uint64_t *ret)
{
	uint64_t n;
	char *end;
	int i;

	if (key->words) {
		for (i = 0; key->words[i] && strcmp(key->words[i], text) != 0; i++)
			;
		*ret = (uint64_t)i;
		return key->words[i];
	}
	if (key->zero && strcmp(key->zero, text) == 0) {
		*ret = 0;
		return true;
	}
	/* strtoull takes blanks and signs, too. */
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || !take_suffix(key->unit, end, &n))
		return false;
	*ret = n;
	return (n >= key->min && n <= key->max) || (n == 0 && key->zero);
}

struct ofs_config *ofs_config_create(void)
{
	struct ofs_config *c = ofs_alloc(sizeof(*c));
	size_t i;

	for (i = 0; i < KEYS; i++)
		c->values[i].number = table[i].preset;
	return c;
}

void ofs_config_destroy(struct ofs_config *c)
{
	int saved = errno;

	if (c)
		free(c->file);
	free(c);
	errno = saved;
}

static int unknown(const char *name, struct ofs_error *err)
{
	const char *nearest = ofs_config_nearest(name);
	char all[384];
	size_t len = 0, i;

	if (nearest)
		return ofs_error_set(err, EINVAL, "unknown key '%s': did you mean '%s'?",
				     ofs_word_show(name).text, nearest);
	for (i = 0; i < KEYS && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i ? ", " : "",
					table[i].name);
	return ofs_error_set(err, EINVAL, "unknown key '%s': the keys are %s",
			     ofs_word_show(name).text, all);
}

int ofs_config_set(struct ofs_config *c, const char *name, const char *value, struct ofs_error *err)
{
	size_t i = find(name);
	char allowed[256];
	uint64_t n;

	if (i == KEYS)
		return unknown(name, err);
	if (!ofs_config_value_parse(&table[i], value, &n)) {
		ofs_config_value_describe(&table[i], allowed, sizeof(allowed));
		return ofs_error_set(err, EINVAL, "option '%s=%s': must be %s", name,
				     ofs_word_show(value).text, allowed);
	}
	c->values[i].number = n;
	c->values[i].origin = ORIGIN_OPTION;
	return 0;
}

uint64_t ofs_config_get(const struct ofs_config *c, const char *name)
{
	size_t i = find(name);

	if (i == KEYS)
		abort();
	return c->values[i].number;
}

void ofs_config_apply(const struct ofs_config *c, struct ofs_tree_options *ret)
{
	ret->seal_delay_ms = (uint32_t)ofs_config_get(c, "seal_delay");
	ret->journal_max = ofs_config_get(c, "journal_max") << 20;
	ret->cache_bytes = (size_t)ofs_config_get(c, "cache_max") << 20;
	ret->scrub_ms = (uint32_t)ofs_config_get(c, "scrub");
	ret->ttl_s[OFS_TTL_SHELL] = ofs_config_get(c, "ttl_shell");
	ret->ttl_s[OFS_TTL_SEARCH] = ofs_config_get(c, "ttl_search");
	ret->ttl_s[OFS_TTL_WEB] = ofs_config_get(c, "ttl_web");
	ret->ttl_s[OFS_TTL_FILE_READ] = ofs_config_get(c, "ttl_file_read");
	ret->ttl_s[OFS_TTL_NOTES] = ofs_config_get(c, "ttl_notes");
	ret->ttl_s[OFS_TTL_REPORTS] = ofs_config_get(c, "ttl_reports");
	ret->ttl_s[OFS_TTL_CONTEXT] = ofs_config_get(c, "ttl_context");
	ret->ttl_s[OFS_TTL_OTHER] = ofs_config_get(c, "ttl_other");
	ret->working_max = ofs_config_get(c, "working_max") << 20;
	ret->gc_interval_ms = (uint32_t)ofs_config_get(c, "gc_interval");
	ret->tombstones_s = ofs_config_get(c, "tombstones");
	ret->slice_max_lines = (uint32_t)ofs_config_get(c, "slice_max_lines");
	ret->slice_max_bytes = (uint32_t)ofs_config_get(c, "slice_max_bytes");
}

/* ---- the file */

static int take_line(void *arg, const struct ofs_ini_line *line, struct ofs_error *err)
{
	struct ofs_config *c = arg;
	char allowed[256];
	uint64_t n;
	size_t i;

	if (!line->name)
		return ofs_error_set(err, EINVAL,
				     "there are no sections here: write lines KEY = VALUE alone");
	i = find(line->name);
	if (i == KEYS)
		return unknown(line->name, err);
	if (c->values[i].line)
		return ofs_error_set(err, EINVAL, "'%s' is set twice, first in line %u: keep one",
				     line->name, c->values[i].line);
	if (!ofs_config_value_parse(&table[i], line->value, &n)) {
		ofs_config_value_describe(&table[i], allowed, sizeof(allowed));
		return ofs_error_set(err, EINVAL, "%s = '%s': must be %s", line->name,
				     ofs_word_show(line->value).text, allowed);
	}
	c->values[i].line = line->number;
	if (c->values[i].origin != ORIGIN_OPTION) {
		c->values[i].number = n;
		c->values[i].origin = ORIGIN_FILE;
	}
	return 0;
}

int ofs_config_load(struct ofs_config *c, const char *path, struct ofs_error *err)
{
	struct ofs_config read = *c; /* becomes the caller's when all of it is right */
	int r = ofs_ini_load(path, take_line, &read, err);

	if (r < 0)
		return r;
	*c = read;
	free(c->file);
	c->file = ofs_strdup(path);
	return 0;
}

int ofs_config_load_store(struct ofs_config *c, const char *store, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_path_join(store, FILE_NAME);
	struct stat st;

	/* Whether there is a store at all is for others to say. */
	if (stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	return ofs_config_load(c, path, err);
}

/* ---- what is in effect */

static int format_origin(const struct ofs_config *c, size_t i, struct ofs_buf *ret)
{
	const char *p;

	if (c->values[i].origin == ORIGIN_DEFAULT) {
		ofs_buf_append_str(ret, "default");
		return 0;
	}
	if (c->values[i].origin == ORIGIN_OPTION) {
		ofs_buf_append_str(ret, "mount option");
		return 0;
	}
	/* A comment ends with its line, whatever a path holds. */
	for (p = c->file; *p; p++)
		ofs_buf_append(ret, iscntrl((unsigned char)*p) ? "?" : p, 1);
	ofs_buf_printf(ret, ":%u", c->values[i].line);
	return 0;
}

static int format_key(const struct ofs_config *c, size_t i, struct ofs_buf *ret)
{
	const struct ofs_config_key *key = &table[i];
	char allowed[256], preset[32], value[32];
	int r;

	ofs_config_value_describe(key, allowed, sizeof(allowed));
	if (key->words) {
		snprintf(preset, sizeof(preset), "%s", key->words[key->preset]);
		snprintf(value, sizeof(value), "%s", key->words[c->values[i].number]);
	} else {
		snprintf(preset, sizeof(preset), "%llu", (unsigned long long)key->preset);
		snprintf(value, sizeof(value), "%llu", (unsigned long long)c->values[i].number);
	}
	ofs_buf_printf(ret, "\n# %s.\n# Allowed: %s\n# Default: %s\n# Set by: ", key->text, allowed,
		       preset);
	r = format_origin(c, i, ret);
	if (r == 0)
		ofs_buf_printf(ret, "\n%s = %s\n", key->name, value);
	return r;
}

int ofs_config_format(const struct ofs_config *c, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	size_t i;
	int r;

	ofs_buf_append_str(&text, "# The configuration in effect. To change it, write lines "
				  "KEY = VALUE into config.ini in the\n"
				  "# store, or mount with -o KEY=VALUE, which wins over the "
				  "file; then mount again.\n");
	r = 0;
	for (i = 0; i < KEYS && r == 0; i++)
		r = format_key(c, i, &text);
	if (r == 0)
		ofs_buf_append(&text, "", 1);
	if (r < 0)
		return r;
	*ret = (char *)ofs_steal(text.data);
	return 0;
}
