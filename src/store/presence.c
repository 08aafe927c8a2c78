/* SPDX-License-Identifier: MIT */
#include "store/presence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"
#include "io/path.h"
#include "store/store_state.h"

/* Time between checks, each of which takes a few microseconds. */
#define LOOK_NS (10 * OFS_NS_PER_MS)

#define REMOVED " of the store was removed or replaced"

static const struct {
	const char *name; /* in the store */
	const char *gone;
} parts[OFS_PRESENCE_PARTS] = {
	{ ".", "the store was moved, or another one is in its place" },
	{ "lock", "'lock'" REMOVED },
	{ "index.db", "'index.db'" REMOVED },
	{ "index.db-wal", "'index.db-wal'" REMOVED },
	{ "journal", "'journal'" REMOVED },
	{ "packs", "'packs'" REMOVED },
};

/*
 * Gets the identity of a part; the store's directory is looked up by its path. 0 or -errno. The
 * times are not asked for: since Linux 6.13 a file whose times were seen gets new ones with each
 * write, which costs ext4 more than the check.
 */
static int identify(struct ofs_store *s, size_t part, struct ofs_presence_part *ret)
{
	struct statx st;
	int r = part ? statx(s->dirfd, parts[part].name, AT_SYMLINK_NOFOLLOW, STATX_INO, &st)
		     : statx(AT_FDCWD, s->presence.path, 0, STATX_INO, &st);

	if (r < 0)
		return ofs_errno();
	*ret = (struct ofs_presence_part){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.ino = st.stx_ino,
	};
	return 0;
}

void ofs_presence_start(struct ofs_store *s, const char *path)
{
	struct ofs_presence *p = &s->presence;

	p->path = ofs_path_absolute(path);
	for (size_t i = 0; p->path && i < OFS_PRESENCE_PARTS; i++)
		identify(s, i, &p->parts[i]);
}

/* An error of another kind, such as a directory above that cannot be searched, proves nothing. */
static bool is_gone(struct ofs_store *s, size_t part)
{
	const struct ofs_presence_part *was = &s->presence.parts[part];
	struct ofs_presence_part is;
	int r = identify(s, part, &is);

	if (!was->ino)
		return false;
	return r == 0 ? is.dev != was->dev || is.ino != was->ino : r == -ENOENT || r == -ENOTDIR;
}

/* Returns what is wrong; NULL: nothing. */
static const char *look(struct ofs_store *s)
{
	struct statvfs fs;
	int fault;

	if (ofs_io_is_kept(s->dirfd, 0) < 0)
		return "the store was deleted";
	for (size_t i = 0; i < OFS_PRESENCE_PARTS; i++)
		if (is_gone(s, i))
			return parts[i].gone;
	fault = ofs_journal_fault(s->journal);
	if (fault == -ESTALE)
		return "a file in 'journal'" REMOVED;
	if (fault == -ENODATA)
		return "a file in 'journal' was cut short";
	if (fault == -EROFS || (fstatvfs(s->dirfd, &fs) == 0 && fs.f_flag & ST_RDONLY))
		return OFS_STORE_ON_READ_ONLY;
	return fault ? "the journal could not be synced" : NULL;
}

void ofs_store_break(struct ofs_store *s, const char *why)
{
	if (atomic_exchange(&s->broken, why) != why)
		ofs_log(LOG_ERR, "nothing is written to the store any more: %s", why);
}

bool ofs_store_is_whole(struct ofs_store *s)
{
	const char *why = s->presence.path ? look(s) : NULL;

	s->presence.looked = ofs_clock_monotonic();
	if (why)
		ofs_store_break(s, why);
	return !s->broken;
}

bool ofs_store_was_whole(struct ofs_store *s)
{
	if (s->broken || ofs_clock_monotonic() - s->presence.looked < LOOK_NS)
		return !s->broken;
	return ofs_store_is_whole(s);
}
