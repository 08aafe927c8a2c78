/* SPDX-License-Identifier: MIT */
/* Recovery of a damaged journal: torn tails, damage before a durable position, missing segments. */
#include "codec/hash.h"
#include "test_journal_fixture.h"

TestSuite(journal_recovery, .init = fixture_setup, .fini = fixture_teardown);

#define IMAGES_MAX 64u

/* All segments of the log before the damage. */
static struct image images[IMAGES_MAX];
static size_t image_count;

static void save_images(void)
{
	size_t i;

	close_journal();
	images[0] = image_load(8);
	for (image_count = 1; image_count < IMAGES_MAX; image_count++) {
		const struct image *last = &images[image_count - 1];

		if (!segment_exists(last->first + last->len))
			break;
		images[image_count] = image_load(last->first + last->len);
	}
	for (i = 0; i < image_count; i++)
		cr_assert_eq(images[i].len % 8, 0);
}

static void restore_images(void)
{
	size_t i;

	fixture_clear();
	for (i = 0; i < image_count; i++)
		image_store(&images[i], images[i].len);
}

static void drop_images(void)
{
	while (image_count)
		image_finish(&images[--image_count]);
}

/* Damages more of a record of the first segment than recovery can correct. */
static void spoil(ofs_lsn pos)
{
	flip(8, pos + 16);
	flip(8, pos + 24);
}

/* Expects the log to accept records after a recovery that kept the first `kept` records. */
static void check_goes_on(size_t kept)
{
	struct seen_list all = appended;

	appended.n = kept;
	append_some(2);
	close_journal();
	open_journal(8);
	check_replayed(0, kept + 2, 0);
	close_journal();
	appended = all;
}

static size_t records_before(ofs_lsn pos)
{
	size_t i;

	for (i = 0; i < appended.n; i++)
		if (appended.at[i].lsn >= pos)
			break;
	return i;
}

/* Returns the end of record `i`, without trailing bytes that do not matter. */
static ofs_lsn end_of(size_t i, ofs_lsn end_of_log)
{
	return i + 1 < appended.n ? appended.at[i + 1].lsn : end_of_log;
}

/* Checks recovery of a first segment of `len` bytes, which are zero from `zeros` on. */
static void check_torn(size_t len, size_t zeros, ofs_lsn end_of_log)
{
	struct image im = images[0];
	size_t kept = 0;

	while (kept < appended.n && end_of(kept, end_of_log) <= im.first + zeros)
		kept++;
	restore_images();
	im.len = zeros;
	image_store(&im, len);
	open_journal(8);
	/* The last record may end in zeros anyway. */
	if (replayed.n == kept + 1 && len >= end_of(kept, end_of_log) - im.first)
		kept++;
	check_replayed(0, kept, 0);
	check_goes_on(kept);
}

Test(journal_recovery, torn_at_every_byte)
{
	ofs_lsn end;
	size_t len;

	open_journal(8);
	append_some(12);
	end = ofs_journal_end(journal);
	save_images();
	for (len = 0; len < images[0].len; len++)
		check_torn(len, len, end);
	drop_images();
}

Test(journal_recovery, zeros_from_every_byte)
{
	ofs_lsn end;
	size_t len;

	open_journal(8);
	append_some(12);
	end = ofs_journal_end(journal);
	save_images();
	for (len = 0; len < images[0].len; len++) {
		check_torn(images[0].len, len, end);
		check_torn(images[0].len + 5000, len, end);
	}
	drop_images();
}

/*
 * Loads the first segment with what a crash leaves after the end of the log. This is zeros written
 * ahead or, beyond what is guaranteed, other bytes (`stale`): records of another place, which do
 * not count here.
 */
static void load_with_tail(struct image *im, size_t used, bool stale)
{
	size_t i;

	*im = image_load(8);
	cr_assert_gt(im->len, used + 1000);
	for (i = used; stale && i < im->len; i++)
		im->data[i] = im->data[64 + (i - used) % (used - 64)];
}

static void check_torn_over_tail(bool stale)
{
	size_t at, used, sound;
	struct image im, torn;

	open_journal(8);
	append_some(8);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(3);
	cr_assert_gt(appended.at[10].data.len, 0);
	used = ofs_journal_end(journal) - 8;
	sound = appended.at[10].data.pos + appended.at[10].data.len - 8;
	load_with_tail(&im, used, stale);
	close_journal();
	torn = im;
	torn.data = malloc(im.len);
	for (at = appended.at[10].lsn - 8; at <= used; at++) {
		memcpy(torn.data, im.data, im.len);
		memcpy(torn.data + at, im.data + used, used - at);
		fixture_clear();
		image_store(&torn, torn.len);
		open_journal(8);
		/* The bytes in its place may be what the record ends with anyway. */
		check_replayed(0, memcmp(torn.data, im.data, sound) == 0 ? 11 : 10, 0);
		cr_assert_eq(8 + segment_file_size(8), ofs_journal_end(journal));
		check_goes_on(replayed.n);
	}
	image_finish(&torn);
	image_finish(&im);
}

Test(journal_recovery, torn_at_every_byte_over_zeros)
{
	check_torn_over_tail(false);
}

Test(journal_recovery, torn_at_every_byte_over_stale_records)
{
	check_torn_over_tail(true);
}

/* Blocks that exist reach the disk in any order, so records after a lost one do not count. */
Test(journal_recovery, unsynced_records_that_reached_the_disk_in_another_order)
{
	struct image im, lossy;
	size_t lost;

	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(6);
	load_with_tail(&im, ofs_journal_end(journal) - 8, false);
	close_journal();
	lossy = im;
	lossy.data = malloc(im.len);
	for (lost = 5; lost < 10; lost++) {
		size_t from = appended.at[lost].lsn - 8;

		memcpy(lossy.data, im.data, im.len);
		memset(lossy.data + from, 0, appended.at[lost + 1].lsn - 8 - from);
		fixture_clear();
		image_store(&lossy, lossy.len);
		open_journal(8);
		check_replayed(0, lost, 0);
		cr_assert_eq(8 + segment_file_size(8), appended.at[lost].lsn);
		check_goes_on(lost);
	}
	image_finish(&lossy);
	image_finish(&im);
}

/* Expects all but record `lost` of the first `n` records to be replayed. */
static void check_replayed_without(size_t lost, size_t n)
{
	size_t i;

	cr_assert_eq(replayed.n, n - 1);
	for (i = 0; i < n - 1; i++)
		cr_assert_eq(replayed.at[i].number, i + (i >= lost));
}

/* Synced records are missed even where zeros have replaced them. */
Test(journal_recovery, zeros_in_the_place_of_durable_records)
{
	struct image im;
	size_t i;

	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(5);
	load_with_tail(&im, ofs_journal_end(journal) - 8, false);
	close_journal();
	for (i = 0; i < 5; i++) {
		size_t from = appended.at[i].lsn - 8;
		uint8_t saved[48];

		memcpy(saved, im.data + from, sizeof(saved));
		memset(im.data + from, 0, sizeof(saved));
		image_store(&im, im.len);
		memcpy(im.data + from, saved, sizeof(saved));
		open_journal(8);
		check_replayed_without(i, 10);
		cr_assert_eq(damage_count, 1);
		cr_assert_eq(damages[0].kind, OFS_JOURNAL_LOST);
		cr_assert_eq(damages[0].pos, appended.at[i].lsn);
		cr_assert_eq(damages[0].end, appended.at[i + 1].lsn);
		close_journal();
	}
	image_store(&im, im.len);
	open_journal(8);
	check_replayed(0, 10, 0);
	image_finish(&im);
}

/* A later segment on disk does not make up for a lost end of the one before. */
Test(journal_recovery, torn_at_every_byte_with_later_segments)
{
	size_t len, kept;

	open_journal(8);
	append_some(6);
	ofs_journal_set_segment_size(journal, 300);
	append_some(10);
	save_images();
	cr_assert_gt(image_count, 3);
	for (len = 0; len < images[0].len; len++) {
		for (kept = 0; end_of(kept, 0) <= 8 + len;)
			kept++;
		restore_images();
		image_store(&images[0], len);
		open_journal(8);
		check_replayed(0, kept, 0);
		cr_assert_not(segment_exists(images[1].first));
		cr_assert_not(segment_exists(images[image_count - 1].first));
		check_goes_on(kept);
	}
	drop_images();
}

/* Makes a log of several segments, of which some parts are known to be durable. */
static void make_mixed_log(void)
{
	open_journal(8);
	ofs_journal_set_segment_size(journal, 900);
	append_some(8);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(6);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(5);
	save_images();
	cr_assert_gt(image_count, 2);
}

/*
 * Expects the log to be refused, or records to be replayed in order, each with its own data or EIO.
 * Without a report, only the end of the log is lost, and none of the first `durable` records.
 */
static void check_damaged(size_t durable)
{
	struct ofs_journal_damage before[OFS_ARRAY_SIZE(damages)];
	size_t first, again, i, unreadable = 0;
	int r = try_open(8);

	if (r == -EUCLEAN) {
		cr_assert_not_null(strstr(err.text, ".wal") ? err.text
							    : strstr(err.text, "position"),
				   "%s", err.text);
		return;
	}
	cr_assert_eq(r, 0, "%d %s", r, err.text);
	for (i = 0; i < replayed.n; i++) {
		cr_assert(i == 0 || replayed.at[i].number > replayed.at[i - 1].number);
		unreadable += check_data(&replayed.at[i]) != 0;
		if (!damage_count)
			cr_assert_eq(replayed.at[i].number, i);
	}
	cr_assert(!unreadable || damage_count);
	cr_assert(damage_count || replayed.n >= durable);
	first = replayed.n;
	again = damage_count;
	memcpy(before, damages, sizeof(before));
	close_journal();
	open_journal(8);
	cr_assert_eq(replayed.n, first);
	cr_assert_leq(damage_count, again); /* a torn tail was cut off the first time */
	for (i = 0; i < damage_count; i++)
		cr_assert_eq(damages[i].pos, before[i].pos);
	close_journal();
	replayed.n = first;
}

/* A flipped bit costs at most the data of one record, and is always noticed. */
Test(journal_recovery, flipped_bits_at_every_byte)
{
	static const uint8_t masks[] = { 0x01, 0x80 };
	size_t i, at, m, unharmed = 0;

	make_mixed_log();
	for (i = 0; i < image_count; i++)
		for (at = 0; at < images[i].len; at++)
			for (m = 0; m < OFS_ARRAY_SIZE(masks); m++) {
				restore_images();
				images[i].data[at] ^= masks[m];
				image_store(&images[i], images[i].len);
				images[i].data[at] ^= masks[m];
				check_damaged(14);
				/* With nothing after it, the last record counts as torn. */
				cr_assert_geq(replayed.n + 1, appended.n);
				unharmed += replayed.n == appended.n;
			}
	cr_assert_gt(unharmed, 0);
	drop_images();
}

Test(journal_recovery, zeroed_words_everywhere)
{
	size_t i, at;
	uint64_t word;

	make_mixed_log();
	for (i = 0; i < image_count; i++)
		for (at = 0; at < images[i].len; at += 8) {
			restore_images();
			memcpy(&word, images[i].data + at, 8);
			memset(images[i].data + at, 0, 8);
			image_store(&images[i], images[i].len);
			memcpy(images[i].data + at, &word, 8);
			check_damaged(14);
		}
	drop_images();
}

Test(journal_recovery, any_segment_cut_anywhere)
{
	size_t i, len;

	make_mixed_log();
	for (i = 0; i < image_count; i++)
		for (len = 0; len < images[i].len; len++) {
			restore_images();
			image_store(&images[i], len);
			check_damaged(i + 1 < image_count ? 14 : 0);
		}
	drop_images();
}

Test(journal_recovery, records_behind_one_that_cannot_be_read)
{
	int synced;

	for (synced = 0; synced < 2; synced++) {
		appended.n = 0;
		open_journal(8);
		append_some(3);
		if (synced)
			cr_assert_eq(ofs_journal_sync(journal), 0);
		append_some(1);
		close_journal();
		spoil(appended.at[1].lsn);
		open_journal(8);
		check_replayed_without(1, 4);
		cr_assert_eq(damage_count, 1);
		cr_assert_eq(damages[0].kind, OFS_JOURNAL_LOST);
		cr_assert_eq(damages[0].pos, appended.at[1].lsn);
		cr_assert_eq(damages[0].end, appended.at[2].lsn);
		append_some(2);
		close_journal();
		/* The gap stays until the log is trimmed. */
		open_journal(8);
		check_replayed_without(1, 6);
		cr_assert_eq(damage_count, 1);
		close_journal();
		/* What lies before `start` is not read. */
		open_journal(appended.at[2].lsn);
		check_replayed(2, 6, 0);
		cr_assert_eq(damage_count, 0);
		close_journal();
		fixture_clear();
	}
}

Test(journal_recovery, one_byte_of_a_header_or_body_is_put_right)
{
	static const uint8_t masks[] = { 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff };
	struct image im;
	size_t at, m;

	open_journal(8);
	append_some(4);
	close_journal();
	im = image_load(8);
	for (at = appended.at[1].lsn - 8; at < appended.at[2].lsn - 8; at++)
		for (m = 0; m < OFS_ARRAY_SIZE(masks); m++) {
			bool in_data = appended.at[1].data.len &&
				       at + 8 >= appended.at[1].data.pos - OFS_JOURNAL_SUM;

			im.data[at] ^= masks[m];
			image_store(&im, im.len);
			im.data[at] ^= masks[m];
			open_journal(8);
			check_replayed(0, 4, in_data);
			if (!in_data) {
				cr_assert_eq(damage_count, 1);
				cr_assert_eq(damages[0].kind, OFS_JOURNAL_MENDED);
				cr_assert_eq(damages[0].pos, appended.at[1].lsn);
				cr_assert_eq(damages[0].end, appended.at[2].lsn);
			}
			close_journal();
		}
	image_finish(&im);
}

Test(journal_recovery, reading_only_changes_nothing)
{
	struct ofs_journal_reader reader = fixture_reader;
	struct ofs_journal_record record = { .type = 1 };
	struct image im, after;

	open_journal(8);
	append_some(4);
	close_journal();
	im = image_load(8);
	image_store(&im, im.len - 8);
	reader.read_only = true;
	replayed.n = 0;
	cr_assert_eq(ofs_journal_open(dirfd_, uuid, 8, &reader, &err, &journal), 0, "%s", err.text);
	check_replayed(0, 3, 0);
	cr_assert_eq(ofs_journal_append(journal, &record, NULL, NULL), -EROFS);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	close_journal();
	after = image_load(8);
	cr_assert_eq(after.len, im.len - 8);
	cr_assert_eq(memcmp(after.data, im.data, after.len), 0);
	image_finish(&im);
	image_finish(&after);
}

Test(journal_recovery, a_damaged_log_is_kept)
{
	char other[SCRATCH_SIZE];
	struct image im;
	int to, fd, r;
	char name[32], *copy;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 300);
	append_some(10);
	close_journal();
	scratch_dir(other);
	to = open(other, O_RDONLY | O_DIRECTORY);
	r = ofs_journal_keep(dirfd_, appended.at[5].lsn, to);
	cr_assert_eq(r, 0);
	cr_assert_neq(faccessat(to, "0000000000000008.wal", F_OK, 0), 0);
	im = image_load(8);
	for (ofs_lsn first = 8 + im.len; segment_exists(first);) {
		image_finish(&im);
		im = image_load(first);
		segment_name(first, name);
		first += im.len;
		if (first <= appended.at[5].lsn)
			continue;
		fd = openat(to, name, O_RDONLY);
		cr_assert_geq(fd, 0);
		copy = malloc(im.len);
		cr_assert_eq(read(fd, copy, im.len), (ssize_t)im.len);
		if (im.first >= appended.at[5].lsn)
			cr_assert_eq(memcmp(copy, im.data, im.len), 0);
		free(copy);
		close(fd);
	}
	image_finish(&im);
	close(to);
	nftw(other, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(other);
}

Test(journal_recovery, damaged_data_before_a_durable_position)
{
	size_t i;

	open_journal(8);
	append_some(6);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(1);
	close_journal();
	cr_assert_gt(appended.at[1].data.len, 0);
	cr_assert_gt(appended.at[4].data.len, 0);
	flip(8, appended.at[1].data.pos);
	flip(8, appended.at[4].data.pos + appended.at[4].data.len - 1);
	open_journal(8);
	check_replayed(0, 7, 2);
	for (i = 0; i < 7; i++)
		cr_assert_eq(check_data(&appended.at[i]), i == 1 || i == 4 ? -EIO : 0);
	append_some(1);
	close_journal();
	open_journal(8);
	check_replayed(0, 8, 2);
}

Test(journal_recovery, damaged_data_where_nothing_is_durable)
{
	open_journal(8);
	append_some(7);
	close_journal();
	flip(8, appended.at[4].data.pos);
	open_journal(8);
	check_replayed(0, 7, 1);
	cr_assert_eq(check_data(&appended.at[4]), -EIO);
	cr_assert_eq(damage_count, 1);
	cr_assert_eq(damages[0].kind, OFS_JOURNAL_DATA);
}

/* With nothing after it, damage looks like a torn tail. */
Test(journal_recovery, damaged_data_at_the_end)
{
	open_journal(8);
	append_some(5);
	close_journal();
	cr_assert_gt(appended.at[4].data.len, 0);
	flip(8, appended.at[4].data.pos);
	open_journal(8);
	check_replayed(0, 4, 0);
	check_goes_on(4);
}

Test(journal_recovery, proof_in_a_later_segment)
{
	ofs_lsn end;

	open_journal(8);
	append_some(5);
	end = ofs_journal_end(journal);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	ofs_journal_set_segment_size(journal, 1);
	append_some(1);
	save_images();

	/* The header of the later segment suffices. */
	images[1].len = 64;
	restore_images();
	image_store(&images[1], 64);
	spoil(appended.at[4].lsn);
	open_journal(8);
	check_replayed(0, 4, 0);
	cr_assert_eq(damage_count, 1);
	cr_assert_eq(damages[0].kind, OFS_JOURNAL_LOST_END);
	cr_assert_eq(damages[0].end, end);
	drop_images();
}

/* Data that holds a copy of the log must not be taken for records. */
Test(journal_recovery, content_that_imitates_records)
{
	struct ofs_journal_record record = { .type = 1 };
	struct image im;
	uint8_t body[64];
	ofs_lsn last;
	size_t i;

	open_journal(8);
	append_some(3);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(3);
	im = image_load(8);
	record.body = body;
	record.body_len = fixture_body(body, 0);
	record.data = im.data;
	record.data_len = im.len;
	cr_assert_eq(ofs_journal_append(journal, &record, &last, NULL), 0);
	close_journal();
	image_finish(&im);
	/* The copies in the data are sound, but in the wrong place. */
	for (i = 3; i < 6; i++)
		spoil(appended.at[i].lsn);
	spoil(last);
	open_journal(8);
	check_replayed(0, 3, 0);
}

Test(journal_recovery, missing_segment)
{
	size_t i;

	open_journal(8);
	ofs_journal_set_segment_size(journal, 300);
	append_some(20);
	save_images();
	cr_assert_gt(image_count, 4);
	for (i = 1; i + 1 < image_count; i++) {
		char name[32];

		restore_images();
		segment_name(images[i].first, name);
		cr_assert_eq(unlinkat(dirfd_, name, 0), 0);
		cr_assert_eq(try_open(8), -EUCLEAN);
		cr_assert_not_null(strstr(err.text, "missing"), "%s", err.text);
		cr_assert(segment_exists(images[i + 1].first));
		segment_name(images[i - 1].first, name);
		cr_assert_not_null(strstr(err.text, name), "%s", err.text);
		/* From the next segment on, none is missing. */
		open_journal(images[i + 1].first);
		check_replayed(records_before(images[i + 1].first), 20, 0);
		close_journal();
	}
	drop_images();
}

Test(journal_recovery, missing_first_segment)
{
	open_journal(8);
	ofs_journal_set_segment_size(journal, 300);
	append_some(20);
	save_images();
	cr_assert_eq(unlinkat(dirfd_, "0000000000000008.wal", 0), 0);
	cr_assert_eq(try_open(8), -EUCLEAN);
	cr_assert(segment_exists(images[1].first));
	drop_images();
}

/* A daemon that died while it created the first segment of a store left a file without a header. */
Test(journal_recovery, an_empty_first_segment_is_made_anew)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%016d.wal", 8);
	fd = openat(dirfd_, name, O_CREAT | O_WRONLY, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert(segment_exists(8));
	open_journal(8);
	append_some(10);
	ofs_journal_trim(journal, ofs_journal_end(journal));
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert(segment_exists(8), "the segment in use was removed");
	cr_assert_eq(ofs_journal_fault(journal), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 10, 0);
}

Test(journal_recovery, newest_segment_lost)
{
	ofs_lsn end;
	char name[32];

	open_journal(8);
	append_some(5);
	end = ofs_journal_end(journal);
	ofs_journal_set_segment_size(journal, 1);
	append_some(1);
	close_journal();
	segment_name(end, name);
	cr_assert_eq(unlinkat(dirfd_, name, 0), 0);
	open_journal(8);
	check_replayed(0, 5, 0);
	cr_assert_eq(ofs_journal_end(journal), end);
	check_goes_on(5);
}

Test(journal_recovery, start_inside_something)
{
	ofs_lsn pos, end;
	size_t i = 0;

	open_journal(8);
	append_some(10);
	end = ofs_journal_end(journal);
	save_images();
	for (pos = 9; pos < end; pos++) {
		if (pos == 8 + 64 || pos == appended.at[i].lsn) {
			i++;
			continue;
		}
		cr_assert_eq(try_open(pos), -EUCLEAN, "position %" PRIu64, pos);
		cr_assert_neq(err.text[0], '\0');
	}
	open_journal(8);
	check_replayed(0, 10, 0);
	drop_images();
}

/* The index was committed, but the end of the log was lost. */
Test(journal_recovery, log_ends_before_start)
{
	ofs_lsn start, end;

	open_journal(8);
	append_some(10);
	end = ofs_journal_end(journal);
	start = end + 1000;
	close_journal();

	open_journal(start);
	cr_assert_eq(replayed.n, 0);
	cr_assert_eq(ofs_journal_end(journal), start + 64);
	cr_assert_eq(ofs_journal_begin(journal), 8);
	cr_assert_eq(check_data(&appended.at[4]), 0);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(1);
	close_journal();

	open_journal(start);
	check_replayed(10, 16, 0);
	ofs_journal_trim(journal, start);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	cr_assert_eq(ofs_journal_begin(journal), start);
	close_journal();
	open_journal(start + 64);
	check_replayed(10, 16, 0);
}

Test(journal_recovery, log_is_torn_before_start)
{
	ofs_lsn start;
	size_t len;

	open_journal(8);
	append_some(10);
	start = ofs_journal_end(journal);
	save_images();
	for (len = 0; len < images[0].len; len += 3) {
		restore_images();
		image_store(&images[0], len);
		appended.n = 10;
		open_journal(start);
		cr_assert_eq(replayed.n, 0);
		cr_assert_geq(ofs_journal_end(journal), start);
		append_some(5);
		close_journal();
		open_journal(start);
		check_replayed(10, 15, 0);
		close_journal();
	}
	drop_images();
}

/* Zeros from before `start` to the end. */
Test(journal_recovery, log_is_zero_around_start)
{
	ofs_lsn start;
	size_t zeros;

	open_journal(8);
	append_some(10);
	start = appended.at[6].lsn;
	save_images();
	for (zeros = 0; zeros < start - 8; zeros += 5) {
		struct image im = images[0];

		restore_images();
		im.len = zeros;
		image_store(&im, images[0].len);
		appended.n = 6;
		open_journal(start);
		cr_assert_eq(replayed.n, 0);
		append_some(5);
		close_journal();
		open_journal(start);
		check_replayed(6, 11, 0);
		close_journal();
	}
	drop_images();
}

Test(journal_recovery, other_store)
{
	static const uint8_t other[16] = "another one";

	open_journal(8);
	append_some(2);
	close_journal();
	cr_assert_eq(ofs_journal_open(dirfd_, other, 8, &fixture_reader, &err, &journal), -EINVAL);
	cr_assert_not_null(strstr(err.text, "another store"), "%s", err.text);
	open_journal(8);
	check_replayed(0, 2, 0);
}

Test(journal_recovery, newer_format)
{
	struct image im;

	open_journal(8);
	append_some(2);
	close_journal();
	im = image_load(8);
	ofs_put_le32(im.data + 8, 7);
	ofs_put_le64(im.data + 56, ofs_checksum(im.data, 56, 8));
	image_store(&im, im.len);
	cr_assert_eq(try_open(8), -EINVAL);
	cr_assert_not_null(strstr(err.text, "version 7"), "%s", err.text);
	cr_assert_not_null(strstr(err.text, "understands version 1"), "%s", err.text);
	image_finish(&im);
}
