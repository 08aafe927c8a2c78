/* SPDX-License-Identifier: MIT */
#include "replica/replica_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>

#include "io/file.h"

#define FOLDER "remote"
#define FILE_NAME "state"
#define SIZE_MAX_ (64u << 10)

void ofs_replica_state_finish(struct ofs_replica_state *st)
{
	free(st->location);
	*st = (struct ofs_replica_state){ 0 };
}

/* A link is refused, as it leads out of the store. */
static int open_folder(int dirfd)
{
	return ofs_io_open(dirfd, FOLDER, O_RDONLY | O_DIRECTORY, 0);
}

static int decode(const json_t *json, struct ofs_replica_state *ret)
{
	json_int_t logged_to, epoch, seq, lsn, checkpoint, durable;
	json_t *writers, *w;
	const char *location;
	size_t i;
	int based, deposed;

	if (json_unpack((json_t *)json, "{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I}",
			"location", &location, "writers", &writers, "logged_to", &logged_to,
			"epoch", &epoch, "seq", &seq, "lsn", &lsn, "checkpoint", &checkpoint,
			"based", &based, "deposed", &deposed, "durable", &durable) < 0 ||
	    json_array_size(writers) > OFS_WRITERS_MAX)
		return -EUCLEAN;
	json_array_foreach(writers, i, w)
	{
		if (json_string_length(w) != OFS_WRITER_SIZE - 1)
			return -EUCLEAN;
		memcpy(ret->writers[ret->nwriters++], json_string_value(w), OFS_WRITER_SIZE);
	}
	ret->logged_to = (ofs_lsn)logged_to;
	ret->at = (struct ofs_log_place){ (uint32_t)epoch, (uint32_t)seq, (ofs_lsn)lsn };
	ret->checkpoint = (uint32_t)checkpoint;
	ret->based = based;
	ret->deposed = deposed;
	ret->durable = (uint64_t)durable;
	ret->location = ofs_strdup(location);
	return 0;
}

int ofs_replica_state_load(int dirfd, struct ofs_replica_state *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_CLOSE int folder = open_folder(dirfd);
	json_t *json;
	int r = folder < 0 ? folder : ofs_io_read_file(folder, FILE_NAME, SIZE_MAX_, &text);

	*ret = (struct ofs_replica_state){ 0 };
	if (r < 0)
		return r;
	json = json_loadb((const char *)text.data, text.len, 0, NULL);
	r = json ? decode(json, ret) : -EUCLEAN;
	json_decref(json);
	return r;
}

int ofs_replica_state_save(int dirfd, const struct ofs_replica_state *st)
{
	OFS_FREE char *text = NULL;
	OFS_CLOSE int folder = -1;
	json_t *json, *writers = json_array();
	int r;

	for (size_t i = 0; i < st->nwriters; i++)
		json_array_append_new(writers, json_string(st->writers[i]));
	json = json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:I}", "location",
			 st->location, "writers", writers, "logged_to", (json_int_t)st->logged_to,
			 "epoch", (json_int_t)st->at.epoch, "seq", (json_int_t)st->at.seq, "lsn",
			 (json_int_t)st->at.lsn, "checkpoint", (json_int_t)st->checkpoint, "based",
			 st->based, "deposed", st->deposed, "durable", (json_int_t)st->durable);
	text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	json_decref(json);
	if (!text)
		ofs_out_of_memory();
	r = ofs_io_mkdir(dirfd, FOLDER, 0700);
	if (r == 0)
		r = folder = open_folder(dirfd);
	return r < 0 ? r : ofs_io_write_file(folder, FILE_NAME, text, strlen(text));
}

int ofs_replica_state_add_writer(int dirfd, struct ofs_replica_state *st)
{
	uint8_t random[16];

	if (st->named)
		return 0;
	/* The oldest mount has no pending requests any more. */
	if (st->nwriters == OFS_WRITERS_MAX)
		st->nwriters--;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	memmove(st->writers[1], st->writers[0], st->nwriters * sizeof(st->writers[0]));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(st->writers[0] + 2 * i, 3, "%02x", random[i]);
	st->nwriters++;
	st->named = true;
	return dirfd < 0 ? 0 : ofs_replica_state_save(dirfd, st);
}

int ofs_replica_state_remove(int dirfd)
{
	OFS_CLOSE int folder = open_folder(dirfd);
	int r = folder < 0 ? folder : ofs_io_unlink(folder, FILE_NAME);

	if (r == 0)
		r = ofs_io_rmdir(dirfd, FOLDER);
	return r == -ENOENT ? 0 : r;
}

bool ofs_replica_state_is_ours(const struct ofs_replica_state *st, const struct ofs_link *link)
{
	for (size_t i = 0; i < st->nwriters; i++)
		if (strcmp(st->writers[i], link->writer) == 0)
			return (i == 0 && st->named) || link->to <= st->logged_to;
	return false;
}
