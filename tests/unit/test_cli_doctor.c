/* SPDX-License-Identifier: MIT */
/* What `offload doctor` finds in a store, and how it reports that. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <offloadfs/tree.h>

#include "base/util.h"
#include "cli/checks.h"
#include "codec/hash.h"
#include "journal/segment.h"

static char root[] = "/tmp/offload-test-XXXXXX";

static void begin(void)
{
	cr_assert(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
}

static void finish(void)
{
	char command[64];

	ofs_findings_clear();
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0);
}

TestSuite(cli_doctor, .init = begin, .fini = finish);

/* Creates an empty store and closes it. */
static void make_store(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err;
	struct ofs_tree *tree;

	cr_assert_eq(ofs_tree_open("store", &opts, &err, &tree), 0, "%s", err.text);
	ofs_tree_close(tree);
}

static void write_at(const char *path, off_t off, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, data, len, off), (ssize_t)len);
	close(fd);
}

static const char *part(const char *name, const char *key)
{
	return json_string_value(json_object_get(ofs_findings_get(name), key));
}

/* Examines the store: the check must end in this state, with these words in its finding. */
static void expect(const char *name, enum ofs_state state, const char *words)
{
	static const char *const states[] = { "ok", "note", "warning", "problem" };

	ofs_findings_clear();
	ofs_check_store("store", false);
	cr_assert(ofs_findings_get(name), "no finding '%s'", name);
	cr_expect_str_eq(part(name, "state"), states[state], "%s: %s", name, part(name, "found"));
	cr_expect(strstr(part(name, "found"), words), "%s: '%s' lacks '%s'", name,
		  part(name, "found"), words);
	cr_expect_eq(part(name, "advice") == NULL, state == OFS_FINE, "%s: %s", name,
		     part(name, "found"));
}

Test(cli_doctor, a_sound_store)
{
	make_store();
	expect("store", OFS_FINE, "store");
	cr_expect_eq(ofs_findings_count(OFS_PROBLEM), 0);
	expect("lock", OFS_FINE, "nobody");
	expect("format", OFS_FINE, "7");
	expect("config", OFS_FINE, "no config.ini");
	expect("journal", OFS_FINE, "2.1 GB at most: then writers wait");
	cr_expect_null(ofs_findings_get("owner"));
}

Test(cli_doctor, a_store_that_is_not_there_or_is_none)
{
	expect("store", OFS_NOTE, "does not exist yet");
	cr_expect_null(ofs_findings_get("lock"));
	cr_assert_eq(mkdir("store", 0700), 0);
	expect("format", OFS_NOTE, "nothing is stored yet");
	rmdir("store");
	write_at("store", 0, "x", 1);
	expect("store", OFS_PROBLEM, "Not a directory");
}

Test(cli_doctor, modes)
{
	make_store();
	cr_assert_eq(chmod("store", 0750), 0);
	expect("store", OFS_PROBLEM, "has mode 0750");
	cr_expect_str_eq(part("store", "advice"), "chmod 700 store");
}

Test(cli_doctor, who_has_it_open)
{
	int fd;

	make_store();
	expect("lock", OFS_FINE, "nobody");
	write_at("store/lock", 0, "123 /nowhere/at all\n", 20);
	expect("lock", OFS_NOTE, "nobody has the store open; process 123, which had it last");
	fd = open("store/lock", O_RDWR);
	cr_assert_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
	expect("lock", OFS_WARNING, "by process 123, whose mount at /nowhere/at all cannot");
	write_at("store/lock", 0, "123 -\n", 6);
	cr_assert_eq(truncate("store/lock", 6), 0);
	expect("lock", OFS_FINE, "by process 123, not mounted");
	cr_assert_eq(truncate("store/lock", 0), 0);
	expect("lock", OFS_FINE, "in use");
	close(fd);
	expect("lock", OFS_FINE, "nobody");
}

Test(cli_doctor, formats)
{
	static const char zeros[12];

	make_store();
	write_at("store/index.db", 60, "\0\0\0\x09", 4);
	expect("format", OFS_PROBLEM, "9, and offloadfs");
	write_at("store/index.db", 60, zeros, sizeof(zeros));
	expect("format", OFS_PROBLEM, "is damaged, or not an index");
	write_at("store/index.db-wal", 0, "x", 1);
	expect("format", OFS_FINE, "being made");
	write_at("store/index.db", 0, "?", 1);
	expect("format", OFS_PROBLEM, "is damaged, or not an index");
	cr_assert_eq(truncate("store/index.db", 10), 0);
	expect("format", OFS_PROBLEM, "is damaged, or not an index");
	cr_assert_eq(unlink("store/index.db"), 0);
	expect("format", OFS_PROBLEM, "index.db is missing");
}

/* Creates a file in persistent/, and with it the search index. */
static void keep_something(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	const struct ofs_cred cred = { .uid = geteuid(), .gid = getegid() };
	struct ofs_entry dir, file;
	struct ofs_error err;
	struct ofs_tree *tree;

	opts.background = false;
	cr_assert_eq(ofs_tree_open("store", &opts, &err, &tree), 0, "%s", err.text);
	cr_assert_eq(ofs_tree_walk(tree, "persistent", &dir), 0);
	cr_assert_eq(ofs_tree_mknod(tree, dir.node, "x", S_IFREG | 0600, 0, &cred, &file), 0);
	ofs_tree_close(tree);
}

Test(cli_doctor, search_indexes)
{
	static const char head[72] = "SQLite format 3\0";

	make_store();
	expect("journal", OFS_FINE, "");
	cr_expect_null(ofs_findings_get("search"));
	keep_something();
	expect("search", OFS_FINE, "index of");
	cr_assert_eq(unlink("store/search.db"), 0);
	expect("journal", OFS_FINE, "");
	cr_expect_null(ofs_findings_get("search"));
	write_at("store/search.db", 0, "", 0);
	expect("search", OFS_FINE, "index of 0.0 MB");
	write_at("store/search.db", 0, head, sizeof(head));
	expect("search", OFS_NOTE, "not a search index of offloadfs");
	write_at("store/search.db-wal", 0, "x", 1);
	expect("search", OFS_FINE, "index of");
	write_at("store/search.db", 68, "OFFT", 4);
	expect("search", OFS_FINE, "index of");
	write_at("store/search.db", 68, "OFFL", 4);
	expect("search", OFS_NOTE, "is damaged, or not a search index");
	cr_assert_eq(unlink("store/search.db"), 0);
	cr_assert_eq(mkdir("store/search.db", 0700), 0);
	expect("search", OFS_WARNING, "it is not a regular file");
}

Test(cli_doctor, a_journal_of_another_format)
{
	uint8_t head[OFS_SEGMENT_HEADER] = "OFSjrnl";

	make_store();
	ofs_put_le32(head + 8, 9);
	ofs_put_le64(head + 32, 4096);
	write_at("store/journal/0000000000001000.wal", 0, head, sizeof(head));
	expect("journal", OFS_FINE, ""); /* not sound, so left to recovery */
	ofs_put_le64(head + 56, ofs_checksum(head, 56, 4096));
	write_at("store/journal/0000000000001000.wal", 0, head, sizeof(head));
	expect("journal", OFS_PROBLEM, "format 9, and offloadfs");
}

Test(cli_doctor, configurations)
{
	make_store();
	write_at("store/config.ini", 0, "journal_max = 1\n", 16);
	expect("config", OFS_FINE, "valid");
	expect("journal", OFS_FINE, "1.0 MB at most: then writers wait");
	write_at("store/journal/waits", 2 << 20, "x", 1);
	expect("journal", OFS_FINE, ""); /* a hole takes no room */
	for (off_t off = 0; off < 2 << 20; off += 4096)
		write_at("store/journal/waits", off, "x", 1);
	expect("journal", OFS_WARNING, "MB on disk");
	write_at("store/config.ini", 0, "journal_mex", 11);
	expect("config", OFS_PROBLEM, "store/config.ini:1: unknown key 'journal_mex'");
}

Test(cli_doctor, findings_are_lines_whatever_is_in_them)
{
	char *text = NULL;
	size_t len = 0;
	json_t *json, *checks;
	FILE *out = open_memstream(&text, &len);

	ofs_found(OFS_FINE, "mount", "all %s", "well");
	ofs_found(OFS_PROBLEM, "store", "%s\n-> do %d", "a\nb\xff\033[2J", 2);
	ofs_found(OFS_WARNING, "space", "little");
	ofs_findings_print(false, out);
	fclose(out);
	cr_expect_str_eq(text, "ok       mount        all well\n"
			       "problem  store        a^Jb\\xff\n"
			       "                      -> do 2\n"
			       "warning  space        little\n"
			       "offload: 1 problem, 1 warning\n");
	free(text);
	out = open_memstream(&text, &len);
	ofs_findings_print(true, out);
	fclose(out);
	json = json_loads(text, 0, NULL);
	cr_assert(json, "%s", text);
	cr_expect_eq(json_integer_value(json_object_get(json, "problems")), 1);
	checks = json_object_get(json, "checks");
	cr_expect_eq(json_array_size(checks), 3);
	cr_expect(json_is_null(json_object_get(json_array_get(checks, 0), "advice")));
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(checks, 1), "advice")),
			 "do 2");
	json_decref(json);
	free(text);
}

static int answer(const void *arg, char *text)
{
	strcpy(text, arg);
	return 7;
}

static int hang(const void *arg, char *text)
{
	strcpy(text, arg);
	while (pause() < 0)
		;
	return 0;
}

Test(cli_doctor, a_probe_gives_up)
{
	char *text;

	cr_expect_eq(ofs_probe_run(answer, "said", OFS_CHECK_WAIT_NS, &text), 7);
	cr_expect_str_eq(text, "said");
	free(text);
	cr_expect_eq(ofs_probe_run(hang, "said so far", OFS_NS_PER_S / 2, &text), -ETIMEDOUT);
	cr_expect_str_eq(text, "said so far");
	free(text);
}

static void find_two(const void *arg)
{
	ofs_found(OFS_FINE, arg, "well");
	ofs_found(OFS_PROBLEM, arg, "ill\n-> rest");
}

static void hang_for_good(const void *arg)
{
	while (pause() < 0)
		;
}

Test(cli_doctor, a_check_in_a_child_is_told_by_its_parent)
{
	ofs_found(OFS_FINE, "before", "this");
	ofs_probe_check("child", find_two, "child");
	cr_expect_eq(ofs_findings_count(OFS_FINE), 2);
	cr_expect_eq(ofs_findings_count(OFS_PROBLEM), 1);
	cr_expect_str_eq(part("child", "found"), "well");
	ofs_probe_check("hung", hang_for_good, NULL);
	cr_expect_eq(ofs_findings_count(OFS_PROBLEM), 2);
	cr_expect(strstr(part("hung", "found"), "no answer"), "%s", part("hung", "found"));
}
