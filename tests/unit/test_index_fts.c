/* SPDX-License-Identifier: MIT */
/* The search index: what is found, what is not any more, and what damage comes to. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/util.h"
#include "codec/hash.h"
#include "index/fts_fold.h"
#include "index/fts.h"
#include "index/vfs.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_fts *fts;

static void open_index(void)
{
	struct ofs_error err = { "" };

	cr_assert_eq(ofs_fts_open(path, &err, &fts), 0, "%s", err.text);
}

static void reopen(void)
{
	ofs_fts_close(fts);
	open_index();
}

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/search.db", dir);
	open_index();
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_fts_close(fts);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(text, .init = setup, .fini = teardown);

/* ---- filling */

static void begin(void)
{
	cr_assert_eq(ofs_fts_begin(fts), 0);
}

static void commit(void)
{
	cr_assert_eq(ofs_fts_commit(fts), 0);
}

struct content {
	const char *data;
	size_t size;
	size_t fails_from; /* reading from there on is -EIO; 0: it never fails */
	size_t calls;
};

static ssize_t read_content(void *arg, void *buf, size_t size, uint64_t off)
{
	struct content *c = arg;
	size_t n = off < c->size ? OFS_MIN(size, c->size - off) : 0;

	c->calls++;
	if (c->fails_from && off + n > c->fails_from)
		return -EIO;
	memcpy(buf, c->data + off, n);
	return (ssize_t)n;
}

static const uint8_t *sha_of(const char *data, size_t size)
{
	static uint8_t sha[32];

	cr_assert_eq(ofs_sha256(data, size, sha), 0);
	return sha;
}

static int put_bytes(const char *data, size_t size)
{
	struct content c = { data, size, 0, 0 };

	return ofs_fts_put_content(fts, sha_of(data, size), size, read_content, &c);
}

/* A file with that content, in a batch of its own. */
static void put_sized(uint64_t ino, const char *name, const char *data, size_t size)
{
	begin();
	cr_assert_eq(put_bytes(data, size), 0);
	cr_assert_eq(ofs_fts_put_file(fts, ino, sha_of(data, size), name, NULL, NULL,
				      (int64_t)ino * 10),
		     0);
	commit();
}

static void put(uint64_t ino, const char *text)
{
	char name[32];

	snprintf(name, sizeof(name), "file_%d.txt", (int)ino);
	put_sized(ino, name, text, strlen(text));
}

static void drop(uint64_t ino)
{
	begin();
	cr_assert_eq(ofs_fts_remove_file(fts, ino), 0);
	commit();
}

/* ---- finding: numbers of files, in the order they come, as text */

static char found[4096];

static int add_ino(void *arg, uint64_t ino)
{
	size_t len = strlen(found);

	snprintf(found + len, sizeof(found) - len, "%s%d", len ? " " : "", (int)ino);
	return 0;
}

/* Callbacks may ask again: this one does. */
static int add_doc(void *arg, const struct ofs_fts_doc *doc)
{
	struct ofs_fts_doc *last = arg;

	if (last)
		*last = *doc;
	return ofs_fts_files_of(fts, doc->sha, add_ino, NULL);
}

static int add_ranked(void *arg, const struct ofs_fts_doc *doc, double bm25)
{
	cr_assert_lt(bm25, 0);
	return add_doc(arg, doc);
}

static const char *words(const char *match)
{
	found[0] = 0;
	cr_assert_eq(ofs_fts_find_words(fts, match, 100, add_ranked, NULL), 0, "%s", match);
	return found;
}

static const char *substrings(const char *a, const char *b)
{
	const char *needles[] = { a, b };

	found[0] = 0;
	cr_assert_eq(ofs_fts_find_substring(fts, needles, b ? 2 : 1, 100, add_doc, NULL), 0, "%s",
		     a);
	return found;
}

static const char *names(const char *a, const char *b)
{
	const char *needles[] = { a, b };

	found[0] = 0;
	cr_assert_eq(ofs_fts_find_names(fts, needles, b ? 2 : 1, 100, add_ino, NULL), 0, "%s", a);
	return found;
}

static struct ofs_fts_counts counts(void)
{
	struct ofs_fts_counts c;

	cr_assert_eq(ofs_fts_counts(fts, &c), 0);
	return c;
}

Test(text, finds_words_phrases_and_prefixes)
{
	put(1, "The quick brown fox\njumps over the lazy dog\n");
	put(2, "A brown paper; the quickest way\n");
	put(3, "def get_user_id(request):\n\treturn std::move(user)\n");
	cr_assert_str_eq(words("fox"), "1");
	cr_assert_str_eq(words("FOX"), "1");
	cr_assert_str_eq(words("quick"), "1");
	cr_assert_str_eq(words("nothing"), "");
	cr_assert_str_eq(words("\"quick brown\""), "1");
	cr_assert_str_eq(words("\"brown quick\""), "");
	cr_assert_str_eq(words("quick* way"), "2");
	cr_assert_str_eq(words("brown NOT fox"), "2");
	cr_assert_str_eq(words("\"get_user_id\""), "3");
	cr_assert_str_eq(words("\"get user id\""), "3");
	cr_assert_str_eq(words("\"std::move\""), "3");
	cr_assert_str_eq(words("\"user_get\""), "");
}

Test(text, case_and_diacritics_do_not_matter)
{
	put(1, "Caf\xc3\xa9 in M\xc3\xbcnchen\n");
	put(2, "cafe\xcc\x81s everywhere\n"); /* with a combining accent */
	cr_assert_str_eq(words("cafe"), "1");
	cr_assert_str_eq(words("CAF\xc3\x89"), "1");
	cr_assert_str_eq(words("munchen"), "1");
	cr_assert_str_eq(words("cafes"), "2");
	cr_assert_str_eq(substrings("UNCHE", NULL), "1");
	cr_assert_str_eq(substrings("\xc3\xbcnche", NULL), "1");
	cr_assert_str_eq(substrings("cafe", NULL), "2 1");
}

Test(text, orders_words_by_how_well_they_fit)
{
	put(1, "error and a good many other words that have nothing to do with what went wrong\n");
	put(2, "error error error\n");
	put(3, "all is well here\n");
	put(4, "and here\n");
	put(5, "and there\n");
	cr_assert_str_eq(words("error"), "2 1");
}

Test(text, finds_candidates_for_substrings)
{
	const char *none[] = { "ab" }, *mixed[] = { "abcd", "x" };

	put(1, "prefixmiddlesuffix\n");
	put(2, "say \"middle\" twice\n");
	put(3, "\xd0\x9f\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82\n");
	cr_assert_str_eq(substrings("middle", NULL), "2 1");
	cr_assert_str_eq(substrings("iddles", NULL), "1");
	cr_assert_str_eq(substrings("MIDDLE\"", NULL), "2");
	cr_assert_str_eq(substrings("middle", "fix"), "1");
	cr_assert_str_eq(substrings("middle", "absent"), "");
	cr_assert_str_eq(substrings("\xd1\x80\xd0\xb8\xd0\xb2", NULL), "3");
	cr_assert_eq(ofs_fts_find_substring(fts, none, 1, 9, add_doc, NULL), -EINVAL);
	cr_assert_eq(ofs_fts_find_substring(fts, mixed, 2, 9, add_doc, NULL), -EINVAL);
	cr_assert_eq(ofs_fts_find_substring(fts, none, 0, 9, add_doc, NULL), -EINVAL);
}

Test(text, refuses_what_is_no_expression)
{
	static const char *const bad[] = { "\"open", "AND", "", "nocolumn : x", "(a" };

	put(1, "a b\n");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++)
		cr_assert_eq(ofs_fts_find_words(fts, bad[i], 9, add_ranked, NULL), -EINVAL, "%s",
			     bad[i]);
	cr_assert_str_eq(words("a"), "1");
}

static int end_it(void *arg, const struct ofs_fts_doc *doc, double bm25)
{
	return ++*(int *)arg == 2 ? 7 : 0;
}

Test(text, limits_and_ends_a_list)
{
	const char *needle = "common";
	int n = 0;

	for (int i = 1; i < 8; i++) {
		char text[64];

		snprintf(text, sizeof(text), "common %d\n", i);
		put((uint64_t)i, text);
	}
	cr_assert_eq(ofs_fts_find_words(fts, "common", 9, end_it, &n), 7);
	found[0] = 0;
	cr_assert_eq(ofs_fts_find_substring(fts, &needle, 1, 3, add_doc, NULL), 0);
	cr_assert_str_eq(found, "7 6 5");
	found[0] = 0;
	needle = "file_";
	cr_assert_eq(ofs_fts_find_names(fts, &needle, 1, 2, add_ino, NULL), 0);
	cr_assert_str_eq(found, "7 6");
}

Test(text, finds_names_titles_and_tags)
{
	const char *empty = "";

	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "R\xc3\xa9sum\xc3\xa9_final.txt",
				      "Bitcoin price", "money,50%", 1),
		     0);
	cr_assert_eq(ofs_fts_put_file(fts, 2, NULL, "shell_17.log", NULL, NULL, 1), 0);
	cr_assert_eq(ofs_fts_put_file(fts, 3, NULL, "bad\xff.log", NULL, "x_y", 1), 0);
	commit();
	cr_assert_str_eq(names("resume", NULL), "1");
	cr_assert_str_eq(names("BITCOIN p", NULL), "1");
	cr_assert_str_eq(names("bitcoin", "money"), "1");
	cr_assert_str_eq(names("bitcoin", "shell"), "");
	cr_assert_str_eq(names(".log", NULL), "3 2");
	cr_assert_str_eq(names("17", NULL), "2");
	cr_assert_str_eq(names("0%", NULL), "1");
	cr_assert_str_eq(names("_y", NULL), "3");
	cr_assert_str_eq(names("lo", "bad"), "3");
	cr_assert_eq(ofs_fts_find_names(fts, &empty, 1, 9, add_ino, NULL), -EINVAL);
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "other", "Ethereum", NULL, 2), 0);
	commit();
	cr_assert_str_eq(names("bitcoin", NULL), "");
	cr_assert_str_eq(names("ethereum", NULL), "1");
	drop(1);
	cr_assert_str_eq(names("ethereum", NULL), "");
}

Test(text, content_is_kept_once_and_lives_as_long_as_a_file_has_it)
{
	struct ofs_fts_file file;

	put(1, "shared text\n");
	put(2, "shared text\n");
	put(3, "another\n");
	cr_assert_eq(counts().documents, 2);
	cr_assert_eq(counts().files, 3);
	cr_assert_str_eq(words("shared"), "2 1");
	drop(2);
	cr_assert_str_eq(words("shared"), "1");
	cr_assert_eq(counts().dead, 0);
	cr_assert_eq(ofs_fts_get_file(fts, 1, &file), 0);
	cr_assert(file.has_sha && file.ino == 1 && file.stamp == 10);
	cr_assert_eq(memcmp(file.sha, sha_of("shared text\n", 12), 32), 0);
	put(1, "rewritten\n");
	cr_assert_str_eq(words("shared"), "");
	cr_assert_str_eq(substrings("shared", NULL), "");
	cr_assert_eq(counts().dead, 1);
	reopen();
	cr_assert_eq(counts().dead, 1);
	cr_assert_eq(counts().documents, 3);
	cr_assert_eq(counts().files, 2);
	/* It comes back without being indexed again. */
	put(4, "shared text\n");
	cr_assert_eq(counts().documents, 3);
	cr_assert_eq(counts().dead, 0);
	cr_assert_str_eq(words("shared"), "4");
	cr_assert_eq(ofs_fts_get_file(fts, 2, &file), -ENOENT);
}

Test(text, a_file_may_not_name_a_content_that_is_not_there)
{
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, sha_of("x", 1), "x", NULL, NULL, 1), -ENOENT);
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "x", NULL, NULL, 1), 0);
	commit();
	cr_assert_eq(counts().files, 1);
}

Test(text, what_is_no_text_has_no_documents)
{
	static const char binary[] = "ELF\0word and more";
	char late[20000];

	put_sized(1, "binary", binary, sizeof(binary) - 1);
	put_sized(2, "empty", "", 0);
	cr_assert_eq(counts().documents, 0);
	cr_assert_str_eq(words("word"), "");
	cr_assert_eq(ofs_fts_has_content(fts, sha_of(binary, sizeof(binary) - 1)), 1);
	/* A NUL that comes later is a gap between words. */
	memset(late, ' ', sizeof(late));
	memcpy(late + 15000, "before\0after\xff\xfe", 14);
	put_sized(3, "late", late, sizeof(late));
	cr_assert_str_eq(words("before"), "3");
	cr_assert_str_eq(words("after"), "3");
	cr_assert_str_eq(substrings("after", NULL), "3");
}

/* Lines of 64 bytes; the one that `special` counts says so. */
static char *long_text(size_t lines, size_t special)
{
	char *text = malloc(lines * 64 + 1);

	for (size_t i = 0; i < lines; i++)
		snprintf(text + i * 64, 65, "%s %8zu %047zu\n", i == special ? "needle" : "-plain",
			 i, i % 7);
	return text;
}

Test(text, long_contents_are_cut_at_line_ends)
{
	size_t lines = 10000, special = 8191;
	OFS_FREE char *text = long_text(lines, special);
	struct ofs_fts_doc doc = { 0 };
	const uint8_t *at;
	uint64_t before = 0;

	/* Lines that do not divide a part. */
	memcpy(text + 64 * 100 - 1, "x", 1);
	put_sized(1, "long", text, lines * 64);
	cr_assert_eq(counts().documents, 3);
	found[0] = 0;
	cr_assert_eq(ofs_fts_find_words(fts, "needle", 9, add_ranked, &doc), 0);
	cr_assert_str_eq(found, "1");
	cr_assert_eq(doc.part, 1);
	cr_assert_leq(doc.len, OFS_FTS_PART_MAX);
	cr_assert_eq(text[doc.off - 1], '\n');
	cr_assert_eq(text[doc.off + doc.len - 1], '\n');
	at = memmem(text + doc.off, doc.len, "needle", 6);
	cr_assert_not_null(at);
	for (size_t i = 0; i < doc.off; i++)
		before += text[i] == '\n';
	cr_assert_eq(doc.line, before + 1);
}

Test(text, a_line_without_end_is_cut_between_characters)
{
	size_t size = OFS_FTS_PART_MAX * 2 + 1000;
	OFS_FREE char *text = malloc(size);
	struct ofs_fts_doc doc = { 0 };

	for (size_t i = 0; i < size; i++)
		text[i] = "\xe2\x82\xac"[i % 3]; /* a part ends within one */
	memcpy(text + size - 8, "      ab", 8);
	put_sized(1, "line", text, size);
	cr_assert_eq(counts().documents, 3);
	found[0] = 0;
	cr_assert_eq(ofs_fts_find_words(fts, "ab", 9, add_ranked, &doc), 0);
	cr_assert_eq(doc.line, 1);
	cr_assert_eq(doc.off % 3, 0);
	cr_assert_eq(doc.off + doc.len, size);
}

Test(text, content_that_cannot_be_read_is_not_there)
{
	size_t size = OFS_FTS_PART_MAX * 3;
	OFS_FREE char *text = long_text(size / 64, 5);
	struct content bad = { text, size, OFS_FTS_PART_MAX * 2, 0 };
	struct content shorter = { text, size - 64, 0, 0 };

	begin();
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &bad), -EIO);
	cr_assert_eq(ofs_fts_has_content(fts, sha_of(text, size)), 0);
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &shorter),
		     -ESTALE);
	commit();
	cr_assert_str_eq(words("needle"), "");
	cr_assert_eq(counts().dead, counts().documents);
	put_sized(1, "whole", text, size);
	cr_assert_str_eq(words("needle"), "1");
	/* What is there is not read again. */
	begin();
	bad.calls = 0;
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &bad), 0);
	commit();
	cr_assert_eq(bad.calls, 0);
}

Test(text, batches_hold_together)
{
	cr_assert_eq(put_bytes("outside", 7), -EINVAL);
	cr_assert_eq(ofs_fts_commit(fts), -EINVAL);
	put(1, "kept\n");
	begin();
	cr_assert_eq(ofs_fts_begin(fts), -EINVAL);
	cr_assert_eq(ofs_fts_set_complete(fts, true), -EINVAL);
	cr_assert_eq(ofs_fts_rebuild(fts), -EINVAL);
	cr_assert_eq(ofs_fts_tidy(fts), -EINVAL);
	cr_assert_eq(put_bytes("given up", 8), 0);
	cr_assert_eq(ofs_fts_put_file(fts, 2, sha_of("given up", 8), "x", NULL, NULL, 1), 0);
	/* What a batch has written is seen at once. */
	cr_assert_str_eq(words("given"), "2");
	reopen();
	cr_assert_str_eq(words("given"), "");
	cr_assert_eq(counts().documents, 1);
	cr_assert_eq(counts().files, 1);
	begin();
	cr_assert_eq(put_bytes("unfinished", 10), 0);
	reopen();
	cr_assert_eq(counts().documents, 1);
	cr_assert_str_eq(words("kept"), "1");
}

Test(text, says_whether_it_is_complete)
{
	cr_assert_eq(ofs_fts_is_complete(fts), 0);
	cr_assert_eq(ofs_fts_set_complete(fts, true), 0);
	reopen();
	cr_assert_eq(ofs_fts_is_complete(fts), 1);
	cr_assert_eq(ofs_fts_set_complete(fts, false), 0);
	reopen();
	cr_assert_eq(ofs_fts_is_complete(fts), 0);
}

Test(text, is_built_anew_when_most_of_it_is_dead)
{
	uint64_t inos[16];
	char text[64];

	begin();
	for (int i = 1; i <= 1000; i++) {
		snprintf(text, sizeof(text), "number%d of many\n", i);
		cr_assert_eq(put_bytes(text, strlen(text)), 0);
		cr_assert_eq(ofs_fts_put_file(fts, (uint64_t)i, sha_of(text, strlen(text)), "name",
					      NULL, NULL, 5),
			     0);
	}
	commit();
	begin();
	for (uint64_t i = 1; i <= 500; i++)
		cr_assert_eq(ofs_fts_remove_file(fts, i), 0);
	commit();
	cr_assert_not(ofs_fts_is_wasteful(fts));
	drop(501);
	cr_assert(ofs_fts_is_wasteful(fts));
	cr_assert_eq(ofs_fts_rebuild(fts), 0);
	cr_assert_not(ofs_fts_is_wasteful(fts));
	cr_assert_eq(counts().documents, 0);
	cr_assert_eq(counts().files, 499);
	cr_assert_str_eq(words("many"), "");
	cr_assert_eq(ofs_fts_list_files(fts, 0, inos, 16), 16);
	cr_assert_eq(inos[0], 502);
	cr_assert_eq(ofs_fts_list_files(fts, 990, inos, 16), 10);
	cr_assert_eq(ofs_fts_list_files(fts, 1000, inos, 16), 0);
	put(502, "number502 of many\n");
	cr_assert_str_eq(words("number502"), "502");
	cr_assert_eq(counts().dead, 0);
}

Test(text, gets_smaller_when_it_is_tidied)
{
	uint64_t before, steps = 0;
	char text[512];

	for (int i = 1; i <= 300; i++) {
		snprintf(text, sizeof(text), "alpha%d beta%d gamma%d delta and epsilon\n", i, i * 3,
			 i * 7);
		put((uint64_t)i, text);
	}
	before = counts().bytes;
	while (ofs_fts_tidy(fts) > 0)
		steps++;
	cr_assert_gt(steps, 0);
	cr_assert_lt(counts().bytes, before, "%d, %d", (int)counts().bytes, (int)before);
	cr_assert_str_eq(words("gamma700"), "100");
	cr_assert_str_eq(substrings("mma700", NULL), "100");
	cr_assert_eq(ofs_fts_tidy(fts), 0);
}

/* ---- what is on disk */

Test(text, is_private)
{
	struct stat st;

	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600);
	cr_assert_eq(counts().bytes > 0, true);
}

static void write_at(off_t off, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, data, size, off), (ssize_t)size);
	close(fd);
}

static void expect_fresh(void)
{
	struct ofs_fts_counts c = counts();

	cr_assert_eq(c.files + c.documents, 0);
	cr_assert_eq(ofs_fts_is_complete(fts), 0);
	put(9, "after\n");
	cr_assert_str_eq(words("after"), "9");
}

/* Fills and closes it, so that all is in the file. */
static void fill_and_close(void)
{
	put(1, "text\n");
	cr_assert_eq(ofs_fts_set_complete(fts, true), 0);
	ofs_fts_close(fts);
	fts = NULL;
}

Test(text, damage_at_open_begins_it_anew)
{
	fill_and_close();
	write_at(OFS_FTS_PAGE_SIZE + 100, "\xff\xff", 2);
	open_index();
	/* Page 2 may be needed only later. */
	if (counts().files)
		ofs_fts_find_words(fts, "text", 9, add_ranked, NULL);
	fill_and_close();
	write_at(40, "\x77\x77\x77\x77", 4);
	open_index();
	expect_fresh();
	ofs_fts_close(fts);
	cr_assert_eq(truncate(path, 5000), 0);
	open_index();
	expect_fresh();
}

Test(text, what_is_not_ours_is_replaced)
{
	char junk[8192];
	sqlite3 *db;

	fill_and_close();
	write_at(60, "\0\0\0\x63", 4); /* another format, on a page of another sum */
	open_index();
	expect_fresh();
	ofs_fts_close(fts);
	memset(junk, 'j', sizeof(junk));
	write_at(0, junk, sizeof(junk));
	open_index();
	expect_fresh();
	ofs_fts_close(fts);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	open_index();
	expect_fresh();
}

Test(text, damage_midway_begins_it_anew)
{
	uint64_t generation;
	struct stat st;
	char text[4096];
	int r = 0;

	for (int i = 1; i < 200; i++) {
		for (int k = 0; k < 40; k++)
			snprintf(text + k * 16, 17, "w%07d%07d ", i * 40 + k, k);
		put((uint64_t)i, text);
	}
	reopen();
	generation = ofs_fts_generation(fts);
	cr_assert_eq(stat(path, &st), 0);
	memset(text, 0x55, sizeof(text));
	for (off_t page = 1; page < st.st_size / OFS_FTS_PAGE_SIZE; page++)
		write_at(page * OFS_FTS_PAGE_SIZE, text, 512);
	for (int i = 0; i < 200 && r == 0; i++) {
		snprintf(text, sizeof(text), "w%07d*", i * 40);
		r = ofs_fts_find_words(fts, text, 9, add_ranked, NULL);
	}
	cr_assert_eq(r, -EUCLEAN);
	cr_assert_neq(ofs_fts_generation(fts), generation);
	expect_fresh();
}

Test(text, damage_within_a_batch_gives_it_up)
{
	struct stat st;
	char text[4096];
	int r = 0;

	for (int i = 1; i < 200; i++) {
		snprintf(text, sizeof(text), "content of %d\n", i);
		put((uint64_t)i, text);
	}
	reopen();
	cr_assert_eq(stat(path, &st), 0);
	memset(text, 0x55, sizeof(text));
	for (off_t page = 1; page < st.st_size / OFS_FTS_PAGE_SIZE; page++)
		write_at(page * OFS_FTS_PAGE_SIZE, text, 512);
	begin();
	for (uint64_t i = 1; i < 200 && r == 0; i++)
		r = ofs_fts_remove_file(fts, i);
	cr_assert_eq(r, -EUCLEAN);
	cr_assert_eq(ofs_fts_remove_file(fts, 1), -EUCLEAN);
	cr_assert_eq(ofs_fts_commit(fts), -EUCLEAN);
	expect_fresh();
}

Test(text, only_one_may_have_it)
{
	struct ofs_fts *other = NULL;
	struct ofs_error err;
	pid_t pid = fork();
	int status;

	put(1, "mine\n");
	if (pid == 0)
		_exit(ofs_fts_open(path, &err, &other) == -EBUSY ? 0 : 1);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_str_eq(words("mine"), "1");
}

Test(text, what_cannot_be_opened_is_an_error_in_words)
{
	struct ofs_fts *other = NULL;
	struct ofs_error err = { "" };
	char name[128];

	snprintf(name, sizeof(name), "%s/none/search.db", dir);
	cr_assert_eq(ofs_fts_open(name, &err, &other), -ENOENT);
	cr_assert_not_null(strstr(err.text, name));
}

/* ---- folding */

static const char *clean(const char *text, size_t len, int fold)
{
	static struct ofs_buf out;

	out.len = 0;
	ofs_fts_clean(text, len, fold, &out);
	ofs_buf_append(&out, "", 1);
	return (const char *)out.data;
}

Test(fold, makes_text_clean_and_alike)
{
	cr_assert_str_eq(clean("Az \xc3\x89", 5, false), "Az \xc3\x89");
	cr_assert_str_eq(clean("Az \xc3\x89\xc5\x81\xc5\xbe", 9, true), "az elz");
	cr_assert_str_eq(clean("e\xcc\x81", 3, true), "e");
	cr_assert_str_eq(clean("e\xcc\x81", 3, false), "e\xcc\x81");
	cr_assert_str_eq(clean("a\0b", 3, true), "a b");
	cr_assert_str_eq(clean("\xc3", 1, true), "\xef\xbf\xbd");
	cr_assert_str_eq(clean("\xc0\x80x", 3, true), "\xef\xbf\xbd\xef\xbf\xbdx");
	cr_assert_str_eq(clean("\xed\xa0\x80", 3, false), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	cr_assert_str_eq(clean("\xf0\x9f\x98\x80", 4, true), "\xf0\x9f\x98\x80");
	cr_assert_str_eq(clean("\xc3\x9f\xc3\x97\xc3\xb7", 6, true), "\xc3\x9f\xc3\x97\xc3\xb7");
}
