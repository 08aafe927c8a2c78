/* SPDX-License-Identifier: MIT */
/* Settable attributes: ttl, important, tags, title, category, and the user's own. */
#include <inttypes.h>

#include "base/tokens.h"
#include "base/xattr.h"
#include "test_tree_fixture.h"

TestSuite(tree_labels, .init = setup, .fini = teardown);

static const char *const settable[] = { "ttl", "important", "tags", "title", "category" };

/* Returns a text of `n` equal letters, in a static buffer. */
static const char *letters(size_t n)
{
	static char text[OFS_XATTR_VALUE_MAX + 2];

	memset(text, 'x', n);
	text[n] = 0;
	return text;
}

struct value {
	const char *set;
	const char *reads; /* NULL: setting fails with -EINVAL and changes nothing */
};

static void expect_values(ofs_node f, const char *name, const char *usual, const struct value *list,
			  size_t n)
{
	cr_assert_eq(set(f, name, usual), 0);
	for (size_t i = 0; i < n; i++) {
		int r = set(f, name, list[i].set);

		cr_assert_eq(r, list[i].reads ? 0 : -EINVAL, "%s '%s': %d", name, list[i].set, r);
		cr_assert_str_eq(xattr(f, name), list[i].reads ? list[i].reads : usual, "%s '%s'",
				 name, list[i].set);
		cr_assert_eq(set(f, name, usual), 0);
	}
}

/* ---- values */

Test(tree_labels, ttl)
{
	static const struct value list[] = {
		{ "45s", "45s" },
		{ "30m", "30m" },
		{ "6h", "6h" },
		{ "7d", "7d" },
		{ "never", "never" },
		{ "1s", "1s" },
		{ "60s", "1m" },
		{ "90m", "90m" },
		{ "120m", "2h" },
		{ "24h", "1d" },
		{ "36500d", "36500d" },
		{ "876000h", "36500d" },
		{ "", NULL },
		{ "0", NULL },
		{ "0s", NULL },
		{ "07d", NULL },
		{ "-1d", NULL },
		{ "7", NULL },
		{ "d", NULL },
		{ "7w", NULL },
		{ "7 d", NULL },
		{ " 7d", NULL },
		{ "7D", NULL },
		{ "1.5h", NULL },
		{ "36501d", NULL },
		{ "876001h", NULL },
		{ "99999999999s", NULL },
		{ "1000000000000d", NULL },
		{ "18446744073709551617d", NULL },
		{ "Never", NULL },
		{ "never ", NULL },
		{ "7d7", NULL },
		{ "1h30m", NULL },
		{ "+7d", NULL },
	};
	ofs_node f = make("cache/f");

	expect_values(f, "ttl", "2d", list, OFS_ARRAY_SIZE(list));
}

Test(tree_labels, important)
{
	static const struct value list[] = {
		{ "1", "1" },	{ "0", "0" },	 { "", NULL },	   { "2", NULL },
		{ "01", NULL }, { "yes", NULL }, { "true", NULL }, { " 1", NULL },
	};
	ofs_node f = make("cache/f");

	cr_assert_str_eq(xattr(f, "important"), "0");
	expect_values(f, "important", "1", list, OFS_ARRAY_SIZE(list));
	expect_values(f, "important", "0", list, OFS_ARRAY_SIZE(list));
}

Test(tree_labels, tags)
{
	static const struct value list[] = {
		{ "a", "a" },
		{ "b,a", "b,a" },
		{ " a ,  b", "a,b" },
		{ "a,b,a,a", "a,b" },
		{ "two words,a", "two words,a" },
		{ "caf\xc3\xa9,#1,a=b", "caf\xc3\xa9,#1,a=b" },
		{ "ab,a,b", "ab,a,b" },
		{ "...", "..." },
		{ "", "-" },
		{ ",", NULL },
		{ " ", NULL },
		{ "a,", NULL },
		{ ",a", NULL },
		{ "a,,b", NULL },
		{ "a, ,b", NULL },
		{ "a/b", NULL },
		{ ".", NULL },
		{ "a,..", NULL },
		{ "a\tb", NULL },
		{ "a\nb", NULL },
		{ "\xff", NULL },
		{ "a\x7f", NULL },
	};
	char many[8192] = "";
	size_t used = 0;
	ofs_node f = make("cache/f");

	expect_values(f, "tags", "usual", list, OFS_ARRAY_SIZE(list));
	cr_assert_eq(set(f, "tags", letters(OFS_NAME_MAX)), 0, "a name of a directory");
	cr_assert_str_eq(xattr(f, "tags"), letters(OFS_NAME_MAX));
	cr_assert_eq(set(f, "tags", letters(OFS_NAME_MAX + 1)), -EINVAL);
	for (int i = 0; used < 4090; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "%s%03x", i ? "," : "",
					 i);
	cr_assert_eq(set(f, "tags", many), 0, "%zu bytes", used);
	cr_assert_str_eq(xattr(f, "tags"), many);
	strcat(many, ",beyond");
	cr_assert_eq(set(f, "tags", many), -EINVAL);
	many[used] = 0;
	cr_assert_str_eq(xattr(f, "tags"), many);
}

Test(tree_labels, title)
{
	static const struct value list[] = {
		{ "One line, \"quoted\"", "One line, \"quoted\"" },
		{ " spaces stay ", " spaces stay " },
		{ "caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80" },
		{ "", "-" },
		{ "two\nlines", NULL },
		{ "tab\t", NULL },
		{ "bell\a", NULL },
		{ "half \xc3", NULL },
		{ "over \xc0\xaf", NULL },
	};
	ofs_node f = make("cache/f");

	expect_values(f, "title", "Usual", list, OFS_ARRAY_SIZE(list));
	cr_assert_eq(set(f, "title", letters(1024)), 0);
	cr_assert_str_eq(xattr(f, "title"), letters(1024));
	cr_assert_eq(set(f, "title", letters(1025)), -EINVAL);
	cr_assert_eq(strlen(xattr(f, "title")), 1024);
}

Test(tree_labels, category)
{
	static const struct value list[] = {
		{ "web", "web" }, { "my own", "my own" }, { "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "", NULL },	  { "a/b", NULL },	  { ".", NULL },
		{ "..", NULL },	  { "a\n", NULL },	  { "\xff", NULL },
	};
	ofs_node f;

	make_dir("cache/shell");
	f = make("cache/shell/f");
	cr_assert_str_eq(xattr(f, "category"), "shell");
	expect_values(f, "category", "notes", list, OFS_ARRAY_SIZE(list));
	cr_assert_eq(set(f, "category", letters(OFS_NAME_MAX)), 0);
	cr_assert_eq(set(f, "category", letters(OFS_NAME_MAX + 1)), -EINVAL);
	cr_assert_eq(unset(f, "category"), 0);
	cr_assert_str_eq(xattr(f, "category"), "shell", "that of its directory again");
}

/* Some programs include the final NUL. Any other NUL is refused. */
Test(tree_labels, a_final_nul_is_no_part_of_a_value)
{
	ofs_node f = make("cache/f");

	cr_assert_eq(ofs_tree_setxattr(t, f, "user.offload.ttl", "7d", 3, 0), 0);
	cr_assert_str_eq(xattr(f, "ttl"), "7d");
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.offload.ttl", "6h\0", 4, 0), -EINVAL);
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.offload.title", "a\0b", 3, 0), -EINVAL);
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.offload.title", letters(60000), 60000, 0),
		     -EINVAL);
	cr_assert_str_eq(xattr(f, "title"), "-");
	cr_assert_str_eq(xattr(f, "ttl"), "7d");
}

/* ---- flags, removal, reopening */

Test(tree_labels, create_and_replace)
{
	static const char *const values[] = { "7d", "1", "red", "A title", "web" };
	static const char *const others[] = { "6h", "1", "blue", "Another", "notes" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++) {
		const char *name = settable[i];
		char full[32];
		ofs_node f;

		snprintf(full, sizeof(full), "cache/%s", name);
		f = make(full);
		cr_assert_eq(set_with(f, name, values[i], XATTR_REPLACE), -ENODATA, "%s", name);
		cr_assert_eq(set_with(f, name, values[i], XATTR_CREATE | XATTR_REPLACE), -EINVAL);
		cr_assert_eq(set_with(f, name, values[i], 64), -EINVAL);
		cr_assert_eq(set_with(f, name, values[i], XATTR_CREATE), 0, "%s", name);
		cr_assert_str_eq(xattr(f, name), values[i]);
		cr_assert_eq(set_with(f, name, others[i], XATTR_CREATE), -EEXIST, "%s", name);
		cr_assert_str_eq(xattr(f, name), values[i]);
		cr_assert_eq(set_with(f, name, others[i], XATTR_REPLACE), 0, "%s", name);
		cr_assert_str_eq(xattr(f, name), others[i]);
	}
}

/* Setting an empty value removes the attribute, and the flags keep their meaning. */
Test(tree_labels, flags_of_an_empty_value)
{
	static const struct {
		const char *name, *empty, *value;
	} list[] = { { "tags", "", "red" }, { "title", "", "A" }, { "important", "0", "1" } };
	ofs_node f = make("cache/f");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(list); i++) {
		const char *name = list[i].name;

		cr_assert_eq(set_with(f, name, list[i].empty, XATTR_REPLACE), -ENODATA, "%s", name);
		cr_assert_eq(set_with(f, name, list[i].empty, XATTR_CREATE), 0, "%s", name);
		cr_assert_eq(set_with(f, name, list[i].empty, 64), -EINVAL);
		cr_assert_eq(set(f, name, list[i].value), 0);
		cr_assert_eq(set_with(f, name, list[i].empty, XATTR_CREATE), -EEXIST, "%s", name);
		cr_assert_str_eq(xattr(f, name), list[i].value);
		cr_assert_eq(set_with(f, name, list[i].empty, XATTR_REPLACE), 0, "%s", name);
		cr_assert_str_eq(xattr(f, name), i == 2 ? "0" : "-");
		cr_assert_eq(set(f, name, list[i].empty), 0, "it is that already");
	}
}

Test(tree_labels, removal)
{
	static const char *const values[] = { "7d", "1", "red", "A title", "web" };
	static const char *const without[] = { "1d", "0", "-", "-", "general" };
	ofs_node f = make("cache/f");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++) {
		cr_assert_eq(unset(f, settable[i]), -ENODATA, "%s", settable[i]);
		cr_assert_eq(set(f, settable[i], values[i]), 0);
		cr_assert_eq(unset(f, settable[i]), 0, "%s", settable[i]);
		cr_assert_str_eq(xattr(f, settable[i]), without[i]);
	}
	cr_assert_eq(unset(f, "ref"), -EOPNOTSUPP);
	cr_assert_eq(unset(f, "unknown"), -EOPNOTSUPP);
}

Test(tree_labels, they_survive)
{
	static const char *const values[] = { "7d", "1", "red,blue", "A title", "web" };
	ofs_node f = make("cache/f");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++)
		cr_assert_eq(set(f, settable[i], values[i]), 0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++)
			cr_assert_str_eq(xattr(f, settable[i]), values[i], "round %d", round);
		if (round == 1)
			cr_assert_eq(ofs_tree_seal(t), 0);
		reopen();
		f = hold("cache/f");
	}
	move("cache/f", "persistent/g");
	cr_assert_str_eq(xattr(f, "tags"), "red,blue");
	cr_assert_str_eq(xattr(f, "category"), "web");
}

/* ---- lifetimes */

Test(tree_labels, defaults_follow_from_the_category)
{
	static const struct {
		const char *category, *ttl;
	} list[] = {
		{ "shell", "30m" },    { "search", "6h" },   { "web", "6h" },
		{ "file_read", "1d" }, { "notes", "7d" },    { "reports", "never" },
		{ "context", "30d" },  { "whatever", "1d" },
	};
	ofs_node f, task;

	make_dir("tasks/t");
	task = make("tasks/t/f");
	cr_assert_str_eq(xattr(task, "ttl"), "1d");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(list); i++) {
		char full[64];

		snprintf(full, sizeof(full), "cache/%s", list[i].category);
		make_dir(full);
		strcat(full, "/f");
		f = make(full);
		cr_assert_str_eq(xattr(f, "ttl"), list[i].ttl, "%s", full);
		/* Its own category takes precedence. */
		cr_assert_eq(set(task, "category", list[i].category), 0);
		cr_assert_str_eq(xattr(task, "ttl"), list[i].ttl);
	}
}

Test(tree_labels, only_the_working_tier_expires)
{
	ofs_node f;

	make_dir("cache/shell");
	make_dir("archive/shell");
	f = make("cache/shell/f");
	for (int round = 0; round < 2; round++) {
		move("cache/shell/f", "persistent/f");
		cr_assert_str_eq(xattr(f, "ttl"), "never");
		cr_assert_str_eq(xattr(f, "expires"), "never");
		move("persistent/f", "archive/shell/f");
		cr_assert_str_eq(xattr(f, "ttl"), "never");
		if (round == 0)
			cr_assert_eq(set(f, "ttl", "2h"), 0, "for when it comes back");
		cr_assert_str_eq(xattr(f, "ttl"), "never");
		move("archive/shell/f", "cache/shell/f");
		cr_assert_str_eq(xattr(f, "ttl"), "2h");
		cr_assert_eq(strlen(xattr(f, "expires")), 20);
	}
}

/* Returns the time in `expires`, in seconds. */
static int64_t expires(ofs_node f)
{
	struct tm tm = { 0 };

	cr_assert_not_null(strptime(xattr(f, "expires"), "%Y-%m-%dT%H:%M:%SZ", &tm), "%s",
			   xattr(f, "expires"));
	return timegm(&tm);
}

/* Returns true if `at` is `seconds` after the last change, rounded up to a full second. */
static bool is_after_use(ofs_node f, int64_t at, int64_t seconds)
{
	struct stat st;

	cr_assert_eq(ofs_tree_getattr(t, f, &st), 0);
	at -= st.st_ctim.tv_sec + seconds;
	return at >= 0 && at <= 1;
}

Test(tree_labels, expires_follows_the_last_use)
{
	ofs_node f;
	int64_t first;

	make_dir("cache/shell");
	f = make("cache/shell/f");
	first = expires(f);
	cr_assert(is_after_use(f, first, 30 * 60));
	ahead += 1000 * OFS_NS_PER_S;
	cr_assert_eq(expires(f), first);
	cr_assert_eq(ofs_tree_write(t, f, "y", 1, 0), 1);
	cr_assert_geq(expires(f), first + 1000);
	cr_assert(is_after_use(f, expires(f), 30 * 60));
	cr_assert_eq(set(f, "ttl", "7d"), 0);
	cr_assert(is_after_use(f, expires(f), 7 * 86400));
	cr_assert_eq(set(f, "important", "1"), 0);
	cr_assert_str_eq(xattr(f, "expires"), "never");
	cr_assert_eq(set(f, "important", "0"), 0);
	cr_assert(is_after_use(f, expires(f), 7 * 86400));
	cr_assert_eq(set(f, "ttl", "never"), 0);
	cr_assert_str_eq(xattr(f, "expires"), "never");
	cr_assert_eq(unset(f, "ttl"), 0);
	cr_assert_eq(set(f, "category", "web"), 0);
	cr_assert(is_after_use(f, expires(f), 6 * 3600));
	reopen();
	f = hold("cache/shell/f");
	cr_assert(is_after_use(f, expires(f), 6 * 3600));
	cr_assert_eq(set(f, "category", "reports"), 0);
	cr_assert_str_eq(xattr(f, "expires"), "never");
}

Test(tree_labels, times_that_are_set_are_no_uses)
{
	struct ofs_setattr attr = { .set = OFS_SET_ATIME | OFS_SET_MTIME,
				    .atime = INT64_MAX,
				    .mtime = INT64_MAX };
	ofs_node f = make("cache/f");
	struct stat st;

	/* Setting the times is itself a use. */
	cr_assert_eq(ofs_tree_setattr(t, f, &attr, &st), 0);
	cr_assert(is_after_use(f, expires(f), 86400));
	attr.atime = attr.mtime = INT64_MIN;
	cr_assert_eq(ofs_tree_setattr(t, f, &attr, &st), 0);
	cr_assert(is_after_use(f, expires(f), 86400));
}

Test(tree_labels, tokens_are_estimated_from_the_text)
{
	static const char line[] = "the quick brown fox jumps over the lazy dog\n";
	const size_t sizes[] = { 0, 1, strlen(line), 4000 };
	OFS_FREE char *text = ofs_alloc(1 << 20);
	char name[32], want[32];
	long long estimate;

	for (size_t i = 0; i < 1 << 20; i++)
		text[i] = line[i % strlen(line)];
	for (size_t i = 0; i < OFS_ARRAY_SIZE(sizes); i++) {
		snprintf(name, sizeof(name), "cache/f%zu", i);
		snprintf(want, sizeof(want), "%" PRIu64, ofs_tokens_count(text, sizes[i]));
		cr_assert_str_eq(xattr(make_of(name, text, sizes[i]), "tokens"), want);
	}
	/* A large file is assumed to be like its start. */
	estimate = strtoll(xattr(make_of("cache/large", text, 1 << 20), "tokens"), NULL, 10);
	cr_assert_leq(llabs(estimate - (long long)ofs_tokens_count(text, 1 << 20)), 100);
}

/* ---- what can be set, and where */

Test(tree_labels, what_cannot_be_set)
{
	static const char *const fixed[] = { "ref",	"sha256",  "tier",   "task", "created",
					     "expires", "lines",   "tokens", "mime", "stored_bytes",
					     "path",	"unknown", "" };
	struct ofs_entry link, slice;
	ofs_node f = make("cache/f");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(fixed); i++) {
		cr_assert_eq(set(f, fixed[i], "1"), -EOPNOTSUPP, "%s", fixed[i]);
		cr_assert_eq(unset(f, fixed[i]), -EOPNOTSUPP, "%s", fixed[i]);
	}
	cr_assert_eq(ofs_tree_symlink(t, walk("cache"), "l", "f", &cred, &link), 0);
	cr_assert_eq(ofs_tree_walk(t, "cache/f:1", &slice), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++) {
		cr_assert_eq(set(walk("cache"), settable[i], "1"), -EOPNOTSUPP);
		cr_assert_eq(set(link.node, settable[i], "1"), -EOPNOTSUPP);
		cr_assert_eq(set(slice.node, settable[i], "1"), -EROFS);
		cr_assert_eq(unset(slice.node, settable[i]), -EROFS);
		cr_assert_eq(set(walk("README.md"), settable[i], "1"), -EROFS);
		cr_assert_eq(set(999999, settable[i], "1"), -ENOENT);
	}
	ofs_tree_forget(t, slice.node, 1);
}

/* A refused value does not even change the times. */
Test(tree_labels, what_is_refused_changes_nothing)
{
	static const char *const bad[] = { "7w", "2", "a,,b", "a\nb", "a/b" };
	ofs_node f = make("cache/f");
	struct stat before, after;

	cr_assert_eq(ofs_tree_getattr(t, f, &before), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(settable); i++)
		cr_assert_eq(set(f, settable[i], bad[i]), -EINVAL);
	cr_assert_eq(ofs_tree_getattr(t, f, &after), 0);
	cr_assert_eq(memcmp(&before, &after, sizeof(before)), 0);
}

/* ---- listing */

/* Returns true if listxattr() lists the name. */
static bool is_listed(ofs_node node, const char *name)
{
	static char names[65536];
	ssize_t n = ofs_tree_listxattr(t, node, names, sizeof(names));

	cr_assert_geq(n, 0, "%zd", n);
	cr_assert_eq(ofs_tree_listxattr(t, node, NULL, 0), n);
	for (const char *p = names; p < names + n; p += strlen(p) + 1)
		if (strcmp(p, name) == 0)
			return true;
	return false;
}

Test(tree_labels, what_was_not_set_is_not_listed)
{
	static const char *const values[] = { "7d", "1", "red", "A title" };
	ofs_node f = make("cache/f");
	char full[64];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(values); i++) {
		snprintf(full, sizeof(full), "user.offload.%s", settable[i]);
		cr_assert_not(is_listed(f, full), "%s", full);
		cr_assert_eq(set(f, settable[i], values[i]), 0);
		cr_assert(is_listed(f, full), "%s", full);
		cr_assert_eq(unset(f, settable[i]), 0);
		cr_assert_not(is_listed(f, full), "%s", full);
	}
	cr_assert(is_listed(f, "user.offload.category"));
	cr_assert(is_listed(f, "user.offload.expires"));
	cr_assert(is_listed(f, "user.offload.tokens"));
}

/* ---- the user's own attributes */

Test(tree_labels, attributes_of_the_users_own)
{
	char value[64];
	ofs_node nodes[2];

	nodes[0] = make("cache/f");
	nodes[1] = walk("cache");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(nodes); i++) {
		ofs_node f = nodes[i];

		cr_assert_eq(ofs_tree_getxattr(t, f, "user.mine", value, sizeof(value)), -ENODATA);
		cr_assert_eq(ofs_tree_removexattr(t, f, "user.mine"), -ENODATA);
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.mine", "a\0b", 3, XATTR_REPLACE),
			     -ENODATA);
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.mine", "a\0b", 3, XATTR_CREATE), 0);
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.mine", "c", 1, XATTR_CREATE), -EEXIST);
		cr_assert_eq(ofs_tree_getxattr(t, f, "user.mine", NULL, 0), 3);
		cr_assert_eq(ofs_tree_getxattr(t, f, "user.mine", value, 2), -ERANGE);
		cr_assert_eq(ofs_tree_getxattr(t, f, "user.mine", value, sizeof(value)), 3);
		cr_assert_arr_eq(value, "a\0b", 3);
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.empty", "", 0, 0), 0);
		cr_assert_eq(ofs_tree_getxattr(t, f, "user.empty", value, sizeof(value)), 0);
		/* Names outside our namespace: without the dot after "user.offload". */
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.offloaded", "1", 1, 0), 0);
		cr_assert_eq(ofs_tree_setxattr(t, f, "user.offload", "1", 1, 0), 0);
		cr_assert(is_listed(f, "user.mine") && is_listed(f, "user.empty"));
		cr_assert(is_listed(f, "user.offloaded") && is_listed(f, "user.offload"));
	}
	reopen();
	cr_assert(is_listed(walk("cache/f"), "user.mine"));
	cr_assert(is_listed(walk("cache"), "user.empty"));
	cr_assert_eq(ofs_tree_removexattr(t, walk("cache/f"), "user.mine"), 0);
	cr_assert_not(is_listed(walk("cache/f"), "user.mine"));
}

Test(tree_labels, limits_of_the_users_own)
{
	static char value[OFS_XATTR_VALUE_MAX];
	ofs_node f = make("cache/f");
	char name[300] = "user.";
	int n = 0;

	memset(name + 5, 'n', OFS_XATTR_NAME_MAX - 5);
	cr_assert_eq(ofs_tree_setxattr(t, f, name, "1", 1, 0), 0);
	cr_assert(is_listed(f, name));
	name[OFS_XATTR_NAME_MAX] = 'n';
	cr_assert_eq(ofs_tree_setxattr(t, f, name, "1", 1, 0), -ERANGE);
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.", "1", 1, 0), -EOPNOTSUPP);
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.max", letters(OFS_XATTR_VALUE_MAX),
				       OFS_XATTR_VALUE_MAX, 0),
		     0);
	cr_assert_eq(ofs_tree_getxattr(t, f, "user.max", value, sizeof(value)),
		     OFS_XATTR_VALUE_MAX);
	cr_assert_arr_eq(value, letters(OFS_XATTR_VALUE_MAX), OFS_XATTR_VALUE_MAX);
	cr_assert_eq(ofs_tree_setxattr(t, f, "user.max", letters(OFS_XATTR_VALUE_MAX + 1),
				       OFS_XATTR_VALUE_MAX + 1, 0),
		     -E2BIG);
	/* Until the file has no room for more, which leaves the others intact. */
	for (int r = 0; r == 0; n++) {
		snprintf(name, sizeof(name), "user.more%d", n);
		r = ofs_tree_setxattr(t, f, name, letters(20000), 20000, 0);
		cr_assert(r == 0 || r == -ENOSPC, "%d", r);
		cr_assert_lt(n, 100);
	}
	cr_assert_eq(ofs_tree_getxattr(t, f, "user.max", NULL, 0), OFS_XATTR_VALUE_MAX);
	cr_assert_eq(ofs_tree_removexattr(t, f, "user.max"), 0);
	cr_assert_eq(set(f, "title", "there is room again"), 0);
}

Test(tree_labels, names_of_the_system)
{
	static const char *const names[] = { "security.capability", "security.selinux",
					     "system.posix_acl_access", "trusted.x", "other" };
	ofs_node f = make("cache/f");
	char value[8];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		cr_assert_eq(ofs_tree_setxattr(t, f, names[i], "1", 1, 0), -EOPNOTSUPP);
		cr_assert_eq(ofs_tree_getxattr(t, f, names[i], value, sizeof(value)), -EOPNOTSUPP);
		cr_assert_eq(ofs_tree_removexattr(t, f, names[i]), -EOPNOTSUPP);
	}
}
