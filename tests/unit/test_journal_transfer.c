/* SPDX-License-Identifier: MIT */
/* A log that is exported in pieces and imported elsewhere is the same log. */
#include "journal/transfer.h"
#include "test_journal_fixture.h"

static char other[SCRATCH_SIZE];
static int otherfd = -1;

static void setup(void)
{
	fixture_setup();
	scratch_dir(other);
	otherfd = open(other, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(otherfd, 0);
}

static void teardown(void)
{
	fixture_teardown();
	close(otherfd);
	nftw(other, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(other);
}

TestSuite(journal_transfer, .init = setup, .fini = teardown);

/* Transfers [from, end) in pieces of about `max` bytes. Returns the number of pieces. */
static size_t transfer(ofs_lsn from, ofs_lsn end, size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf piece = OFS_BUF_INIT;
	ofs_lsn to, segment;
	size_t n = 0;

	for (; from < end; from = to, n++) {
		piece.len = 0;
		cr_assert_eq(
			ofs_journal_export(dirfd_, uuid, from, end, max, &piece, &to, &segment), 0);
		cr_assert_eq(to - from, piece.len);
		cr_assert_eq(
			ofs_journal_import(otherfd, uuid, segment, from, piece.data, piece.len), 0);
	}
	return n;
}

/* Opens the other log and expects it to replay the records [first, end). */
static void check_other(ofs_lsn start, size_t first, size_t end)
{
	close_journal();
	close(dirfd_);
	dirfd_ = dup(otherfd);
	open_journal(start);
	check_replayed(first, end, 0);
}

Test(journal_transfer, whole)
{
	ofs_lsn end;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 8192);
	append_some(300);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	end = ofs_journal_durable(journal);
	cr_assert_eq(end, ofs_journal_end(journal));
	cr_assert_gt(transfer(8, end, 1), 300);
	check_other(8, 0, 300);
}

Test(journal_transfer, from_the_middle)
{
	size_t max;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 8192);
	append_some(200);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	for (max = 500; max < 100000; max *= 3)
		transfer(appended.at[70].lsn, ofs_journal_end(journal), max);
	check_other(appended.at[70].lsn, 70, 200);
	append_some(20);
	close_journal();
	open_journal(appended.at[70].lsn);
	check_replayed(70, 220, 0);
}

Test(journal_transfer, data_alone)
{
	struct seen *s = &appended.at[148];
	static uint8_t data[FIXTURE_DATA_MAX], back[FIXTURE_DATA_MAX];
	ofs_lsn segment;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 8192);
	append_some(200);
	cr_assert_gt(s->data.len, 20000);
	cr_assert_eq(ofs_journal_read(journal, &s->data, 0, data, s->data.len), 0);
	cr_assert_eq(ofs_journal_segment_of(dirfd_, s->data.pos, &segment), 0);
	cr_assert_eq(ofs_journal_import_data(otherfd, uuid, segment, &s->data, data), 0);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	transfer(appended.at[180].lsn, ofs_journal_end(journal), 100000);
	check_other(appended.at[180].lsn, 180, 200);
	cr_assert_eq(ofs_journal_read(journal, &s->data, 0, back, s->data.len), 0);
	cr_assert_arr_eq(data, back, s->data.len);
}

/* Damage, and bytes from another place or store, are refused. */
Test(journal_transfer, refused)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf piece = OFS_BUF_INIT;
	const uint8_t another[16] = "another store's";
	ofs_lsn to, segment, end;

	open_journal(8);
	append_some(60);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	end = ofs_journal_end(journal);
	cr_assert_eq(ofs_journal_export(dirfd_, uuid, 8, end, SIZE_MAX / 2, &piece, &to, &segment),
		     0);
	for (size_t i = 0; i < 3000; i++) {
		piece.data[i] ^= 1;
		cr_assert_eq(ofs_journal_import(otherfd, uuid, segment, 8, piece.data, piece.len),
			     -EUCLEAN, "%zu", i);
		piece.data[i] ^= 1;
	}
	cr_assert_eq(ofs_journal_import(otherfd, uuid, segment, 16, piece.data, piece.len),
		     -EUCLEAN);
	cr_assert_eq(ofs_journal_import(otherfd, another, segment, 8, piece.data, piece.len),
		     -EUCLEAN);
	cr_assert_eq(ofs_journal_import(otherfd, uuid, segment, 8, piece.data, piece.len - 8),
		     -EUCLEAN);

	flip(8, appended.at[40].lsn + 20);
	piece.len = 0;
	cr_assert_eq(ofs_journal_export(dirfd_, uuid, 8, end, SIZE_MAX / 2, &piece, &to, &segment),
		     -EUCLEAN);
	cr_assert_eq(to, appended.at[40].lsn);
	cr_assert_eq(piece.len, to - 8);
	cr_assert_eq(ofs_journal_export(dirfd_, uuid, 0, end, 100, &piece, &to, &segment), -ESTALE);
}

Test(journal_transfer, leap)
{
	ofs_lsn far = 1 << 20;

	open_journal(8);
	append_some(20);
	cr_assert_eq(ofs_journal_leap(journal, 16), -EINVAL);
	cr_assert_eq(ofs_journal_leap(journal, far), 0);
	append_some(20);
	cr_assert_eq(appended.at[20].lsn, far + 64);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 40, 0);
	cr_assert_eq(damage_count, 0);
	close_journal();
	open_journal(far);
	check_replayed(20, 40, 0);
	/* Data before the leap can still be read. */
	for (size_t i = 0; i < 20; i++) {
		uint8_t data[FIXTURE_DATA_MAX];
		struct ofs_journal_data *d = &appended.at[i].data;

		cr_assert(!d->len || ofs_journal_read(journal, d, 0, data, d->len) == 0);
	}
}

Test(journal_transfer, a_punch_goes_on_after_a_leap)
{
	const struct ofs_journal_data *d = &appended.at[22].data;
	uint8_t data[FIXTURE_DATA_MAX];

	open_journal(8);
	append_some(20);
	cr_assert_eq(ofs_journal_leap(journal, 1 << 20), 0);
	append_some(20);
	cr_assert_eq(ofs_journal_read(journal, d, 0, data, d->len), 0);
	cr_assert_eq(ofs_journal_punch(journal, 8, ofs_journal_end(journal)), 0);
	cr_assert_eq(ofs_journal_read(journal, d, 0, data, d->len), -EIO);
}

/* If nothing was logged before a leap, nothing before it is needed. */
Test(journal_transfer, begins_with_a_leap)
{
	ofs_lsn far = 1 << 20, end;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 8192);
	append_some(200);
	end = ofs_journal_end(journal);
	cr_assert_eq(ofs_journal_leap(journal, far), 0);
	append_some(20);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	transfer(far, ofs_journal_end(journal), 1000);
	check_other(end, 200, 220);
	close_journal();
	cr_assert_eq(try_open(appended.at[20].lsn), -EUCLEAN);
}
