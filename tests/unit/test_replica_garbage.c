/* SPDX-License-Identifier: MIT */
#include "replica/garbage.h"

#include "test_replica_fixture.h"

static struct ofs_lineage lineage;
static struct ofs_garbage garbage;
static struct ofs_error err;

static void init(void)
{
	cr_assert_eq(ofs_bucket_open(NULL, 0, NULL, &err, &lineage.bucket), 0);
}

static void finish(void)
{
	ofs_garbage_finish(&garbage);
	ofs_bucket_close(lineage.bucket);
	remote_finish();
}

TestSuite(replica_garbage, .init = init, .fini = finish);

/* The objects of the remote, and whether they survive with the anchor below. */
static const struct {
	const char *key;
	bool stays;
} objects[] = {
	{ "ckpt/00000001/00000009", false },
	{ "ckpt/00000001/part-00000005", true }, /* in the anchor's chain */
	{ "ckpt/00000001/part-00000006", false },
	{ "ckpt/00000002/00000001", false },
	{ "ckpt/00000002/00000002", true }, /* the anchor */
	{ "ckpt/00000002/00000003", true },
	{ "ckpt/00000002/part-00000003", false },
	{ "ckpt/00000002/part-00000004", true }, /* the anchor's drafts */
	{ "ckpt/00000002/part-00000005", true }, /* made after the anchor */
	{ "ckpt/00000003/part-00000001", true },
	{ "ckpt/notes", true },
	{ "epoch/00000001", true },
	{ "epoch/00000002", true },
	{ "pack/00000001/00000007", true }, /* named by the anchor */
	{ "pack/00000001/00000008", false },
	{ "pack/00000002/00000001", true }, /* named by the anchor */
	{ "pack/00000002/00000002", false },
	{ "pack/00000002/00000003", true }, /* made after the anchor */
	{ "pack/00000003/00000001", true },
	{ "store", true },
	{ "wal/00000001/00000001", false },
	{ "wal/00000001/00000002", false },
	{ "wal/00000001/00000003", true }, /* the FENCE */
	{ "wal/00000002/00000001", false },
	{ "wal/00000002/00000004", false },
	{ "wal/00000002/00000005", true }, /* proves that the anchor is sound */
	{ "wal/00000002/00000006", true },
	{ "wal/00000002/00000007", true },
	{ "wal/00000003/00000001", true },
	{ "wal/x", true },
};

static void fill(void)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(objects); i++)
		cr_assert_eq(remote_put(objects[i].key, "x", 1), 0);
}

static void make_anchor(uint32_t n)
{
	struct ofs_anchor a = {
		.at = { 2, 5, 500 },
		.n = n,
		.parts = 4,
		.packs = 2,
		.chain = json_pack("[{s:s}]", "key", "ckpt/00000001/part-00000005"),
		.drafts = json_pack("[{s:s}]", "key", "ckpt/00000002/part-00000004"),
	};

	ofs_anchor_add(&a, 2, 1);
	ofs_anchor_add(&a, 1, 7);
	ofs_garbage_note_manifest(&garbage, &a);
}

/* Meets all conditions for a sweep, as of an hour ago. */
static void mature(void)
{
	cr_expect(ofs_garbage_wants_anchor(&garbage));
	make_anchor(2);
	cr_expect_not(ofs_garbage_wants_anchor(&garbage));
	make_anchor(3);
	ofs_garbage_note_link(&garbage);
	cr_assert_gt(garbage.proved_at, 0);
	garbage.proved_at -= (int64_t)3601 * 1000000000;
	/* proved_at must not become 0, which it may on a machine that has run for an hour. */
	garbage.proved_at = garbage.proved_at ? garbage.proved_at : -1;
}

static int sweep(void)
{
	return ofs_garbage_sweep(&garbage, &lineage, &err);
}

static void expect_all(void)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(objects); i++)
		cr_expect(remote_has(objects[i].key), "%s", objects[i].key);
}

Test(replica_garbage, what_no_manifest_needs_goes)
{
	fill();
	mature();
	cr_assert_eq(sweep(), 0, "%s", err.text);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(objects); i++)
		cr_expect_eq(remote_has(objects[i].key), objects[i].stays, "%s", objects[i].key);
	cr_expect(ofs_garbage_wants_anchor(&garbage), "it begins anew");
}

Test(replica_garbage, nothing_goes_before_it_is_time)
{
	fill();
	cr_expect_eq(sweep(), 0);
	make_anchor(2);
	ofs_garbage_note_link(&garbage);
	cr_expect_eq(garbage.proved_at, 0, "nothing newer was made");
	make_anchor(3);
	cr_expect_eq(sweep(), 0);
	ofs_garbage_note_link(&garbage);
	cr_expect_eq(sweep(), 0, "an hour has not passed");
	cr_expect_eq(remote.requests, 0u);
	expect_all();
}

static const char *failing;

static int fail(const char *what, const char *key)
{
	return strcmp(what, "create") != 0 && strcmp(key, failing) == 0 ? -EAGAIN : 0;
}

/* Nothing is removed unless all lists are complete. */
Test(replica_garbage, lists_come_first)
{
	static const char *const lists[] = { "ckpt/", "wal/", "pack/" };

	fill();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(lists); i++) {
		failing = lists[i];
		mature();
		remote.fault = fail;
		cr_expect_eq(sweep(), -EAGAIN);
		expect_all();
	}
}

static int keep_manifest(const char *what, const char *key)
{
	/* The service reports the removal, but serves the object for a while. */
	if (strcmp(what, "get") == 0 && strcmp(key, "ckpt/00000002/00000001") == 0)
		remote_put(key, "x", 1);
	return 0;
}

/* Whoever starts from a manifest that is still there would take a hole in the log for its end. */
Test(replica_garbage, the_log_stays_while_a_manifest_may_be_there)
{
	fill();
	mature();
	remote.fault = keep_manifest;
	cr_expect_eq(sweep(), -EAGAIN);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(objects); i++)
		cr_expect(strncmp(objects[i].key, "wal/", 4) != 0 || remote_has(objects[i].key),
			  "%s", objects[i].key);
	failing = "ckpt/00000002/00000001";
	remote_finish();
	fill();
	mature();
	remote.fault = fail;
	cr_expect_eq(sweep(), -EAGAIN, "it cannot be removed");
	cr_expect(remote_has("wal/00000001/00000001"));
}

Test(replica_garbage, more_than_one_request_removes)
{
	for (uint32_t i = 1; i <= 2500; i++) {
		OFS_FREE char *key = ofs_key_pack(1, 100 + i);

		cr_assert_eq(remote_put(key, "x", 1), 0);
	}
	mature();
	cr_expect_eq(sweep(), 0);
	cr_expect_eq(remote.n, 0);
}
