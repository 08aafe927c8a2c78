/* SPDX-License-Identifier: MIT */
/* Copies of the index as pages, and objects of the remote. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "index/index.h"
#include "index/schema.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static char path[64], copy[64];
static struct ofs_index *ix;
static struct ofs_error err;
static const struct ofs_index_meta fresh = { .uuid = "the store's own",
					     .checkpoint = 8,
					     .next_ino = 2 };

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/index.db", dir);
	snprintf(copy, sizeof(copy), "%s/copy.db", dir);
	cr_assert_eq(ofs_index_open(path, &fresh, &err, &ix), 0, "%s", err.text);
}

static void teardown(void)
{
	static const char *const suffixes[] = { "", "-wal" };
	char name[80];

	ofs_index_close(ix);
	for (size_t i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "%s%s", i / 2 ? copy : path, suffixes[i % 2]);
		unlink(name);
	}
	rmdir(dir);
}

TestSuite(index_pages, .init = setup, .fini = teardown);

static void put_inodes(uint64_t first, uint64_t n)
{
	cr_assert_eq(ofs_index_begin(ix), 0);
	for (uint64_t i = first; i < first + n; i++) {
		struct ofs_index_inode in = { .ino = i, .nlink = 1, .size = i * 7, .mode = S_IFREG };

		cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	}
	cr_assert_eq(ofs_index_commit(ix), 0);
}

struct copying {
	int fd;
	uint32_t pages;
};

static int write_run(void *arg, uint32_t first, uint32_t n, const uint8_t *pages)
{
	struct copying *c = arg;
	ssize_t len = (ssize_t)n * OFS_INDEX_PAGE_SIZE;

	cr_assert_eq(pwrite(c->fd, pages, (size_t)len, (off_t)(first - 1) * OFS_INDEX_PAGE_SIZE),
		     len);
	c->pages += n;
	return 0;
}

/* Updates the copy. Returns the number of pages copied. */
static uint32_t update(bool changed)
{
	struct copying c = { open(copy, O_RDWR | O_CREAT, 0600), 0 };
	uint32_t pages = 0;

	cr_assert_geq(c.fd, 0);
	cr_assert_eq(ofs_index_copy_pages(ix, changed, write_run, &c, &pages), 0);
	cr_assert_eq(ftruncate(c.fd, (off_t)pages * OFS_INDEX_PAGE_SIZE), 0);
	cr_assert(changed || c.pages == pages);
	close(c.fd);
	return c.pages;
}

static void expect_same(void)
{
	char command[200];

	snprintf(command, sizeof(command), "cmp -s %s %s", path, copy);
	cr_assert_eq(system(command), 0);
}

static void expect_readable(uint64_t last)
{
	struct ofs_index_inode in;

	ofs_index_close(ix);
	cr_assert_eq(ofs_index_open(copy, NULL, &err, &ix), 0, "%s", err.text);
	cr_assert_eq(ofs_index_get_inode(ix, last, &in), 0);
	cr_assert_eq(in.size, last * 7);
}

Test(index_pages, whole_and_changed)
{
	uint32_t whole, part;

	put_inodes(2, 5000);
	whole = update(false);
	cr_assert_gt(whole, 100);
	expect_same();
	ofs_index_pages_copied(ix);
	cr_assert_eq(update(true), 0);
	put_inodes(6000, 10);
	part = update(true);
	cr_assert_gt(part, 0);
	cr_assert_lt(part, 20);
	expect_same();
	/* The copy did not arrive, so the next one includes its pages. */
	put_inodes(7000, 1);
	cr_assert_geq(update(true), part);
	expect_same();
	ofs_index_pages_copied(ix);
	cr_assert_eq(update(true), 0);
	expect_readable(7000);
}

/* Changes between a copy and its arrival are in the next copy. */
Test(index_pages, changes_meanwhile)
{
	put_inodes(2, 3000);
	update(false);
	put_inodes(4000, 2000);
	ofs_index_pages_copied(ix);
	cr_assert_gt(update(true), 20);
	expect_same();
	ofs_index_pages_copied(ix);
	cr_assert_eq(ofs_index_begin(ix), 0);
	for (uint64_t i = 2; i < 3000; i++)
		cr_assert_eq(ofs_index_delete_inode(ix, i), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	cr_assert_eq(ofs_index_settle(ix), 0);
	update(true);
	expect_same();
	expect_readable(5999);
}

static int count_frame(void *arg, const struct ofs_index_frame *f)
{
	uint64_t *sum = arg;

	*sum = *sum * 1000 + f->off;
	return 0;
}

static int count_object(void *arg, const struct ofs_index_object *o)
{
	*(uint64_t *)arg += o->number;
	return 0;
}

static void put_frame(uint32_t pack, uint64_t off, bool alive)
{
	struct ofs_index_frame f = { .pack = pack, .off = off, .stored = 100, .raw = 200 };
	struct ofs_index_chunk c = { .len = 200 };
	struct ofs_index_inode in = { .ino = 2, .nlink = 1, .mode = S_IFREG };
	uint64_t id;

	cr_assert_eq(ofs_index_put_frame(ix, &f, &id), 0);
	c.id = id;
	c.sha[0] = (uint8_t)id;
	cr_assert_eq(ofs_index_put_chunk(ix, id, &c), 0);
	cr_assert_eq(ofs_index_put_inode(ix, &in), 0);
	if (alive)
		cr_assert_eq(ofs_index_set_block(ix, 2, id, id), 0);
}

Test(index_pages, objects)
{
	struct ofs_index_extent extents[] = { { 1, 64, 100, 0 }, { 2, 64, 100, 100 } }, e;
	struct ofs_index_object object = { .epoch = 3, .number = 9, .size = 200 }, o;
	uint64_t unsent = 0, numbers = 0;

	cr_assert_eq(ofs_index_begin(ix), 0);
	put_frame(1, 64, true);
	put_frame(2, 64, true);
	put_frame(2, 164, false);
	put_frame(2, 264, true);
	put_frame(3, 64, true);
	cr_assert_eq(ofs_index_list_unsent(ix, count_frame, &unsent), 0);
	cr_assert_eq(unsent, 64064264064);
	cr_assert_eq(ofs_index_put_object(ix, &object, extents, 2), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
	unsent = 0;
	cr_assert_eq(ofs_index_list_unsent(ix, count_frame, &unsent), 0);
	cr_assert_eq(unsent, 264064);
	cr_assert_eq(ofs_index_find_extent(ix, 2, 120, &e, &o), 0);
	cr_assert_eq(e.at, 100);
	cr_assert_eq(e.off, 64);
	cr_assert_eq(o.epoch, 3);
	cr_assert_eq(o.number, 9);
	cr_assert_eq(ofs_index_find_extent(ix, 2, 164, &e, &o), -ENOENT);
	cr_assert_eq(ofs_index_find_extent(ix, 2, 63, &e, &o), -ENOENT);
	cr_assert_eq(ofs_index_find_extent(ix, 3, 64, &e, &o), -ENOENT);
	cr_assert_eq(ofs_index_list_objects(ix, count_object, &numbers), 0);
	cr_assert_eq(numbers, 9);
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_put_object(ix, &object, extents, 1), -EEXIST);
	ofs_index_rollback(ix);
}
