/* SPDX-License-Identifier: MIT */
/* Content through the tree: writing, truncating, sealing, sharing, and the space it takes. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/util.h"
#include "pack/pack.h"
#include "scratch.h"

#define BLOCK ((uint64_t)256 << 10)

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

TestSuite(tree_content, .init = setup, .fini = teardown);

static void reopen(void)
{
	ofs_tree_close(t);
	open_tree();
}

static void seal(void)
{
	cr_assert_eq(ofs_tree_seal(t), 0);
}

static ofs_node make(const char *name)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mknod(t, cache, name, S_IFREG | 0644, 0, &cred, &e), 0, "%s", name);
	return e.node;
}

static struct stat attr_of(ofs_node node)
{
	struct stat st;

	cr_assert_eq(ofs_tree_getattr(t, node, &st), 0);
	return st;
}

static void put(ofs_node f, const void *data, size_t len, uint64_t off)
{
	cr_assert_eq(ofs_tree_write(t, f, data, len, off), (ssize_t)len);
}

static void resize(ofs_node f, uint64_t size)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE, .size = size };
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, f, &set, &st), 0);
	cr_assert_eq((uint64_t)st.st_size, size);
}

static void expect(ofs_node f, const void *want, size_t len)
{
	OFS_FREE uint8_t *got = ofs_alloc(len + 16);
	ssize_t n = ofs_tree_read(t, f, got, len + 16, 0);

	cr_assert_eq(n, (ssize_t)len, "%zd bytes, not %zu", n, len);
	cr_assert_eq(memcmp(got, want, len), 0);
	cr_assert_eq((size_t)attr_of(f).st_size, len);
}

/* Returns incompressible bytes. The caller frees them. */
static uint8_t *noise(size_t len, uint64_t seed)
{
	uint8_t *p = ofs_alloc(len + 8);
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < len; i += 8) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(p + i, &x, OFS_MIN(len - i, (size_t)8));
	}
	return p;
}

static uint64_t stored(ofs_node f)
{
	char text[32];
	ssize_t n = ofs_tree_getxattr(t, f, "user.offload.stored_bytes", text, sizeof(text) - 1);

	cr_assert_gt(n, 0);
	text[n] = 0;
	cr_assert_eq((uint64_t)attr_of(f).st_blocks, (strtoull(text, NULL, 10) + 511) / 512);
	return strtoull(text, NULL, 10);
}

Test(tree_content, reads_end_at_the_end)
{
	ofs_node f = make("f");
	char buf[16];

	cr_assert_eq(ofs_tree_read(t, f, buf, 16, 0), 0);
	put(f, "0123456789", 10, 0);
	cr_assert_eq(ofs_tree_read(t, f, buf, 16, 8), 2);
	cr_assert_eq(ofs_tree_read(t, f, buf, 16, 10), 0);
	cr_assert_eq(ofs_tree_read(t, f, buf, 16, UINT64_MAX - 3), 0);
	cr_assert_eq(ofs_tree_read(t, f, buf, 0, 0), 0);
	cr_assert_eq(ofs_tree_read(t, f, buf, 3, 4), 3);
	cr_assert_arr_eq(buf, "456", 3);
}

Test(tree_content, sizes_have_a_limit)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE, .size = (UINT64_C(1) << 44) + 1 };
	ofs_node f = make("f");
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, f, &set, &st), -EFBIG);
	cr_assert_eq(ofs_tree_write(t, f, "x", 1, UINT64_C(1) << 44), -EFBIG);
	cr_assert_eq(ofs_tree_write(t, f, "xy", 2, UINT64_MAX), -EFBIG);
	cr_assert_eq(attr_of(f).st_size, 0);
	cr_assert_eq(ofs_tree_setattr(t, cache, &set, &st), -EFBIG);
	set.size = 5;
	cr_assert_eq(ofs_tree_setattr(t, cache, &set, &st), -EISDIR);
	cr_assert_eq(ofs_tree_write(t, cache, "x", 1, 0), -EISDIR);
	cr_assert_eq(ofs_tree_setattr(t, 99999, &set, &st), -ENOENT);
	cr_assert_eq(ofs_tree_write(t, 99999, "x", 1, 0), -ENOENT);
}

Test(tree_content, overwrites_before_and_after_sealing)
{
	ofs_node f = make("f");

	put(f, "aaaaaaaaaa", 10, 0);
	put(f, "bbb", 3, 4);
	expect(f, "aaaabbbaaa", 10);
	seal();
	expect(f, "aaaabbbaaa", 10);
	put(f, "cc", 2, 9);
	expect(f, "aaaabbbaacc", 11);
	reopen();
	expect(f, "aaaabbbaacc", 11);
	put(f, "d", 1, 0);
	seal();
	expect(f, "daaabbbaacc", 11);
}

Test(tree_content, a_gap_reads_as_zeros)
{
	OFS_FREE uint8_t *want = ofs_alloc(3 * BLOCK);
	ofs_node f = make("f");

	memset(want + 3 * BLOCK - 5, 'x', 5);
	put(f, "xxxxx", 5, 3 * BLOCK - 5);
	expect(f, want, 3 * BLOCK);
	seal();
	expect(f, want, 3 * BLOCK);
	cr_assert_lt(stored(f), 4096);
	put(f, "y", 1, BLOCK);
	want[BLOCK] = 'y';
	expect(f, want, 3 * BLOCK);
	reopen();
	expect(f, want, 3 * BLOCK);
}

Test(tree_content, what_was_cut_off_stays_away)
{
	static const uint8_t zeros[100];
	OFS_FREE uint8_t *data = noise(BLOCK + 100, 1);

	for (int sealed = 0; sealed < 2; sealed++) {
		ofs_node f = make(sealed ? "sealed" : "draft");

		put(f, data, BLOCK + 100, 0);
		if (sealed)
			seal();
		resize(f, BLOCK + 40);
		resize(f, BLOCK + 100);
		memcpy(data + BLOCK + 40, zeros, 60);
		expect(f, data, BLOCK + 100);
		seal();
		reopen();
		expect(f, data, BLOCK + 100);
		resize(f, 0);
		resize(f, 100);
		expect(f, zeros, 100);
		seal();
		reopen();
		expect(f, zeros, 100);
	}
}

Test(tree_content, one_write_may_be_larger_than_a_record)
{
	size_t len = (9u << 20) + 12345;
	OFS_FREE uint8_t *data = noise(len, 2);
	ofs_node f = make("f");

	put(f, data, len, 0);
	expect(f, data, len);
	seal();
	expect(f, data, len);
	reopen();
	expect(f, data, len);
}

Test(tree_content, times_follow_what_is_done)
{
	struct ofs_setattr set = { .set = OFS_SET_ATIME | OFS_SET_MTIME,
				   .atime = -1,
				   .mtime = 1500000000000000007 };
	ofs_node f = make("f");
	struct stat st, before = attr_of(f);

	put(f, "x", 1, 0);
	st = attr_of(f);
	cr_assert(st.st_mtim.tv_sec > before.st_mtim.tv_sec ||
		  st.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
	cr_assert_eq(st.st_mtim.tv_nsec, st.st_ctim.tv_nsec);
	cr_assert_eq(ofs_tree_setattr(t, f, &set, &st), 0);
	seal();
	reopen();
	st = attr_of(f);
	cr_assert_eq(st.st_mtim.tv_sec, 1500000000);
	cr_assert_eq(st.st_mtim.tv_nsec, 7);
	cr_assert_eq(st.st_atim.tv_sec, -1);
	cr_assert_eq(st.st_atim.tv_nsec, 999999999);
	cr_assert_gt(st.st_ctim.tv_sec, 1600000000);
}

Test(tree_content, attributes_survive)
{
	struct ofs_setattr set = {
		.set = OFS_SET_MODE | OFS_SET_UID | OFS_SET_GID, .mode = 04711, .uid = 7, .gid = 8
	};
	ofs_node f = make("f");
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, f, &set, &st), 0);
	cr_assert_eq(st.st_mode, S_IFREG | 04711, "the type is not to be set");
	reopen();
	st = attr_of(f);
	cr_assert_eq(st.st_mode, S_IFREG | 04711);
	cr_assert_eq(st.st_uid, 7);
	cr_assert_eq(st.st_gid, 8);
}

static ssize_t ending(ofs_node node, const char *text, char *ret, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "user.offload.ending.%s", text);
	return ofs_tree_getxattr(t, node, name, ret, size);
}

Test(tree_content, files_are_found_by_the_end_of_their_names)
{
	static const char want[] = "b_1.txt\na_1.txt\n";
	char names[64] = "";
	struct ofs_entry e;

	make("b_1.txt");
	make("a_2.txt");
	make("a_1.txt");
	cr_assert_eq(ofs_tree_mkdir(t, cache, "d_1.txt", 0755, &cred, &e), 0);
	cr_expect_eq(ending(cache, "_1.txt", names, sizeof(names) - 1), sizeof(want) - 1);
	cr_expect_str_eq(names, want);
	cr_expect_eq(ending(cache, "_1.txt", names, 4), -ERANGE);
	cr_expect_eq(ending(cache, "_3.txt", names, sizeof(names)), 0);
	cr_expect_eq(ending(cache, "", names, sizeof(names)), -ENODATA);
	cr_expect_eq(ending(make("c_1.txt"), ".txt", names, sizeof(names)), -ENODATA);
}

/* Returns the bytes in all pack files, without their headers. */
static uint64_t pack_bytes(void)
{
	char packs[80], file[512];
	struct dirent *e;
	uint64_t sum = 0;
	struct stat st;
	DIR *d;

	snprintf(packs, sizeof(packs), "%s/packs", path);
	d = opendir(packs);
	cr_assert_not_null(d);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", packs, e->d_name);
		cr_assert_eq(stat(file, &st), 0);
		sum += (uint64_t)st.st_size - OFS_PACK_HEADER;
	}
	closedir(d);
	return sum;
}

Test(tree_content, what_all_files_cost_is_what_is_stored)
{
	OFS_FREE uint8_t *data = noise(3 * BLOCK, 3);
	ofs_node f[8];
	uint64_t sum = 0;
	char name[8];

	for (size_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		f[i] = make(name);
		put(f[i], data + i % 3 * 1000, BLOCK + i % 2 * BLOCK, 0);
		cr_assert_eq(stored(f[i]), BLOCK + i % 2 * BLOCK, "a draft costs its length");
	}
	seal();
	for (size_t i = 0; i < 8; i++)
		sum += stored(f[i]);
	cr_assert_eq(sum, pack_bytes());
	cr_assert_lt(sum, 6 * BLOCK + 4096);
	reopen();
	sum = 0;
	for (size_t i = 0; i < 8; i++)
		sum += stored(f[i]);
	cr_assert_eq(sum, pack_bytes());
}

Test(tree_content, one_removal_does_not_hurt_another)
{
	OFS_FREE uint8_t *data = noise(2 * BLOCK, 4);
	ofs_node a = make("a"), b = make("b"), c = make("c");
	uint64_t whole;

	put(a, data, 2 * BLOCK, 0);
	put(b, data, 2 * BLOCK, 0);
	put(c, data, BLOCK, 0);
	seal();
	whole = stored(a) + stored(b) + stored(c);
	cr_assert_eq(whole, pack_bytes());
	cr_assert_eq(ofs_tree_unlink(t, cache, "a"), 0);
	ofs_tree_forget(t, a, 1);
	seal();
	expect(b, data, 2 * BLOCK);
	expect(c, data, BLOCK);
	cr_assert_eq(stored(b) + stored(c), whole);
	resize(b, 0);
	seal();
	expect(c, data, BLOCK);
	cr_assert_eq(stored(b), 0);
	cr_assert_lt(stored(c), whole);
	reopen();
	expect(c, data, BLOCK);
	put(c, "x", 1, 0);
	data[0] = 'x';
	seal();
	expect(c, data, BLOCK);
	cr_assert_lt(stored(c), BLOCK + 4096);
}

static int64_t allocated(void)
{
	int64_t sum = 0;
	struct stat st;
	char file[512];
	struct dirent *e;
	DIR *d;

	snprintf(file, sizeof(file), "%s/packs", path);
	d = opendir(file);
	cr_assert_not_null(d);
	while ((e = readdir(d)))
		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			sum += st.st_blocks * 512;
	closedir(d);
	return sum;
}

Test(tree_content, what_nobody_holds_is_given_back)
{
	OFS_FREE uint8_t *data = noise(16 * BLOCK, 5);
	ofs_node f = make("f"), tail = make("tail");
	int64_t before;

	put(f, data, 16 * BLOCK, 0);
	seal();
	put(tail, "x", 1, 0);
	seal();
	before = allocated();
	cr_assert_geq(before, 16 * (int64_t)BLOCK);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	seal();
	cr_assert_geq(allocated(), 16 * (int64_t)BLOCK, "somebody holds it");
	ofs_tree_forget(t, f, 1);
	seal();
	cr_assert_lt(allocated(), before - 15 * (int64_t)BLOCK);
	expect(tail, "x", 1);
	f = make("again");
	put(f, data, BLOCK, 0);
	seal();
	reopen();
	expect(f, data, BLOCK);
	expect(tail, "x", 1);
}

Test(tree_content, closing_seals_without_a_background)
{
	ofs_node f = make("f");
	char sha[65];

	put(f, "abc", 3, 0);
	cr_assert_eq(ofs_tree_getxattr(t, f, "user.offload.sha256", sha, 65), -ENODATA);
	reopen();
	cr_assert_eq(ofs_tree_getxattr(t, f, "user.offload.sha256", sha, 65), 64);
	sha[64] = 0;
	cr_assert_str_eq(sha, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect(f, "abc", 3);
}

static bool is_hashed(ofs_node f)
{
	char sha[65];

	return ofs_tree_getxattr(t, f, "user.offload.sha256", sha, 65) == 64;
}

/* Nothing is left in the journal, but the files must still be sealed. */
Test(tree_content, what_only_changed_its_size_is_sealed_after_a_restart)
{
	OFS_FREE uint8_t *data = noise(2 * BLOCK, 7);
	ofs_node grown, cut, sparse;

	opts.background = true;
	opts.seal_delay_ms = 60000;
	reopen();
	grown = make("grown");
	cut = make("cut");
	sparse = make("sparse");
	put(grown, "x", 1, 0);
	put(cut, data, 2 * BLOCK, 0);
	seal();
	cr_assert(is_hashed(grown) && is_hashed(cut));
	resize(grown, 5);
	resize(cut, BLOCK);
	resize(sparse, 5 * BLOCK);
	for (int i = 0; i < 2; i++) {
		cr_assert_not(is_hashed(grown) || is_hashed(cut) || is_hashed(sparse));
		reopen();
	}
	seal();
	cr_assert(is_hashed(grown) && is_hashed(cut) && is_hashed(sparse));
	expect(grown, "x\0\0\0", 5);
	expect(cut, data, BLOCK);
	cr_assert_eq(stored(sparse), 0);
}

static void note_change(void *arg, ofs_node node)
{
	atomic_store((_Atomic ofs_node *)arg, node);
}

Test(tree_content, the_background_seals_what_is_quiet)
{
	static _Atomic ofs_node changed;
	char sha[65];
	ofs_node f;

	opts.background = true;
	opts.seal_delay_ms = 20;
	opts.events.attr_changed = note_change;
	opts.events.arg = &changed;
	reopen();
	f = make("f");
	put(f, "abc", 3, 0);
	for (int i = 0; i < 500 && atomic_load(&changed) != f; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	cr_assert_eq(atomic_load(&changed), f);
	cr_assert_eq(ofs_tree_getxattr(t, f, "user.offload.sha256", sha, 65), 64);
	expect(f, "abc", 3);
}

Test(tree_content, drafts_of_a_daemon_outlive_its_end)
{
	OFS_FREE uint8_t *data = noise(BLOCK, 6);
	ofs_node f;

	opts.background = true;
	opts.seal_delay_ms = 60000;
	reopen();
	f = make("f");
	put(f, data, BLOCK, 0);
	put(f, "abc", 3, 1000);
	memcpy(data + 1000, "abc", 3);
	resize(f, BLOCK - 7);
	for (int i = 0; i < 3; i++) {
		reopen();
		/* Twice the interval at which the sealer wakes up. */
		if (i == 1)
			nanosleep(&(struct timespec){ .tv_nsec = 500000000 }, NULL);
		expect(f, data, BLOCK - 7);
		cr_assert_eq(stored(f), BLOCK - 7, "%" PRIu64 " bytes", stored(f));
	}
	seal();
	expect(f, data, BLOCK - 7);
}

#define ROUNDS 300
#define SPAN (3 * BLOCK + 5000)

struct writer {
	ofs_node node;
	uint8_t *bytes;
	uint64_t seed;
	ssize_t bad;
	atomic_bool done;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;
	uint64_t x = w->seed;

	for (int i = 0; i < ROUNDS && !w->bad; i++) {
		uint8_t piece[3000];
		uint64_t off, len;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		len = x % sizeof(piece) + 1;
		off = (x >> 20) % (SPAN - len);
		memset(piece, (int)(x >> 40), len);
		if (ofs_tree_write(t, w->node, piece, len, off) != (ssize_t)len)
			w->bad = 1;
		memcpy(w->bytes + off, piece, len);
		if (ofs_tree_read(t, w->node, piece, 1, off) != 1 || piece[0] != w->bytes[off])
			w->bad = 2;
	}
	atomic_store(&w->done, true);
	return NULL;
}

Test(tree_content, sealing_while_others_write_loses_nothing)
{
	struct writer w[2] = { { .seed = 11 }, { .seed = 22 } };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		w[i].node = make(i ? "one" : "other");
		w[i].bytes = ofs_alloc(SPAN);
		put(w[i].node, w[i].bytes, SPAN, 0);
		cr_assert_eq(pthread_create(&threads[i], NULL, write_on, &w[i]), 0);
	}
	while (!atomic_load(&w[0].done) || !atomic_load(&w[1].done))
		seal();
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
		cr_assert_eq(w[i].bad, 0);
		expect(w[i].node, w[i].bytes, SPAN);
	}
	seal();
	reopen();
	for (int i = 0; i < 2; i++) {
		expect(w[i].node, w[i].bytes, SPAN);
		free(w[i].bytes);
	}
}

Test(tree_content, the_filesystem_is_told_of)
{
	struct statvfs st;

	cr_assert_eq(ofs_tree_statfs(t, OFS_NODE_ROOT, &st), 0);
	cr_assert_eq(st.f_namemax, OFS_NAME_MAX);
	cr_assert_gt(st.f_blocks, 0);
	cr_assert_eq(ofs_tree_sync(t), 0);
}

static ofs_node find(const char *name)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_lookup(t, cache, name, &e), 0, "%s", name);
	return e.node;
}

Test(tree_content, blocks_are_data_where_that_is_asked_for)
{
	OFS_FREE uint8_t *same = ofs_alloc(5 * BLOCK);
	ofs_node small = make("small"), large = make("large"), sparse = make("sparse");

	memset(same, 'a', 5 * BLOCK);
	put(small, same, 8192, 0);
	put(large, same, 5 * BLOCK, 0);
	resize(sparse, 64 * BLOCK);
	seal();
	cr_assert_lt(attr_of(small).st_blocks, 16);
	cr_assert_lt((uint64_t)attr_of(large).st_blocks, 5 * BLOCK / 512);
	opts.blocks = OFS_BLOCKS_DATA;
	for (int i = 0; i < 2; i++) {
		reopen();
		small = find("small");
		large = find("large");
		sparse = find("sparse");
		cr_assert_eq(attr_of(small).st_blocks, 16);
		cr_assert_eq((uint64_t)attr_of(large).st_blocks, 5 * BLOCK / 512);
		cr_assert_eq(attr_of(sparse).st_blocks, 0);
		expect(large, same, 5 * BLOCK);
	}
	opts.blocks = OFS_BLOCKS_COST;
}
