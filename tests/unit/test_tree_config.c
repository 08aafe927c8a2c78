/* SPDX-License-Identifier: MIT */
/* The configuration: which files and options are accepted, and which setting wins. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree/config.h"

static char dir[] = "/tmp/offloadfs-test-XXXXXX";
static char path[64];
static struct ofs_config *config;
static struct ofs_error err;

static void begin(void)
{
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/config.ini", dir);
	config = ofs_config_create();
	err.text[0] = 0;
}

static void finish(void)
{
	ofs_config_destroy(config);
	unlink(path);
	cr_expect_eq(rmdir(dir), 0);
}

TestSuite(tree_config, .init = begin, .fini = finish);

static void write_bytes(const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	cr_assert(out);
	cr_assert_eq(fwrite(text, 1, len, out), len);
	cr_assert_eq(fclose(out), 0);
}

static void write_text(const char *text)
{
	write_bytes(text, strlen(text));
}

static void expect(const char *key, uint64_t value)
{
	cr_expect_eq(ofs_config_get(config, key), value, "%s is %llu, not %llu", key,
		     (unsigned long long)ofs_config_get(config, key), (unsigned long long)value);
}

/* The file must be refused without any effect, at `line` (0: as a whole) and with `words`. */
static void expect_refused(const char *text, size_t len, unsigned int line, const char *words)
{
	char start[128];

	write_bytes(text, len);
	if (line)
		snprintf(start, sizeof(start), "%s:%u: ", path, line);
	else
		snprintf(start, sizeof(start), "'%s'", path);
	cr_expect_eq(ofs_config_load(config, path, &err), -EINVAL, "accepted: %s", text);
	cr_expect_eq(strncmp(err.text, start, strlen(start)), 0, "'%s' does not start with '%s'",
		     err.text, start);
	cr_expect(strstr(err.text, words), "'%s' lacks '%s'", err.text, words);
	cr_expect_not(strchr(err.text, '\n'));
	expect("seal_delay", 1000);
}

Test(tree_config, defaults_are_those_of_a_tree)
{
	const struct ofs_tree_options usual = OFS_TREE_OPTIONS_INIT;
	struct ofs_tree_options o = { .size = sizeof(o), .create = true, .mountpoint = "kept" };

	ofs_config_apply(config, &o);
	cr_expect_eq(o.seal_delay_ms, usual.seal_delay_ms);
	cr_expect_eq(o.slice_max_lines, usual.slice_max_lines);
	cr_expect_eq(o.slice_max_bytes, usual.slice_max_bytes);
	cr_expect_eq(o.cache_bytes, usual.cache_bytes);
	cr_expect_eq(o.scrub_ms, usual.scrub_ms);
	cr_expect_eq(o.journal_max, UINT64_C(2048) << 20, "what 0 stands for");
	cr_expect(o.create);
	cr_expect_str_eq(o.mountpoint, "kept");
}

Test(tree_config, every_default_is_allowed_and_every_name_close_to_itself)
{
	const struct ofs_ini_key *key;
	char value[32];
	size_t i;

	for (i = 0; (key = ofs_config_key(i)); i++) {
		cr_expect(ofs_config_has(key->name));
		cr_expect_str_eq(ofs_config_nearest(key->name), key->name);
		snprintf(value, sizeof(value), "%llu", (unsigned long long)key->preset);
		cr_expect_eq(ofs_config_set(config, key->name,
					    key->words ? key->words[key->preset] : value, &err),
			     0, "%s", err.text);
	}
	cr_expect_geq(i, 7);
}

Test(tree_config, a_file_as_people_write_it)
{
	struct ofs_tree_options o = OFS_TREE_OPTIONS_INIT;

	write_text(
		"\xef\xbb\xbf"
		"; a comment, and one longer than any line may be: ...................."
		"............................................................................"
		"............................................................................\r\n"
		"# another\r\n"
		"\r\n"
		"seal_delay = 250   ; for tests\r\n"
		"  scrub=never\r\n"
		"\tcache_max = 1G\r\n"
		"journal_max: 8\r\n"
		"slice_max_lines = unlimited\r\n"
		"io_uring = off");
	cr_assert_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	expect("seal_delay", 250);
	expect("scrub", 0);
	expect("cache_max", 1024);
	expect("journal_max", 8);
	expect("slice_max_lines", 0);
	expect("slice_max_bytes", 65536);
	expect("io_uring", 2);
	ofs_config_apply(config, &o);
	cr_expect_eq(o.seal_delay_ms, 250);
	cr_expect_eq(o.cache_bytes, (size_t)1 << 30);
	cr_expect_eq(o.journal_max, 8 << 20);
}

Test(tree_config, an_empty_file_changes_nothing)
{
	write_text("");
	cr_expect_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	expect("seal_delay", 1000);
}

Test(tree_config, units)
{
	static const struct {
		const char *key, *value;
		uint64_t means;
	} cases[] = {
		{ "seal_delay", "0", 0 },
		{ "seal_delay", "0002", 2 },
		{ "seal_delay", "500ms", 500 },
		{ "seal_delay", "2s", 2000 },
		{ "seal_delay", "3m", 180000 },
		{ "seal_delay", "1h", 3600000 },
		{ "slice_max_bytes", "64K", 65536 },
		{ "slice_max_bytes", "1m", 1 << 20 },
		{ "journal_max", "2G", 2048 },
		{ "journal_max", "2048", 2048 },
		{ "slice_max_lines", "7", 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_eq(ofs_config_set(config, cases[i].key, cases[i].value, &err), 0, "%s",
			     err.text);
		expect(cases[i].key, cases[i].means);
	}
}

Test(tree_config, options_that_are_refused)
{
	static const char *const cases[][2] = {
		{ "seal_delay", "soon" },
		{ "seal_delay", "" },
		{ "seal_delay", "-1" },
		{ "seal_delay", "+1" },
		{ "seal_delay", " 1" },
		{ "seal_delay", "1 s" },
		{ "seal_delay", "1.5s" },
		{ "seal_delay", "0x10" },
		{ "seal_delay", "3600001" },
		{ "seal_delay", "2h" },
		{ "seal_delay", "1d" },
		{ "seal_delay", "never" },
		{ "seal_delay", "99999999999999999999" },
		{ "seal_delay", "5124095576030431h" }, /* just below 2^64 seconds */
		{ "journal_max", "0" },
		{ "slice_max_lines", "2K" },
		{ "slice_max_bytes", "2147483648" },
		{ "io_uring", "1" },
		{ "io_uring", "ON" },
		{ "io_uring", "" },
	};
	char start[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_eq(ofs_config_set(config, cases[i][0], cases[i][1], &err), -EINVAL,
			     "accepted: %s=%s", cases[i][0], cases[i][1]);
		snprintf(start, sizeof(start), "option '%s=%s': must be ", cases[i][0],
			 cases[i][1]);
		cr_expect_eq(strncmp(err.text, start, strlen(start)), 0, "%s", err.text);
	}
	cr_expect_eq(ofs_config_set(config, "frobnicate", "1", &err), -EINVAL);
	cr_expect(strstr(err.text, "unknown key 'frobnicate': the keys are seal_delay, "), "%s",
		  err.text);
	expect("seal_delay", 1000);
}

Test(tree_config, files_that_are_refused)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *words;
	} cases[] = {
		{ "\n\nseal_dely = 5\n", 3, "unknown key 'seal_dely': did you mean 'seal_delay'?" },
		{ "Seal-Delay = 5\n", 1, "did you mean 'seal_delay'?" },
		{ "colour = red\n", 1, "unknown key 'colour': the keys are seal_delay, " },
		{ "seal_delay = soon\n", 1,
		  "seal_delay = 'soon': must be a number of milliseconds from 0 to 3600000" },
		{ "scrub = x\n", 1, "(ms, s, m, h), or never" },
		{ "io_uring = maybe\n", 1, "io_uring = 'maybe': must be one of auto, on, off" },
		{ "seal_delay =\n", 1, "seal_delay = '': must be" },
		{ "seal_delay = 5 # no comment\n", 1, "'5 # no comment': must be" },
		{ "seal_delay = 5\nscrub = 5\n seal_delay = 6\n", 3, "set twice, first in line 1" },
		{ "seal_delay = 5\nscrub\nnonsense = 5\n", 2,
		  "not a line of the form KEY = VALUE" },
		{ "seal_delay = 5\n = 5\n", 2, "unknown key ''" },
		{ "[offloadfs]\nseal_delay = 5\n", 1,
		  "unknown section [offloadfs]: the sections are [promote], [agent NAME] and [category NAME]" },
		{ "seal_delay = 5\n\n[other]\n", 3, "unknown section [other]" },
		{ "[categry x]\nttl = 5\n", 1, "[categry x]: did you mean [category NAME]?" },
		{ "[category]\nttl = 5\n", 1, "[category] lacks a name" },
		{ "[category a/b]\n", 1, "category 'a/b': must be a name" },
		{ "[category ..]\n", 1, "category '..': must be a name" },
		{ "[category a\xff]\n", 1, "must be a name" },
		{ "[category a]\nttl = soon\n", 2, "ttl = 'soon': must be a number of seconds" },
		{ "[category a]\nttl = 0x5\n", 2, "(s, m, h, d), or never" },
		{ "[category a]\nttl = 36501d\n", 2, "must be a number of seconds from 1" },
		{ "[category a]\ntll = 5\n", 2, "unknown key 'tll'" },
		{ "[category a]\nscrub = 5\n", 2, "'scrub' belongs before the first section" },
		{ "ttl = 5\n", 1, "'ttl' belongs in [category NAME]" },
		{ "[category a]\nttl = 5\nttl = 6\n", 3, "'ttl' is set twice, first in line 2" },
		{ "[category a]\n[category b]\n[category a]\n", 3,
		  "[category a] appears twice, first in line 1" },
		{ "ttl_web = 5\n[category web]\nttl = 6\n", 3,
		  "'ttl_web' is set twice, first in line 1" },
		{ "seal_delay = \033[2J\n", 1, "seal_delay = '?[2J': must be" },
		{ "seal_delay = 5\rscrub = 5\r", 1, "seal_delay = '5?scrub = 5': must be" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_refused(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].words);
	expect_refused("scrub = 5\nseal_delay = 5\0\n", 26, 2, "a NUL byte");
	expect_refused("s\0c\0r\0u\0b\0", 10, 1, "a NUL byte");
}

Test(tree_config, a_line_of_any_length)
{
	char longest[1000];

	snprintf(longest, sizeof(longest), "\nseal_delay = %0900d\n", 5);
	write_text(longest);
	cr_expect_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	expect("seal_delay", 5);
}

/* ---- categories */

/* Returns a category's lifetime in a tree's options, or UINT64_MAX if they do not name it. */
static uint64_t lifetime(const struct ofs_config *c, const char *category)
{
	struct ofs_tree_options o = OFS_TREE_OPTIONS_INIT;
	uint64_t ttl = UINT64_MAX;

	ofs_config_apply(c, &o);
	for (size_t i = 0; i < o.n_lifetimes; i++)
		if (strcmp(o.lifetimes[i].category, category) == 0)
			ttl = o.lifetimes[i].ttl_s;
	return ttl;
}

Test(tree_config, a_category_of_any_name)
{
	write_text("ttl_shell = 1h\n[category analysis]\nttl = 30d\n[agent analysis]\nmax = 2G\n"
		   "[category  two words ; and more]\n ttl = never ; for good\n"
		   "[category web]\nttl = 90\n[category empty]\n");
	cr_assert_eq(ofs_config_set(config, "ttl_notes", "2d", &err), 0, "%s", err.text);
	cr_assert_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	cr_expect_eq(lifetime(config, "analysis"), 30 * 86400);
	cr_expect_eq(lifetime(config, "two words ; and more"), 0);
	cr_expect_eq(lifetime(config, "web"), 90);
	expect("ttl_web", 90);
	cr_expect_eq(lifetime(config, "shell"), 3600);
	cr_expect_eq(lifetime(config, "notes"), 2 * 86400);
	cr_expect_eq(lifetime(config, "search"), 6 * 3600);
	cr_expect_eq(lifetime(config, "other"), 86400);
	cr_expect_eq(lifetime(config, "empty"), UINT64_MAX);
}

Test(tree_config, an_option_wins_over_the_section_of_a_category)
{
	write_text("[category web]\nttl = 90\n");
	cr_assert_eq(ofs_config_set(config, "ttl_web", "5", &err), 0, "%s", err.text);
	cr_assert_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	expect("ttl_web", 5);
	cr_expect_eq(lifetime(config, "web"), 5);
}

Test(tree_config, categories_can_be_read_back)
{
	struct ofs_config *second = ofs_config_create();
	char *text;

	write_text("[category analysis]\nttl = 30d\n[category t\xc3\xa4glich # 1]\nttl = never\n"
		   "[category web]\nttl = 7h\n");
	cr_assert_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	text = ofs_config_format(config);
	cr_expect(strstr(text, "\n[category analysis]\n# "), "%s", text);
	cr_expect(strstr(text, "/config.ini:2\nttl = 2592000\n"), "%s", text);
	cr_expect(strstr(text, "/config.ini:6\nttl_web = 25200\n"), "%s", text);
	write_text(text);
	free(text);
	cr_assert_eq(ofs_config_load(second, path, &err), 0, "%s", err.text);
	cr_expect_eq(lifetime(second, "analysis"), 30 * 86400);
	cr_expect_eq(lifetime(second, "t\xc3\xa4glich # 1"), 0);
	cr_expect_eq(lifetime(second, "web"), 7 * 3600);
	ofs_config_destroy(second);
}

Test(tree_config, a_file_too_large_to_be_one)
{
	size_t len = (64 << 10) + 1;
	char *text = calloc(1, len);

	memset(text, '\n', len);
	expect_refused(text, len, 0, "larger than 64 KiB");
	write_bytes(text, len - 1);
	cr_expect_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	free(text);
}

Test(tree_config, what_is_no_file)
{
	cr_expect_eq(ofs_config_load(config, dir, &err), -EINVAL);
	cr_expect(strstr(err.text, "is not a regular file"), "%s", err.text);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(ofs_config_load(config, path, &err), -EINVAL, "and did not wait");
	unlink(path);
	cr_expect_eq(ofs_config_load(config, path, &err), -ENOENT);
	cr_expect(strstr(err.text, path), "%s", err.text);
	cr_expect_eq(ofs_config_load_store(config, dir, &err), 0, "%s", err.text);
	cr_expect_eq(ofs_config_load_store(config, path, &err), 0, "%s", err.text);
}

Test(tree_config, an_option_wins_over_the_file_in_any_order)
{
	write_text("seal_delay = 250\nscrub = 250\n");
	cr_assert_eq(ofs_config_set(config, "seal_delay", "7", &err), 0);
	cr_assert_eq(ofs_config_load_store(config, dir, &err), 0, "%s", err.text);
	cr_assert_eq(ofs_config_set(config, "scrub", "8", &err), 0);
	cr_assert_eq(ofs_config_set(config, "scrub", "9", &err), 0);
	expect("seal_delay", 7);
	expect("scrub", 9);
}

Test(tree_config, a_store_is_told_a_value)
{
	static const char *const lost[] = { "", " x", "x ", "x ; y", ";x", "x\ny = z", "x\ty" };
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;

	write_text("# mine\nremote: old\nscrub = 250\n[category news]\nttl = 9\n");
	cr_assert_eq(ofs_config_store_set(dir, "remote", "s3://b/p?a=b;c", &err), 0, "%s",
		     err.text);
	cr_assert_eq(ofs_config_store_set(dir, "remote", "s3://c", &err), 0, "%s", err.text);
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		cr_expect_eq(ofs_config_store_set(dir, "remote", lost[i], &err), -EINVAL);
	cr_assert_eq(ofs_config_load_store(config, dir, &err), 0, "%s", err.text);
	ofs_config_apply(config, &opts);
	cr_expect_str_eq(opts.remote, "s3://c");
	expect("scrub", 250);
}

Test(tree_config, what_an_option_hides_is_checked_all_the_same)
{
	write_text("seal_delay = 250\nseal_delay = 251\n");
	cr_assert_eq(ofs_config_set(config, "seal_delay", "7", &err), 0);
	cr_expect_eq(ofs_config_load(config, path, &err), -EINVAL);
	cr_expect(strstr(err.text, "set twice"), "%s", err.text);
	expect("seal_delay", 7);
}

Test(tree_config, what_is_in_effect_can_be_read_back)
{
	struct ofs_config *second = ofs_config_create();
	const struct ofs_ini_key *key;
	char *text, want[160];
	size_t i;

	write_text("# first\nseal_delay = 2s\nscrub = never\n");
	cr_assert_eq(ofs_config_load(config, path, &err), 0, "%s", err.text);
	cr_assert_eq(ofs_config_set(config, "io_uring", "off", &err), 0);
	cr_assert_eq(ofs_config_set(config, "cache_max", "1G", &err), 0);
	text = ofs_config_format(config);
	snprintf(want, sizeof(want), "# Default: 1000\n# Set by: %s:2\nseal_delay = 2000\n", path);
	cr_expect(strstr(text, want), "%s", text);
	cr_expect(strstr(text, "# Default: auto\n# Set by: mount option\nio_uring = off\n"), "%s",
		  text);
	cr_expect(strstr(text, "# Default: 2048\n# Set by: default\njournal_max = 2048\n"), "%s",
		  text);
	write_text(text);
	free(text);
	cr_assert_eq(ofs_config_load(second, path, &err), 0, "%s", err.text);
	for (i = 0; (key = ofs_config_key(i)); i++)
		cr_expect_eq(ofs_config_get(second, key->name), ofs_config_get(config, key->name),
			     "%s", key->name);
	ofs_config_destroy(second);
}

Test(tree_config, a_path_cannot_end_its_comment)
{
	char odd[96], *text;

	snprintf(odd, sizeof(odd), "%s/a\nseal_delay = 5", dir);
	write_text("scrub = 5\n");
	cr_assert_eq(rename(path, odd), 0);
	cr_assert_eq(ofs_config_load(config, odd, &err), 0, "%s", err.text);
	text = ofs_config_format(config);
	cr_expect(strstr(text, "/a?seal_delay = 5:1\nscrub = 5\n"), "%s", text);
	free(text);
	unlink(odd);
}
