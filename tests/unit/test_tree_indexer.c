/* SPDX-License-Identifier: MIT */
/* The indexer: the search index follows all changes of the tree. */
#include <fcntl.h>
#include <sys/wait.h>

#include "base/words.h"
#include "tree/core/place.h"
#include "tree/search/indexer.h"

#include "test_tree_fixture.h"

TestSuite(indexer, .init = setup, .fini = teardown);

static const char *below(const char *name)
{
	static char full[128];

	snprintf(full, sizeof(full), "%s/%s", path, name);
	return full;
}

/* Waits until the index has everything done so far. */
static void settle(void)
{
	struct ofs_indexer_stats st;

	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_indexer_settle(t->indexer), 0);
	ofs_indexer_stats(t->indexer, &st);
	cr_assert(st.caught_up, "%d are waiting", (int)st.waiting);
}

static char found[4096];

/* Appends the paths of files to `found`. */
static void add_paths(const struct ofs_u64_list *files)
{
	for (size_t i = 0; i < files->n; i++) {
		OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
		size_t len = strlen(found);

		cr_assert_eq(ofs_place_of(t, files->at[i], &place), 0);
		snprintf(found + len, sizeof(found) - len, "%s%s", len ? " " : "", place.path.data);
	}
}

/* Files that have all words of a text, or any of them. */
struct lookup {
	bool labels, any;
	struct ofs_u64_list list;
	size_t words;
	int error;
};

static void look_up(void *arg, const struct ofs_word *word)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list more = { 0 };
	struct ofs_fts *index = ofs_indexer_index(t->indexer);
	struct lookup *l = arg;
	size_t n = 0;
	int r = l->labels ? ofs_fts_find_label(index, word->text, word->len, 100, &more)
			  : ofs_fts_find_word(index, word->text, word->len, 100, &more);

	l->error = l->error < 0 ? l->error : r;
	for (size_t i = 0; i < more.n && (l->any || !l->words); i++)
		ofs_u64_list_add(&l->list, more.at[i]);
	for (size_t i = 0; i < l->list.n && !l->any; i++)
		for (size_t k = 0; k < more.n; k++)
			if (more.at[k] == l->list.at[i])
				l->list.at[n++] = more.at[k];
	l->list.n = l->any ? l->list.n : n;
	l->words++;
}

static int find(const char *text, bool labels, bool any)
{
	struct ofs_words *words = ofs_words_create();
	struct lookup l = { .labels = labels, .any = any };

	found[0] = 0;
	ofs_words_each(words, text, strlen(text), look_up, &l);
	ofs_words_destroy(words);
	if (labels)
		add_paths(&l.list);
	for (size_t i = 0; i < l.list.n && !labels; i++) {
		OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
		struct ofs_fts_doc doc;

		if (ofs_fts_get_doc(ofs_indexer_index(t->indexer), l.list.at[i], &doc) == 0)
			ofs_fts_files_of(ofs_indexer_index(t->indexer), doc.sha, &files);
		add_paths(&files);
	}
	ofs_u64_list_finish(&l.list);
	return l.error;
}

static const char *words(const char *text)
{
	cr_assert_eq(find(text, false, false), 0);
	return found;
}

static const char *any_word(const char *text)
{
	cr_assert_eq(find(text, false, true), 0);
	return found;
}

static const char *names(const char *text)
{
	cr_assert_eq(find(text, true, false), 0);
	return found;
}

static struct ofs_indexer_stats stats(void)
{
	struct ofs_indexer_stats st;

	ofs_indexer_stats(t->indexer, &st);
	return st;
}

static ofs_node make_text(const char *p, const char *text)
{
	return make_of(p, text, strlen(text));
}

static void overwrite(ofs_node node, const char *text)
{
	cr_assert_eq(ofs_tree_write(t, node, text, strlen(text), 0), (ssize_t)strlen(text));
}

Test(indexer, holes_of_terabytes_hold_up_nothing)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE, .size = UINT64_C(1) << 40 };
	ofs_node large = make_text("persistent/large.img", "a needle\n");
	struct stat st;

	make_text("persistent/small", "a haystack\n");
	cr_assert_eq(ofs_tree_setattr(t, large, &set, &st), 0);
	settle();
	cr_assert_str_eq(names("large"), "persistent/large.img");
	cr_assert_str_eq(words("needle"), "");
	cr_assert_str_eq(words("haystack"), "persistent/small");
}

Test(indexer, follows_a_file_into_the_archive_and_back)
{
	make_dir("cache/shell");
	make_text("cache/shell/a.log", "segmentation fault\n");
	settle();
	cr_assert_str_eq(words("segmentation"), "");
	cr_assert_str_eq(names("a.log"), "");
	move("cache/shell/a.log", "archive/b.log");
	settle();
	cr_assert_str_eq(words("segmentation fault"), "archive/b.log");
	cr_assert_str_eq(names("b.log"), "archive/b.log");
	move("archive/b.log", "persistent/c.log");
	settle();
	cr_assert_str_eq(words("fault"), "persistent/c.log");
	cr_assert_str_eq(names("b.log"), "");
	cr_assert_str_eq(names("c.log"), "persistent/c.log");
	move("persistent/c.log", "cache/shell/c.log");
	settle();
	cr_assert_str_eq(words("fault"), "");
	cr_assert_str_eq(names("c.log"), "");
	cr_assert_eq(stats().files, 0);
}

Test(indexer, follows_a_directory)
{
	make_dir("cache/web");
	make_dir("cache/web/deep");
	make_text("cache/web/x", "first page\n");
	make_text("cache/web/deep/y", "second page\n");
	settle();
	move("cache/web", "persistent/web");
	settle();
	cr_assert_str_eq(words("first"), "persistent/web/x");
	cr_assert_str_eq(words("second"), "persistent/web/deep/y");
	/* Its directories are no longer taken for those of the working tier. */
	make_text("persistent/web/deep/z", "third page\n");
	settle();
	cr_assert_str_eq(words("third"), "persistent/web/deep/z");
	move("persistent/web", "tasks/web");
	settle();
	cr_assert_str_eq(words("page"), "");
	cr_assert_eq(stats().files, 0);
}

Test(indexer, follows_an_exchange)
{
	make_text("cache/a", "alpha\n");
	make_text("archive/b", "beta\n");
	settle();
	cr_assert_str_eq(words("beta"), "archive/b");
	cr_assert_eq(ofs_tree_rename(t, walk("cache"), "a", walk("archive"), "b", RENAME_EXCHANGE),
		     0);
	settle();
	cr_assert_str_eq(words("beta"), "");
	cr_assert_str_eq(words("alpha"), "archive/b");
	cr_assert_eq(ofs_tree_rename(t, walk("archive"), "b", walk("cache"), "a", RENAME_EXCHANGE),
		     0);
	settle();
	cr_assert_str_eq(words("beta"), "archive/b");
}

Test(indexer, follows_what_is_written)
{
	ofs_node node = make_text("persistent/notes", "old words here\n");
	struct ofs_setattr size = { .set = OFS_SET_SIZE, .size = 4 };
	struct stat st;

	settle();
	cr_assert_str_eq(words("old"), "persistent/notes");
	overwrite(node, "new");
	cr_assert_eq(ofs_indexer_settle(t->indexer), 0);
	cr_assert_str_eq(words("old"), "", "what it says now is not known yet");
	cr_assert_str_eq(names("notes"), "persistent/notes");
	cr_assert_eq(stats().waiting, 1);
	cr_assert_not(stats().caught_up);
	settle();
	cr_assert_str_eq(words("new words"), "persistent/notes");
	cr_assert_eq(ofs_tree_setattr(t, node, &size, &st), 0);
	settle();
	cr_assert_str_eq(words("words"), "");
	cr_assert_str_eq(words("new"), "persistent/notes");
	cr_assert_eq(ofs_tree_fallocate(t, node, FALLOC_FL_ZERO_RANGE, 0, 4), 0);
	settle();
	cr_assert_str_eq(words("new"), "");
}

Test(indexer, follows_a_copy)
{
	ofs_node from = make_text("cache/from", "copied words\n");
	ofs_node to = make_of("persistent/to", NULL, 0);

	settle();
	cr_assert_str_eq(names("to"), "persistent/to");
	cr_assert_eq(ofs_tree_copy(t, from, 0, to, 0, 13), 13);
	settle();
	cr_assert_str_eq(words("copied"), "persistent/to");
}

Test(indexer, follows_title_and_tags)
{
	ofs_node node = make_text("persistent/r", "content\n");

	settle();
	cr_assert_eq(set(node, "title", "Bitcoin Price"), 0);
	cr_assert_eq(set(node, "tags", "money,daily"), 0);
	settle();
	cr_assert_str_eq(names("bitcoin"), "persistent/r");
	cr_assert_str_eq(names("daily"), "persistent/r");
	cr_assert_str_eq(words("content"), "persistent/r");
	cr_assert_eq(set(node, "title", "Ether"), 0);
	cr_assert_eq(unset(node, "tags"), 0);
	settle();
	cr_assert_str_eq(names("bitcoin"), "");
	cr_assert_str_eq(names("daily"), "");
	cr_assert_str_eq(names("ether"), "persistent/r");
}

Test(indexer, files_with_the_same_content_share_it)
{
	make_text("archive/a", "the same\n");
	make_text("archive/b", "the same\n");
	settle();
	cr_assert_str_eq(words("same"), "archive/b archive/a");
	cr_assert_eq(stats().documents, 1);
	link_to(walk("archive/a"), "persistent/c");
	settle();
	cr_assert_eq(stats().files, 2);
	drop("archive/b");
	ofs_indexer_note(t->indexer, 12345678);
	settle();
}

Test(indexer, a_removed_file_is_gone_once_it_is_noted)
{
	ofs_node node = make_text("persistent/a", "to be removed\n");

	settle();
	drop("persistent/a");
	ofs_tree_forget(t, node, 1);
	settle();
	cr_assert_eq(stats().files, 1);
	ofs_indexer_note(t->indexer, node);
	settle();
	cr_assert_eq(stats().files, 0);
	cr_assert_eq(stats().dead, 1);
	cr_assert_str_eq(words("removed"), "");
}

Test(indexer, the_working_tier_is_noted_no_more_once_it_is_known)
{
	ofs_node node;

	make_dir("cache/shell");
	make_dir("cache/other");
	node = make_text("cache/shell/a", "x\n");
	make_text("cache/other/b", "x\n");
	cr_assert_eq(stats().waiting, 0); /* without an index there is nothing to remove from it */
	settle();
	overwrite(node, "y");
	make_text("cache/shell/c", "z\n");
	move("cache/shell/c", "cache/other/c");
	cr_assert_eq(stats().waiting, 0);
	move("cache/other/c", "persistent/c");
	cr_assert_eq(stats().waiting, 1);
	settle();
	cr_assert_str_eq(words("z"), "persistent/c");
}

Test(indexer, a_store_that_archives_nothing_needs_no_index)
{
	make_dir("cache/shell");
	make_text("cache/shell/a", "x\n");
	reopen();
	make_text("cache/shell/b", "x\n");
	reopen();
	cr_assert_neq(access(below("search.db"), F_OK), 0);
	make_text("persistent/c", "word\n");
	reopen();
	cr_assert_eq(access(below("search.db"), F_OK), 0);
	cr_assert_str_eq(words("word"), "persistent/c");
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 1);
}

Test(indexer, what_is_complete_is_not_looked_at_again)
{
	make_text("persistent/a", "first\n");
	settle();
	reopen();
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 1);
	cr_assert(stats().caught_up);
	make_text("persistent/b", "second\n");
	cr_assert_eq(ofs_indexer_settle(t->indexer), 0);
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 0);
	reopen();
	cr_assert_str_eq(words("second"), "persistent/b");
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 1);
}

/* Runs `fn` on the open tree in a child, which then dies without closing it. */
static void in_one_that_dies(void (*fn)(void))
{
	int status;
	pid_t pid;

	ofs_tree_close(t);
	t = NULL;
	pid = fork();
	if (pid == 0) {
		open_tree();
		fn();
		kill(getpid(), SIGKILL);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status));
	open_tree();
}

static void promote_and_settle(void)
{
	move("cache/a", "persistent/a");
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_indexer_settle(t->indexer), 0);
	move("cache/b", "archive/b");
	ofs_tree_sync(t);
}

Test(indexer, a_death_leaves_nothing_out)
{
	make_text("cache/a", "apple\n");
	make_text("cache/b", "banana\n");
	make_text("archive/c", "cherry\n");
	settle();
	in_one_that_dies(promote_and_settle);
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 0);
	settle();
	cr_assert_str_eq(words("apple"), "persistent/a");
	cr_assert_str_eq(words("banana"), "archive/b");
	cr_assert_str_eq(words("cherry"), "archive/c");
}

static void demote_and_remove(void)
{
	move("persistent/a", "cache/a");
	move("cache/a", "persistent/a2");
	settle();
	move("persistent/b", "cache/b");
	drop("persistent/c");
}

Test(indexer, a_death_leaves_nothing_in)
{
	make_text("persistent/a", "apple\n");
	make_text("persistent/b", "banana\n");
	make_text("persistent/c", "cherry\n");
	settle();
	in_one_that_dies(demote_and_remove);
	settle();
	cr_assert_eq(stats().files, 1);
	cr_assert_str_eq(any_word("apple banana cherry"), "persistent/a2");
}

Test(indexer, a_missing_index_is_built)
{
	make_dir("archive/d");
	make_text("archive/d/a", "apple\n");
	settle();
	ofs_tree_close(t);
	cr_assert_eq(unlink(below("search.db")), 0);
	open_tree();
	settle();
	cr_assert_str_eq(words("apple"), "archive/d/a");
}

static void spoil(const char *name, off_t off)
{
	char junk[4096];
	int fd = open(below(name), O_WRONLY);

	memset(junk, 0x5a, sizeof(junk));
	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, junk, sizeof(junk), off), (ssize_t)sizeof(junk));
	close(fd);
}

Test(indexer, a_damaged_index_is_built_anew)
{
	make_text("archive/a", "apple\n");
	settle();
	ofs_tree_close(t);
	spoil("search.db", 0);
	open_tree();
	settle();
	cr_assert_str_eq(words("apple"), "archive/a");
}

static int find_apple(void)
{
	return find("apple", false, false);
}

Test(indexer, damage_found_by_a_search_is_mended)
{
	struct stat st;

	make_text("archive/a", "apple\n");
	reopen();
	cr_assert_not_null(ofs_indexer_index(t->indexer));
	cr_assert_eq(stat(below("search.db"), &st), 0);
	for (off_t off = 4096; off < st.st_size; off += 4096)
		spoil("search.db", off);
	cr_assert_eq(find_apple(), -EUCLEAN);
	settle();
	cr_assert_str_eq(words("apple"), "archive/a");
}

Test(indexer, without_an_index_all_else_works)
{
	make_text("archive/a", "apple\n");
	settle();
	ofs_tree_close(t);
	cr_assert_eq(unlink(below("search.db")), 0);
	cr_assert_eq(mkdir(below("search.db"), 0700), 0);
	open_tree();
	make_text("archive/b", "banana\n");
	cr_assert_null(ofs_indexer_index(t->indexer));
	cr_assert_lt(ofs_indexer_settle(t->indexer), 0);
	cr_assert_eq(stats().files, 0);
	cr_assert_not(stats().caught_up);
	reopen();
	ofs_tree_close(t);
	cr_assert_eq(rmdir(below("search.db")), 0);
	open_tree();
	settle();
	cr_assert_str_eq(any_word("banana apple"), "archive/b archive/a");
}

Test(indexer, long_and_binary_files)
{
	size_t size = 600000;
	OFS_FREE char *text = malloc(size);

	for (size_t i = 0; i < size; i += 6)
		memcpy(text + i, "filler\n" + (i % 60 == 0), 6);
	memcpy(text + size - 10, "\nlastword\n", 10);
	make_of("archive/long", text, size);
	make_of("archive/binary", "\0\1\2binary words", 15);
	settle();
	cr_assert_str_eq(words("lastword"), "archive/long");
	cr_assert_str_eq(words("binary"), "");
	cr_assert_str_eq(names("binary"), "archive/binary");
	cr_assert_geq(stats().documents, size / OFS_FTS_DOC_MAX);
	cr_assert_eq(stats().files, 2);
}

Test(indexer, sweeps_once_a_day)
{
	ofs_node node = make_text("persistent/a", "unnoticed\n");

	make_text("persistent/b", "stays\n");
	settle();
	drop("persistent/a");
	ofs_tree_forget(t, node, 1);
	settle();
	cr_assert_eq(stats().files, 2);
	ahead += 25 * 3600 * OFS_NS_PER_S;
	settle();
	cr_assert_eq(stats().files, 1);
	cr_assert_eq(stats().documents, 1);
	cr_assert_eq(stats().dead, 0, "what is dead goes while that is cheap");
	cr_assert_str_eq(words("stays"), "persistent/b");
}

/* ---- with the thread */

static void open_in_background(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };

	ofs_tree_close(t);
	opts.seal_delay_ms = 10;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0, "%s", err.text);
}

/* Waits up to half a minute. */
static bool comes_true(bool (*fn)(const char *what), const char *what)
{
	for (int i = 0; i < 3000; i++) {
		if (fn(what))
			return true;
		usleep(10000);
	}
	return false;
}

static bool is_found(const char *what)
{
	return *words(what);
}

static bool is_lost(const char *what)
{
	return !*words(what);
}

static bool has_caught_up(const char *what)
{
	return stats().caught_up;
}

Test(indexer, works_by_itself)
{
	ofs_node node;

	make_text("archive/before", "earlier\n");
	ofs_tree_close(t);
	unlink(below("search.db"));
	t = NULL;
	open_in_background();
	cr_assert(comes_true(is_found, "earlier"));
	node = make_text("persistent/a", "mountain\n");
	cr_assert(comes_true(is_found, "mountain"));
	overwrite(node, "fountain");
	cr_assert(comes_true(is_found, "fountain"));
	cr_assert(comes_true(is_lost, "mountain"));
	move("persistent/a", "cache/a");
	cr_assert(comes_true(is_lost, "fountain"));
	cr_assert(comes_true(has_caught_up, NULL));
	ofs_tree_close(t);
	open_tree();
	cr_assert_eq(ofs_fts_is_complete(ofs_indexer_index(t->indexer)), 1);
	cr_assert_str_eq(words("earlier"), "archive/before");
}
