/* SPDX-License-Identifier: MIT */
/*
 * Keeps what is damaged and reports it. A damaged journal is copied to quarantine/ before anything
 * is changed. quarantine/journal-damage says in one line for each recovery what was found, and
 * stays until a repair takes note of it.
 */
#include "store/damage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/log.h"
#include "io/file.h"

#define NOTICE "quarantine/journal-damage"
#define NOTICE_MAX ((size_t)1 << 20)

int ofs_damage_open_quarantine(int dirfd)
{
	int r = ofs_io_mkdir(dirfd, "quarantine", 0700);

	if (r == 0)
		r = ofs_io_sync(dirfd);
	return r < 0 ? r : ofs_io_open(dirfd, "quarantine", O_RDONLY | O_DIRECTORY, 0);
}

int ofs_damage_note(struct ofs_damage *d, int dirfd, int journal_fd,
		    const struct ofs_journal_damage *found)
{
	OFS_CLOSE int to = -1;
	uint64_t bytes = found->end - found->pos;

	ofs_log(LOG_WARNING, "the journal is damaged at position %" PRIu64 ": %s", found->pos,
		found->kind == OFS_JOURNAL_MENDED     ? "one byte of a record, which was corrected"
		: found->kind == OFS_JOURNAL_DATA     ? "the content of a record"
		: found->kind == OFS_JOURNAL_LOST     ? "records are lost; later ones are applied"
		: found->kind == OFS_JOURNAL_LOST_END ? "the newest records are lost"
						      : "the rest was not durable and is left out");
	d->mended += found->kind == OFS_JOURNAL_MENDED;
	d->unreadable += found->kind == OFS_JOURNAL_DATA;
	d->lost += found->kind >= OFS_JOURNAL_LOST ? bytes : 0;
	if (!d->found)
		d->pos = found->pos;
	if (d->found++ || d->read_only)
		return 0;
	to = ofs_damage_open_quarantine(dirfd);
	return to < 0 ? to : ofs_journal_keep(journal_fd, found->pos, to);
}

void ofs_damage_describe(const struct ofs_damage *d, struct ofs_buf *out)
{
	ofs_buf_printf(out,
		       "the journal was damaged from position %" PRIu64 " on (records mended: %u, "
		       "with damaged content: %u; bytes lost: %" PRIu64
		       "; later records not applied: %u); %s",
		       d->pos, d->mended, d->unreadable, d->lost, d->refused,
		       d->read_only ? "nothing was changed" : "quarantine/ keeps it as it was");
}

int ofs_damage_write(const struct ofs_damage *d, int dirfd)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, line = OFS_BUF_INIT;
	int r = ofs_io_read_file(dirfd, NOTICE, NOTICE_MAX, &text);

	if (r < 0 && r != -ENOENT)
		return r;
	ofs_damage_describe(d, &line);
	ofs_buf_append_str(&line, "\n");
	/* Until a checkpoint is written, every start finds the same again. */
	if ((text.len && memmem(text.data, text.len, line.data, line.len)) ||
	    text.len + line.len > NOTICE_MAX)
		return 0;
	ofs_buf_append(&text, line.data, line.len);
	return ofs_io_write_file(dirfd, NOTICE, text.data, text.len);
}

int ofs_damage_read(int dirfd, struct ofs_buf *out)
{
	return ofs_io_read_file(dirfd, NOTICE, NOTICE_MAX, out);
}

int ofs_damage_retire(int dirfd)
{
	char name[sizeof(NOTICE) + 32];

	snprintf(name, sizeof(name), NOTICE ".%lld", (long long)time(NULL));
	return ofs_io_rename(dirfd, NOTICE, name);
}
