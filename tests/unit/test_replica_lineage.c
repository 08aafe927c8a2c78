/* SPDX-License-Identifier: MIT */
#include "replica/lineage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "replica/takeover.h"
#include "scratch.h"
#include "test_replica_fixture.h"

static struct ofs_lineage lineage;
static struct ofs_error err;
static char dir[SCRATCH_SIZE];
static int dirfd_;

static void init(void)
{
	scratch_dir(dir);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(ofs_bucket_open(NULL, 0, NULL, &err, &lineage.bucket), 0);
	memset(lineage.uuid, 7, sizeof(lineage.uuid));
}

static void finish(void)
{
	ofs_bucket_close(lineage.bucket);
	ofs_replica_state_remove(dirfd_);
	close(dirfd_);
	rmdir(dir);
	remote_finish();
}

TestSuite(replica_lineage, .init = init, .fini = finish);

#define ME "0123456789abcdef0123456789abcdef"
#define OTHER "00000000000000000000000000000000"

static void encode(enum ofs_link_kind kind, const char *writer, ofs_lsn from, ofs_lsn to,
		   struct ofs_buf *ret)
{
	struct ofs_link link = { .kind = kind, .from = from, .to = to, .segment = 1 };

	memcpy(link.writer, writer, OFS_WRITER_SIZE);
	for (ofs_lsn i = from; kind == OFS_LINK_DATA && i < to; i++)
		ofs_buf_append(&link.log, "x", 1);
	cr_assert_eq(ofs_link_encode(&lineage, &link, ret), 0);
	ofs_link_finish(&link);
}

/* Puts an object of the log into the remote, or that of an epoch (seq 0). */
static void put(uint32_t epoch, uint32_t seq, enum ofs_link_kind kind, const char *writer,
		ofs_lsn from, ofs_lsn to)
{
	OFS_FREE char *key = seq ? ofs_key_wal(epoch, seq) : ofs_key_epoch(epoch);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;

	encode(kind, writer, from, to, &bytes);
	cr_assert_eq(remote_put(key, bytes.data, bytes.len), 0);
}

static void put_data(uint32_t epoch, uint32_t first, uint32_t last, const char *writer)
{
	for (uint32_t seq = first; seq <= last; seq++)
		put(epoch, seq, OFS_LINK_DATA, writer, 100 * seq, 100 * seq + 100);
}

/* ---- objects */

static int fault_value;

static int fail_create(const char *what, const char *key)
{
	return strcmp(what, "create") == 0 ? fault_value : 0;
}

static int put_word(const char *word)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	json_auto_t *header = json_pack("{s:s}", "word", word);

	cr_assert_eq(ofs_remote_object_encode(header, NULL, 0, &bytes), 0);
	return ofs_lineage_put(&lineage, "x", &bytes, &err);
}

Test(replica_lineage, an_object_is_made_once)
{
	cr_expect_eq(put_word("a"), 0);
	cr_expect_eq(put_word("a"), 0, "its own bytes are success");
	cr_expect_eq(put_word("b"), -EEXIST);
}

Test(replica_lineage, an_outcome_is_known_or_not)
{
	remote.fault = fail_create;
	fault_value = -EINPROGRESS;
	cr_expect_eq(put_word("a"), -EAGAIN, "nothing is there");
	fault_value = APPLIED;
	cr_expect_eq(put_word("a"), 0, "it is read");
	fault_value = -EINPROGRESS;
	cr_expect_eq(put_word("b"), -EEXIST);
	fault_value = -EACCES;
	cr_expect_eq(put_word("a"), -EACCES);
}

/* ---- the log */

static int next(uint32_t seq, ofs_lsn lsn, struct ofs_link *ret)
{
	const struct ofs_log_place at = { 1, seq, lsn };

	return ofs_lineage_next(&lineage, &at, &err, ret);
}

Test(replica_lineage, the_log_is_a_chain)
{
	struct ofs_link link = { 0 };
	struct ofs_log_place at = { 1, 0, 100 };

	put_data(1, 1, 1, ME);
	cr_assert_eq(next(0, 100, &link), 0);
	cr_expect(link.kind == OFS_LINK_DATA && link.to == 200 && link.log.len == 100);
	at = ofs_log_place_after(&at, &link);
	cr_expect(at.epoch == 1 && at.seq == 1 && at.lsn == 200);
	ofs_link_finish(&link);
	cr_expect_eq(next(0, 101, &link), -EBADMSG, "it is not what follows");
	cr_expect_eq(next(1, 200, &link), -ENOENT);
	put(1, 2, OFS_LINK_FENCE, OTHER, 200, 999);
	cr_assert_eq(next(1, 200, &link), 0);
	at = ofs_log_place_after(&at, &link);
	cr_expect(at.epoch == 2 && at.seq == 0 && at.lsn == 999);
}

/* Puts an object with this header at wal/1/1 and reads it. Takes `header`. */
static int read_header(json_t *header)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	struct ofs_link link = { 0 };
	int r;

	cr_assert_not_null(header);
	cr_assert_eq(ofs_remote_object_encode(header, "xx", 2, &bytes), 0);
	json_decref(header);
	remote_drop("wal/00000001/00000001");
	cr_assert_eq(remote_put("wal/00000001/00000001", bytes.data, bytes.len), 0);
	r = next(0, 0, &link);
	ofs_link_finish(&link);
	return r;
}

static json_t *header(const char *store, const char *kind, const char *writer, json_int_t from,
		      json_int_t to, json_int_t checkpoint)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:i, s:I, s:i}", "store", store, "kind", kind,
			 "writer", writer, "from", from, "to", to, "segment", 0, "checkpoint",
			 checkpoint, "time", 0);
}

Test(replica_lineage, hostile_objects_of_the_log)
{
	const char *store = "07070707070707070707070707070707";
	const json_int_t big = (json_int_t)1 << 32;

	cr_expect_eq(read_header(header(store, "data", ME, 4, 6, 0)), 0);
	cr_expect_eq(read_header(header(store, "data", ME, 4, 7, 0)), -EBADMSG, "another length");
	cr_expect_eq(read_header(header(store, "base", ME, 6, 4, 0)), -EBADMSG, "backwards");
	cr_expect_eq(read_header(header(store, "base", ME, -1, 4, 0)), -EBADMSG);
	cr_expect_eq(read_header(header(store, "base", ME, 4, 6, big)), -EBADMSG);
	cr_expect_eq(read_header(header(store, "base", "short", 4, 6, 0)), -EBADMSG);
	cr_expect_eq(read_header(header(store, "nothing", ME, 4, 6, 0)), -EBADMSG);
	cr_expect_eq(read_header(header(OTHER, "base", ME, 4, 6, 0)), -EBADMSG, "another store");
	cr_expect_eq(read_header(json_object()), -EBADMSG);
	cr_expect_null(strchr(err.text, 10));
}

/* ---- epochs */

Test(replica_lineage, the_newest_epoch_is_found_by_dense_names)
{
	struct ofs_link fence = { 0 };
	uint32_t newest;

	cr_expect_eq(ofs_lineage_newest_epoch(&lineage, &err, &newest, &fence), -ENOENT);
	for (uint32_t epoch = 1; epoch <= 70; epoch++) {
		put(epoch, 0, OFS_LINK_FENCE, ME, epoch, epoch);
		remote.requests = 0;
		cr_assert_eq(ofs_lineage_newest_epoch(&lineage, &err, &newest, &fence), 0);
		cr_expect_eq(newest, epoch);
		cr_expect_eq(fence.to, epoch);
		cr_expect_leq(remote.requests, 14u);
	}
}

/* ---- beginning an epoch */

static struct ofs_replica_state state_of(uint32_t epoch, uint32_t seq, ofs_lsn lsn)
{
	struct ofs_replica_state st = { .location = ofs_strdup("s3://b"),
					.nwriters = 1,
					.at = { epoch, seq, lsn },
					.logged_to = 10000 };

	memcpy(st.writers[0], ME, OFS_WRITER_SIZE);
	return st;
}

static int go_on(struct ofs_replica_state *st)
{
	if (st->at.epoch)
		cr_assert_eq(ofs_lineage_note_store(&lineage, &err), 0);
	return ofs_takeover_continue(&lineage, dirfd_, st, 50, &err);
}

Test(replica_lineage, a_lineage_begins)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(0, 0, 0);

	st.nwriters = 0;
	cr_assert_eq(go_on(&st), 0, "%s", err.text);
	cr_expect(st.at.epoch == 1 && st.at.seq == 0 && st.at.lsn == 50);
	cr_expect(remote_has("store") && remote_has("epoch/00000001"));
}

Test(replica_lineage, what_is_ours_is_followed_and_ended)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);

	put(1, 0, OFS_LINK_FENCE, ME, 100, 100);
	put_data(1, 1, 3, ME);
	cr_assert_eq(go_on(&st), 0, "%s", err.text);
	cr_expect(st.at.epoch == 2 && st.at.seq == 0 && st.at.lsn == 400);
	cr_expect(remote_has("wal/00000001/00000004") && remote_has("epoch/00000002"));
	cr_expect_eq(st.nwriters, 1);
	cr_expect_str_neq(st.writers[0], ME);
}

Test(replica_lineage, what_is_anothers_ends_it)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);

	put_data(1, 1, 1, ME);
	put(1, 2, OFS_LINK_FENCE, OTHER, 200, 999);
	cr_expect_eq(go_on(&st), -ESTALE);
}

/* A copy of the directory has the same writer name, and may have written more than this one. */
Test(replica_lineage, what_a_copy_of_the_store_has_made_is_not_ours)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);

	st.logged_to = 250;
	put_data(1, 1, 2, ME);
	cr_expect_eq(go_on(&st), -ESTALE);
	cr_expect_not(remote_has("wal/00000001/00000003"));
}

static int lose_answer_of_fence(const char *what, const char *key)
{
	return strcmp(what, "create") == 0 && strstr(key, "wal/")		    ? APPLIED
	       : strcmp(what, "get") == 0 && strstr(key, "wal/") && remote_has(key) ? -EAGAIN
										    : 0;
}

Test(replica_lineage, a_fence_whose_answer_was_lost_is_ours)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);

	remote.fault = lose_answer_of_fence;
	cr_expect_eq(go_on(&st), -EAGAIN);
	cr_assert(remote_has("wal/00000001/00000002") && !remote_has("epoch/00000002"));
	remote.fault = NULL;
	/* It is ours even beyond what earlier mounts logged. */
	st.logged_to = 0;
	cr_expect_eq(go_on(&st), 0, "%s", err.text);
	cr_expect_eq(st.at.epoch, 3);
}

/*
 * The directory is an old copy. What follows the place that it knows was removed as garbage, and
 * the writer that continues has begun no epoch since.
 */
Test(replica_lineage, a_hole_is_not_the_end)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state again = state_of(1, 1, 200);

	put(1, 0, OFS_LINK_FENCE, ME, 100, 100);
	put_data(1, 5, 6, ME);
	cr_expect_eq(go_on(&st), -ESTALE);
	cr_expect_not(remote_has("epoch/00000002"));
	/* Nor is our own FENCE from an earlier attempt, which the state has forgotten. */
	again.nwriters = 2;
	memcpy(again.writers, st.writers, 2 * sizeof(again.writers[0]));
	cr_expect_eq(go_on(&again), -ESTALE);
	cr_expect_not(remote_has("epoch/00000002"));
}

Test(replica_lineage, a_manifest_that_is_gone_tells_of_a_hole)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(0, 0, 0);
	const struct ofs_log_place at = { 1, 1, 200 };

	cr_expect_eq(ofs_takeover_fence(&lineage, &st, &at, 1000, "ckpt/00000001/00000001", &err),
		     -ENOENT);
	cr_expect_not(remote_has("epoch/00000002"));
}

/* Two mounts ended before they knew of their epoch. The second was the first to end an epoch. */
Test(replica_lineage, a_lineage_that_was_begun_twice_is_ours)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(0, 0, 0);

	st.nwriters = 2;
	memcpy(st.writers[1], OTHER, OFS_WRITER_SIZE);
	put(1, 0, OFS_LINK_FENCE, OTHER, 50, 50);
	put(1, 1, OFS_LINK_FENCE, ME, 50, 50);
	put(2, 0, OFS_LINK_FENCE, ME, 50, 50);
	cr_assert_eq(go_on(&st), 0, "%s", err.text);
	cr_expect_eq(st.at.epoch, 3);
}

/* This copy has never taken part in that log, so nobody has taken it over. */
Test(replica_lineage, the_log_of_another_copy_is_refused)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(0, 0, 0);

	put(1, 0, OFS_LINK_FENCE, OTHER, 50, 50);
	cr_expect_eq(go_on(&st), -EOPNOTSUPP);
}

Test(replica_lineage, another_store_is_refused)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(0, 0, 0);

	cr_assert_eq(ofs_lineage_note_store(&lineage, &err), 0);
	memset(lineage.uuid, 8, sizeof(lineage.uuid));
	cr_expect_eq(go_on(&st), -EOPNOTSUPP);
	cr_expect_not(remote_has("epoch/00000001"));
	lineage.uuid[0] = 7;
	cr_expect_eq(ofs_lineage_read_store(&lineage, &err), 0);
	cr_expect_eq(lineage.uuid[1], 7);
}

Test(replica_lineage, a_remote_that_lost_everything_is_refused)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = state_of(1, 1, 200);

	cr_expect_eq(ofs_takeover_continue(&lineage, dirfd_, &st, 50, &err), -EOPNOTSUPP);
}
