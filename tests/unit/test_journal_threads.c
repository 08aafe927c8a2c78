/* SPDX-License-Identifier: MIT */
/* Threads that append to, sync, read, trim and examine the journal at once. */
#include <pthread.h>

#include "test_journal_fixture.h"

#define THREADS 6u
#define ROUNDS 300u

TestSuite(journal_threads, .init = fixture_setup, .fini = fixture_teardown);

struct worker {
	pthread_t thread;
	uint32_t number; /* that of its first record */
	struct seen records[ROUNDS];
	_Atomic ofs_lsn needs; /* start of what it still reads */
	const char *failed;
};

static struct worker workers[THREADS];
static _Atomic bool finished;

static int worker_append(struct seen *s, uint32_t number)
{
	uint8_t body[64], data[21000];
	struct ofs_journal_record record = {
		.type = (uint8_t)(1 + number % 255),
		.body = body,
		.body_len = fixture_body(body, number),
		.data = data,
		.data_len = fixture_data_len(number),
	};

	cr_assert_leq(record.data_len, sizeof(data));
	fixture_fill(data, number, 0, (uint32_t)record.data_len);
	s->number = number;
	return ofs_journal_append(journal, &record, &s->lsn, &s->data);
}

static const char *worker_check(const struct seen *s)
{
	uint8_t got[21000], expected[21000];
	uint32_t from = s->data.len / 3;

	fixture_fill(expected, s->number, 0, s->data.len);
	if (ofs_journal_read(journal, &s->data, 0, got, s->data.len) != 0)
		return "a read failed";
	if (memcmp(got, expected, s->data.len) != 0)
		return "a read gave wrong bytes";
	if (ofs_journal_read(journal, &s->data, from, got, s->data.len - from) != 0)
		return "a partial read failed";
	return memcmp(got, expected + from, s->data.len - from) != 0
		       ? "a partial read gave wrong bytes"
		       : NULL;
}

static void *worker_run(void *arg)
{
	struct worker *w = arg;
	uint32_t i;

	for (i = 0; i < ROUNDS && !w->failed; i++) {
		struct seen *s = &w->records[i];

		if (worker_append(s, w->number + i) != 0)
			w->failed = "an append failed";
		else if (ofs_journal_end(journal) <= s->lsn)
			w->failed = "the log ends before a record";
		else if (i && s->lsn <= s[-1].lsn)
			w->failed = "the order is wrong";
		else if (i % 7 == w->number % 7 && ofs_journal_sync(journal) != 0)
			w->failed = "a sync failed";
		else if (i % 31 == w->number % 31 && ofs_journal_settle(journal) != 0)
			w->failed = "a sync failed";
		else
			w->failed = worker_check(s);
		if (!w->failed && i >= 20) {
			w->failed = worker_check(s - 20);
			w->needs = s[-19].lsn;
		}
	}
	w->needs = UINT64_MAX;
	return NULL;
}

static void *trimmer_run(void *arg)
{
	struct worker *failure = arg;
	ofs_lsn keep, begin, last = 0;
	size_t i;

	while (!finished && !failure->failed) {
		keep = UINT64_MAX;
		for (i = 0; i < THREADS; i++) {
			ofs_lsn needs = workers[i].needs; /* read once, since it moves */

			keep = OFS_MIN(keep, needs);
		}
		ofs_journal_trim(journal, keep);
		if (ofs_journal_sweep(journal) != 0)
			failure->failed = "a trim failed";
		begin = ofs_journal_begin(journal);
		if (begin < last || begin > ofs_journal_end(journal) ||
		    !ofs_journal_size(journal, 0, NULL))
			failure->failed = "the log's ends are wrong";
		last = begin;
	}
	return NULL;
}

static int replay_order(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
			const struct ofs_journal_data *data)
{
	uint32_t *next = arg, number = ofs_get_le32(record->body);
	uint32_t w = number / 100000, i = number % 100000;

	cr_assert_lt(w, THREADS);
	cr_assert_lt(i, ROUNDS);
	cr_assert(next[w] == UINT32_MAX || next[w] == i, "record %u of thread %u, not %u", i, w,
		  next[w]);
	cr_assert_eq(workers[w].records[i].lsn, lsn);
	cr_assert_eq(workers[w].records[i].data.pos, data->pos);
	next[w] = i + 1;
	return 0;
}

static void run_workers(bool trim)
{
	struct worker trimmer = { .failed = NULL };
	uint32_t next[THREADS], i;
	ofs_lsn begin;

	finished = false;
	memset(workers, 0, sizeof(workers));
	open_journal(8);
	ofs_journal_set_segment_size(journal, 8000);
	for (i = 0; i < THREADS; i++)
		workers[i].number = i * 100000;
	for (i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
	if (trim)
		cr_assert_eq(pthread_create(&trimmer.thread, NULL, trimmer_run, &trimmer), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	finished = true;
	if (trim)
		pthread_join(trimmer.thread, NULL);
	for (i = 0; i < THREADS; i++)
		cr_assert_null(workers[i].failed, "thread %u: %s", i, workers[i].failed);
	cr_assert_null(trimmer.failed, "%s", trimmer.failed);
	/* The trimmer may not have got to run. */
	if (trim)
		ofs_journal_trim(journal, ofs_journal_end(journal) / 2);
	cr_assert_eq(ofs_journal_sweep(journal), 0);
	begin = ofs_journal_begin(journal);
	cr_assert(trim ? begin > 8 : begin == 8);
	close_journal();

	memset(next, trim ? 0xff : 0, sizeof(next));
	cr_assert_eq(ofs_journal_open(dirfd_, uuid, begin,
				      &(struct ofs_journal_reader){ .record = replay_order,
								    .arg = next },
				      &err, &journal),
		     0, "%s", err.text);
	for (i = 0; i < THREADS; i++)
		cr_assert(next[i] == ROUNDS || (trim && next[i] == UINT32_MAX));
}

Test(journal_threads, append_sync_read)
{
	run_workers(false);
}

Test(journal_threads, append_sync_read_trim)
{
	run_workers(true);
}

/* A failed sync is reported to all that wait for it, and to everyone afterwards. */
static void *sync_until_poisoned(void *arg)
{
	struct worker *w = arg;
	uint32_t i;
	int r = 0;

	for (i = 0; i < 100000 && !r; i++) {
		r = worker_append(&w->records[0], w->number);
		if (!r)
			r = ofs_journal_sync(journal);
	}
	if (r != -EIO || ofs_journal_sync(journal) != -EIO ||
	    worker_append(&w->records[0], 0) != -EIO)
		w->failed = "the journal works on";
	return NULL;
}

Test(journal_threads, poisoned_for_all)
{
	uint32_t i;

	setenv("OFS_FAILPOINT", "io.datasync=eio@20", 1);
	open_journal(8);
	for (i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&workers[i].thread, NULL, sync_until_poisoned,
					    &workers[i]),
			     0);
	for (i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		cr_assert_null(workers[i].failed, "thread %u: %s", i, workers[i].failed);
	}
}
