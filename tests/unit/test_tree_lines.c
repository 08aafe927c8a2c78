/* SPDX-License-Identifier: MIT */
/* Slices of real files, compared with a plain model of lines. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "scratch.h"

#define END UINT64_MAX

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_tree *t;
static struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
static const struct ofs_cred cred = { 1000, 1000 };
static ofs_node cache;

static void open_tree(void)
{
	struct ofs_error err = { "" };
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0, "%s", err.text);
	cr_assert_eq(ofs_tree_walk(t, "cache", &e), 0);
	cache = e.node;
}

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
	opts.background = false;
	opts.slice_max_lines = opts.slice_max_bytes = 0;
	open_tree();
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_tree_close(t);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tree_lines, .init = setup, .fini = teardown);

static void reopen_with(uint32_t max_lines, uint32_t max_bytes)
{
	opts.slice_max_lines = max_lines;
	opts.slice_max_bytes = max_bytes;
	ofs_tree_close(t);
	open_tree();
}

static uint64_t rnd(uint64_t below)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

struct text {
	const uint8_t *data;
	uint64_t len;
};

/* Returns the offset of line `n` (from 1), or the length of the text if it has fewer lines. */
static uint64_t line_start(const struct text *x, uint64_t n)
{
	uint64_t off = 0;

	while (n > 1 && off < x->len)
		if (x->data[off++] == '\n')
			n--;
	return off;
}

static uint64_t count_lines(const struct text *x)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < x->len; i++)
		n += x->data[i] == '\n';
	return n + (x->len && x->data[x->len - 1] != '\n');
}

static ofs_node make(const char *name, const void *data, size_t len)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mknod(t, cache, name, S_IFREG | 0640, 0, &cred, &e), 0, "%s", name);
	for (size_t at = 0, part; at < len; at += part) {
		part = OFS_MIN(len - at, (size_t)100000);
		cr_assert_eq(ofs_tree_write(t, e.node, (const uint8_t *)data + at, part, at),
			     (ssize_t)part);
	}
	return e.node;
}

/* Reads a whole slice in portions. */
static void read_all(const struct ofs_entry *e, struct ofs_buf *ret)
{
	size_t size = (size_t)e->attr.st_size, portion = 1 + rnd(size + 3);

	ofs_buf_reserve(ret, size + 1);
	while (ret->len <= size) {
		ssize_t n = ofs_tree_read(t, e->node, ret->data + ret->len,
					  OFS_MIN(portion, size + 1 - ret->len), ret->len);

		cr_assert_geq(n, 0, "%zd", n);
		if (!n)
			break;
		ret->len += (size_t)n;
	}
	cr_assert_eq(ret->len, size, "st_size %zu, read %zu", size, ret->len);
}

static void expect_slice(const char *tail, const struct text *x, uint64_t from, uint64_t end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf got = OFS_BUF_INIT;
	struct ofs_entry e;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "f%s", tail);
	r = ofs_tree_lookup(t, cache, name, &e);
	cr_assert_eq(r, 0, "%s: %d", name, r);
	read_all(&e, &got);
	cr_assert_eq(got.len, end - from, "%s: %zu bytes, not %" PRIu64, name, got.len, end - from);
	cr_assert_eq(got.len && memcmp(got.data, x->data + from, got.len), 0, "%s", name);
	ofs_tree_forget(t, e.node, 1);
}

static void expect_error(const char *tail, int want)
{
	struct ofs_entry e;
	char name[64];
	int r;

	snprintf(name, sizeof(name), "f%s", tail);
	r = ofs_tree_lookup(t, cache, name, &e);
	cr_assert_eq(r, want, "%s: %d, not %d", name, r, want);
	cr_assert_eq(e.keep_name, want == -ENOENT, "%s", name);
}

static void expect_lines(const struct text *x, uint64_t lines, uint64_t from, uint64_t to)
{
	char tail[48];

	if (to == END)
		snprintf(tail, sizeof(tail), ":%" PRIu64 "-", from);
	else
		snprintf(tail, sizeof(tail), "%s%" PRIu64 "-%" PRIu64, from % 2 ? ":" : "#L", from,
			 to);
	if (from > lines)
		expect_error(tail, -ERANGE);
	else
		expect_slice(tail, x, line_start(x, from),
			     to >= lines ? x->len : line_start(x, to + 1));
}

static void expect_last(const struct text *x, uint64_t lines, uint64_t n)
{
	char tail[32];

	snprintf(tail, sizeof(tail), ":-%" PRIu64, n);
	expect_slice(tail, x, n >= lines ? 0 : line_start(x, lines - n + 1), x->len);
}

static void expect_bytes(const struct text *x, uint64_t first, uint64_t last)
{
	char tail[48];

	snprintf(tail, sizeof(tail), ":b%" PRIu64 "-%" PRIu64, first, last);
	if (first >= x->len)
		expect_error(tail, -ERANGE);
	else
		expect_slice(tail, x, first, OFS_MIN(last + 1, x->len));
}

static void expect_every_slice(const struct text *x)
{
	uint64_t lines = count_lines(x);

	for (uint64_t from = 1; from <= lines + 2; from++) {
		for (uint64_t to = from; to <= lines + 2; to++)
			expect_lines(x, lines, from, to);
		expect_lines(x, lines, from, END);
		expect_last(x, lines, from);
	}
	for (uint64_t first = 0; first <= x->len + 1; first++)
		for (uint64_t last = first; last <= x->len + 1; last++)
			expect_bytes(x, first, last);
}

#define TEXT(s)                                     \
	{                                           \
		(const uint8_t *)(s), sizeof(s) - 1 \
	}

static const struct text small[] = {
	TEXT(""),
	TEXT("\n"),
	TEXT("\n\n\n"),
	TEXT("a"),
	TEXT("a\n"),
	TEXT("a\nb"),
	TEXT("one\r\ntwo\r\n\r\nfour\r\n"),
	TEXT("one\r\ntwo\r"),
	TEXT("\0\n\0\0\nx\0y\n\0"),
	TEXT("first\n\nthird \xff\xfe\nfourth\n\n\nseventh, no newline"),
};

static void each_small(bool sealed)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(small); i++) {
		ofs_node f = make("f", small[i].data, small[i].len);

		if (sealed)
			cr_assert_eq(ofs_tree_seal(t), 0);
		expect_every_slice(&small[i]);
		cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
		ofs_tree_forget(t, f, 1);
	}
}

Test(tree_lines, every_slice_of_small_drafts)
{
	each_small(false);
}

Test(tree_lines, every_slice_of_small_sealed_files)
{
	each_small(true);
}

/* Returns lines of all lengths over several blocks, a few of them longer than a block. */
static struct text big_text(uint64_t len, bool final_newline)
{
	uint8_t *p = ofs_alloc(len);
	uint64_t next = 0;

	for (uint64_t i = 0; i < len; i++) {
		p[i] = (uint8_t)('a' + rnd(20));
		if (i == next) {
			p[i] = '\n';
			next = i + 1 + rnd(rnd(50) ? 200 : rnd(20) ? 3000 : 400000);
		}
	}
	/* A line ends exactly at the end of the first block. */
	p[(256 << 10) - 1] = '\n';
	p[len - 1] = final_newline ? '\n' : 'x';
	return (struct text){ p, len };
}

static void expect_some_slices(const struct text *x, int count)
{
	uint64_t lines = count_lines(x);

	for (int i = 0; i < count; i++) {
		uint64_t from = 1 + rnd(lines + 1), to = from + rnd(rnd(2) ? 10 : lines);

		expect_lines(x, lines, from, rnd(8) ? to : END);
		expect_last(x, lines, 1 + rnd(lines + 2));
		expect_bytes(x, rnd(x->len + 2), x->len - rnd(20));
	}
	expect_lines(x, lines, 1, END);
	expect_lines(x, lines, lines, lines);
	expect_lines(x, lines, lines + 1, END);
}

static void big(bool sealed, bool final_newline)
{
	struct text x = big_text(900000, final_newline);
	ofs_node f = make("f", x.data, x.len);

	if (sealed)
		cr_assert_eq(ofs_tree_seal(t), 0);
	expect_some_slices(&x, 60);
	memcpy((uint8_t *)x.data + 300000, "\n\n\n", 3);
	cr_assert_eq(ofs_tree_write(t, f, "\n\n\n", 3, 300000), 3);
	expect_some_slices(&x, 10);
	cr_assert_eq(ofs_tree_seal(t), 0);
	expect_some_slices(&x, 20);
	free((void *)x.data);
}

Test(tree_lines, slices_of_a_big_draft)
{
	big(false, true);
}

Test(tree_lines, slices_of_a_big_sealed_file)
{
	big(true, false);
}

Test(tree_lines, slices_across_holes)
{
	struct text x = { ofs_alloc(1000000), 1000000 };
	ofs_node f = make("f", "one\ntwo\n", 8);

	memcpy((uint8_t *)x.data, "one\ntwo\n", 8);
	memcpy((uint8_t *)x.data + 999990, "x\nlast but", 10);
	cr_assert_eq(ofs_tree_write(t, f, "x\nlast but", 10, 999990), 10);
	expect_some_slices(&x, 10);
	cr_assert_eq(ofs_tree_seal(t), 0);
	expect_some_slices(&x, 10);
	free((void *)x.data);
}

/* Removes the notice. Sets ret_next to the path that continues, or "" without a notice. */
static void split_notice(struct ofs_buf *b, char *ret_next, size_t size)
{
	const char *mark, *with, *p;
	uint64_t lines = 0, bytes = 0;

	ret_next[0] = 0;
	ofs_buf_append(b, "", 1);
	b->len--;
	mark = strstr((char *)b->data, "[offloadfs: ");
	if (!mark)
		return;
	if (sscanf(mark, "[offloadfs: %" SCNu64 " lines, %" SCNu64 " bytes shown;", &lines,
		   &bytes) != 2) {
		lines = 0;
		cr_assert_eq(sscanf(mark, "[offloadfs: %" SCNu64 " bytes shown;", &bytes), 1, "%s",
			     mark);
	}
	with = strstr(mark, "continue with ");
	p = strstr(mark, "]\n");
	cr_assert(with && p && p[2] == 0, "%s", mark);
	snprintf(ret_next, size, "%.*s", (int)(p - with - 14), with + 14);
	b->len = (size_t)(mark - (char *)b->data);
	cr_assert(b->len == bytes || (b->len == bytes + 1 && b->data[bytes] == '\n'), "%s", mark);
	b->len = bytes;
	if (lines)
		cr_assert_eq(count_lines(&(struct text){ b->data, b->len }), lines, "%s", mark);
}

static void expect_reassembly(const char *first, const struct text *x, uint64_t from, uint64_t end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;
	char next[128], now[128];

	snprintf(next, sizeof(next), "%s", first);
	for (int i = 0; next[0]; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf part = OFS_BUF_INIT;
		struct ofs_entry e;
		int r = ofs_tree_walk(t, next, &e);

		snprintf(now, sizeof(now), "%s", next);
		cr_assert_eq(r, 0, "%s, from %s: %d", next, first, r);
		cr_assert_lt(i, 3000, "%s never ends", first);
		read_all(&e, &part);
		split_notice(&part, next, sizeof(next));
		if (opts.slice_max_bytes)
			cr_assert_leq(part.len, opts.slice_max_bytes);
		if (opts.slice_max_lines && !strstr(now, ":b"))
			cr_assert_leq(count_lines(&(struct text){ part.data, part.len }),
				      opts.slice_max_lines);
		ofs_buf_append(&whole, part.data, part.len);
		ofs_tree_forget(t, e.node, 1);
	}
	cr_assert_eq(whole.len, end - from, "%s: %zu bytes, not %" PRIu64, first, whole.len,
		     end - from);
	cr_assert_eq(memcmp(whole.data, x->data + from, whole.len), 0, "%s", first);
}

static void expect_reassemblies(const struct text *x, int count)
{
	uint64_t lines = count_lines(x);
	char name[64];

	for (int i = 0; i < count; i++) {
		uint64_t from = 1 + rnd(lines), to = from + rnd(lines), off = rnd(x->len),
			 last = off + rnd(x->len);

		snprintf(name, sizeof(name), "cache/f:%" PRIu64 "-%" PRIu64, from, to);
		expect_reassembly(name, x, line_start(x, from),
				  to >= lines ? x->len : line_start(x, to + 1));
		snprintf(name, sizeof(name), "cache/f@L%" PRIu64, from);
		expect_reassembly(name, x, line_start(x, from), line_start(x, from + 1));
		snprintf(name, sizeof(name), "cache/f:-%" PRIu64, from);
		expect_reassembly(name, x, line_start(x, lines - from + 1), x->len);
		snprintf(name, sizeof(name), "cache/f:b%" PRIu64 "-%" PRIu64, off, last);
		expect_reassembly(name, x, off, OFS_MIN(last + 1, x->len));
	}
	expect_reassembly("cache/f:1-", x, 0, x->len);
	expect_reassembly("cache/f:b0-", x, 0, x->len);
}

Test(tree_lines, capped_slices_continue_without_loss)
{
	static const struct {
		uint32_t lines, bytes;
	} caps[] = { { 1, 0 }, { 7, 0 }, { 0, 1 }, { 0, 10 }, { 3, 25 }, { 2, 7 }, { 1000, 1000 } };
	static const struct text x = TEXT(
		"one\r\n\ntwo and more\nthree\n\n\n\nthis line is longer than most of the caps of bytes\n\nx\nlast");

	make("f", x.data, x.len);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(caps); i++) {
		reopen_with(caps[i].lines, caps[i].bytes);
		expect_reassemblies(&x, 40);
	}
}

Test(tree_lines, capped_slices_of_a_big_file_continue_without_loss)
{
	struct text x = big_text(700000, false);

	make("f", x.data, x.len);
	reopen_with(300, 65536);
	expect_reassemblies(&x, 5);
	free((void *)x.data);
}

static void expect_text(const char *name, const char *want)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf got = OFS_BUF_INIT;
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, name, &e), 0, "%s", name);
	read_all(&e, &got);
	ofs_buf_append(&got, "", 1);
	cr_assert_str_eq((char *)got.data, want);
	ofs_tree_forget(t, e.node, 1);
}

Test(tree_lines, a_notice_says_how_to_go_on)
{
	char ref[OFS_REF_SIZE], name[64], want[256];
	ofs_node f = make("f", "one\ntwo\nthree\nfour\n", 19);

	reopen_with(2, 0);
	expect_text("cache/f:1-3",
		    "one\ntwo\n[offloadfs: 2 lines, 8 bytes shown; continue with cache/f:3-3]\n");
	expect_text("cache/f:1-",
		    "one\ntwo\n[offloadfs: 2 lines, 8 bytes shown; continue with cache/f:3-]\n");
	expect_text("cache/f:3-", "three\nfour\n");
	ofs_ref_format(t, f, ref);
	snprintf(name, sizeof(name), "refs/%s:1-3", ref);
	snprintf(want, sizeof(want),
		 "one\ntwo\n[offloadfs: 2 lines, 8 bytes shown; continue with refs/%s:3-3]\n", ref);
	expect_text(name, want);
	reopen_with(0, 6);
	expect_text("cache/f:1-2",
		    "one\n[offloadfs: 1 lines, 4 bytes shown; continue with cache/f:2-2]\n");
	expect_text("cache/f:b0-9",
		    "one\ntw\n[offloadfs: 6 bytes shown; continue with cache/f:b6-9]\n");
	reopen_with(0, 2);
	expect_text("cache/f:3", "th\n[offloadfs: 2 bytes shown; continue with cache/f:b10-13]\n");
	opts.mountpoint = "/some/where";
	reopen_with(1, 0);
	expect_text(
		"cache/f:1-2",
		"one\n[offloadfs: 1 lines, 4 bytes shown; continue with /some/where/cache/f:2-2]\n");
}

Test(tree_lines, a_slice_says_where_its_bytes_are)
{
	struct ofs_entry e;
	char range[32] = "";

	make("f", "one\ntwo\nthree\nfour\n", 19);
	reopen_with(2, 0);
	cr_assert_eq(ofs_tree_walk(t, "cache/f:2-4", &e), 0);
	cr_assert_gt(ofs_tree_getxattr(t, e.node, "user.offload.range", range, sizeof(range) - 1),
		     0);
	cr_expect_str_eq(range, "4 10", "lines 2 and 3, without the notice");
	cr_expect_eq(ofs_tree_getxattr(t, e.node, "user.offload.ref", range, sizeof(range)),
		     -ENODATA);
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(ofs_tree_walk(t, "cache/f", &e), 0);
	cr_expect_eq(ofs_tree_getxattr(t, e.node, "user.offload.range", range, sizeof(range)),
		     -ENODATA);
	ofs_tree_forget(t, e.node, 1);
}

Test(tree_lines, a_slice_has_the_attributes_of_its_base)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE };
	struct ofs_entry e, base;
	struct stat st;
	char buf[8];

	make("f", "one\ntwo\n", 8);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f", &base), 0);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f:2", &e), 0);
	cr_assert_neq(e.node, base.node);
	cr_assert_not(e.keep_name);
	cr_assert_eq(e.attr.st_mode, S_IFREG | 0440);
	cr_assert_eq(e.attr.st_size, 4);
	cr_assert_eq(e.attr.st_blocks, 0);
	cr_assert_eq(e.attr.st_uid, 1000);
	cr_assert_eq(e.attr.st_mtim.tv_nsec, base.attr.st_mtim.tv_nsec);
	cr_assert_eq(ofs_tree_getattr(t, e.node, &st), 0);
	cr_assert_eq(st.st_size, 4);
	cr_assert_eq(st.st_ino, e.node);
	cr_assert_eq(ofs_tree_write(t, e.node, "x", 1, 0), -EROFS);
	cr_assert_eq(ofs_tree_setattr(t, e.node, &set, &st), -EROFS);
	cr_assert_eq(ofs_tree_link(t, e.node, cache, "g", &base), -EPERM);
	cr_assert_eq(ofs_tree_lookup(t, e.node, "x", &base), -ENOTDIR);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 4), 0);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, END - 2), 0);
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(ofs_tree_getattr(t, e.node, &st), -ESTALE);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), -ESTALE);
}

Test(tree_lines, names_that_read_as_slices_are_taken)
{
	struct ofs_entry e, f;

	make("f", "one\ntwo\n", 8);
	make("g", "x", 1);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f", &f), 0);
	cr_assert_eq(ofs_tree_mknod(t, cache, "f:1-2", 0600, 0, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_mkdir(t, cache, "f#L7", 0700, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_symlink(t, cache, "f:99", "x", &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_link(t, f.node, cache, "f:1", &e), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, cache, "g", cache, "f:1", 0), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, cache, "f:1", cache, "h", 0), -EROFS);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f:1"), -EROFS);
	expect_error(":2-1", -EINVAL);
	expect_error(":0", -EINVAL);
	expect_error(":99", -ERANGE);
	expect_error(":x", -ENOENT);
	cr_assert_eq(ofs_tree_lookup(t, cache, "none:2-1", &e), -ENOENT);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f:1:1", &e), -ENOENT, "a slice of a slice");
	cr_assert_eq(ofs_tree_lookup(t, OFS_NODE_ROOT, "cache:1", &e), -ENOENT,
		     "a slice of a directory");
}

Test(tree_lines, the_literal_name_wins)
{
	make("f:1", "literal\n", 8);
	expect_text("cache/f:1", "literal\n");
	make("f", "one\ntwo\n", 8);
	expect_text("cache/f:1", "literal\n");
	expect_text("cache/f:1:1", "literal\n");
	expect_text("cache/f:2", "two\n");
	cr_assert_eq(ofs_tree_unlink(t, cache, "f:1"), 0);
	expect_text("cache/f:1", "one\n");
}

Test(tree_lines, a_slice_follows_its_base_or_is_stale)
{
	ofs_node f = make("f", "one\ntwo\nsix\n", 12);
	struct ofs_entry e;
	char buf[8];

	cr_assert_eq(ofs_tree_lookup(t, cache, "f:2", &e), 0);
	cr_assert_eq(ofs_tree_write(t, f, "TWO", 3, 4), 3);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), 4);
	cr_assert_arr_eq(buf, "TWO\n", 4);
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), 4);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", OFS_NODE_ROOT, "g", 0), 0);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), 4, "moving changes nothing");
	cr_assert_eq(ofs_tree_write(t, f, "\n", 1, 0), 1);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), -ESTALE);
	cr_assert_eq(ofs_tree_unlink(t, OFS_NODE_ROOT, "g"), 0);
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(ofs_tree_getattr(t, f, &e.attr), -ENOENT, "the slice keeps it");
	cr_assert_eq(ofs_tree_getattr(t, e.node, &e.attr), -ESTALE);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, 8, 0), -ESTALE);
	ofs_tree_forget(t, e.node, 1);
}

Test(tree_lines, a_slice_whose_notice_would_be_false_is_stale)
{
	static const char before[] = "aaa\naaa\nbbb\n", after[] = "a\na\naaa\nbbb\n";
	struct ofs_entry e, f;
	char buf[256];

	make("f", before, 12);
	reopen_with(0, 8);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f", &f), 0);
	cr_assert_eq(ofs_tree_lookup(t, cache, "f:1-", &e), 0);
	cr_assert_gt(ofs_tree_read(t, e.node, buf, sizeof(buf), 0), 8);
	cr_assert_eq(ofs_tree_write(t, f.node, after, 12, 0), 12);
	cr_assert_eq(ofs_tree_read(t, e.node, buf, sizeof(buf), 0), -ESTALE);
	ofs_tree_forget(t, e.node, 1);
	ofs_tree_forget(t, f.node, 1);
}
