/* SPDX-License-Identifier: MIT */
/* Stores that share a remote in memory. */
#include "replica/replicator.h"

#include <inttypes.h>

#include "replica/detach.h"
#include "replica/rebuild.h"
#include "replica/replica_state.h"
#include "replica/salvage.h"
#include "test_replica_fixture.h"
#include "test_store_fixture.h"

#define WAIT (30 * OFS_NS_PER_S)

static struct ofs_remote_access access_;
static struct ofs_replicator *replicator;
static struct ofs_replicator_settings settings;
static struct ofs_error err;

static void init(void)
{
	setup();
	cr_assert_eq(ofs_remote_access_parse("s3://b/p?endpoint=http://127.0.0.1:9", NULL, &err,
					     &access_),
		     0, "%s", err.text);
	settings = (struct ofs_replicator_settings){ .store = path, .every = OFS_NS_PER_MS };
}

static void finish(void)
{
	ofs_replicator_stop(replicator, 0);
	teardown();
	ofs_replicator_destroy(replicator);
	ofs_remote_access_finish(&access_);
	remote_finish();
}

TestSuite(replica_replicator, .init = init, .fini = finish);

static void mount_idle(void)
{
	open_store();
	cr_assert_eq(ofs_replicator_create(s, &access_, &settings, &err, &replicator), 0, "%s",
		     err.text);
}

static void mount(void)
{
	mount_idle();
	cr_assert_eq(ofs_replicator_start(replicator), 0);
}

static void unmount(int64_t wait)
{
	ofs_replicator_stop(replicator, wait);
	close_store();
	ofs_replicator_destroy(replicator);
	replicator = NULL;
}

static struct ofs_replication_status status(void)
{
	struct ofs_replication_status st;

	ofs_replicator_status(replicator, &st);
	return st;
}

/* Waits for a push, or until it is certain that there will be none. Returns the phase. */
static enum ofs_replication_phase push(void)
{
	uint64_t pushes = status().pushes + 1;
	struct ofs_replication_status st;

	ofs_replicator_push(replicator);
	do {
		usleep(1000);
		st = status();
	} while (st.pushes < pushes && st.phase != OFS_REPLICATION_DEPOSED &&
		 st.phase != OFS_REPLICATION_REFUSED);
	return st.phase;
}

static void use(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", dir, name);
}

static int rebuild(const char *name)
{
	const struct ofs_rebuild_settings set = { .remote = &access_ };

	use(name);
	return ofs_rebuild(path, &set, &err);
}

static void copy_store(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "cp -a %s %s/%s", path, dir, name);
	cr_assert_eq(system(command), 0);
}

static int fail_all(const char *what, const char *key)
{
	return -EAGAIN;
}

/* ---- there and back */

Test(replica_replicator, a_store_comes_back)
{
	uint64_t sealed, draft, later;

	mount();
	sealed = make_noise(OFS_ROOT_INO, "sealed", 3 * MIB, 1);
	seal();
	draft = make_noise(OFS_ROOT_INO, "draft", 200000, 2);
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	later = make_noise(OFS_ROOT_INO, "later", 300000, 3);
	unmount(WAIT);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	mount();
	expect_noise(sealed, 0, 3 * MIB, 1);
	expect_noise(draft, 0, 200000, 2);
	expect_noise(later, 0, 300000, 3);
	cr_expect_gt(status().brought, 3 * MIB - 1);
	cr_expect_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	use("store");
	mount();
	cr_expect_eq(push(), OFS_REPLICATION_DEPOSED);
}

/*
 * Stores restored from the same state give different inode numbers, even if they have sent nothing.
 */
Test(replica_replicator, restored_twice)
{
	uint64_t first, second;

	mount();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	cr_assert_eq(rebuild("b"), 0, "%s", err.text);
	open_store();
	first = make_in(OFS_ROOT_INO, "of b");
	close_store();
	cr_assert_eq(rebuild("c"), 0, "%s", err.text);
	open_store();
	second = make_in(OFS_ROOT_INO, "of c");
	cr_expect_gt(second, first + (1 << 20));
}

static int die_before_epoch(const char *what, const char *key)
{
	return strcmp(what, "create") == 0 && strncmp(key, "epoch/", 6) == 0 ? -EAGAIN : 0;
}

Test(replica_replicator, a_restore_that_died)
{
	struct ofs_link fence;
	struct ofs_lineage l = { 0 };
	uint32_t epoch;

	mount();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	remote.fault = die_before_epoch;
	cr_expect_eq(rebuild("b"), -EAGAIN);
	remote.fault = NULL;
	cr_expect_eq(rebuild("c"), 0, "%s", err.text);
	cr_assert_eq(ofs_bucket_open(NULL, 0, NULL, &err, &l.bucket), 0);
	cr_assert_eq(ofs_lineage_read_store(&l, &err), 0);
	cr_assert_eq(ofs_lineage_newest_epoch(&l, &err, &epoch, &fence), 0);
	cr_expect_eq(epoch, 3);
	ofs_bucket_close(l.bucket);
}

/* ---- copies of the directory */

/* Both have written since the copy was made, and the copy more than the original has sent. */
Test(replica_replicator, a_copy_that_wrote)
{
	mount();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	copy_store("copy");
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	use("copy");
	remote.fault = fail_all;
	for (unsigned int i = 0; i < 2; i++) {
		mount();
		make_noise(OFS_ROOT_INO, i ? "d" : "c", 50000, 3);
		unmount(0);
	}
	remote.fault = NULL;
	mount();
	cr_expect_eq(push(), OFS_REPLICATION_DEPOSED);
}

/* ---- faults */

static atomic_uint asked;

static int lose_manifest(const char *what, const char *key)
{
	if (strncmp(key, "ckpt/00000001/0", 15) != 0)
		return 0;
	asked++;
	return strcmp(what, "create") == 0 ? APPLIED : -EACCES;
}

/* The manifest exists, but cannot be read for a while. */
Test(replica_replicator, a_manifest_of_unknown_outcome)
{
	uint64_t pushes;

	mount();
	remote.fault = lose_manifest;
	pushes = status().pushes;
	ofs_replicator_push(replicator);
	while (asked < 4)
		usleep(1000);
	remote.fault = NULL;
	while (status().pushes == pushes)
		usleep(1000);
	cr_expect(remote_has("ckpt/00000001/00000002"));
	cr_expect_eq(push(), OFS_REPLICATION_CURRENT);
}

static int hang_pack(const char *what, const char *key)
{
	if (strcmp(what, "create") != 0 || strncmp(key, "pack/", 5) != 0)
		return 0;
	asked++;
	while (!*remote.cancel)
		usleep(1000);
	return -EINPROGRESS;
}

/* The whole log is sent, and content is being sent that never arrives. */
Test(replica_replicator, an_end_is_bounded)
{
	mount();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	remote.fault = hang_pack;
	make_noise(OFS_ROOT_INO, "a", 9 * MIB, 1);
	seal();
	/* A record, so that the replicator looks for frames. */
	make_noise(OFS_ROOT_INO, "b", 1000, 2);
	while (!asked)
		usleep(1000);
	unmount(OFS_NS_PER_MS);
}

/* ---- content that is only in the remote */

static void count_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
	++*(unsigned int *)arg;
}

/* A store without its remote is not damaged, and nothing marks it so. */
Test(replica_replicator, a_store_without_its_remote)
{
	unsigned int problems = 0;
	struct ofs_verify how = { .problem = count_problem, .arg = &problems };
	struct ofs_verify_counts counts;
	static uint8_t content[MIB], want[MIB];
	struct frames f;
	uint64_t a;

	mount();
	a = make_noise(OFS_ROOT_INO, "a", 3 * MIB, 1);
	seal();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	open_store();
	for (unsigned int i = 0; i < 20; i++)
		cr_assert_geq(ofs_store_scrub(s), 0);
	cr_assert_eq(ofs_store_verify(s, &how, &counts), 0);
	cr_expect_eq(problems, 0u);
	list_frames(&f);
	for (size_t i = 0; i < f.n; i++)
		cr_expect_not(f.list[i].bad);
	/* Sealing the block must wait for the rest of it in the remote. */
	cr_assert_eq(ofs_store_write(s, a, "x", 1, 0), 1);
	ofs_store_seal(s);
	close_store();
	mount_idle();
	seal();
	cr_assert_eq(ofs_store_read(s, a, content, MIB, 0), MIB);
	fill_noise(want, MIB, 1);
	cr_expect_eq(memcmp(content + 1, want + 1, MIB - 1), 0);
}

/* A frame that is neither here nor in the remote. */
Test(replica_replicator, what_nobody_has_is_damage)
{
	unsigned int problems = 0;
	struct ofs_verify how = { .problem = count_problem, .arg = &problems };
	struct ofs_verify_counts counts;
	struct frames f;

	mount();
	make_noise(OFS_ROOT_INO, "a", MIB, 1);
	seal();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	mount_idle();
	make_noise(OFS_ROOT_INO, "b", 100000, 2);
	seal();
	list_frames(&f);
	cr_assert_eq(ofs_packset_punch(s->packs, f.list[f.n - 1].pack, f.list[f.n - 1].off,
				       f.list[f.n - 1].stored),
		     0);
	cr_assert_eq(ofs_store_verify(s, &how, &counts), 0);
	cr_expect_gt(problems, 0u);
}

static atomic_int reads_to_fail;

/* Mounts, and seals a file that is not in the remote yet; `fault` then fails reads. */
static uint64_t make_unsent(int (*fault)(const char *name))
{
	uint64_t ino;

	mount();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	ino = make_noise(OFS_ROOT_INO, "a", 3 * MIB, 1);
	seal();
	reads_to_fail = 4;
	fault_for = fault;
	return ino;
}

static int no_descriptor_is_left(const char *name)
{
	return strcmp(name, "io.pread") == 0 && reads_to_fail-- > 0 ? -EMFILE : 0;
}

Test(replica_replicator, what_cannot_be_read_for_a_moment_is_sent_later)
{
	uint64_t a = make_unsent(no_descriptor_is_left);

	push();
	unmount(WAIT);
	fault_for = NULL;
	cr_assert_lt(reads_to_fail, 0);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	mount();
	expect_noise(a, 0, 3 * MIB, 1);
}

static int one_read_fails(const char *name)
{
	return strcmp(name, "io.pread") == 0 && !--reads_to_fail ? -EIO : 0;
}

/* The frames after it are sent before it, in this mount or the next. */
static void fail_a_read(bool mount_again)
{
	uint64_t a = make_unsent(one_read_fails);

	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	fault_for = NULL;
	cr_assert_lt(reads_to_fail, 0);
	if (mount_again) {
		unmount(WAIT);
		mount();
	}
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	mount();
	expect_noise(a, 0, 3 * MIB, 1);
}

Test(replica_replicator, what_the_disk_did_not_read_is_sent_with_the_next_checkpoint)
{
	fail_a_read(false);
}

Test(replica_replicator, what_the_disk_did_not_read_is_sent_by_the_next_mount)
{
	fail_a_read(true);
}

/* ---- what was never sent */

static int note_salvaged(void *arg, const char *what, uint64_t size)
{
	ofs_buf_printf(arg, "%s %" PRIu64 "\n", what, size);
	return 0;
}

Test(replica_replicator, what_the_remote_never_received_is_salvaged)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf found = OFS_BUF_INIT;
	OFS_FREE char *into = ofs_format("%s/salvaged", dir);
	const struct ofs_salvage set = {
		.remote = &access_, .into = into, .found = note_salvaged, .arg = &found
	};
	uint64_t d, gone;

	mount();
	make_noise(OFS_ROOT_INO, "sent", 1000, 1);
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	remote.fault = fail_all;
	d = make_dir(OFS_ROOT_INO, "d");
	make_noise(d, "f", 5000, 2);
	gone = make_noise(d, "gone", 1000, 3);
	remove_file(d, "gone", gone);
	unmount(0);
	remote.fault = NULL;
	cr_assert_eq(ofs_salvage(path, &set, &err), 0, "%s", err.text);
	cr_assert_str_eq(ofs_buf_str(&found), "d/f 5000\n");
}

/* ---- ending replication */

static int fail_datasync(const char *name)
{
	return strcmp(name, "io.datasync") == 0 ? -EIO : 0;
}

static void ignore(void *arg, uint64_t done, uint64_t total)
{
}

Test(replica_replicator, what_was_fetched_is_durable_before_it_is_forgotten)
{
	uint64_t a;

	mount();
	a = make_noise(OFS_ROOT_INO, "a", 3 * MIB, 1);
	seal();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	mount_idle();
	cr_assert_eq(ofs_store_bring_all(s, ignore, NULL, NULL), 0);
	fault_for = fail_datasync;
	cr_expect_eq(ofs_store_forget_objects(s), -EIO);
	fault_for = NULL;
	unmount(0);
	cr_assert_eq(ofs_detach(path, &access_, ignore, NULL, &err), 0, "%s", err.text);
	remote.fault = fail_all;
	open_store();
	expect_noise(a, 0, 3 * MIB, 1);
}

static int damage_pack(const char *what, const char *key)
{
	size_t i;

	if (strcmp(what, "get") != 0 || strncmp(key, "pack/", 5) != 0)
		return 0;
	OFS_LOCKED(&remote.lock);
	i = remote_find(key);
	/* Past the head of the first frame. */
	remote.at[i].bytes.data[remote.at[i].bytes.len / 2 + 5000] = 0x5a;
	remote.at[i].bytes.data[remote.at[i].bytes.len / 2 + 5001] = 0xa5;
	return 0;
}

static int note_any(void *arg, const struct ofs_index_object *o)
{
	return 1;
}

Test(replica_replicator, what_came_damaged_is_not_forgotten)
{
	mount();
	make_noise(OFS_ROOT_INO, "a", 3 * MIB, 1);
	seal();
	cr_assert_eq(push(), OFS_REPLICATION_CURRENT);
	unmount(WAIT);
	cr_assert_eq(rebuild("other"), 0, "%s", err.text);
	remote.fault = damage_pack;
	cr_expect_lt(ofs_detach(path, &access_, ignore, NULL, &err), 0);
	cr_expect_null(strchr(err.text, '\n'));
	remote.fault = NULL;
	open_store();
	cr_expect_eq(ofs_store_list_objects(s, note_any, NULL), 1);
}
