/* SPDX-License-Identifier: MIT */
#include "replica/manifest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "test_replica_fixture.h"

#define WRITER "0123456789abcdef0123456789abcdef"

static struct ofs_lineage lineage;
static struct ofs_manifest manifest;
static struct ofs_error err;
static char dir[SCRATCH_SIZE], index_path[64], journal_path[64];
static struct ofs_manifest_target target = { .drafts = true };

static void init(void)
{
	scratch_dir(dir);
	snprintf(index_path, sizeof(index_path), "%s/index.db", dir);
	snprintf(journal_path, sizeof(journal_path), "%s/journal", dir);
	cr_assert_eq(mkdir(journal_path, 0700), 0);
	target.index_fd = open(index_path, O_RDWR | O_CREAT, 0600);
	target.journal_fd = open(journal_path, O_RDONLY | O_DIRECTORY);
	target.drafts = true;
	cr_assert_eq(ofs_bucket_open(NULL, 0, NULL, &err, &lineage.bucket), 0);
}

static void finish(void)
{
	char command[64];

	ofs_manifest_finish(&manifest);
	ofs_bucket_close(lineage.bucket);
	remote_finish();
	close(target.index_fd);
	close(target.journal_fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(replica_manifest, .init = init, .fini = finish);

static void put(const char *key, json_t *header, const void *body, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;

	cr_assert_not_null(header);
	cr_assert_eq(ofs_remote_object_encode(header, body, len, &bytes), 0);
	json_decref(header);
	remote_drop(key);
	cr_assert_eq(remote_put(key, bytes.data, bytes.len), 0);
}

/* Puts an object of the log that ends at 100 * seq, or that of the epoch (seq 0). */
static void put_link(uint32_t epoch, uint32_t seq, enum ofs_link_kind kind, uint32_t checkpoint)
{
	OFS_FREE char *key = seq ? ofs_key_wal(epoch, seq) : ofs_key_epoch(epoch);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	struct ofs_link link = {
		.kind = kind, .to = 100 * seq, .checkpoint = checkpoint, .writer = WRITER
	};

	link.from = kind == OFS_LINK_DATA ? link.to : 0;
	cr_assert_eq(ofs_link_encode(&lineage, &link, &bytes), 0);
	cr_assert_eq(remote_put(key, bytes.data, bytes.len), 0);
}

static json_t *header(uint32_t epoch, uint32_t seq, json_t *chain, json_t *drafts)
{
	return json_pack("{s:i, s:i, s:i, s:{s:i, s:i}, s:i, s:o, s:o, s:[]}", "epoch", epoch,
			 "seq", seq, "lsn", 100 * seq, "log", "seq", seq, "lsn", 100 * seq, "pages",
			 2, "chain", chain, "drafts", drafts, "objects");
}

static void put_manifest(uint32_t epoch, uint32_t n, uint32_t seq)
{
	OFS_FREE char *key = ofs_key_checkpoint(epoch, n);

	put(key, header(epoch, seq, json_array(), json_array()), NULL, 0);
}

/* Returns 100 * epoch + number of the newest manifest, or -errno. */
static int newest(uint32_t epoch)
{
	int r;

	ofs_manifest_finish(&manifest);
	r = ofs_manifest_newest(&lineage, epoch, &err, &manifest);
	cr_expect_null(strchr(err.text, '\n'));
	return r < 0 ? r : (int)(manifest.at.epoch * 100 + manifest.n);
}

/* ---- finding a manifest */

Test(replica_manifest, the_newest_one_that_is_sound)
{
	put_link(1, 0, OFS_LINK_FENCE, 0);
	cr_expect_eq(newest(1), -ENOENT);
	put_manifest(1, 1, 0);
	cr_expect_eq(newest(1), 101, "at the begin of its epoch");
	put_link(1, 1, OFS_LINK_DATA, 0);
	put_manifest(1, 2, 1);
	cr_expect_eq(newest(1), 102);
	cr_expect_eq(newest(3), 102, "later epochs have none");
	/* The BASE of the manifest lost against a FENCE, or is missing. */
	put_manifest(1, 3, 2);
	cr_expect_eq(newest(1), 102);
	put_link(1, 2, OFS_LINK_FENCE, 0);
	cr_expect_eq(newest(2), 102);
}

Test(replica_manifest, a_base_belongs_to_its_manifest)
{
	put_link(1, 1, OFS_LINK_BASE, 3);
	put_manifest(1, 1, 1);
	cr_expect_eq(newest(1), -ENOENT, "that is of another one");
	put_manifest(1, 2, 1);
	put_manifest(1, 3, 1);
	cr_expect_eq(newest(1), 103);
	put_manifest(1, 4, 1);
	cr_expect_eq(newest(1), 104, "nothing was logged since");
}

static int hide_from_lists(const char *what, const char *key)
{
	return strcmp(what, "list") == 0 ? NOTHING : 0;
}

Test(replica_manifest, a_list_may_be_old)
{
	put_link(1, 0, OFS_LINK_FENCE, 0);
	put_manifest(1, 1, 0);
	put_manifest(1, 2, 0);
	remote.fault = hide_from_lists;
	cr_expect_eq(newest(1), 102);
}

static int fail_get(const char *what, const char *key)
{
	return strcmp(what, "get") == 0 ? -EAGAIN : 0;
}

Test(replica_manifest, what_is_not_known_is_not_missing)
{
	put_link(1, 0, OFS_LINK_FENCE, 0);
	put_manifest(1, 1, 0);
	remote.fault = fail_get;
	cr_expect_eq(newest(1), -EAGAIN);
}

/* Two checkpoints with nothing between them. Then the log before the older one is removed. */
Test(replica_manifest, garbage_leaves_what_makes_it_sound)
{
	put_link(1, 0, OFS_LINK_FENCE, 0);
	put_link(1, 1, OFS_LINK_DATA, 0);
	put_link(1, 2, OFS_LINK_DATA, 0);
	put_manifest(1, 1, 2);
	put_manifest(1, 2, 2);
	remote_drop("wal/00000001/00000001");
	cr_expect_eq(newest(1), 102);
	remote_drop("wal/00000001/00000002");
	cr_expect_eq(newest(1), -ENOENT);
}

/* Changes a member of a valid manifest and reads it. */
static int newest_with(const char *name, json_t *value)
{
	json_t *h = header(1, 0, json_array(), json_array());

	json_object_set_new(h, name, value);
	put("ckpt/00000001/00000001", h, NULL, 0);
	return newest(1);
}

Test(replica_manifest, hostile_numbers)
{
	put_link(1, 0, OFS_LINK_FENCE, 0);
	cr_assert_eq(newest_with("x", json_null()), 101);
	cr_expect_eq(newest_with("epoch", json_integer(2)), -EBADMSG);
	cr_expect_eq(newest_with("epoch", json_string("1")), -EBADMSG);
	cr_expect_eq(newest_with("seq", json_integer(-1)), -EBADMSG);
	cr_expect_eq(newest_with("seq", json_integer((json_int_t)1 << 32)), -EBADMSG);
	cr_expect_eq(newest_with("lsn", json_integer(-1)), -EBADMSG);
	cr_expect_eq(newest_with("pages", json_integer((json_int_t)1 << 32)), -EBADMSG);
	cr_expect_eq(newest_with("pages", json_null()), -EBADMSG);
	cr_expect_eq(newest_with("log", json_null()), -EBADMSG);
	cr_expect_eq(newest_with("log", json_pack("{s:i, s:i}", "seq", 1, "lsn", 0)), -EBADMSG);
	cr_expect_eq(newest_with("log", json_pack("{s:i, s:i}", "seq", 0, "lsn", 1)), -EBADMSG);
	remote_drop("ckpt/00000001/00000001");
	cr_assert_eq(remote_put("ckpt/00000001/00000001", "no object", 9), 0);
	cr_expect_eq(newest(1), -EBADMSG);
}

/* ---- what a manifest names */

static int fetch(json_t *chain, json_t *drafts)
{
	int r;

	put_link(1, 0, OFS_LINK_FENCE, 0);
	put("ckpt/00000001/00000001", header(1, 0, chain, drafts), NULL, 0);
	cr_assert_eq(newest(1), 101, "%s", err.text);
	r = ofs_manifest_fetch(&lineage, &manifest, &target, &err);
	cr_expect_null(strchr(err.text, '\n'));
	remote_drop("epoch/00000001");
	return r;
}

static json_t *part(const char *key)
{
	return json_pack("[{s:s, s:i}]", "key", key, "size", 1);
}

static void put_run(struct ofs_buf *b, uint32_t first, uint32_t n, uint8_t value, size_t len)
{
	uint8_t page[2048];

	ofs_put_le32(page, first);
	ofs_put_le32(page + 4, n);
	ofs_buf_append(b, page, 8);
	memset(page, value, sizeof(page));
	ofs_buf_append(b, page, len);
}

/* Fetches a part with these pages. Returns the result. */
static int fetch_run(uint32_t first, uint32_t n, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;

	put_run(&b, first, n, 7, len);
	put("p", json_object(), b.data, b.len);
	return fetch(part("p"), json_array());
}

Test(replica_manifest, pages_are_laid_in_order)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	uint8_t page[3072];

	put_run(&b, 1, 2, 1, 2048);
	put_run(&b, 3, 1, 2, 1024);
	put("p", json_object(), b.data, b.len);
	b.len = 0;
	put_run(&b, 2, 1, 3, 1024);
	put("q", json_object(), b.data, b.len);
	cr_assert_eq(fetch(json_pack("[{s:s}, {s:s}]", "key", "p", "key", "q"), json_array()), 0);
	cr_assert_eq(pread(target.index_fd, page, sizeof(page), 0), 2048, "it was cut to its size");
	cr_expect(page[0] == 1 && page[1023] == 1 && page[1024] == 3 && page[2047] == 3);
}

Test(replica_manifest, hostile_pages)
{
	cr_expect_eq(fetch_run(1, 1, 1024), 0);
	cr_expect_eq(fetch_run(0, 1, 1024), -EBADMSG);
	cr_expect_eq(fetch_run(1, 2, 1024), -EBADMSG);
	cr_expect_eq(fetch_run(1, UINT32_MAX, 1024), -EBADMSG);
	cr_expect_eq(fetch_run(1, 1, 1027), -EBADMSG, "something is left");
	cr_expect_eq(fetch(part("missing"), json_array()), -EBADMSG);
	cr_expect_eq(fetch(json_pack("[i]", 1), json_array()), -EBADMSG);
	cr_expect_eq(fetch(json_pack("[{s:i}]", "key", 1), json_array()), -EBADMSG);
	cr_expect_eq(fetch(json_null(), json_null()), 0,
		     "an empty index is refused when it is opened");
}

static int fetch_draft(uint64_t segment, uint64_t pos, uint64_t len, size_t there)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	uint8_t head[64] = { 0 };

	ofs_put_le64(head, segment);
	ofs_put_le64(head + 8, pos);
	ofs_put_le64(head + 16, len);
	ofs_buf_append(&b, head, 24 + there);
	put("d", json_object(), b.data, b.len);
	return fetch(json_array(), part("d"));
}

Test(replica_manifest, hostile_drafts)
{
	cr_expect_eq(fetch_draft(4096, 8192, 8, 8), 0);
	cr_expect_eq(fetch_draft(4096, 8192, 9, 8), -EBADMSG);
	cr_expect_eq(fetch_draft(4096, 8192, UINT64_MAX, 8), -EBADMSG);
	cr_expect_eq(fetch_draft(4096, 8192, 0, 8), -EBADMSG, "something is left");
	cr_expect_lt(fetch_draft(4096, 100, 8, 8), 0, "before its segment");
	cr_expect_lt(fetch_draft(4096, 0, 8, 8), 0);
	cr_expect_lt(fetch_draft(0, UINT64_MAX - 8, 8, 8), 0);
}
