/* SPDX-License-Identifier: MIT */
/* The search index: what it finds, what it no longer finds, and the effects of damage. */
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

TestSuite(index_fts, .init = setup, .fini = teardown);

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
	size_t fails_from; /* offset from which reads fail with -EIO; 0: none fails */
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

/* Adds a file with this content, in a batch of its own. */
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

/* ---- finding: the inode numbers found, in order, as text */

static char found[4096];

static void add_numbers(const struct ofs_u64_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t len = strlen(found);

		snprintf(found + len, sizeof(found) - len, "%s%d", len ? " " : "",
			 (int)list->at[i]);
	}
}

/* Adds the files of the documents; dead documents have none. */
static void add_files(const struct ofs_u64_list *docs)
{
	struct ofs_fts_doc doc;

	for (size_t i = 0; i < docs->n; i++) {
		OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
		int r = ofs_fts_get_doc(fts, docs->at[i], &doc);

		cr_assert(r == 0 || r == -ENOENT);
		if (r == 0)
			cr_assert_eq(ofs_fts_files_of(fts, doc.sha, &files), 0);
		add_numbers(&files);
	}
}

static const char *words(const char *word)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list docs = { 0 };

	found[0] = 0;
	cr_assert_eq(ofs_fts_find_word(fts, word, strlen(word), 100, &docs), 0, "%s", word);
	add_files(&docs);
	return found;
}

static const char *starts(const char *start)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list docs = { 0 };

	found[0] = 0;
	cr_assert_eq(ofs_fts_find_start(fts, start, strlen(start), 100, &docs), 0, "%s", start);
	ofs_u64_list_sort_unique(&docs);
	add_files(&docs);
	return found;
}

static const char *labels(const char *word)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };

	found[0] = 0;
	cr_assert_eq(ofs_fts_find_label(fts, word, strlen(word), 100, &files), 0, "%s", word);
	add_numbers(&files);
	return found;
}

/* Returns the only document that has the word. */
static struct ofs_fts_doc doc_of(const char *word)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list docs = { 0 };
	struct ofs_fts_doc doc = { .off = UINT64_MAX };

	cr_assert_eq(ofs_fts_find_word(fts, word, strlen(word), 100, &docs), 0, "%s", word);
	cr_assert_eq(docs.n, 1, "%s: %zu", word, docs.n);
	cr_assert_eq(ofs_fts_get_doc(fts, docs.at[0], &doc), 0);
	return doc;
}

static struct ofs_fts_counts counts(void)
{
	struct ofs_fts_counts c;

	cr_assert_eq(ofs_fts_counts(fts, &c), 0);
	return c;
}

Test(index_fts, finds_words_by_their_stems)
{
	put(1, "The quick brown fox\njumps over the lazy dog\n");
	put(2, "A brown paper; the quickest way\n");
	put(3, "def getUserId(request):\n\treturn std::move(user)\n");
	cr_assert_str_eq(words("fox"), "1");
	cr_assert_str_eq(words("brown"), "2 1");
	cr_assert_str_eq(words("jump"), "1");
	cr_assert_str_eq(words("jumps"), "");
	cr_assert_str_eq(words("the"), "2 1");
	cr_assert_str_eq(words("nothing"), "");
	cr_assert_str_eq(words("getuserid"), "3");
	cr_assert_str_eq(words("id"), "3");
	cr_assert_str_eq(words("std"), "3");
	cr_assert_str_eq(words("a"), "2");
}

Test(index_fts, words_are_not_expressions)
{
	static const char *const odd[] = { "AND", "OR", "NOT", "NEAR", "text", "rank", "" };

	put(1, "fox\n");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(odd); i++)
		cr_assert_str_eq(words(odd[i]), "", "%s", odd[i]);
}

Test(index_fts, words_of_other_scripts)
{
	put(1, "Café in München\n");
	put(2, "cafe\u0301s everywhere\n");
	put(3, "Привет, 价格表\n");
	cr_assert_str_eq(words("cafe"), "2 1");
	cr_assert_str_eq(words("munchen"), "1");
	cr_assert_str_eq(words("привет"), "3");
	cr_assert_str_eq(words("рив"), "3");
	cr_assert_str_eq(words("价格"), "3");
	cr_assert_str_eq(words("表"), "3");
	cr_assert_str_eq(words("价"), "");
	cr_assert_str_eq(starts("価"), "");
	cr_assert_str_eq(starts("价"), "3");
	cr_assert_str_eq(starts("при"), "3");
}

Test(index_fts, finds_words_that_start_so)
{
	put(1, "prefix prefer\n");
	put(2, "pre\n");
	put(3, "suppress\n");
	put(4, "prf\n");
	cr_assert_str_eq(starts("pre"), "1 2");
	cr_assert_str_eq(starts("pref"), "1");
	cr_assert_str_eq(starts("prefix"), "1");
	cr_assert_str_eq(starts("prefixx"), "");
	cr_assert_str_eq(starts("p"), "1 2 4");
	cr_assert_str_eq(starts("zz"), "");
}

Test(index_fts, limits_a_list)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list list = { 0 };

	for (int i = 1; i < 8; i++) {
		char text[64];

		snprintf(text, sizeof(text), "common %d\n", i);
		put((uint64_t)i, text);
	}
	cr_assert_eq(ofs_fts_find_word(fts, "common", 6, 3, &list), 0);
	found[0] = 0;
	add_files(&list);
	cr_assert_str_eq(found, "7 6 5");
	list.n = 0;
	cr_assert_eq(ofs_fts_find_label(fts, "file", 4, 2, &list), 0);
	found[0] = 0;
	add_numbers(&list);
	cr_assert_str_eq(found, "7 6");
	/* Results are appended. */
	cr_assert_eq(ofs_fts_find_start(fts, "comm", 4, 4, &list), 0);
	cr_assert_eq(list.n, 6);
	cr_assert_eq(ofs_fts_find_word(fts, "common", 6, 0, &list), 0);
	cr_assert_eq(list.n, 6);
}

Test(index_fts, finds_names_titles_and_tags)
{
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "Résumé_final.txt", "Bitcoin prices",
				      "money,50%", 1),
		     0);
	cr_assert_eq(ofs_fts_put_file(fts, 2, NULL, "shell_17.log", NULL, NULL, 1), 0);
	cr_assert_eq(ofs_fts_put_file(fts, 3, NULL, "bad\xff.log", NULL, "x_yz", 1), 0);
	cr_assert_eq(ofs_fts_put_file(fts, 4, NULL, "...", NULL, "", 1), 0);
	commit();
	cr_assert_str_eq(labels("resum"), "1");
	cr_assert_str_eq(labels("resumefinal"), "1");
	cr_assert_str_eq(labels("bitcoin"), "1");
	cr_assert_str_eq(labels("price"), "1");
	cr_assert_str_eq(labels("money"), "1");
	cr_assert_str_eq(labels("log"), "3 2");
	cr_assert_str_eq(labels("17"), "2");
	cr_assert_str_eq(labels("50"), "1");
	cr_assert_str_eq(labels("bad"), "3");
	cr_assert_str_eq(labels("xyz"), "3");
	cr_assert_str_eq(words("log"), "");
	cr_assert_eq(counts().files, 4);
}

Test(index_fts, labels_that_change)
{
	static const char *const tags[] = { NULL, "alpha", "alpha,beta", "beta", "", "beta" };

	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < OFS_ARRAY_SIZE(tags); k++) {
			const char *title = k % 2 ? "one two two" : "two three";

			begin();
			cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "name", title, tags[k], 1), 0);
			cr_assert_eq(ofs_fts_put_file(fts, 2, NULL, "name", "two", NULL, 1), 0);
			commit();
			cr_assert_str_eq(labels("name"), "2 1");
			cr_assert_str_eq(labels("two"), "2 1");
			cr_assert_str_eq(labels("one"), k % 2 ? "1" : "");
			cr_assert_str_eq(labels("three"), k % 2 ? "" : "1");
			cr_assert_str_eq(labels("alpha"),
					 tags[k] && strstr(tags[k], "alpha") ? "1" : "");
			cr_assert_str_eq(labels("beta"),
					 tags[k] && strstr(tags[k], "beta") ? "1" : "");
			if (k == 3)
				reopen();
		}
	drop(1);
	cr_assert_str_eq(labels("two"), "2");
	cr_assert_str_eq(labels("beta"), "");
	drop(2);
	drop(2);
	cr_assert_str_eq(labels("two"), "");
	cr_assert_str_eq(labels("name"), "");
	/* A later file does not inherit any of the labels. */
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "other", NULL, NULL, 1), 0);
	commit();
	cr_assert_str_eq(labels("name"), "");
	cr_assert_str_eq(labels("other"), "1");
}

/* Labels that do not change are kept whatever else changes. */
Test(index_fts, labels_that_stay)
{
	put(1, "text\n");
	for (int i = 0; i < 3; i++) {
		begin();
		cr_assert_eq(ofs_fts_put_file(fts, 1, i % 2 ? NULL : sha_of("text\n", 5),
					      "file_1.txt", NULL, NULL, i),
			     0);
		commit();
		cr_assert_str_eq(labels("file"), "1");
		cr_assert_str_eq(words("text"), i % 2 ? "" : "1");
	}
}

Test(index_fts, documents_of_files)
{
	uint64_t first = 0, n = 7;
	struct ofs_fts_doc doc;
	char text[3000];

	memset(text, ' ', sizeof(text));
	memcpy(text, "early", 5);
	memcpy(text + 2990, "late", 4);
	put(1, "one\n");
	put_sized(2, "two", text, sizeof(text));
	cr_assert_eq(ofs_fts_docs_of(fts, 2, &first, &n), 0);
	cr_assert_eq(n, 3);
	for (uint64_t i = 0; i < n; i++) {
		cr_assert_eq(ofs_fts_get_doc(fts, first + i, &doc), 0);
		cr_assert_eq(memcmp(doc.sha, sha_of(text, sizeof(text)), 32), 0);
	}
	cr_assert_eq(doc.off + doc.len, sizeof(text));
	cr_assert_eq(ofs_fts_get_doc(fts, first + n, &doc), -ENOENT);
	cr_assert_eq(ofs_fts_get_doc(fts, 0, &doc), -ENOENT);
	cr_assert_eq(ofs_fts_docs_of(fts, 3, &first, &n), 0);
	cr_assert_eq(n, 0);
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 4, NULL, "no content", NULL, NULL, 1), 0);
	commit();
	cr_assert_eq(ofs_fts_docs_of(fts, 4, &first, &n), 0);
	cr_assert_eq(n, 0);
	put(5, "");
	cr_assert_eq(ofs_fts_docs_of(fts, 5, &first, &n), 0);
	cr_assert_eq(n, 0);
}

Test(index_fts, content_is_kept_once_and_lives_as_long_as_a_file_has_it)
{
	struct ofs_fts_file file;

	put(1, "shared text\n");
	put(2, "shared text\n");
	put(3, "another\n");
	cr_assert_eq(counts().documents, 2);
	cr_assert_eq(counts().files, 3);
	cr_assert_str_eq(words("share"), "2 1");
	drop(2);
	cr_assert_str_eq(words("share"), "1");
	cr_assert_eq(counts().dead, 0);
	cr_assert_eq(ofs_fts_get_file(fts, 1, &file), 0);
	cr_assert(file.has_sha && file.ino == 1 && file.stamp == 10);
	cr_assert_eq(memcmp(file.sha, sha_of("shared text\n", 12), 32), 0);
	put(1, "rewritten\n");
	cr_assert_str_eq(words("share"), "");
	cr_assert_eq(counts().dead, 1);
	reopen();
	cr_assert_eq(counts().dead, 1);
	cr_assert_eq(counts().documents, 3);
	cr_assert_eq(counts().files, 2);
	/* The content comes back without being indexed again. */
	put(4, "shared text\n");
	cr_assert_eq(counts().documents, 3);
	cr_assert_eq(counts().dead, 0);
	cr_assert_str_eq(words("share"), "4");
	cr_assert_eq(ofs_fts_get_file(fts, 2, &file), -ENOENT);
}

Test(index_fts, a_file_may_not_name_a_content_that_is_not_there)
{
	begin();
	cr_assert_eq(ofs_fts_put_file(fts, 1, sha_of("x", 1), "x", NULL, NULL, 1), -ENOENT);
	cr_assert_eq(ofs_fts_put_file(fts, 1, NULL, "x", NULL, NULL, 1), 0);
	commit();
	cr_assert_eq(counts().files, 1);
}

Test(index_fts, what_is_no_text_has_no_documents)
{
	static const char binary[] = "ELF\0word and more";
	char late[20000];

	put_sized(1, "binary", binary, sizeof(binary) - 1);
	put_sized(2, "empty", "", 0);
	cr_assert_eq(counts().documents, 0);
	cr_assert_str_eq(words("word"), "");
	cr_assert_eq(ofs_fts_has_content(fts, sha_of(binary, sizeof(binary) - 1)), 1);
	/* A later NUL separates words. */
	memset(late, ' ', sizeof(late));
	memcpy(late + 15000, "before\0after\xff\xfe", 14);
	put_sized(3, "late", late, sizeof(late));
	cr_assert_str_eq(words("befor"), "3");
	cr_assert_str_eq(words("after"), "3");
}

/* Returns lines of 64 bytes, of which line `special` has the word "needle". */
static char *long_text(size_t lines, size_t special)
{
	char *text = malloc(lines * 64 + 1);

	for (size_t i = 0; i < lines; i++)
		snprintf(text + i * 64, 65, "%s %8zu %047zu\n", i == special ? "needle" : "-plain",
			 i, i % 7);
	return text;
}

/*
 * Checks that the documents of file 1 cover its content, each within the limit. Returns how many.
 */
static uint64_t check_documents(const char *text, size_t size)
{
	struct ofs_fts_doc doc;
	uint64_t first, n, off = 0, line = 1;

	cr_assert_eq(ofs_fts_docs_of(fts, 1, &first, &n), 0);
	for (uint64_t i = 0; i < n; i++) {
		cr_assert_eq(ofs_fts_get_doc(fts, first + i, &doc), 0);
		cr_assert_eq(doc.off, off);
		cr_assert_eq(doc.line, line);
		cr_assert(doc.len && doc.len <= OFS_FTS_DOC_MAX, "%u", doc.len);
		cr_assert_neq((unsigned char)text[doc.off] & 0xc0, 0x80);
		for (off += doc.len; doc.len; doc.len--)
			line += text[off - doc.len] == '\n';
	}
	cr_assert_eq(off, size);
	return n;
}

Test(index_fts, contents_are_cut_at_line_ends)
{
	size_t lines = 10000, special = 8191;
	OFS_FREE char *text = long_text(lines, special);
	struct ofs_fts_doc doc;

	/* One line is twice as long. */
	memcpy(text + 64 * 100 - 1, "x", 1);
	put_sized(1, "long", text, lines * 64);
	cr_assert_eq(counts().documents, check_documents(text, lines * 64));
	cr_assert_leq(counts().documents, 64 * lines / (OFS_FTS_DOC_MAX - 128));
	doc = doc_of("needl");
	cr_assert_eq(text[doc.off - 1], '\n');
	cr_assert_eq(text[doc.off + doc.len - 1], '\n');
	cr_assert_not_null(memmem(text + doc.off, doc.len, "needle", 6));
}

Test(index_fts, long_lines_are_cut_at_blanks)
{
	size_t size = 3000;
	OFS_FREE char *text = malloc(size);
	struct ofs_fts_doc doc;
	uint64_t first, n;

	for (size_t i = 0; i < size; i++)
		text[i] = "word "[i % 5];
	memcpy(text + 1000, "x123456789012345678901234 ", 26);
	put_sized(1, "line", text, size);
	check_documents(text, size);
	cr_assert_eq(ofs_fts_docs_of(fts, 1, &first, &n), 0);
	cr_assert_eq(ofs_fts_get_doc(fts, first + 1, &doc), 0);
	cr_assert_eq(doc.off, 1000);
	cr_assert_eq(doc.line, 1);
	cr_assert_str_eq(words("x123456789012345678901234"), "1 1");
}

Test(index_fts, a_line_without_end_is_cut_between_characters)
{
	size_t size = 700001;
	OFS_FREE char *text = malloc(size);
	struct ofs_fts_doc doc;

	for (size_t i = 0; i < size; i++)
		text[i] = "€"[i % 3]; /* a limit falls within a character */
	memcpy(text + size - 8, "      ab", 8);
	put_sized(1, "line", text, size);
	cr_assert_geq(check_documents(text, size), size / OFS_FTS_DOC_MAX);
	doc = doc_of("ab");
	cr_assert_eq(doc.line, 1);
	cr_assert_eq(doc.off + doc.len, size);
	/* Bytes that are not characters are split anywhere. */
	memset(text, 0x80, size);
	put_sized(2, "none", text, size);
	cr_assert_geq(counts().documents, 2 * (size / OFS_FTS_DOC_MAX));
}

/* Lines of 1000 bytes, so that documents end at multiples of 1000. */
static char *text_of_lines(size_t size)
{
	char *text = malloc(size);

	for (size_t i = 0; i < size; i++)
		text[i] = i % 1000 == 999 ? '\n' : '.';
	return text;
}

Test(index_fts, a_document_has_the_words_of_what_follows)
{
	size_t size = 600000;
	OFS_FREE char *text = text_of_lines(size);

	memcpy(text + 2000, "start", 5);
	memcpy(text + 2050, "near", 4);
	memcpy(text + 2150, "far", 3);
	/* A word near the end of the first part (256 KiB) that is read. */
	memcpy(text + 262000, "across", 6);
	put_sized(1, "two", text, size);
	cr_assert_eq(check_documents(text, size), size / 1000);
	cr_assert_str_eq(words("start"), "1 1");
	cr_assert_str_eq(words("near"), "1 1");
	cr_assert_str_eq(words("far"), "1");
	cr_assert_eq(doc_of("far").off, 2000);
	cr_assert_eq(doc_of("far").line, 3);
	cr_assert_str_eq(words("across"), "1 1");
}

Test(index_fts, ends_where_it_is_to)
{
	static const size_t sizes[] = { 1, 1000, 1023, 1024, 1025, 2048, 2049, 262144, 262145 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i];
		OFS_FREE char *text = malloc(size);

		memset(text, '\n', size);
		text[size - 1] = 'x';
		put_sized(1, "newlines", text, size);
		check_documents(text, size);
		memset(text, 'x', size);
		put_sized(1, "letters", text, size);
		check_documents(text, size);
	}
}

Test(index_fts, content_that_cannot_be_read_is_not_there)
{
	size_t size = 768 << 10;
	OFS_FREE char *text = long_text(size / 64, 5);
	struct content bad = { text, size, 512 << 10, 0 };
	struct content shorter = { text, size - 64, 0, 0 };

	begin();
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &bad), -EIO);
	cr_assert_eq(ofs_fts_has_content(fts, sha_of(text, size)), 0);
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &shorter),
		     -ESTALE);
	commit();
	cr_assert_str_eq(words("needl"), "");
	cr_assert_eq(counts().dead, counts().documents);
	put_sized(1, "whole", text, size);
	cr_assert_str_eq(words("needl"), "1");
	check_documents(text, size);
	/* Indexed content is not read again. */
	begin();
	bad.calls = 0;
	cr_assert_eq(ofs_fts_put_content(fts, sha_of(text, size), size, read_content, &bad), 0);
	commit();
	cr_assert_eq(bad.calls, 0);
}

Test(index_fts, batches_hold_together)
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
	/* What a batch has written is visible at once. */
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

Test(index_fts, says_whether_it_is_complete)
{
	cr_assert_eq(ofs_fts_is_complete(fts), 0);
	cr_assert_eq(ofs_fts_set_complete(fts, true), 0);
	reopen();
	cr_assert_eq(ofs_fts_is_complete(fts), 1);
	cr_assert_eq(ofs_fts_set_complete(fts, false), 0);
	reopen();
	cr_assert_eq(ofs_fts_is_complete(fts), 0);
}

Test(index_fts, is_built_anew_when_most_of_it_is_dead)
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
	cr_assert_str_eq(words("mani"), "");
	cr_assert_eq(ofs_fts_list_files(fts, 0, inos, 16), 16);
	cr_assert_eq(inos[0], 502);
	cr_assert_eq(ofs_fts_list_files(fts, 990, inos, 16), 10);
	cr_assert_eq(ofs_fts_list_files(fts, 1000, inos, 16), 0);
	put(502, "number502 of many\n");
	cr_assert_str_eq(words("number502"), "502");
	cr_assert_eq(counts().dead, 0);
}

/* ---- vectors */

static void put_vectors(const char *model, const char *text)
{
	begin();
	cr_assert_eq(ofs_fts_put_vectors(fts, model, sha_of(text, strlen(text)), "v", 1), 0);
	commit();
}

static void ignore_vectors(void *arg, uint64_t doc, size_t ndocs, const void *data, size_t len)
{
}

static int list_vectors(const char *model, uint64_t *at)
{
	return ofs_fts_list_vectors(fts, model, at, 100, ignore_vectors, NULL);
}

Test(index_fts, vectors_of_any_model_are_listed_when_their_content_is_indexed_anew)
{
	uint64_t old = 0, new = 0;

	put(1, "one\n");
	put(2, "two\n");
	put_vectors("old", "two\n");
	put_vectors("old", "one\n");
	put_vectors("new", "two\n");
	put_vectors("new", "one\n");
	cr_assert_eq(ofs_fts_rebuild(fts), 0);
	put(1, "one\n");
	cr_assert_eq(list_vectors("old", &old), 1);
	cr_assert_eq(list_vectors("new", &new), 1);
	put(2, "two\n");
	cr_assert_eq(list_vectors("old", &old), 1);
	cr_assert_eq(list_vectors("new", &new), 1);
}

Test(index_fts, vectors_put_after_others_were_pruned_are_listed)
{
	uint64_t at = 0;

	put(1, "one\n");
	put(2, "two\n");
	put_vectors("model", "one\n");
	put_vectors("model", "two\n");
	cr_assert_eq(list_vectors("model", &at), 2);
	drop(1);
	drop(2);
	begin();
	cr_assert_eq(ofs_fts_prune_vectors(fts, "model"), 1);
	cr_assert_eq(ofs_fts_prune_vectors(fts, "model"), 0);
	commit();
	put(3, "three\n");
	put_vectors("model", "three\n");
	cr_assert_eq(list_vectors("model", &at), 1);
}

Test(index_fts, gets_smaller_when_it_is_tidied)
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
	cr_assert_eq(ofs_fts_tidy(fts), 0);
}

/* ---- on disk */

/* Searches the index, which may be found damaged. */
static void find_text(void)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list docs = { 0 };

	ofs_fts_find_word(fts, "text", 4, 9, &docs);
}

Test(index_fts, is_private)
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

/* Fills and closes the index, so that everything is in the file. */
static void fill_and_close(void)
{
	put(1, "text\n");
	cr_assert_eq(ofs_fts_set_complete(fts, true), 0);
	ofs_fts_close(fts);
	fts = NULL;
}

Test(index_fts, damage_at_open_begins_it_anew)
{
	fill_and_close();
	write_at(OFS_FTS_PAGE_SIZE + 100, "\xff\xff", 2);
	open_index();
	/* Page 2 may not be read until a search. */
	if (counts().files)
		find_text();
	fill_and_close();
	write_at(40, "\x77\x77\x77\x77", 4);
	open_index();
	expect_fresh();
	ofs_fts_close(fts);
	cr_assert_eq(truncate(path, 5000), 0);
	open_index();
	expect_fresh();
}

Test(index_fts, what_is_not_ours_is_replaced)
{
	char junk[8192];
	sqlite3 *db;

	fill_and_close();
	write_at(60, "\0\0\0\x63", 4); /* another format, on a page with a wrong checksum */
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

Test(index_fts, damage_midway_begins_it_anew)
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
	for (int i = 1; i < 200 && r == 0; i++) {
		OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list docs = { 0 };

		snprintf(text, sizeof(text), "w%07d%07d", i * 40, 0);
		r = ofs_fts_find_word(fts, text, strlen(text), 9, &docs);
	}
	cr_assert_eq(r, -EUCLEAN);
	cr_assert_neq(ofs_fts_generation(fts), generation);
	expect_fresh();
}

Test(index_fts, damage_within_a_batch_gives_it_up)
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

Test(index_fts, only_one_may_have_it)
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

Test(index_fts, what_cannot_be_opened_is_an_error_in_words)
{
	struct ofs_fts *other = NULL;
	struct ofs_error err = { "" };
	char name[128];

	snprintf(name, sizeof(name), "%s/none/search.db", dir);
	cr_assert_eq(ofs_fts_open(name, &err, &other), -ENOENT);
	cr_assert_not_null(strstr(err.text, name));
}
