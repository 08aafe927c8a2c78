/* SPDX-License-Identifier: MIT */
/* F:info, F:summary and .offload/. */
#include <jansson.h>

#include "base/buf.h"
#include "tree/virtual/made.h"

#include "test_tree_fixture.h"

TestSuite(tree_info, .init = setup, .fini = teardown);

/* Returns the content of a file, valid until the next call. */
static const char *text_of(const char *p)
{
	static struct ofs_buf text;
	struct ofs_entry e;
	struct stat st;

	ofs_buf_finish(&text);
	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	cr_assert(S_ISREG(e.attr.st_mode));
	cr_assert_eq(ofs_tree_getattr(t, e.node, &st), 0);
	cr_assert_eq(st.st_size, e.attr.st_size);
	ofs_buf_reserve(&text, (size_t)st.st_size + 100);
	text.len = (size_t)st.st_size;
	cr_assert_eq(ofs_tree_read(t, e.node, text.data, text.len + 99, 0), (ssize_t)text.len, "%s",
		     p);
	text.data[text.len] = 0;
	cr_assert_eq(ofs_tree_write(t, e.node, "x", 1, 0), -EROFS);
	ofs_tree_forget(t, e.node, 1);
	return (const char *)text.data;
}

static json_t *json_of(const char *p)
{
	json_error_t error;
	const char *text = text_of(p);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert_not_null(json, "%s: %s in: %s", p, error.text, text);
	cr_assert_eq(text[strlen(text) - 1], '\n');
	return json;
}

static const char *string(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	cr_assert_not_null(value, "%s", key);
	return json_is_null(value) ? "-" : json_string_value(value);
}

static json_int_t number(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	cr_assert(json_is_integer(value), "%s", key);
	return json_integer_value(value);
}

/* ---- info */

Test(tree_info, info_has_exactly_these_fields)
{
	static const char *const fields[] = {
		"path",
		"ref",
		"tier",
		"category",
		"task",
		"origin_task",
		"origin_category",
		"title",
		"tags",
		"important",
		"ttl",
		"created",
		"expires",
		"mime",
		"lines",
		"tokens",
		"stored_bytes",
		"sha256",
		"size",
		"modified",
		"mode",
		"uid",
		"gid",
		"links",
		"lifecycle",
	};
	ofs_node f;
	json_t *info;

	make_dir("tasks/t1");
	make_dir("tasks/t1/shell");
	f = make_of("tasks/t1/shell/log", "one\ntwo\nthree", 13);
	cr_assert_eq(ofs_tree_seal(t), 0);
	info = json_of("tasks/t1/shell/log:info");
	cr_assert_eq(json_object_size(info), OFS_ARRAY_SIZE(fields));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields); i++)
		cr_assert_not_null(json_object_get(info, fields[i]), "%s", fields[i]);
	cr_assert_str_eq(string(info, "path"), "tasks/t1/shell/log");
	cr_assert_str_eq(string(info, "ref"), xattr(f, "ref"));
	cr_assert_str_eq(string(info, "tier"), "working");
	cr_assert_str_eq(string(info, "category"), "shell");
	cr_assert_str_eq(string(info, "task"), "t1");
	cr_assert_str_eq(string(info, "title"), "-");
	cr_assert_str_eq(string(info, "tags"), "-");
	cr_assert_str_eq(string(info, "ttl"), "30m");
	cr_assert_str_eq(string(info, "created"), xattr(f, "created"));
	cr_assert_str_eq(string(info, "expires"), xattr(f, "expires"));
	cr_assert_str_eq(string(info, "mime"), "text/plain");
	cr_assert_str_eq(string(info, "sha256"), xattr(f, "sha256"));
	cr_assert_eq(strlen(string(info, "sha256")), 64);
	cr_assert_str_eq(string(info, "mode"), "0644");
	cr_assert_eq(number(info, "important"), 0);
	cr_assert_eq(number(info, "lines"), 3);
	cr_assert_eq(number(info, "size"), 13);
	cr_assert_gt(number(info, "tokens"), 0);
	cr_assert_eq(number(info, "uid"), cred.uid);
	cr_assert_eq(number(info, "gid"), cred.gid);
	cr_assert_eq(number(info, "links"), 1);
	json_decref(info);
}

Test(tree_info, info_tells_what_was_set)
{
	struct ofs_setattr owner = { .set = OFS_SET_UID | OFS_SET_MODE,
				     .uid = 4294967294u,
				     .mode = 04750 };
	ofs_node f = make("cache/f");
	struct ofs_entry e;
	struct stat st;
	json_t *info;

	cr_assert_eq(set(f, "tags", "red,\"quoted\""), 0);
	cr_assert_eq(set(f, "title", "Caf\xc3\xa9 \\ \"x\""), 0);
	cr_assert_eq(set(f, "important", "1"), 0);
	cr_assert_eq(set(f, "ttl", "45s"), 0);
	cr_assert_eq(ofs_tree_setattr(t, f, &owner, &st), 0);
	link_to(f, "cache/second");
	info = json_of("cache/f:info");
	cr_assert_str_eq(string(info, "tags"), "red,\"quoted\"");
	cr_assert_str_eq(string(info, "title"), "Caf\xc3\xa9 \\ \"x\"");
	cr_assert_str_eq(string(info, "ttl"), "45s");
	cr_assert_str_eq(string(info, "expires"), "never");
	cr_assert_eq(number(info, "important"), 1);
	cr_assert_eq(number(info, "uid"), 4294967294);
	cr_assert_eq(number(info, "links"), 2);
	cr_assert_str_eq(string(info, "mode"), "4750");
	json_decref(info);
	cr_assert_eq(ofs_tree_walk(t, "cache/f:info", &e), 0);
	cr_assert_eq(e.attr.st_mode, S_IFREG | 0440, "who may not read it, may not read about it");
	cr_assert_eq(e.attr.st_uid, 4294967294);
	ofs_tree_forget(t, e.node, 1);
}

Test(tree_info, info_is_json_whatever_the_name)
{
	static const struct {
		const char *name, *shown;
	} list[] = {
		{ "\xff\xfe", "cache/\\xff\\xfe" },
		{ "caf\xc3\xa9", "cache/caf\xc3\xa9" },
		{ "new\nline", "cache/new\nline" },
		{ "quote\"back\\slash", "cache/quote\"back\\slash" },
		{ "\x01\x1f", "cache/\x01\x1f" },
		{ "a:12", "cache/a:12" },
		{ "a:info", "cache/a:info" },
	};
	char full[512];
	json_t *info;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(list); i++) {
		snprintf(full, sizeof(full), "cache/%s", list[i].name);
		make(full);
		strcat(full, ":info");
		info = json_of(full);
		cr_assert_str_eq(string(info, "path"), list[i].shown);
		json_decref(info);
	}
}

Test(tree_info, info_is_there_by_every_way_to_a_file)
{
	ofs_node f = make("cache/f");
	char ref[OFS_REF_SIZE], p[128];

	ofs_ref_format(t, f, ref);
	snprintf(p, sizeof(p), "refs/%s:info", ref);
	json_decref(json_of(p));
	snprintf(p, sizeof(p), "views/recent/%s-f:info", ref);
	json_decref(json_of(p));
	cr_assert_eq(try_walk("README.md:info"), -ENOENT, "nothing is known of what is made up");
	cr_assert_eq(try_walk(".offload/status.json:summary"), -ENOENT);
	cr_assert_eq(try_walk("cache:info"), -ENOENT);
	cr_assert_eq(try_walk("cache/none:info"), -ENOENT);
}

/* ---- when the node changes */

static ofs_node node_of(const char *p)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	cr_assert_not(e.keep_name, "%s", p);
	return e.node; /* the reference stays until the tree is closed */
}

Test(tree_info, another_node_only_for_another_text)
{
	static const char *const names[] = { "cache/f:info", "cache/f:summary", "cache/f:1-2" };
	ofs_node f = make_of("cache/f", "one\ntwo\n", 8);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		ofs_node first = node_of(names[i]);

		cr_assert_eq(node_of(names[i]), first, "%s", names[i]);
		cr_assert_eq(ofs_tree_write(t, f, "more\n", 5, 8 + 5 * i), 5);
		cr_assert_neq(node_of(names[i]), first, "%s", names[i]);
	}
	cr_assert_neq(node_of(names[0]), node_of(names[1]));
	cr_assert_eq(node_of("cache/f:summary"), node_of("cache/f:summary"));
}

/* The texts do not show the mode, but their own mode must follow that of the file. */
Test(tree_info, a_mode_is_that_of_the_file_now)
{
	static const char *const names[] = { "cache/f:summary", "cache/f:1-1" };
	struct ofs_setattr mode = { .set = OFS_SET_MODE };
	ofs_node f = make("cache/f"), before;
	struct stat st;

	t->shared = true;
	for (uint32_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		before = node_of(names[i]);
		mode.mode = i ? 0640 : 0600;
		cr_assert_eq(ofs_tree_setattr(t, f, &mode, &st), 0);
		cr_assert_neq(node_of(names[i]), before, "%s", names[i]);
		text_of(names[i]);
		cr_assert_eq(ofs_tree_getattr(t, node_of(names[i]), &st), 0);
		cr_assert_eq(st.st_mode & 07777, i ? 0440u : 0400u, "%s", names[i]);
	}
}

/* An agent that could compute the number of a text could choose one of its own to be taken for. */
Test(tree_info, numbers_cannot_be_predicted)
{
	static const char *const names[] = { "cache/f:summary", "cache/f:1-1",
					     "views/by-tier/working" };
	ofs_node before[OFS_ARRAY_SIZE(names)];

	ofs_tree_forget(t, make("cache/f"), 1);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		before[i] = walk(names[i]);
	reopen();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		cr_expect_neq(walk(names[i]), before[i], "%s", names[i]);
}

/* Two nodes of one number keep what is theirs. */
Test(tree_info, a_number_that_another_node_has)
{
	static const char *const names[] = { "cache/f:summary", "cache/f:1-1" };
	struct ofs_made *m, *there;
	ofs_node node, taken;

	ofs_tree_forget(t, make("cache/f"), 1);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		taken = node_of(names[i]);
		m = ofs_alloc(sizeof(*m));
		m->node = taken;
		m->attr.mode = S_IFREG | 0400;
		ofs_buf_append_str(&m->text, "another's");
		node = ofs_made_share(t, m);
		cr_assert_neq(node, taken, "%s", names[i]);
		there = ofs_made_get(t, node);
		cr_assert_str_eq(ofs_buf_str(&there->text), "another's");
		ofs_made_put(t, there);
		cr_assert_eq(node_of(names[i]), taken, "%s", names[i]);
	}
}

/* A name may have any bytes, which could pass for further lines. */
Test(tree_info, facts_are_on_their_lines)
{
	ofs_tree_forget(t, make_dir("cache/c\033[31m\nref x"), 1);
	ofs_tree_forget(t, make("cache/c\033[31m\nref x/f"), 1);
	ofs_tree_forget(t, make_dir("tasks/t\nX"), 1);
	ofs_tree_forget(t, make_dir("tasks/t\nX/notes"), 1);
	ofs_tree_forget(t, make("tasks/t\nX/notes/f"), 1);
	cr_expect_not_null(
		strstr(text_of("cache/c\033[31m\nref x/f:summary"), "category c^Jref x\n"));
	cr_expect_not_null(strstr(text_of("tasks/t\nX/notes/f:summary"), "task t^JX\n"));
}

/* ---- names */

Test(tree_info, names_are_taken_where_the_file_exists)
{
	static const char *const taken[] = { "f:info", "f:summary" };
	ofs_node d = walk("cache"), literal;
	struct ofs_entry e;

	literal = make_of("cache/f:info", "the literal one\n", 16);
	make("cache/f");
	cr_assert_eq(walk("cache/f:info"), literal);
	cr_assert_str_eq(text_of("cache/f:info:1"), "the literal one\n");
	drop("cache/f:info");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(taken); i++) {
		cr_assert_eq(ofs_tree_mknod(t, d, taken[i], S_IFREG | 0644, 0, &cred, &e), -EROFS);
		cr_assert_eq(ofs_tree_mkdir(t, d, taken[i], 0755, &cred, &e), -EROFS);
		cr_assert_eq(ofs_tree_unlink(t, d, taken[i]), -EROFS);
		cr_assert_eq(ofs_tree_rename(t, d, "f", d, taken[i], 0), -EROFS);
	}
	json_decref(json_of("cache/f:info"));
	cr_assert_eq(ofs_tree_mknod(t, OFS_NODE_ROOT, "README.md:1-3", S_IFREG | 0644, 0, &cred,
				    &e),
		     -EROFS);
	cr_assert_eq(ofs_tree_mknod(t, OFS_NODE_ROOT, "views:1-3", S_IFREG | 0644, 0, &cred, &e),
		     0);
	cr_assert_eq(ofs_tree_mknod(t, d, "README.md:1-3", S_IFREG | 0644, 0, &cred, &e), 0);
}

/* ---- summaries */

/* Returns a summary without its first two lines, which describe the file. */
static const char *body_of(const char *p)
{
	const char *text = text_of(p);

	for (int i = 0; i < 2; i++) {
		text = strchr(text, '\n');
		cr_assert_not_null(text);
		text++;
	}
	return text;
}

static const char *second_line_of(const char *p)
{
	static char line[256];
	const char *text = strchr(text_of(p), '\n') + 1;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

Test(tree_info, summaries_of_small_files)
{
	static const struct {
		const char *data, *second, *body;
	} list[] = {
		{ "", "text/plain, 0 bytes, 0 lines", "" },
		{ "\n", "text/plain, 1 bytes, 1 lines", "1: \n" },
		{ "one\n", "text/plain, 4 bytes, 1 lines", "1: one\n" },
		{ "one", "text/plain, 3 bytes, 1 lines", "1: one\n" },
		{ "one\ntwo", "text/plain, 7 bytes, 2 lines", "1: one\n2: two\n" },
		{ "\n\nx", "text/plain, 3 bytes, 3 lines", "1: \n2: \n3: x\n" },
		{ "[1]", "application/json, 3 bytes, 1 lines", "1: [1]\n" },
		{ "%PDF-1.7\n", "application/pdf, 9 bytes, 1 lines", "" },
	};
	char name[32];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(list); i++) {
		snprintf(name, sizeof(name), "cache/f%zu", i);
		make_of(name, list[i].data, strlen(list[i].data));
		strcat(name, ":summary");
		for (int sealed = 0; sealed < 2; sealed++) {
			cr_assert_str_eq(second_line_of(name), list[i].second);
			cr_assert_str_eq(body_of(name), list[i].body, "%zu", i);
			cr_assert_eq(ofs_tree_seal(t), 0);
		}
	}
	make_of("cache/binary", "a\0b\n", 4);
	cr_assert_str_eq(second_line_of("cache/binary:summary"),
			 "application/octet-stream, 4 bytes, 1 lines");
	cr_assert_str_eq(body_of("cache/binary:summary"), "");
}

Test(tree_info, a_summary_begins_with_what_the_file_is)
{
	char want[256];
	ofs_node f;

	make_dir("tasks/t1");
	make_dir("tasks/t1/web");
	f = make("tasks/t1/web/f");
	snprintf(want, sizeof(want),
		 "tasks/t1/web/f, ref %.8s, working tier, category web, task t1\n",
		 xattr(f, "ref"));
	cr_assert_eq(strncmp(text_of("tasks/t1/web/f:summary"), want, strlen(want)), 0, "%s",
		     text_of("tasks/t1/web/f:summary"));
	cr_assert_eq(set(f, "title", "A title"), 0);
	cr_assert_eq(strncmp(text_of("tasks/t1/web/f:summary"), "A title\ntasks/", 14), 0);
}

/* Returns the lines of a file with the lines "1" to "n" as a summary shows them. */
static const char *numbered(int n)
{
	static char text[1024];
	size_t used = 0;

	for (int i = 1; i <= n; i++) {
		if (n > 20 && i == 11) {
			used += (size_t)snprintf(text + used, sizeof(text) - used, "...\n");
			i = n - 9;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%d: line %d\n", i, i);
	}
	return text;
}

Test(tree_info, head_and_tail)
{
	static const int counts[] = { 1, 9, 10, 11, 19, 20, 21, 22, 1000, 50000 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(counts); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf data = OFS_BUF_INIT;
		struct ofs_setattr cut = { .set = OFS_SET_SIZE };
		char name[32];
		struct stat st;
		ofs_node f;

		for (int j = 1; j <= counts[i]; j++)
			ofs_buf_printf(&data, "line %d\n", j);
		snprintf(name, sizeof(name), "cache/f%zu", i);
		f = make_of(name, data.data, data.len);
		strcat(name, ":summary");
		cr_assert_str_eq(body_of(name), numbered(counts[i]), "%d lines", counts[i]);
		if (i % 2)
			cr_assert_eq(ofs_tree_seal(t), 0);
		cr_assert_str_eq(body_of(name), numbered(counts[i]), "%d lines", counts[i]);
		/* The same without the last newline. */
		name[strlen(name) - strlen(":summary")] = 0;
		cut.size = data.len - 1;
		cr_assert_eq(ofs_tree_setattr(t, f, &cut, &st), 0);
		strcat(name, ":summary");
		cr_assert_str_eq(body_of(name), numbered(counts[i]), "%d lines", counts[i]);
	}
}

/* Makes a file of `n` lines with `width` letters each. */
static ofs_node make_wide(const char *p, int n, size_t width)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf data = OFS_BUF_INIT;
	OFS_FREE char *line = ofs_alloc(width + 1);

	memset(line, 'w', width);
	line[width] = '\n';
	for (int i = 0; i < n; i++)
		ofs_buf_append(&data, line, width + 1);
	return make_of(p, data.data, data.len);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

Test(tree_info, wide_lines_are_cut_and_say_so)
{
	char want[256] = "1: ";

	make_wide("cache/one", 1, 100000);
	memset(want + 3, 'w', 200);
	strcpy(want + 203, "...\n");
	cr_assert_str_eq(body_of("cache/one:summary"), want);
	make_wide("cache/exact", 1, 200);
	strcpy(want + 203, "\n");
	cr_assert_str_eq(body_of("cache/exact:summary"), want);

	/* The part read from the head ends within line 9, which is still marked as cut. */
	make_wide("cache/edge", 9, 2047);
	cr_assert_eq(count_of(body_of("cache/edge:summary"), "...\n"), 9, "%s",
		     body_of("cache/edge:summary"));

	/* Ten lines that exceed the part read from the head: the gap is marked. */
	make_wide("cache/ten", 10, 5000);
	cr_assert_not_null(strstr(body_of("cache/ten:summary"), "\n10: www"));
	cr_assert_not_null(strstr(body_of("cache/ten:summary"), "\n...\n"));

	make_wide("cache/lasts", 30, 20000);
	cr_assert_not_null(strstr(body_of("cache/lasts:summary"), "too long to show"));
}

Test(tree_info, characters_are_not_cut_in_half)
{
	char data[302];
	const char *body;

	data[0] = 'x';
	for (int i = 1; i < 301; i += 2)
		memcpy(data + i, "\xc3\xa9", 2);
	make_of("cache/f", data, 301);
	body = body_of("cache/f:summary");
	cr_assert_eq(strlen(body), 3 + 199 + 4);
	cr_assert_str_eq(body + 3 + 197, "\xc3\xa9...\n");
}

/* ---- .offload/ */

Test(tree_info, the_status_can_be_parsed)
{
	json_t *status = json_of(".offload/status.json");
	const char *const objects[] = { "content", "disk", "unsealed", "memory", "calls" };

	cr_assert(json_is_string(json_object_get(status, "version")));
	cr_assert_str_eq(string(status, "mountpoint"), "-");
	cr_assert_str_eq(string(status, "state"), "ok");
	cr_assert_geq(number(status, "uptime_seconds"), 0);
	number(status, "bytes_read");
	number(status, "bytes_written");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(objects); i++)
		cr_assert(json_is_object(json_object_get(status, objects[i])), "%s", objects[i]);
	cr_assert_gt(number(json_object_get(status, "memory"), "resident"), 0);
	cr_assert_gt(number(json_object_get(status, "calls"), "lookup"), 0);
	json_decref(status);
}

Test(tree_info, a_report_stays_as_it_is_for_who_looks_twice)
{
	static const char *const names[] = { ".offload/status.json", ".offload/metrics" };
	char slice[64];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		ofs_node first = node_of(names[i]), later;

		snprintf(slice, sizeof(slice), "%s:2", names[i]);
		make_dir(i ? "cache/a" : "cache/b");
		cr_assert_eq(node_of(names[i]), first);
		cr_assert_eq(node_of(slice), node_of(slice));
		ahead += OFS_NS_PER_S - OFS_NS_PER_MS;
		later = node_of(names[i]);
		ahead += 10 * OFS_NS_PER_MS;
		cr_assert_eq(node_of(names[i]), later, "whenever the first time was");
		ahead += 2 * OFS_NS_PER_S;
		cr_assert_neq(node_of(names[i]), first, "but not for ever");
	}
	/* Not even if it is looked up all the time. */
	for (int i = 0; i < 2000; i++) {
		ofs_node now = node_of(names[0]);

		ahead += 10 * OFS_NS_PER_MS;
		if (node_of(names[0]) != now)
			return;
	}
	cr_assert_fail("it never changed");
}

Test(tree_info, what_reports_say_can_be_sliced)
{
	const char *line = text_of(".offload/status.json:2");

	cr_assert_eq(strncmp(line, "  \"version\": ", 13), 0, "%s", line);
	cr_assert_eq(strcspn(line, "\n"), strlen(line) - 1);
	cr_assert_eq(strncmp(text_of(".offload/metrics:1"), "# HELP offloadfs_", 17), 0);
	cr_assert_str_eq(text_of("README.md:1"), "# Offloaded content\n");
	cr_assert_eq(try_walk("README.md:1000"), -ERANGE);
	cr_assert_eq(try_walk("README.md:3-1"), -EINVAL);
	cr_assert_str_eq(text_of(".offload/config.ini"), "");
	cr_assert_eq(try_walk(".offload/config.ini:1"), -ERANGE);
}
