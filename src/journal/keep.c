/* SPDX-License-Identifier: MIT */
/* Copies a damaged log, so that more can be recovered from it later. */
#include <fcntl.h>

#include "io/file.h"
#include "journal/segment.h"

static int keep_segment(int dirfd, ofs_lsn first, ofs_lsn from, int to)
{
	char name[OFS_SEGMENT_NAME_SIZE];
	OFS_CLOSE int in = -1, out = -1;

	ofs_segment_name(first, name);
	in = ofs_io_open(dirfd, name, O_RDONLY, 0);
	if (in < 0)
		return in;
	out = ofs_io_open(to, name, O_WRONLY | O_CREAT, 0600);
	if (out < 0)
		return out;
	return ofs_io_copy(in, out, from > first ? from - first : 0);
}

int ofs_journal_keep(int dirfd, ofs_lsn from, int to)
{
	struct ofs_segment_list l = { 0 };
	int r = ofs_segment_list_names(&l, dirfd);
	ptrdiff_t at;

	at = ofs_segment_list_find(&l, from);
	for (size_t i = at < 0 ? 0 : (size_t)at; i < l.n && r == 0; i++)
		r = keep_segment(dirfd, l.at[i]->first, from, to);
	ofs_segment_list_finish(&l);
	return r < 0 ? r : ofs_io_sync(to);
}
