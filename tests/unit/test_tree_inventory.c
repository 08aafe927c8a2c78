/* SPDX-License-Identifier: MIT */
/* Names in .offload/list/: filters, orders and pages. */
#include "tree/virtual/inventory.h"

#include "tree/core/place.h"
#include "tree/expiry/lifetime.h"

#include "test_tree_fixture.h"

#define NOW (INT64_C(1770000000) * OFS_NS_PER_S)

TestSuite(tree_inventory, .init = setup, .fini = teardown);

/* ---- requests */

static struct ofs_inventory_request parse(const char *name)
{
	struct ofs_inventory_request q;
	struct ofs_error err;

	cr_assert_eq(ofs_inventory_parse(NULL, name, NOW, &err, &q), 0, "%s", name);
	return q;
}

Test(tree_inventory, a_request_is_read)
{
	struct ofs_inventory_request q = parse(
		"tag:a%2Cb tier:archive below:cache%2Fweb%20x sort:size reverse:yes older:1h max:7");

	cr_expect_str_eq(q.query->tags.list[0], "a,b");
	cr_expect_eq(q.query->tiers, 1u << OFS_TIER_ARCHIVE);
	cr_expect_str_eq(q.below, "cache/web x");
	cr_expect_eq(q.order, OFS_ORDER_SIZE);
	cr_expect(q.reverse && !q.resumed);
	cr_expect_eq(q.used_before, NOW - 3600 * OFS_NS_PER_S);
	cr_expect_eq(q.used_from, INT64_MIN);
	cr_expect_eq(q.max, 7);
	ofs_inventory_request_finish(&q);
	q = parse("");
	cr_expect_eq(q.order, OFS_ORDER_USED);
	cr_expect_eq(q.max, UINT64_MAX);
	cr_expect_str_eq(q.below, "");
	ofs_inventory_request_finish(&q);
}

Test(tree_inventory, ages_count_from_the_first_page)
{
	struct ofs_inventory_request q = parse("newer:1h max:3 from:3b9aca00.ffffffffffffffff.2a");

	cr_expect(q.resumed);
	cr_expect_eq(q.began, OFS_NS_PER_S);
	cr_expect_eq(q.after.key, -1);
	cr_expect_eq(q.after.ino, 0, "no tree, no ref");
	cr_expect_eq(q.used_from, OFS_NS_PER_S - 3600 * OFS_NS_PER_S);
	cr_expect_str_eq(q.what, "newer:1h ");
	ofs_inventory_request_finish(&q);
}

Test(tree_inventory, what_is_quoted_is_what_is_read)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf name = OFS_BUF_INIT;
	struct ofs_inventory_request q;
	char every[256];

	for (int c = 1; c < 256; c++)
		every[c - 1] = (char)c;
	every[255] = '\0';
	ofs_buf_append_str(&name, "below:");
	ofs_inventory_quote(every, &name);
	cr_expect_null(strpbrk(ofs_buf_str(&name), " /\""));
	q = parse(ofs_buf_str(&name));
	cr_expect_str_eq(q.below, every);
	ofs_inventory_request_finish(&q);
}

Test(tree_inventory, malformed_requests_are_refused)
{
	static const char *const bad[] = { "word",	"-x",	     "sort:colour", "max:0",
					   "page:x",	"older:",    "newer:soon",  "below:%",
					   "below:%0g", "below:%00", "tag:%zz",	    "from:1.2",
					   "from:",	"tier:none", "\"a b\"",	    "from:1.2.X" };
	struct ofs_inventory_request q;
	struct ofs_error err;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++)
		cr_expect_eq(ofs_inventory_parse(NULL, bad[i], NOW, &err, &q), -EINVAL, "%s",
			     bad[i]);
}

/* ---- pages */

/* Returns the text of the page for a request. The caller frees it. */
static char *page(const char *name)
{
	OFS_FREE char *full = ofs_format(".offload/list/%s", name);
	ofs_node node = hold(full);
	struct stat st;
	char *text;

	cr_assert_eq(ofs_tree_getattr(t, node, &st), 0);
	text = ofs_alloc((size_t)st.st_size + 1);
	cr_assert_eq(ofs_tree_read(t, node, text, (size_t)st.st_size, 0), st.st_size);
	return text;
}

/* Returns the file names of all pages, each followed by a blank. */
static const char *files(const char *request)
{
	const char *from = strstr(request, " from:");
	int base = (int)(from ? (size_t)(from - request) : strlen(request));
	static char all[4096];
	OFS_FREE char *name = ofs_strdup(request);
	char *at;

	for (all[0] = 0;;) {
		OFS_FREE char *text = page(name);
		const char *next = strstr(text, "\"next\":\"");

		for (at = text; (at = strstr(at, "\"path\":\"")); at += strlen("\"path\":\"")) {
			char *end = strchr(at + strlen("\"path\":\""), '"'), *slash = end;

			while (slash[-1] != '/' && slash[-1] != '"')
				slash--;
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%.*s ",
				 (int)(end - slash), slash);
		}
		if (!next)
			return all;
		next += strlen("\"next\":\"");
		free(name);
		name = ofs_format("%.*s from:%.*s", base, request, (int)strcspn(next, "\""), next);
	}
}

/* Returns the value of from: that leads to the next page. The caller frees it. */
static char *next_of(const char *text)
{
	const char *next = strstr(text, "\"next\":\"");

	cr_assert(next, "%s", text);
	next += strlen("\"next\":\"");
	return ofs_strndup(next, strcspn(next, "\""));
}

static void fill(void)
{
	make_dir("cache/web");
	make_dir("cache/shell");
	make_dir("tasks/T");
	make_of("cache/web/aa", "1\n", 2);
	make_of("cache/web/bb", "22\n", 3);
	make_of("cache/shell/cc", "333\n", 4);
	make_of("tasks/T/dd", "4444\n", 5);
	make_of("persistent/ee", "", 0);
}

Test(tree_inventory, orders_and_filters)
{
	fill();
	cr_expect_str_eq(files("sort:size"), "dd cc bb aa ee ");
	cr_expect_str_eq(files("sort:size reverse:yes page:2"), "ee aa bb cc dd ");
	cr_expect_str_eq(files("sort:path"), "cc aa bb ee dd ");
	cr_expect_str_eq(files("sort:path page:1 reverse:yes"), "dd ee bb aa cc ");
	cr_expect_str_eq(files("sort:path below:cache"), "cc aa bb ");
	cr_expect_str_eq(files("below:tasks%2FT%2Fdd"), "dd ");
	cr_expect_str_eq(files("sort:path category:web category:shell"), "cc aa bb ");
	cr_expect_str_eq(files("task:T"), "dd ");
	cr_expect_str_eq(files("tier:long-term"), "ee ");
	cr_expect_str_eq(files("sort:size max:2"), "dd cc ");
	set(walk("cache/web/aa"), "tags", "x,y");
	set(walk("cache/web/bb"), "tags", "y");
	cr_expect_str_eq(files("sort:path tag:y"), "aa bb ");
	cr_expect_str_eq(files("tag:x tag:y"), "aa ");
	cr_expect_eq(try_walk(".offload/list/below:no"), -ENOENT);
	cr_expect_eq(try_walk(".offload/list/nonsense"), -EINVAL);
}

Test(tree_inventory, a_file_of_two_names_is_one)
{
	fill();
	link_to(walk("cache/web/aa"), "cache/shell/zz");
	link_to(walk("cache/web/aa"), "cache/shell/yy");
	cr_expect_str_eq(files("sort:path page:1 below:cache"), "cc zz bb ");
	cr_expect_str_eq(files("sort:path below:cache%2Fweb"), "bb ");
}

Test(tree_inventory, a_file_counts_by_another_name_once_the_last_is_gone)
{
	fill();
	link_to(walk("cache/web/aa"), "cache/shell/zz");
	drop("cache/shell/zz");
	cr_expect_str_eq(files("sort:path below:cache"), "cc aa bb ");
	link_to(walk("cache/web/aa"), "cache/web/xx");
	drop("cache/web/aa");
	cr_expect_str_eq(files("sort:path below:cache"), "cc bb xx ");
}

/* Makes a file with two names left, both in another directory than the name it got last. */
static void make_two_of_three(void)
{
	fill();
	make_of("cache/web/yy", "12345678", 8);
	link_to(walk("cache/web/yy"), "cache/web/xx");
	link_to(walk("cache/web/yy"), "cache/shell/zz");
	drop("cache/shell/zz");
}

Test(tree_inventory, two_names_that_are_left_are_one_file_by_path)
{
	make_two_of_three();
	cr_expect_str_eq(files("sort:path below:cache"), "cc aa bb yy ");
}

Test(tree_inventory, two_names_that_are_left_are_one_file_by_size)
{
	make_two_of_three();
	cr_expect_str_eq(files("sort:size below:cache"), "yy cc bb aa ");
}

Test(tree_inventory, a_file_is_listed_by_its_path_alone)
{
	make_two_of_three();
	cr_expect_str_eq(files("below:cache%2Fweb%2Fyy"), "yy ");
}

Test(tree_inventory, names_are_those_of_now)
{
	OFS_FREE char *first = NULL, *next = NULL, *name = NULL;

	fill();
	first = page("sort:size page:1");
	next = next_of(first);
	move("cache/shell/cc", "cache/shell/c2");
	move("cache/web/bb", "cache/shell/b2");
	move("cache/web", "persistent/web");
	name = ofs_format("sort:size page:1 from:%s", next);
	cr_expect_str_eq(files(name), "c2 b2 aa ee ");
}

/* Returns the number of pages that have files, and sets *ret_files to the number of files. */
static size_t count_pages(const char *request, size_t *ret_files)
{
	OFS_FREE char *name = ofs_strdup(request);
	size_t pages = 0;

	for (*ret_files = 0;;) {
		OFS_FREE char *text = page(name), *next = NULL;

		pages += strstr(text, "{\"ref\"") != NULL;
		for (const char *at = text; (at = strstr(at, "{\"ref\"")); at++)
			++*ret_files;
		if (!strstr(text, "\"next\":\""))
			return pages;
		next = next_of(text);
		free(name);
		name = ofs_format("%s from:%s", request, next);
	}
}

/* More than 12 MiB of lines: JSON writes these names six times as long. */
Test(tree_inventory, long_lines_make_a_page_of_fewer_files)
{
	char deep[1200] = "cache", name[1300];
	size_t n;

	while (strlen(deep) < 1000) {
		strcat(deep, "/");
		memset(deep + strlen(deep), 1, 100);
		make_dir(deep);
	}
	for (size_t i = 0; i < 2500; i++) {
		snprintf(name, sizeof(name), "%s/%zu", deep, i);
		make_of(name, "", 0);
	}
	cr_expect_eq(count_pages("sort:size", &n), 2);
	cr_expect_eq(n, 2500);
	cr_expect_eq(count_pages("sort:used max:2450", &n), 2, "they do not fit into one");
	cr_expect_eq(count_pages("sort:used max:500", &n), 1);
	cr_expect_eq(n, 500);
}

/* Makes another request, which drops a list that was read to its end. */
static void forget(void)
{
	OFS_FREE char *text = page("sort:modified max:1");

	cr_assert(text);
}

Test(tree_inventory, what_was_gathered_outlasts_changes_and_can_be_had_again)
{
	OFS_FREE char *first = NULL, *next = NULL, *name = NULL, *more = NULL;

	fill();
	first = page("sort:size page:2");
	next = next_of(first);
	/* bb becomes larger than the last file shown, and that file is removed. */
	cr_assert_eq(ofs_tree_write(t, walk("cache/web/bb"), "xxxxxxxxxxxx", 12, 0), 12);
	drop("cache/shell/cc");
	name = ofs_format("sort:size from:%s", next);
	cr_expect_str_eq(files(name), "bb aa ee ");
	/* The list is made again, without the changed files. */
	forget();
	more = ofs_format("sort:size page:1 from:%s", next);
	cr_expect_str_eq(files(more), "aa ee ");
}

/* Fills a new tree with files whose lines take about a MiB. */
static void fill_tree(const char *tree)
{
	static char title[1025], name[241];
	OFS_FREE char *below = ofs_format("%s/cache", tree);
	struct ofs_entry e;
	ofs_node at;

	make_dir(tree);
	memset(title, 't', sizeof(title) - 1);
	memset(name, 'n', sizeof(name) - 1);
	at = walk(below);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(ofs_tree_mkdir(t, at, name, 0755, &cred, &e), 0);
		at = e.node;
	}
	for (int i = 0; i < 400; i++) {
		snprintf(name + 236, 5, "%04d", i);
		cr_assert_eq(ofs_tree_mknod(t, at, name, S_IFREG | 0644, 0, &cred, &e), 0);
		cr_assert_eq(set(e.node, "title", title), 0);
	}
}

/* Texts of all trees in an agent's have a limit together. */
Test(tree_inventory, texts_of_an_agent_have_a_limit)
{
	OFS_FREE char *tree = ofs_strdup("agents/a");
	size_t sum;

	for (int i = 0; i < 9; i++) {
		OFS_FREE char *outer = NULL;

		fill_tree(tree);
		for (int k = 1; k <= 8; k++) {
			OFS_FREE char *list = ofs_format("%s/.offload/list/newer:%dh", tree, k);

			cr_assert_eq(try_walk(list), 0);
		}
		outer = ofs_steal(tree);
		tree = ofs_format("%s/agents/%d", outer, i);
	}
	sum = atomic_load(&ofs_root_at(t, walk("agents/a"))->kept);
	cr_expect_gt(sum, 32 << 20);
	cr_expect_leq(sum, 64 << 20);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(try_walk("agents/a/.offload/status.json"), 0);
	cr_expect_leq(atomic_load(&ofs_root_at(t, walk("agents/a"))->kept), 64 << 20);
}

/* A tree in which many lists are begun does not end those of others. */
Test(tree_inventory, lists_of_other_trees_stay)
{
	OFS_FREE char *first = NULL, *next = NULL, *name = NULL;

	fill();
	make_dir("agents/a");
	make_dir("agents/a/agents/in");
	for (int i = 0; i < 4; i++) {
		OFS_FREE char *file =
			ofs_format("agents/a/%scache/%d", i % 2 ? "" : "agents/in/", i);

		make(file);
	}
	first = page("sort:size page:2");
	next = next_of(first);
	for (int i = 1; i < 20; i++) {
		OFS_FREE char *other = ofs_format("agents/a/%s.offload/list/newer:%dh page:1",
						  i % 2 ? "" : "agents/in/", i);

		hold(other);
	}
	/* What is gathered again lacks the file that was changed. */
	cr_assert_eq(ofs_tree_write(t, walk("cache/web/bb"), "x", 1, 0), 1);
	name = ofs_format("sort:size from:%s", next);
	cr_expect_str_eq(files(name), "bb aa ee ");
}

Test(tree_inventory, an_order_of_paths_needs_the_file_that_it_stands_at)
{
	OFS_FREE char *first = NULL, *next = NULL, *name = NULL;

	fill();
	first = page("sort:path page:2");
	next = next_of(first);
	name = ofs_format("sort:path from:%s", next);
	cr_expect_str_eq(files(name), "bb ee dd ");
	forget();
	cr_expect_str_eq(files(name), "bb ee dd ", "the same, gathered again");
	drop("cache/web/aa");
	forget();
	free(name);
	name = ofs_format(".offload/list/sort:path from:%s", next);
	cr_expect_eq(try_walk(name), -ESTALE);
}

Test(tree_inventory, sums_are_of_all_pages)
{
	OFS_FREE char *text = NULL, *again = NULL;

	fill();
	text = page("page:1");
	cr_expect(strstr(text, "{\"files\":5,\"bytes\":14,"), "%s", text);
	cr_expect(strstr(text, ",\"uncounted\":0,\"next\":\""), "%s", text);
	cr_expect_null(strstr(strchr(text, '\n') + 1, "}\n{"), "one file: %s", text);
	make_of("cache/web/odd\n\xff\"", "x", 1);
	again = page("sort:path below:cache%2Fweb");
	cr_expect(strstr(again, "\"path\":\"cache/web/odd\\n\\\\xff\\\"\""), "%s", again);
}

Test(tree_inventory, the_first_files_are_those_of_the_whole_list)
{
	static const char *const orders[] = { "used", "size", "path" };
	OFS_FREE char *all = NULL, *some = NULL, *name = NULL;

	fill();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(orders); i++) {
		char *rest, *line;

		free(some);
		free(all);
		free(name);
		name = ofs_format("sort:%s max:2", orders[i]);
		some = page(name);
		cr_expect(strstr(some, "{\"files\":5,\"bytes\":14,"), "%s", some);
		/* A list that was gathered for two files is not enough for all. */
		name[strcspn(name, " ")] = '\0';
		all = page(name);
		rest = strchr(all, '\n') + 1;
		line = strchr(some, '\n') + 1;
		cr_expect(strncmp(rest, line, strlen(line)) == 0, "%s: %s", some, all);
		cr_expect_gt(strlen(rest), strlen(line));
	}
}

Test(tree_inventory, groups_are_sums_by_tier_and_category)
{
	OFS_FREE char *text = NULL;
	ofs_node node;

	fill();
	node = hold("cache/web/aa");
	cr_assert_eq(ofs_tree_setxattr(t, node, "user.offload.category", "shell", 5, 0), 0);
	text = page("groups:yes");
	cr_expect(strstr(text, "{\"files\":0,\"bytes\":14,"), "%s", text);
	cr_expect(strstr(text, "\"next\":null"), "%s", text);
	cr_expect(strstr(text,
			 "{\"tier\":\"working\",\"category\":\"shell\",\"files\":2,\"bytes\":6,"),
		  "%s", text);
	cr_expect(strstr(text, "\"category\":\"web\",\"files\":1,\"bytes\":3,"), "%s", text);
	cr_expect(strstr(text, "{\"tier\":\"long-term\","), "%s", text);
	cr_expect_null(strstr(text, "\"path\""), "%s", text);
}

Test(tree_inventory, what_becomes_of_a_file_is_a_word)
{
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_TIER), "kept");
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_IMPORTANT), "kept");
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_USED), "until");
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_LIVE), "live");
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_REFERENCED), "live");
	cr_expect_str_eq(ofs_lifetime_word(OFS_KEEP_EVICTABLE), "evictable");
	cr_expect_str_eq(ofs_lifetime_word(OFS_REMOVE_EXPIRED), "evictable");
}
