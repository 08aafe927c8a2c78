/* SPDX-License-Identifier: MIT */
/*
 * The journal as a start finds it. The first byte chooses: any bytes as segments; any bytes after a
 * sound header; or a log of a script, damaged, of which we know what must survive.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "codec/hash.h"
#include "fuzz.h"
#include "journal/journal.h"
#include "journal/wal_record.h"
#include "journal/segment.h"
#include "store/record.h"

#define FIRST OFS_WAL_ALIGN /* LSN of a new log */
#define LOG_MAX ((size_t)192 << 10)
#define RECORDS_MAX 64u
#define DATA_MAX 6000u
#define SEGMENTS_MAX 64u

static const uint8_t uuid[16] = "fuzzed journals";
static char dir[256];
static int dirfd_ = -1;

/* ---- the directory and its files */

static void remove_segments(void)
{
	DIR *d = fdopendir(openat(dirfd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	FUZZ_ASSERT(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd_, entry->d_name, 0);
	closedir(d);
}

static void remove_directory(void)
{
	remove_segments();
	close(dirfd_);
	rmdir(dir);
}

static void make_directory(void)
{
	const char *tmp = getenv("TMPDIR");

	if (dirfd_ >= 0)
		return;
	snprintf(dir, sizeof(dir), "%s/ofs-fuzz-XXXXXX", tmp ? tmp : "/tmp");
	FUZZ_ASSERT(mkdtemp(dir));
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FUZZ_ASSERT(dirfd_ >= 0);
	atexit(remove_directory);
}

static void store_segment(ofs_lsn first, const uint8_t *data, size_t len)
{
	char name[OFS_SEGMENT_NAME_SIZE];
	OFS_CLOSE int fd = -1;

	ofs_segment_name(first, name);
	fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_ASSERT(fd >= 0 && write(fd, data, len) == (ssize_t)len);
}

/* The files of the log, laid out by LSN. */
struct image {
	uint8_t bytes[LOG_MAX];
	bool there[LOG_MAX];
	ofs_lsn segments[SEGMENTS_MAX + 1]; /* sorted; the one after the last is LOG_MAX */
	size_t n;
	ofs_lsn end; /* there is nothing from here on */
};

static int compare_lsns(const void *a, const void *b)
{
	const ofs_lsn *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void image_list(struct image *im)
{
	DIR *d = fdopendir(openat(dirfd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;

	FUZZ_ASSERT(d);
	im->n = 0;
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			FUZZ_ASSERT(im->n < SEGMENTS_MAX);
			im->segments[im->n++] = strtoull(entry->d_name, NULL, 16);
		}
	closedir(d);
	qsort(im->segments, im->n, sizeof(*im->segments), compare_lsns);
	im->segments[im->n] = LOG_MAX;
}

static void image_load(struct image *im)
{
	image_list(im);
	memset(im->there, 0, im->end);
	memset(im->bytes, 0, im->end);
	im->end = 0;
	for (size_t i = 0; i < im->n; i++) {
		ofs_lsn first = im->segments[i], room = im->segments[i + 1] - first;
		char name[OFS_SEGMENT_NAME_SIZE];
		OFS_CLOSE int fd = -1;
		ssize_t n;

		ofs_segment_name(first, name);
		fd = openat(dirfd_, name, O_RDONLY | O_CLOEXEC);
		FUZZ_ASSERT(fd >= 0);
		n = read(fd, im->bytes + first, room);
		FUZZ_ASSERT(n >= 0);
		memset(im->there + first, 1, (size_t)n);
		im->end = first + (ofs_lsn)n;
	}
}

/* ---- the result of a replay */

struct seen {
	ofs_lsn lsn;
	struct ofs_journal_data data;
	uint64_t sum; /* of type and body */
};

struct replay {
	struct seen at[RECORDS_MAX * 32];
	size_t n;
	int result;
	ofs_lsn end;
	struct ofs_error err;
	struct ofs_journal_damage damages[RECORDS_MAX * 32];
	size_t n_damages;
};

static uint64_t sum_of(uint8_t type, const void *body, size_t len)
{
	return ofs_checksum(body, len, type);
}

static int on_record(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
		     const struct ofs_journal_data *data)
{
	OFS_FREE void *body = fuzz_copy(record->body, record->body_len);
	struct replay *rp = arg;
	struct ofs_record decoded;
	int r = ofs_record_decode(record->type, body, record->body_len, &decoded);

	FUZZ_ASSERT(r == 0 || r == -EUCLEAN);
	FUZZ_ASSERT(record->type && !record->data && record->data_len == data->len);
	FUZZ_ASSERT(lsn % OFS_WAL_ALIGN == 0 && (!rp->n || lsn > rp->at[rp->n - 1].lsn));
	FUZZ_ASSERT(!data->len == !data->pos && (!data->len || data->pos > lsn));
	FUZZ_ASSERT(rp->n < OFS_ARRAY_SIZE(rp->at));
	rp->at[rp->n++] =
		(struct seen){ lsn, *data, sum_of(record->type, record->body, record->body_len) };
	return 0;
}

static int on_damage(void *arg, const struct ofs_journal_damage *damage)
{
	struct replay *rp = arg;

	FUZZ_ASSERT(damage->pos < damage->end && rp->n_damages < OFS_ARRAY_SIZE(rp->damages));
	FUZZ_ASSERT(!rp->n || damage->pos > rp->at[rp->n - 1].lsn);
	rp->damages[rp->n_damages++] = *damage;
	return 0;
}

static struct ofs_journal *open_journal(ofs_lsn start, struct replay *ret)
{
	const struct ofs_journal_reader reader = { .record = on_record,
						   .damaged = on_damage,
						   .arg = ret };
	struct ofs_journal *j = NULL;

	ret->n = ret->n_damages = 0;
	ret->end = 0;
	ret->err.text[0] = 0;
	ret->result = ofs_journal_open(dirfd_, uuid, start, &reader, &ret->err, &j);
	FUZZ_ASSERT(!ret->result == !!j);
	if (j) {
		ret->end = ofs_journal_end(j);
		FUZZ_ASSERT(!ret->n || ret->at[0].lsn >= start);
		FUZZ_ASSERT(!ret->n || ret->at[ret->n - 1].lsn < ret->end);
	} else {
		FUZZ_ASSERT(ret->result == -EUCLEAN || ret->result == -EINVAL);
		FUZZ_ASSERT(ret->err.text[0]);
	}
	return j;
}

static void replay_print(const char *which, const struct replay *rp)
{
	fprintf(stderr, "%s: result %d (%s), end %" PRIu64 ", %zu records:", which, rp->result,
		rp->err.text, rp->end, rp->n);
	for (size_t i = 0; i < rp->n; i++)
		fprintf(stderr, " %" PRIu64, rp->at[i].lsn);
	for (size_t i = 0; i < rp->n_damages; i++)
		fprintf(stderr, " damage %d [%" PRIu64 ", %" PRIu64 ")", rp->damages[i].kind,
			rp->damages[i].pos, rp->damages[i].end);
	fprintf(stderr, "\n");
}

static bool same_replay(const struct replay *a, const struct replay *b)
{
	if (a->result != b->result || a->n != b->n || a->end != b->end)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->at[i].lsn != b->at[i].lsn || a->at[i].sum != b->at[i].sum ||
		    a->at[i].data.pos != b->at[i].data.pos ||
		    a->at[i].data.len != b->at[i].data.len)
			return false;
	return strcmp(a->err.text, b->err.text) == 0;
}

/* Reads a record's data in whole and in part, which must agree. Returns 0 or -EIO. */
static int read_data(struct ofs_journal *j, const struct ofs_journal_data *data, uint8_t *buf)
{
	uint32_t off = data->len / 3, len = data->len - off - data->len / 4;
	OFS_FREE uint8_t *part = fuzz_alloc(len);
	int r = ofs_journal_read(j, data, 0, buf, data->len);

	FUZZ_ASSERT(r == 0 || r == -EIO);
	FUZZ_ASSERT(ofs_journal_read(j, data, off, part, len) == (len ? r : 0));
	FUZZ_ASSERT(r || memcmp(part, buf + off, len) == 0);
	FUZZ_ASSERT(ofs_journal_read(j, data, data->len, part, 1) == -EINVAL);
	return r;
}

/*
 * Opening again must find what the first opening left. If `more` is not 0, a record with a body of
 * that many bytes is appended and must be found, too.
 */
static void check_again(ofs_lsn start, const struct replay *before, size_t more)
{
	static struct replay again;
	static const uint8_t body[OFS_JOURNAL_BODY_MAX];
	struct ofs_journal_record record = { .type = 200, .body = body, .body_len = more };
	struct ofs_journal *j = open_journal(start, &again);
	size_t n = again.n;
	ofs_lsn lsn;

	if (!same_replay(before, &again)) {
		replay_print("first", before);
		replay_print("again", &again);
		abort();
	}
	if (j && more) {
		FUZZ_ASSERT(ofs_journal_append(j, &record, &lsn, NULL) == 0);
		FUZZ_ASSERT(lsn >= before->end);
		ofs_journal_close(j);
		j = open_journal(start, &again);
		FUZZ_ASSERT(j && again.n == n + 1 && again.at[n].lsn == lsn);
		FUZZ_ASSERT(again.at[n].sum == sum_of(200, body, more));
		again.n = n;
		again.end = before->end;
		FUZZ_ASSERT(same_replay(before, &again));
	}
	ofs_journal_close(j);
}

/* ---- any bytes */

static void check_bytes(struct fuzz_input *in, bool sound_header)
{
	static struct replay rp;
	uint8_t which = fuzz_u8(in);
	ofs_lsn first = FIRST, start = FIRST + (which & 1 ? (fuzz_u8(in) & 0x7f) * 8u : 0);
	size_t split = which & 2 ? (size_t)fuzz_u16(in) : in->left;
	struct ofs_journal *j;
	struct ofs_segment *s;

	split = fuzz_at_most(split, in->left);
	for (ofs_lsn prev = 0; in->left || !prev; split = in->left) {
		OFS_FREE uint8_t *bytes = fuzz_alloc(OFS_SEGMENT_HEADER + split);
		size_t at = sound_header ? OFS_SEGMENT_HEADER : 0;

		memset(bytes, 0, OFS_SEGMENT_HEADER);
		if (sound_header) {
			FUZZ_ASSERT(ofs_segment_create(dirfd_, uuid, first, prev, 0, false, &s) == 0);
			FUZZ_ASSERT(pread(s->fd, bytes, OFS_SEGMENT_HEADER, 0) ==
				    OFS_SEGMENT_HEADER);
			ofs_segment_unref(s);
		}
		memcpy(bytes + at, fuzz_take(in, split), split);
		store_segment(first, bytes, at + split);
		prev = first;
		first += ofs_align_up(at + split + 1, OFS_WAL_ALIGN);
	}
	j = open_journal(start, &rp);
	for (size_t i = 0; j && i < rp.n; i++)
		if (rp.at[i].data.len) {
			OFS_FREE uint8_t *buf = fuzz_alloc(rp.at[i].data.len);

			read_data(j, &rp.at[i].data, buf);
		}
	ofs_journal_close(j);
	check_again(start, &rp, sound_header ? 4 : 0);
}

static void check_raw(struct fuzz_input *in)
{
	check_bytes(in, false);
}

static void check_raw_records(struct fuzz_input *in)
{
	check_bytes(in, true);
}

/* ---- a log written by a script */

struct written {
	struct seen seen;
	uint8_t number; /* determines its data */
	ofs_lsn durable; /* the durable position that its header states at least */
	ofs_lsn end;
};

static struct {
	struct ofs_journal *j;
	struct written at[RECORDS_MAX];
	size_t n;
	ofs_lsn starts[RECORDS_MAX]; /* earlier ends of the log */
	size_t n_starts;
	ofs_lsn keep; /* everything before it may be trimmed */
	ofs_lsn durable; /* the least durable position that the next record states */
	ofs_lsn synced; /* the highest durable position that a record may state */
} script;

static void data_fill(uint8_t *ret, uint8_t number, size_t len)
{
	for (size_t i = 0; i < len; i++)
		ret[i] = (uint8_t)(i * 167 + number * 59u + i / 251);
}

static void script_append(struct fuzz_input *in)
{
	static uint8_t data[DATA_MAX];
	uint8_t type = fuzz_u8(in) | 1, body_len = fuzz_u8(in);
	size_t data_len = fuzz_u16(in) % (DATA_MAX + 1), n = fuzz_at_most(body_len, in->left);
	const uint8_t *body = fuzz_take(in, n);
	struct ofs_journal_record record = { type, body, n, data, data_len };
	struct written *w = &script.at[script.n];

	if (script.n == RECORDS_MAX || ofs_journal_end(script.j) + 20000 > LOG_MAX)
		return;
	*w = (struct written){ .number = type, .durable = script.durable };
	data_fill(data, type, data_len);
	FUZZ_ASSERT(ofs_journal_append(script.j, &record, &w->seen.lsn, &w->seen.data) == 0);
	w->seen.sum = sum_of(type, body, n);
	w->end = ofs_journal_end(script.j);
	script.n++;
}

static void script_note_end(void)
{
	if (script.n_starts < RECORDS_MAX)
		script.starts[script.n_starts++] = ofs_journal_end(script.j);
}

static void script_sync(void)
{
	FUZZ_ASSERT(ofs_journal_sync(script.j) == 0);
	script.durable = script.synced = ofs_journal_end(script.j);
}

static void script_reopen(uint16_t size)
{
	static struct replay rp;

	ofs_journal_close(script.j);
	script.j = open_journal(script.keep, &rp);
	FUZZ_ASSERT(script.j);
	/* Of the time before, only what the log itself states is known. */
	script.durable = 0;
	for (size_t i = 0; i < rp.n; i++)
		for (size_t k = 0; k < script.n; k++)
			if (script.at[k].seen.lsn == rp.at[i].lsn)
				script.durable = OFS_MAX(script.durable, script.at[k].durable);
	ofs_journal_set_segment_size(script.j, 256 + size % 8192u);
}

static void script_trim(uint8_t which)
{
	if (!script.n_starts)
		return;
	script.keep = OFS_MAX(script.keep, script.starts[which % script.n_starts]);
	ofs_journal_trim(script.j, script.keep);
	FUZZ_ASSERT(ofs_journal_sweep(script.j) == 0);
}

static void script_write(struct fuzz_input *in)
{
	/* Each step makes at most one segment. */
	for (unsigned int steps = 0; in->left && steps < SEGMENTS_MAX - 8; steps++)
		switch (fuzz_u8(in) % 10) {
		case 0:
			return;
		case 1:
			script_sync();
			break;
		case 2:
			FUZZ_ASSERT(ofs_journal_rotate(script.j, fuzz_u16(in)) == 0);
			break;
		case 3:
			script_reopen(fuzz_u16(in));
			break;
		case 4:
			script_note_end();
			break;
		case 5:
			script_trim(fuzz_u8(in));
			break;
		default:
			script_append(in);
		}
}

/* Damages one file. No damage forges a record: none chooses the bytes it leaves. */
static void damage_one(struct fuzz_input *in, const struct image *im, bool *ret_gap)
{
	uint8_t kind = fuzz_u8(in) % 6, value = fuzz_u8(in);
	ofs_lsn pos = FIRST + fuzz_u16(in) * UINT64_C(3);
	size_t i = im->n - 1, at;
	char name[OFS_SEGMENT_NAME_SIZE];
	uint8_t bytes[256] = { 0 };
	OFS_CLOSE int fd = -1;

	while (i > 0 && im->segments[i] > pos)
		i--;
	at = pos > im->segments[i] ? pos - im->segments[i] : 0;
	ofs_segment_name(im->segments[i], name);
	fd = openat(dirfd_, name, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (kind == 0) {
		FUZZ_ASSERT(ftruncate(fd, (off_t)at) == 0);
	} else if (kind == 1) {
		unlinkat(dirfd_, name, 0);
		*ret_gap = true;
	} else if (kind == 2) {
		FUZZ_ASSERT(pwrite(fd, bytes, value, (off_t)at) == value);
	} else if (kind == 3) {
		/* Sound bytes in the wrong place. */
		at = OFS_MIN(at / 8 * 8, LOG_MAX / 2);
		FUZZ_ASSERT(pwrite(fd, im->bytes + script.at[0].seen.lsn, value, (off_t)at) ==
			    value);
	} else {
		FUZZ_ASSERT(pread(fd, bytes, 1, (off_t)at) >= 0);
		bytes[0] ^= (uint8_t)(1 << value % 8);
		FUZZ_ASSERT(pwrite(fd, bytes, 1, (off_t)at) == 1);
	}
}

static bool is_whole(const struct image *before, const struct image *after, ofs_lsn from,
		     ofs_lsn to)
{
	for (ofs_lsn pos = from; pos < to; pos++)
		if (before->there[pos] &&
		    (!after->there[pos] || before->bytes[pos] != after->bytes[pos]))
			return false;
	return true;
}

static const struct written *find_written(ofs_lsn lsn)
{
	for (size_t i = 0; i < script.n; i++)
		if (script.at[i].seen.lsn == lsn)
			return &script.at[i];
	return NULL;
}

static bool is_told(const struct replay *rp, const struct written *w)
{
	for (size_t i = 0; i < rp->n_damages; i++)
		if (rp->damages[i].kind >= OFS_JOURNAL_LOST && rp->damages[i].pos <= w->seen.lsn &&
		    rp->damages[i].end > w->seen.lsn)
			return true;
	return false;
}

/* Each replayed record was written, gaps are reported, and readable data is right. */
static void check_prefix(const struct replay *rp, ofs_lsn start, const struct image *before,
			 const struct image *after)
{
	static uint8_t got[DATA_MAX], want[DATA_MAX];
	const struct written *w = script.at;

	while (w < script.at + script.n && w->seen.lsn < start)
		w++;
	for (size_t i = 0; i < rp->n; i++, w++) {
		const struct seen *s = &rp->at[i];

		for (; w < script.at + script.n && w->seen.lsn < s->lsn; w++)
			FUZZ_ASSERT(is_told(rp, w));
		FUZZ_ASSERT(w < script.at + script.n && w == find_written(s->lsn));
		FUZZ_ASSERT(s->sum == w->seen.sum && s->data.pos == w->seen.data.pos &&
			    s->data.len == w->seen.data.len);
		if (!script.j || !s->data.len)
			continue;
		if (read_data(script.j, &s->data, got) < 0) {
			FUZZ_ASSERT(!is_whole(before, after, w->seen.lsn, w->end));
			continue;
		}
		data_fill(want, w->number, s->data.len);
		FUZZ_ASSERT(memcmp(got, want, s->data.len) == 0);
	}
}

/* Checks which records must have been replayed if the log could be opened. */
static void check_complete(const struct replay *rp, ofs_lsn start, const struct image *before,
			   const struct image *after)
{
	ofs_lsn sound = start, claimed = 0, reached = rp->n ? rp->at[rp->n - 1].lsn : 0;

	while (sound < before->end && is_whole(before, after, sound, sound + 1))
		sound++;
	for (size_t i = 0; i < script.n; i++)
		if (script.at[i].seen.lsn >= start &&
		    is_whole(before, after, script.at[i].seen.lsn, script.at[i].end))
			claimed = OFS_MAX(claimed, script.at[i].durable);
	for (size_t i = 0; i < script.n; i++)
		if (script.at[i].seen.lsn >= start &&
		    (script.at[i].end <= sound || script.at[i].end <= claimed))
			FUZZ_ASSERT(script.at[i].seen.lsn <= reached || is_told(rp, &script.at[i]));
}

/* Returns a body length that makes a record at `end` reach to a record that was cut off. */
static size_t script_more(ofs_lsn end)
{
	for (size_t i = 0; i < script.n; i++)
		if (script.at[i].seen.lsn > end + OFS_WAL_HEADER)
			return OFS_MIN(script.at[i].seen.lsn - end - OFS_WAL_HEADER,
				       OFS_JOURNAL_BODY_MAX);
	return 4;
}

static void check_script(struct fuzz_input *in)
{
	static struct image before, after;
	static struct replay rp;
	ofs_lsn start;
	bool gap = false;

	memset(&script, 0, sizeof(script));
	script.keep = FIRST;
	script.j = open_journal(FIRST, &rp);
	FUZZ_ASSERT(script.j && !rp.n);
	ofs_journal_set_segment_size(script.j, 256 + fuzz_u16(in) % 8192u);
	script_write(in);
	script_note_end();
	ofs_journal_close(script.j);

	start = script.starts[fuzz_u8(in) % script.n_starts];
	start = start < script.keep || fuzz_u8(in) % 2 ? script.keep : start;
	image_load(&before);
	for (int i = 0; in->left && i < 8; i++)
		damage_one(in, &before, &gap);
	image_load(&after);

	script.j = open_journal(start, &rp);
	FUZZ_ASSERT(script.j || rp.result == -EUCLEAN);
	/* A start may be refused only if something that was known to be durable is damaged. */
	FUZZ_ASSERT(script.j || gap || !is_whole(&before, &after, start, script.synced));
	check_prefix(&rp, start, &before, &after);
	if (script.j)
		check_complete(&rp, start, &before, &after);
	ofs_journal_close(script.j);
	check_again(start, &rp, script_more(rp.end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct fuzz_input *) = { check_raw, check_raw_records,
							       check_script, check_script };
	struct fuzz_input in = { data, size };

	make_directory();
	remove_segments();
	checks[fuzz_u8(&in) % OFS_ARRAY_SIZE(checks)](&in);
	return 0;
}
