/* SPDX-License-Identifier: MIT */
/* A follower has what its writer has: from new log, and from a newer index with its log. */
#include <sys/xattr.h>

#include <offloadfs/tree.h>

#include "base/thread.h"
#include "test_store_fixture.h"
#include "test_replication_fixture.h"

/* What the follower reported. */
struct told {
	int type; /* the record's type; 0: everything may have changed */
	uint64_t ino, left, dir;
	char name[64];
};

static struct told told[64];
static size_t ntold, nchanged;

static void note_followed(void *arg, const struct ofs_followed *what)
{
	struct told *t = &told[ntold % OFS_ARRAY_SIZE(told)];

	ntold++;
	*t = (struct told){ .type = what->record ? what->record->type : 0,
			    .ino = what->ino,
			    .left = what->left,
			    .dir = what->dir };
	snprintf(t->name, sizeof(t->name), "%s", what->name ? what->name : "");
}

static void note_changed(void *arg, uint64_t ino)
{
	nchanged++;
}

static void open_follower(void)
{
	struct ofs_store_options how = { .follow = true,
					 .cache_bytes = 4 << 20,
					 .attr_changed = note_changed,
					 .followed = note_followed };
	struct ofs_error err = { "" };

	cr_assert_eq(ofs_store_open(other, &how, &err, &follower), 0, "%s", err.text);
	ofs_store_set_objects(follower, get_object, NULL);
}

static void close_follower(void)
{
	ofs_store_close(follower);
	follower = NULL;
}

static void setup_follow(void)
{
	setup();
	open_store();
	make_other();
	unlinkat(other_fd, "index.db", 0);
}

static void teardown_follow(void)
{
	close_follower();
	teardown();
	close_other();
}

TestSuite(store_follow, .init = setup_follow, .fini = teardown_follow);

static int follow(void)
{
	struct ofs_error err = { "" };
	int r;

	import(reached, ofs_store_log_end(s));
	r = ofs_store_follow(follower, reached, &err);
	cr_assert(r == 0 || err.text[0]);
	return r;
}

static void start(void)
{
	reached = bring_index(false, 1);
	open_follower();
	/* An object that came too late for the pages of the index. */
	if (nlate)
		cr_assert_eq(
			ofs_store_put_object(follower,
					     &(struct ofs_index_object){ .epoch = 1, .number = 1 },
					     late, nlate),
			0);
}

static bool reload(void)
{
	struct ofs_error err = { "" };
	bool newer;
	int r = ofs_store_reload(follower, &newer, &err);

	cr_assert_eq(r, 0, "%s", err.text);
	cr_assert_eq(ofs_store_log_end(follower), reached);
	return newer;
}

/* ---- comparing writer and follower */

struct names {
	char name[256][32];
	uint64_t ino[256];
	size_t n;
};

static int take_name(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	struct names *l = arg;

	snprintf(l->name[l->n], sizeof(l->name[0]), "%s", name);
	l->ino[l->n++] = attr->ino;
	return 0;
}

static void expect_same_content(uint64_t ino, uint64_t size)
{
	OFS_FREE uint8_t *a = ofs_alloc(size + 1);
	OFS_FREE uint8_t *b = ofs_alloc(size + 1);

	cr_assert_eq(ofs_store_read(s, ino, a, size, 0), (ssize_t)size);
	cr_assert_eq(ofs_store_read(follower, ino, b, size, 0), (ssize_t)size, "inode %lu", ino);
	cr_assert_eq(memcmp(a, b, size), 0, "inode %lu", ino);
}

static void expect_same_xattrs(uint64_t ino)
{
	char a[1024], b[1024], x[1024], y[1024];
	ssize_t n = ofs_store_listxattr(s, ino, a, sizeof(a)), len;

	cr_assert_eq(ofs_store_listxattr(follower, ino, b, sizeof(b)), n);
	cr_assert_eq(memcmp(a, b, (size_t)n), 0);
	for (const char *name = a; name < a + n; name += strlen(name) + 1) {
		len = ofs_store_getxattr(s, ino, name, x, sizeof(x));
		cr_assert_eq(ofs_store_getxattr(follower, ino, name, y, sizeof(y)), len);
		cr_assert_eq(memcmp(x, y, (size_t)len), 0);
	}
}

static void expect_same_attr(uint64_t ino, struct ofs_attr *a)
{
	struct ofs_attr b;

	cr_assert_eq(ofs_store_getattr(s, ino, a), 0);
	cr_assert_eq(ofs_store_getattr(follower, ino, &b), 0);
	cr_assert_eq(a->mode, b.mode);
	cr_assert_eq(a->nlink, b.nlink);
	cr_assert_eq(a->uid, b.uid);
	cr_assert_eq(a->size, b.size);
	cr_assert_eq(a->mtime, b.mtime);
	cr_assert_eq(a->ctime, b.ctime);
	cr_assert_eq(a->atime, b.atime);
	cr_assert_eq(a->btime, b.btime);
	cr_assert_eq(a->region, b.region);
}

static void expect_same_tree(uint64_t dir_ino)
{
	struct names *a = ofs_alloc(sizeof(*a)), *b = ofs_alloc(sizeof(*b));
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_readdir(s, dir_ino, 0, false, take_name, a), 0);
	cr_assert_eq(ofs_store_readdir(follower, dir_ino, 0, false, take_name, b), 0);
	cr_assert_eq(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		cr_assert_str_eq(a->name[i], b->name[i]);
		cr_assert_eq(a->ino[i], b->ino[i]);
		expect_same_attr(a->ino[i], &attr);
		expect_same_xattrs(a->ino[i]);
		if (S_ISDIR(attr.mode))
			expect_same_tree(a->ino[i]);
		else if (S_ISREG(attr.mode))
			expect_same_content(a->ino[i], attr.size);
	}
	free(a);
	free(b);
}

static void expect_same(void)
{
	struct ofs_store_stats a, b;

	expect_same_tree(OFS_ROOT_INO);
	cr_assert_eq(ofs_store_stats(s, &a), 0);
	cr_assert_eq(ofs_store_stats(follower, &b), 0);
	cr_assert_eq(a.files, b.files);
	cr_assert_eq(a.dirs, b.dirs);
	cr_assert_eq(a.others, b.others);
	cr_assert_eq(a.bytes, b.bytes);
	cr_assert_eq(a.tombstones, b.tombstones);
}

static void expect_at_follower(uint64_t ino, size_t len, uint64_t seed)
{
	OFS_FREE uint8_t *want = ofs_alloc(len);
	OFS_FREE uint8_t *got = ofs_alloc(len);

	fill_noise(want, len, seed);
	cr_assert_eq(ofs_store_read(follower, ino, got, len, 0), (ssize_t)len);
	cr_assert_eq(memcmp(got, want, len), 0);
}

static int at_follower(uint64_t parent, const char *name)
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(follower, parent, name, &attr);

	if (r == 0)
		ofs_store_forget(follower, attr.ino, 1);
	return r;
}

/* ---- cases */

Test(store_follow, everything)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), e = make_dir(d, "e"), a, b;
	struct ofs_setattr half = { .set = OFS_SET_SIZE | OFS_SET_MODE, .mode = 0640, .size = 700 };
	struct ofs_expire_guard guard;
	struct ofs_attr attr;

	a = make_noise(d, "a", 2 * MIB, 1);
	b = make_noise(e, "b", 1000, 2);
	seal();
	start();
	expect_same();
	make_node(d, "pipe", S_IFIFO | 0600);
	cr_assert_eq(
		ofs_store_create(s, d, "link",
				 &(struct ofs_create){ .mode = S_IFLNK | 0777, .target = "e/b" },
				 &attr),
		0);
	put_noise(a, 100000, 300000, 3);
	cr_assert_eq(follow(), 0);
	expect_same();
	cr_assert_eq(ofs_store_setattr(s, b, &half, NULL), 0);
	cr_assert_eq(ofs_store_setxattr(s, b, "user.x", "value", 5, 0), 0);
	cr_assert_eq(ofs_store_setxattr(s, e, "user.y", "other", 5, 0), 0);
	cr_assert_eq(ofs_store_removexattr(s, e, "user.y"), 0);
	cr_assert_eq(ofs_store_link(s, b, d, "second", &attr), 0);
	cr_assert_eq(ofs_store_rename(s, d, "a", e, "moved", 0, NULL), 0);
	cr_assert_eq(ofs_store_rename(s, d, "second", e, "moved", RENAME_EXCHANGE, NULL), 0);
	b = make_in(d, "copy");
	cr_assert_eq(ofs_store_copy(s, a, 0, b, 0, 2 * MIB), 2 * MIB);
	cr_assert_eq(ofs_store_zero(s, a, BLOCK, BLOCK, false), 0);
	cr_assert_eq(follow(), 0);
	expect_same();
	cr_assert_eq(ofs_store_unlink(s, d, "second", NULL), 0);
	cr_assert_eq(ofs_store_rename(s, d, "e", OFS_ROOT_INO, "e", 0, NULL), 0);
	make_dir(d, "gone");
	cr_assert_eq(ofs_store_rmdir(s, d, "gone"), 0);
	ofs_store_forget(s, b, 1);
	cr_assert_eq(ofs_store_getattr(s, b, &attr), 0);
	guard = (struct ofs_expire_guard){ attr.ctime, ofs_store_moves(s) };
	cr_assert_eq(ofs_store_expire(s, b, INT64_MAX, &guard, "what", 4), 0);
	cr_assert_eq(follow(), 0);
	expect_same();
	seal();
	reached = bring_index(true, 2);
	cr_assert_not(reload());
	expect_same();
	close_follower();
	open_follower();
	expect_same();
}

Test(store_follow, nothing_is_written)
{
	struct ofs_create what = { .mode = S_IFREG | 0600 };
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 100000, 1), left;
	struct ofs_verify how = { .repair = true };
	struct ofs_verify_counts counts;
	char command[400], before[100] = "", after[100] = "";
	struct ofs_error err = { "" };
	struct ofs_store *twice;
	struct ofs_attr attr;
	FILE *p;

	seal();
	start();
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	cr_assert_eq(follow(), 0);
	snprintf(command, sizeof(command), "cd %s && cat index.db journal/* | sha256sum", other);
	p = popen(command, "r");
	cr_assert_not_null(fgets(before, sizeof(before), p));
	pclose(p);
	cr_assert_eq(ofs_store_create(follower, OFS_ROOT_INO, "c", &what, &attr), -EROFS);
	cr_assert_eq(ofs_store_write(follower, a, "x", 1, 0), -EROFS);
	cr_assert_eq(ofs_store_unlink(follower, OFS_ROOT_INO, "a", NULL), -EROFS);
	cr_assert_eq(ofs_store_setxattr(follower, a, "user.x", "y", 1, 0), -EROFS);
	cr_assert_eq(ofs_store_seal(follower), -EROFS);
	cr_assert_eq(ofs_store_sync(follower), 0);
	ofs_store_use(follower, a);
	expect_at_follower(a, 100000, 1);
	cr_assert_eq(ofs_store_verify(follower, &how, &counts), -EROFS);
	how.repair = false;
	cr_assert_eq(ofs_store_verify(follower, &how, &counts), 0);
	cr_assert_eq(counts.problems, 0);
	cr_assert_eq(ofs_store_evict_frames(follower, 0, UINT64_MAX, &left), 0);
	gets = 0;
	reload();
	expect_at_follower(a, 100000, 1);
	cr_assert_gt(gets, 0);
	cr_assert_eq(ofs_store_open(other, &(struct ofs_store_options){ .cache_bytes = 1 }, &err,
				    &twice),
		     -EBUSY);
	close_follower();
	p = popen(command, "r");
	cr_assert_not_null(fgets(after, sizeof(after), p));
	pclose(p);
	cr_assert_str_eq(before, after);
	cr_assert_lt(faccessat(other_fd, "index.db-wal", F_OK, 0), 0);
}

/* Frames that the index no longer knows are evicted, too. */
Test(store_follow, the_cache_is_emptied)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 3 * MIB, 1), left;
	uint64_t b = make_noise(OFS_ROOT_INO, "b", 2 * MIB, 2);

	seal();
	start();
	expect_same();
	remove_file(OFS_ROOT_INO, "a", a);
	cr_assert_eq(follow(), 0);
	seal();
	reached = bring_index(true, 2);
	reload();
	cr_assert_eq(ofs_store_evict_frames(follower, 100000, UINT64_MAX, &left), 0);
	cr_assert_leq(left, 100000, "%lu", left);
	expect_at_follower(b, 2 * MIB, 2);
}

Test(store_follow, what_is_told)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), a = make_in(d, "a"), b = make_in(d, "b");
	struct ofs_attr attr;

	start();
	cr_assert_eq(ofs_store_lookup(follower, d, "b", &attr), 0);
	put_noise(a, 0, 100, 1);
	cr_assert_eq(ofs_store_rename(s, d, "a", d, "b", 0, NULL), 0);
	cr_assert_eq(ofs_store_unlink(s, d, "b", NULL), 0);
	cr_assert_eq(follow(), 0);
	cr_assert_eq(ntold, 3);
	cr_assert_eq(told[0].type, OFS_RECORD_WRITE);
	cr_assert_eq(told[0].ino, a);
	cr_assert_eq(told[1].type, OFS_RECORD_RENAME);
	cr_assert_eq(told[1].ino, a);
	cr_assert_eq(told[1].left, b);
	cr_assert_eq(told[2].type, OFS_RECORD_UNLINK);
	cr_assert_eq(told[2].ino, a);
	cr_assert_eq(told[2].left, 0);
}

/* A file without a name remains, since the writer may still write to it or copy from it. */
Test(store_follow, unlinked_and_held)
{
	uint64_t held = make_noise(OFS_ROOT_INO, "held", 300000, 1), copy;
	uint64_t draft = make_noise(OFS_ROOT_INO, "draft", 1000, 2);
	uint64_t mine = make_noise(OFS_ROOT_INO, "mine", 300000, 3), before;
	struct ofs_attr attr;

	seal();
	put_noise(mine, 0, 300000, 4);
	start();
	cr_assert_eq(ofs_store_lookup(follower, OFS_ROOT_INO, "mine", &attr), 0);
	cr_assert_eq(ofs_store_lookup(follower, OFS_ROOT_INO, "held", &attr), 0);
	before = attr.version;
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "held", NULL), 0);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "draft", NULL), 0);
	remove_file(OFS_ROOT_INO, "mine", mine);
	cr_assert_eq(follow(), 0);
	expect_same();
	expect_at_follower(held, 300000, 1);
	expect_at_follower(mine, 300000, 4);
	cr_assert_eq(at_follower(OFS_ROOT_INO, "held"), -ENOENT);
	cr_assert_eq(ofs_store_hold(follower, draft, &attr), -ENOENT);
	/* The writer alone holds `draft`, changes it and copies from it. */
	put_noise(draft, 0, 2000, 5);
	copy = make_in(OFS_ROOT_INO, "copy");
	cr_assert_eq(ofs_store_copy(s, draft, 0, copy, 0, 2000), 2000);
	cr_assert_eq(follow(), 0);
	expect_same();
	seal();
	reached = bring_index(true, 2);
	cr_assert_not(reload());
	expect_same();
	expect_at_follower(held, 300000, 1);
	expect_at_follower(mine, 300000, 4);
	cr_assert_eq(ofs_store_getattr(follower, held, &attr), 0);
	cr_assert_eq(attr.version, before);
	cr_assert_eq(ofs_store_forget(follower, held, 1), 0);
	put_noise(held, 0, 1000, 6);
	ofs_store_forget(s, held, 1);
	put_noise(draft, 0, 2000, 7);
	cr_assert_eq(follow(), 0);
	ofs_store_forget(s, draft, 1);
	seal();
	reached = bring_index(true, 3);
	cr_assert_not(reload());
	expect_at_follower(mine, 300000, 4);
	cr_assert_eq(ofs_store_getattr(follower, held, &attr), -ENOENT);
	cr_assert_eq(ofs_store_getattr(follower, draft, &attr), -ENOENT);
	cr_assert_eq(ofs_store_forget(follower, mine, 1), 0);
	expect_same();
}

Test(store_follow, contents_keep_their_versions)
{
	uint64_t sealed = make_noise(OFS_ROOT_INO, "sealed", 1000, 1), draft;
	struct ofs_attr a, b, after;

	seal();
	draft = make_noise(OFS_ROOT_INO, "draft", 1000, 2);
	start();
	cr_assert_eq(ofs_store_lookup(follower, OFS_ROOT_INO, "sealed", &a), 0);
	cr_assert_eq(ofs_store_lookup(follower, OFS_ROOT_INO, "draft", &b), 0);
	ntold = nchanged = 0;
	seal();
	import(reached, ofs_store_log_end(s));
	reached = bring_index(true, 2);
	cr_assert_not(reload());
	cr_assert_eq(ntold, 0);
	cr_assert_eq(nchanged, 1, "what was sealed takes another room");
	cr_assert_eq(ofs_store_getattr(follower, sealed, &after), 0);
	cr_assert_eq(after.version, a.version);
	cr_assert_eq(after.held, 1);
	cr_assert_eq(ofs_store_getattr(follower, draft, &after), 0);
	cr_assert_eq(after.version, b.version);
	cr_assert(after.sealed);
	put_noise(draft, 0, 10, 3);
	cr_assert_eq(follow(), 0);
	cr_assert_eq(ofs_store_getattr(follower, draft, &after), 0);
	cr_assert_neq(after.version, b.version);
}

Test(store_follow, regions_are_counted)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), a = make_noise(d, "a", 1000, 1);
	struct ofs_region_counts x, y;

	start();
	ofs_store_add_region(s, d);
	ofs_store_add_region(follower, d);
	for (unsigned int i = 0; i < 4; i++) {
		make_noise(d, (char[]){ (char)('b' + i), 0 }, 500, i);
		put_noise(a, 0, 2000 + i, 2);
		cr_assert_eq(follow(), 0);
		if (i % 2) {
			seal();
			reached = bring_index(true, i);
			cr_assert_not(reload());
		}
		cr_assert_eq(ofs_store_count_region(s, d, &x), 0);
		cr_assert_eq(ofs_store_count_region(follower, d, &y), 0);
		cr_assert_eq(x.files, y.files);
		cr_assert_eq(x.bytes, y.bytes);
		expect_same();
	}
}

/* Log that could not be fetched is skipped, and the index takes its place. */
Test(store_follow, a_newer_state)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), gone = make_noise(d, "gone", 300000, 1), stays;
	struct ofs_error err = { "" };
	struct ofs_attr attr;
	ofs_lsn far;
	bool all = false, was_gone = false;

	stays = make_noise(d, "stays", 1000, 2);
	seal();
	start();
	expect_same();
	cr_assert_eq(ofs_store_lookup(follower, d, "gone", &attr), 0);
	cr_assert_eq(ofs_store_lookup(follower, d, "stays", &attr), 0);
	remove_file(d, "gone", gone);
	make_noise(d, "new", 5000, 3);
	put_noise(stays, 0, 3000, 4);
	seal();
	make_noise(d, "newer", 700, 5);
	ntold = 0;
	/* The index is newer than the applied log, and the log after it arrives later. */
	far = bring_index(true, 2);
	cr_assert_gt(far, reached);
	reached = far;
	make_noise(d, "draft", 700, 6);
	import(far, ofs_store_log_end(s));
	cr_assert_lt(ofs_store_follow(follower, reached, &err), 0);
	cr_assert(reload());
	expect_same();
	expect_at_follower(gone, 300000, 1);
	cr_assert_eq(ofs_store_getattr(follower, gone, &attr), 0);
	cr_assert_eq(attr.nlink, 0);
	for (size_t i = 0; i < ntold; i++) {
		all = all || !told[i].ino;
		was_gone = was_gone || (told[i].ino == gone && told[i].dir == d &&
					strcmp(told[i].name, "gone") == 0);
	}
	cr_assert(all && was_gone);
	make_noise(d, "later", 700, 7);
	cr_assert_eq(follow(), 0);
	expect_same();
}

static void overwrite(ofs_lsn at, uint8_t with)
{
	ofs_lsn segment;
	char name[32];
	int fd;

	cr_assert_eq(ofs_journal_segment_of(journal_fd, at, &segment), 0);
	snprintf(name, sizeof(name), "%016llx.wal", (unsigned long long)segment);
	fd = openat(journal_fd, name, O_WRONLY);
	cr_assert_eq(pwrite(fd, &with, 1, (off_t)(at - segment)), 1);
	close(fd);
}

Test(store_follow, damaged_log)
{
	uint64_t a = make_in(OFS_ROOT_INO, "a");
	ofs_lsn from, bad;
	struct ofs_error err = { "" };

	seal();
	start();
	put_noise(a, 0, 1000, 1);
	from = reached;
	bad = ofs_store_log_end(s);
	put_noise(a, 0, 1000, 2);
	make_noise(OFS_ROOT_INO, "b", 1000, 3);
	import(from, ofs_store_log_end(s));
	for (unsigned int i = 0; i < 40; i++)
		overwrite(bad + i, 0xa5);
	cr_assert_eq(ofs_store_follow(follower, reached, &err), -EUCLEAN);
	cr_assert_eq(ofs_store_log_end(follower), bad);
	expect_at_follower(a, 1000, 1);
	cr_assert_eq(at_follower(OFS_ROOT_INO, "b"), -ENOENT);
	/* A follower that is opened on this log ends it at the same place. */
	close_follower();
	open_follower();
	cr_assert_eq(ofs_store_log_end(follower), bad);
	import(bad, ofs_store_log_end(s));
	/* Damaged data of a record. */
	overwrite(reached - 8, 0x11);
	overwrite(reached - 7, 0x12);
	cr_assert_eq(ofs_store_follow(follower, reached, &err), -EUCLEAN);
	cr_assert_lt(ofs_store_log_end(follower), reached);
	expect_at_follower(a, 1000, 2);
	import(ofs_store_log_end(follower), ofs_store_log_end(s));
	cr_assert_eq(ofs_store_follow(follower, reached, &err), 0);
	expect_same();
	/* Log that was never imported. */
	cr_assert_eq(ofs_store_follow(follower, reached + 800, &err), -EUCLEAN);
	cr_assert_eq(ofs_store_log_end(follower), reached);
	expect_same();
}

/* A record refers to an inode that does not exist. */
Test(store_follow, a_record_that_cannot_be_applied)
{
	struct ofs_error err = { "" };
	uint64_t a = make_in(OFS_ROOT_INO, "a");
	ofs_lsn from;

	start();
	put_noise(a, 0, 1000, 1);
	import(reached, ofs_store_log_end(s));
	from = reached;
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	put_noise(a, 0, 1000, 3);
	import(from, ofs_store_log_end(s));
	cr_assert_eq(ofs_store_follow(follower, from, &err), 0);
	/* As if the inode had been forgotten. */
	pthread_mutex_lock(&follower->lock);
	ofs_store_drop_inode(follower, ofs_map_get(&follower->inodes, a));
	pthread_mutex_unlock(&follower->lock);
	cr_assert_eq(ofs_store_follow(follower, reached, &err), -ENOENT);
	cr_assert_eq(at_follower(OFS_ROOT_INO, "b"), 0);
	cr_assert_lt(ofs_store_log_end(follower), reached);
	cr_assert(reload());
	expect_same();
}

Test(store_follow, a_reload_that_fails)
{
	uint64_t a = make_noise(OFS_ROOT_INO, "a", 300000, 1);
	struct ofs_error err = { "" };
	ofs_lsn from, segment;
	char name[32];
	bool newer;

	start();
	from = reached;
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	cr_assert_eq(follow(), 0);
	/* Without the log that was applied. */
	cr_assert_eq(ofs_journal_segment_of(journal_fd, from, &segment), 0);
	snprintf(name, sizeof(name), "%016llx.wal", (unsigned long long)segment);
	cr_assert_eq(renameat(journal_fd, name, other_fd, "aside"), 0);
	cr_assert_eq(ofs_store_reload(follower, &newer, &err), -EUCLEAN);
	expect_same();
	cr_assert_eq(renameat(other_fd, "aside", journal_fd, name), 0);
	/* Without an index, and with a damaged one. */
	cr_assert_eq(renameat(other_fd, "index.db", other_fd, "aside"), 0);
	cr_assert_eq(ofs_store_reload(follower, &newer, &err), -ENOENT);
	cr_assert_eq(close(openat(other_fd, "index.db", O_WRONLY | O_CREAT, 0600)), 0);
	cr_assert_lt(ofs_store_reload(follower, &newer, &err), 0);
	expect_same();
	cr_assert_eq(renameat(other_fd, "aside", other_fd, "index.db"), 0);
	cr_assert_not(reload());
	expect_same();
	make_noise(OFS_ROOT_INO, "c", 1000, 2);
	put_noise(a, 0, 1000, 3);
	cr_assert_eq(follow(), 0);
	expect_same();
}

/* Old segments are removed, except those that hold drafts. */
Test(store_follow, segments)
{
	uint64_t a = make_in(OFS_ROOT_INO, "a");
	ofs_lsn needed, from;

	ofs_journal_set_segment_size(s->journal, 64 * KIB);
	start();
	from = reached;
	for (unsigned int i = 0; i < 20; i++) {
		make_noise(OFS_ROOT_INO, (char[]){ (char)('b' + i), 0 }, 30000, i);
		put_noise(a, i * 1000, 1000, i);
		if (i % 3 == 2)
			cr_assert_eq(follow(), 0);
	}
	cr_assert_eq(follow(), 0);
	expect_same();
	cr_assert_eq(ofs_store_log_needed(follower, &needed), 0);
	cr_assert_eq(needed, from);
	seal();
	put_noise(a, 0, 1000, 99);
	cr_assert_eq(follow(), 0);
	reached = bring_index(true, 2);
	cr_assert_not(reload());
	cr_assert_eq(ofs_store_log_needed(follower, &needed), 0);
	cr_assert_gt(needed, from);
	for (;;) {
		ofs_lsn segment, last;
		char name[32];

		cr_assert_eq(ofs_journal_segment_of(journal_fd, needed, &last), 0);
		if (ofs_journal_segment_of(journal_fd, last - 1, &segment) < 0)
			break;
		snprintf(name, sizeof(name), "%016llx.wal", (unsigned long long)segment);
		cr_assert_eq(unlinkat(journal_fd, name, 0), 0);
	}
	expect_same();
	close_follower();
	open_follower();
	expect_same();
	make_noise(OFS_ROOT_INO, "later", 100000, 98);
	cr_assert_eq(follow(), 0);
	expect_same();
}

struct readers {
	uint64_t ino[4];
	uint64_t dir; /* a region that holds a second name of the first file */
	atomic_bool stop;
};

static int count_name(void *arg, uint64_t dir_ino, const char *name)
{
	*(size_t *)arg += 1;
	return 0;
}

static void *read_endlessly(void *arg)
{
	struct ofs_region_counts counts;
	struct readers *r = arg;
	struct ofs_attr attr;
	uint64_t files[16];
	size_t names;

	for (unsigned int i = 0; !r->stop; i = (i + 1) % 4) {
		expect_at_follower(r->ino[i], 400000, i);
		cr_assert_eq(ofs_store_lookup(follower, OFS_ROOT_INO,
					      (char[]){ (char)('a' + i), 0 }, &attr),
			     0);
		cr_assert_eq(attr.size, 400000);
		ofs_store_forget(follower, attr.ino, 1);
		names = 0;
		cr_assert_eq(ofs_store_names(follower, r->ino[i], count_name, &names), 0);
		cr_assert_eq(names, i ? 1 : 2);
		cr_assert_eq(ofs_store_list_files(follower, INT64_MAX, files, 16), 5);
		cr_assert_eq(ofs_store_count_region(follower, r->dir, &counts), 0);
		cr_assert_eq(counts.files, 1);
	}
	return NULL;
}

/* Concurrent readers always see one consistent state. */
Test(store_follow, readers_see_no_gap)
{
	struct readers r = { .stop = false };
	uint64_t other_file, left;
	struct ofs_attr attr;
	pthread_t thread[3];

	for (unsigned int i = 0; i < 4; i++)
		r.ino[i] = make_noise(OFS_ROOT_INO, (char[]){ (char)('a' + i), 0 }, 400000, i);
	other_file = make_in(OFS_ROOT_INO, "other");
	r.dir = make_dir(OFS_ROOT_INO, "region");
	cr_assert_eq(ofs_store_link(s, r.ino[0], r.dir, "second", &attr), 0);
	start();
	ofs_store_add_region(follower, r.dir);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, read_endlessly, &r), 0);
	for (unsigned int i = 0; i < 24; i++) {
		put_noise(other_file, 0, 20000, i);
		/* Writes the same bytes again, which puts them elsewhere. */
		put_noise(r.ino[i % 4], 0, 400000, i % 4);
		cr_assert_eq(follow(), 0);
		if (i % 4 == 3) {
			seal();
			reached = bring_index(true, 2 + i / 4);
			cr_assert_not(reload());
			cr_assert_eq(ofs_store_evict_frames(follower, 0, UINT64_MAX, &left), 0);
		}
	}
	r.stop = true;
	for (size_t i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	ofs_store_add_region(s, r.dir);
	expect_same();
}

/* ---- reading everything back */

static unsigned int nproblems, nhomeless;

static void note_problem(void *arg, const struct ofs_index_frame *f,
			 const struct ofs_index_object *object, int error)
{
	nproblems++;
	nhomeless += !object;
}

static void ignore(void *arg, uint64_t done, uint64_t total)
{
}

static unsigned int read_back(void)
{
	nproblems = nhomeless = 0;
	cr_assert_eq(ofs_store_bring_all(follower, ignore, note_problem, NULL), 0);
	return nproblems;
}

Test(store_follow, whatever_cannot_be_read_back_is_told)
{
	uint64_t f = make_noise(OFS_ROOT_INO, "f", 3 * BLOCK, 1);

	seal();
	reached = bring_index(false, 1);
	open_follower();
	cr_expect_eq(read_back(), 3);
	cr_expect_eq(nhomeless, 3, "no object is known");
	cr_assert_eq(ofs_store_put_object(follower,
					  &(struct ofs_index_object){ .epoch = 1, .number = 1 },
					  late, nlate),
		     0);
	objects[1].data[objects[1].len / 2] ^= 0x40;
	cr_expect_eq(read_back(), 1);
	cr_expect_eq(nhomeless, 0);
	objects[1].data[objects[1].len / 2] ^= 0x40;
	cr_expect_eq(read_back(), 0);
	gets = 0;
	expect_same_content(f, 3 * BLOCK);
	cr_expect_eq(gets, 0, "everything was brought");
}
