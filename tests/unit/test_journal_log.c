/* SPDX-License-Identifier: MIT */
/* The undamaged journal as its users see it: append, replay, read, trim, sync. */
#include "test_journal_fixture.h"

TestSuite(journal_log, .init = fixture_setup, .fini = fixture_teardown);

Test(journal_log, new_log)
{
	open_journal(8);
	cr_assert_eq(replayed.n, 0);
	cr_assert_eq(ofs_journal_begin(journal), 8);
	cr_assert_eq(ofs_journal_end(journal), 8 + 64);
	cr_assert_eq(ofs_journal_size(journal, 0, NULL), 64);
	cr_assert(segment_exists(8));
	append_some(1);
	cr_assert_eq(appended.at[0].lsn, 72);
}

Test(journal_log, new_log_elsewhere)
{
	open_journal(100001);
	cr_assert_eq(ofs_journal_begin(journal), 100008);
	append_some(2);
	close_journal();
	open_journal(100008);
	check_replayed(0, 2, 0);
}

Test(journal_log, start_that_cannot_be)
{
	cr_assert_eq(try_open(0), -EINVAL);
	cr_assert_eq(try_open(7), -EINVAL);
	cr_assert_eq(try_open(UINT64_MAX), -EINVAL);
	cr_assert_null(journal);
}

Test(journal_log, round_trip)
{
	size_t i;

	open_journal(8);
	append_some(500);
	for (i = 0; i < appended.n; i++) {
		cr_assert_eq(appended.at[i].lsn % 8, 0);
		cr_assert(i == 0 || appended.at[i].lsn > appended.at[i - 1].lsn);
		cr_assert_eq(appended.at[i].data.pos != 0, fixture_data_len((uint32_t)i) != 0);
		cr_assert_eq(check_data(&appended.at[i]), 0);
	}
	close_journal();
	open_journal(8);
	check_replayed(0, 500, 0);
	append_some(100);
	close_journal();
	open_journal(8);
	check_replayed(0, 600, 0);
}

Test(journal_log, many_segments)
{
	open_journal(8);
	ofs_journal_set_segment_size(journal, 2000);
	append_some(700);
	close_journal();
	open_journal(8);
	check_replayed(0, 700, 0);
	ofs_journal_set_segment_size(journal, 2000);
	append_some(300);
	close_journal();
	open_journal(8);
	check_replayed(0, 1000, 0);
	cr_assert_gt(ofs_journal_size(journal, 0, NULL), 1000 * 48);
}

Test(journal_log, segment_smaller_than_its_records)
{
	open_journal(8);
	ofs_journal_set_segment_size(journal, 1);
	append_some(60);
	close_journal();
	open_journal(8);
	check_replayed(0, 60, 0);
}

Test(journal_log, every_record_is_a_start)
{
	size_t i;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 1500);
	append_some(100);
	close_journal();
	for (i = 0; i < appended.n; i++) {
		open_journal(appended.at[i].lsn);
		check_replayed(i, 100, 0);
		close_journal();
	}
}

/* Every value of ofs_journal_end(), also at the ends of segments, is a valid start. */
Test(journal_log, every_end_is_a_start)
{
	static ofs_lsn ends[101];
	size_t i, boundaries = 0;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 600);
	for (i = 0; i < 100; i++) {
		ends[i] = ofs_journal_end(journal);
		append_some(1);
		boundaries += appended.at[i].lsn != ends[i];
	}
	ends[100] = ofs_journal_end(journal);
	close_journal();
	cr_assert_gt(boundaries, 20, "no start was the end of a segment");
	for (i = 0; i <= 100; i++) {
		open_journal(ends[i]);
		check_replayed(i, 100, 0);
		cr_assert_eq(ofs_journal_end(journal), ends[100]);
		close_journal();
	}
}

Test(journal_log, start_at_the_end_of_a_full_segment)
{
	ofs_lsn end;

	open_journal(8);
	append_some(10);
	end = ofs_journal_end(journal);
	close_journal();

	open_journal(end);
	check_replayed(10, 10, 0);
	ofs_journal_set_segment_size(journal, 1);
	append_some(1);
	cr_assert(segment_exists(end));
	cr_assert_eq(appended.at[10].lsn, end + 64);
	close_journal();

	open_journal(end);
	check_replayed(10, 11, 0);
	close_journal();
	open_journal(end + 64);
	check_replayed(10, 11, 0);
	ofs_journal_trim(journal, end);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_not(segment_exists(8));
	close_journal();
	open_journal(end);
	check_replayed(10, 11, 0);
}

Test(journal_log, limits)
{
	static uint8_t bytes[OFS_JOURNAL_DATA_MAX + 1], back[OFS_JOURNAL_DATA_MAX];
	struct ofs_journal_record record = { 1, bytes, OFS_JOURNAL_BODY_MAX, bytes,
					     OFS_JOURNAL_DATA_MAX };
	struct ofs_journal_data data;
	ofs_lsn end;

	fixture_fill(bytes, 5, 0, OFS_JOURNAL_DATA_MAX);
	open_journal(8);
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, &data), 0);
	cr_assert_eq(ofs_journal_read(journal, &data, 0, back, data.len), 0);
	cr_assert_eq(memcmp(back, bytes, data.len), 0);
	end = ofs_journal_end(journal);

	record.data_len++;
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), -EINVAL);
	record.data_len = 0;
	record.body_len++;
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), -EINVAL);
	record.body_len = 0;
	record.type = 0;
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), -EINVAL);
	cr_assert_eq(ofs_journal_end(journal), end);
	record.type = 255;
	record.body = record.data = NULL;
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), 0);
	cr_assert_eq(ofs_journal_end(journal), end + 48);
}

static int count_sizes(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
		       const struct ofs_journal_data *data)
{
	cr_assert(data->len == 0 || data->pos > lsn);
	*(uint64_t *)arg += 1 + record->body_len + data->len;
	return 0;
}

Test(journal_log, largest_records_replay)
{
	static uint8_t bytes[OFS_JOURNAL_DATA_MAX];
	struct ofs_journal_record record = { 1, bytes, 0, bytes, 0 };
	uint64_t expected = 0, sum = 0;
	int i;

	open_journal(8);
	for (i = 0; i < 40; i++) {
		record.body_len = i % 3 ? OFS_JOURNAL_BODY_MAX - (size_t)i : (size_t)i;
		record.data_len = i % 5 ? OFS_JOURNAL_DATA_MAX - (size_t)i : 0;
		expected += 1 + record.body_len + record.data_len;
		cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), 0);
	}
	cr_assert_neq(ofs_journal_begin(journal), 0);
	close_journal();
	cr_assert_eq(
		ofs_journal_open(dirfd_, uuid, 8,
				 &(struct ofs_journal_reader){ .record = count_sizes, .arg = &sum },
				 &err, &journal),
		0, "%s", err.text);
	cr_assert_eq(sum, expected);
}

static int stop_at_third(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			 const struct ofs_journal_data *data)
{
	return ++*(int *)arg == 3 ? 1 : 0;
}

Test(journal_log, replay_can_stop_and_changes_nothing)
{
	struct image before, after;
	int count = 0;

	open_journal(8);
	append_some(10);
	close_journal();
	before = image_load(8);
	image_store(&before, before.len - 3);
	cr_assert_eq(ofs_journal_open(dirfd_, uuid, 8,
				      &(struct ofs_journal_reader){ .record = stop_at_third,
								    .arg = &count },
				      &err, &journal),
		     1);
	cr_assert_null(journal);
	cr_assert_eq(count, 3);
	cr_assert_str_eq(err.text, "");
	after = image_load(8);
	cr_assert_eq(after.len, before.len - 3);
	image_finish(&before);
	image_finish(&after);
}

Test(journal_log, read_parts)
{
	static uint8_t bytes[5000], back[5000];
	struct ofs_journal_record record = { 1, NULL, 0, bytes, sizeof(bytes) };
	struct ofs_journal_data data, wrong;
	uint32_t i;

	fixture_fill(bytes, 1, 0, sizeof(bytes));
	open_journal(8);
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, &data), 0);
	for (i = 0; i < 5000; i += 333) {
		cr_assert_eq(ofs_journal_read(journal, &data, i, back, 5000 - i), 0);
		cr_assert_eq(memcmp(back, bytes + i, 5000 - i), 0);
		cr_assert_eq(ofs_journal_read(journal, &data, i, back, 1), 0);
		cr_assert_eq(back[0], bytes[i]);
	}
	cr_assert_eq(ofs_journal_read(journal, &data, 5000, back, 0), 0);
	cr_assert_eq(ofs_journal_read(journal, &data, 5000, back, 1), -EINVAL);
	cr_assert_eq(ofs_journal_read(journal, &data, 5001, back, 0), -EINVAL);
	cr_assert_eq(ofs_journal_read(journal, &data, 1, back, UINT32_MAX), -EINVAL);

	wrong = (struct ofs_journal_data){ data.pos + 8, data.len - 8 };
	cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
	wrong = (struct ofs_journal_data){ data.pos, data.len - 1 };
	cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
	wrong = (struct ofs_journal_data){ data.pos, data.len + 100 };
	cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
	wrong = (struct ofs_journal_data){ data.pos, UINT32_MAX };
	cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
	for (i = 0; i < 100; i++) {
		wrong = (struct ofs_journal_data){ i, 10 };
		cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
	}
	wrong = (struct ofs_journal_data){ UINT64_MAX - 3, 10 };
	cr_assert_eq(ofs_journal_read(journal, &wrong, 0, back, 10), -EIO);
}

Test(journal_log, read_sees_every_damaged_byte)
{
	struct image im;
	ofs_lsn pos;

	open_journal(8);
	append_some(4);
	cr_assert_gt(appended.at[1].data.len, 0);
	im = image_load(8);
	for (pos = appended.at[1].data.pos - 8;
	     pos < appended.at[1].data.pos + appended.at[1].data.len; pos++) {
		im.data[pos - 8] ^= 4;
		image_store(&im, im.len);
		cr_assert_eq(check_data(&appended.at[1]), -EIO);
		im.data[pos - 8] ^= 4;
	}
	image_store(&im, im.len);
	cr_assert_eq(check_data(&appended.at[1]), 0);
	image_finish(&im);
}

Test(journal_log, trim)
{
	uint64_t size;
	size_t i;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 2000);
	append_some(300);
	ofs_journal_trim(journal, 8);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_eq(ofs_journal_begin(journal), 8);
	size = ofs_journal_size(journal, 0, NULL);
	ofs_journal_trim(journal, appended.at[150].lsn);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_leq(ofs_journal_begin(journal), appended.at[150].lsn);
	cr_assert_gt(ofs_journal_begin(journal), appended.at[100].lsn);
	cr_assert_lt(ofs_journal_size(journal, 0, NULL), size);
	for (i = 150; i < 300; i++)
		cr_assert_eq(check_data(&appended.at[i]), 0);
	cr_assert_eq(check_data(&appended.at[1]), -EIO);
	cr_assert_not(segment_exists(8));
	close_journal();

	open_journal(appended.at[150].lsn);
	check_replayed(150, 300, 0);
	append_some(2);
	ofs_journal_trim(journal, UINT64_MAX);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_eq(check_data(&appended.at[301]), 0, "the newest segment was removed");
	append_some(8);
	close_journal();
	cr_assert_eq(try_open(8), -EUCLEAN);
	cr_assert_not_null(strstr(err.text, "begins at position"));
	open_journal(appended.at[301].lsn);
	check_replayed(301, 310, 0);
}

/*
 * A segment can be removed completely once a new one has begun, and the log continues at its end.
 */
Test(journal_log, rotate)
{
	ofs_lsn end;

	open_journal(8);
	cr_assert_eq(ofs_journal_rotate(journal, 0), 0);
	cr_assert(segment_exists(8), "an empty segment was replaced");
	append_some(20);
	cr_assert_eq(ofs_journal_rotate(journal, 1u << 20), 0);
	end = ofs_journal_end(journal);
	cr_assert_eq(ofs_journal_rotate(journal, 1), 0);
	ofs_journal_trim(journal, end);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_eq(ofs_journal_begin(journal), end);
	cr_assert_not(segment_exists(8));
	close_journal();

	open_journal(end);
	cr_assert_eq(replayed.n, 0);
	append_some(5);
	close_journal();
	open_journal(end);
	check_replayed(20, 25, 0);
}

Test(journal_log, data_before_start_stays_readable)
{
	size_t i;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 2000);
	append_some(200);
	close_journal();
	open_journal(appended.at[199].lsn);
	for (i = 0; i < 200; i++)
		cr_assert_eq(check_data(&appended.at[i]), 0);
}

Test(journal_log, other_files_are_left_alone)
{
	static const char *const names[] = { "notes.txt",
					     "8.wal",
					     "0000000000000008.WAL",
					     "000000000000000C.wal",
					     "000000000000000c.wal",
					     "0000000000000000.wal",
					     "00000000000000010.wal",
					     "0x00000000000018.wal" };
	size_t i;
	int fd;

	for (i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		fd = openat(dirfd_, names[i], O_WRONLY | O_CREAT, 0600);
		cr_assert_geq(fd, 0);
		close(fd);
	}
	open_journal(8);
	append_some(3);
	close_journal();
	open_journal(8);
	check_replayed(0, 3, 0);
	for (i = 0; i < OFS_ARRAY_SIZE(names); i++)
		cr_assert_eq(faccessat(dirfd_, names[i], F_OK, 0), 0);
}

Test(journal_log, sync)
{
	open_journal(8);
	ofs_journal_set_segment_size(journal, 500);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(50);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 50, 0);
	cr_assert_eq(ofs_journal_sync(journal), 0);
}

/* Returns the number of bytes in the newest segment's file after the end of the log. */
static uint64_t ahead(ofs_lsn first)
{
	uint64_t used = ofs_journal_end(journal) - first, size = segment_file_size(first);

	cr_assert_geq(size, used);
	return size - used;
}

/* Most small syncs in a row do not change the size of the file. */
Test(journal_log, sync_writes_ahead)
{
	uint64_t size, used, zeros;
	size_t i, grown = 0;
	struct image im;

	open_journal(8);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_eq(ahead(8), 0, "there is no record to go on from");
	for (i = 0; i < 3000; i++) {
		size = segment_file_size(8);
		append_some(1);
		cr_assert_eq(ofs_journal_sync(journal), 0);
		grown += segment_file_size(8) > size;
		cr_assert_leq(ahead(8), 256u << 10);
	}
	cr_assert_leq(grown, 20);
	cr_assert_eq(ofs_journal_size(journal, 0, NULL), ofs_journal_end(journal) - 8);

	used = ofs_journal_end(journal) - 8;
	im = image_load(8);
	for (zeros = used; zeros < im.len && !im.data[zeros]; zeros++)
		;
	cr_assert_eq(zeros, im.len);
	image_finish(&im);
	close_journal();
	cr_assert_eq(segment_file_size(8), used);
	open_journal(8);
	check_replayed(0, 3000, 0);
}

Test(journal_log, settle_leaves_nothing_ahead)
{
	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_settle(journal), 0);
	cr_assert_eq(ahead(8), 0);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_gt(ahead(8), 0);
	append_some(5);
	cr_assert_eq(ofs_journal_settle(journal), 0);
	cr_assert_eq(ahead(8), 0);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_eq(ahead(8), 0, "there was nothing to sync");
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_gt(ahead(8), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 20, 0);
}

Test(journal_log, a_segment_that_is_left_ends_with_its_records)
{
	ofs_lsn end;

	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_gt(ahead(8), 0);
	end = ofs_journal_end(journal);
	cr_assert_eq(ofs_journal_rotate(journal, 1), 0);
	cr_assert_eq(segment_file_size(8), end - 8);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_eq(segment_file_size(end), 64);
	append_some(5);
	close_journal();
	open_journal(8);
	check_replayed(0, 10, 0);
}

Test(journal_log, ahead_stays_within_the_segment)
{
	ofs_lsn first = 8, end;
	uint32_t i;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 3000);
	for (i = 0; i < 300; i++) {
		end = ofs_journal_end(journal);
		cr_assert_eq(fixture_append(i, 100), 0);
		first = appended.at[i].lsn == end ? first : end;
		cr_assert_eq(ofs_journal_sync(journal), 0);
		cr_assert_leq(segment_file_size(first), 3000);
	}
	cr_assert_gt(first, 8);
	close_journal();
	open_journal(8);
	check_replayed(0, 300, 0);
}

/* For one large sync, zeros would cost more than they save. */
Test(journal_log, large_syncs_write_nothing_ahead)
{
	static uint8_t bytes[1 << 20];
	struct ofs_journal_record record = { 1, NULL, 0, bytes, sizeof(bytes) };
	int i;

	open_journal(8);
	for (i = 0; i < 4; i++) {
		cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), 0);
		cr_assert_eq(ofs_journal_sync(journal), 0);
		cr_assert_eq(ahead(8), 0);
	}
}

Test(journal_log, punch_gives_back_what_is_ahead)
{
	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_gt(ahead(8), 0);
	cr_assert_eq(ofs_journal_punch(journal, appended.at[0].lsn, appended.at[1].lsn), 0);
	cr_assert_eq(ahead(8), 0);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_eq(ahead(8), 0, "the disk is full");
	close_journal();
	open_journal(appended.at[1].lsn);
	check_replayed(1, 10, 0);
}

Test(journal_log, close_of_nothing)
{
	errno = 5;
	ofs_journal_close(NULL);
	cr_assert_eq(errno, 5);
}

Test(journal_log, many_small_records_do_not_stay_in_one_segment)
{
	const struct ofs_journal_record small = { .type = 1, .body = "x", .body_len = 1 };
	const uint64_t most = 128 << 10;
	uint64_t records;
	ofs_lsn lsn;

	open_journal(8);
	for (uint64_t i = 0; i <= most; i++)
		cr_assert_eq(ofs_journal_append(journal, &small, &lsn, NULL), 0);
	ofs_journal_size(journal, 0, &records);
	cr_expect_eq(records, most + 1);
	cr_assert(ofs_journal_can_trim(journal, lsn), "the last one is in a segment of its own");
	ofs_journal_trim(journal, lsn);
	ofs_journal_size(journal, 0, &records);
	cr_expect_eq(records, 1);
}
