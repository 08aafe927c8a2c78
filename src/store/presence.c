/* SPDX-License-Identifier: MIT */
#include "store/presence.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/path.h"
#include "store/store_state.h"

/* A look takes a few microseconds. */
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

/* The directory is looked for where it was opened. 0 or -errno. */
static int stat_part(struct ofs_store *s, size_t part, struct stat *ret)
{
	int r = part ? fstatat(s->dirfd, parts[part].name, ret, AT_SYMLINK_NOFOLLOW)
		     : stat(s->presence.path, ret);

	return r < 0 ? -errno : 0;
}

void ofs_presence_start(struct ofs_store *s, const char *path)
{
	struct ofs_presence *p = &s->presence;
	struct stat st;

	p->path = ofs_path_absolute(path);
	for (size_t i = 0; p->path && i < OFS_PRESENCE_PARTS; i++) {
		if (stat_part(s, i, &st) < 0)
			continue;
		p->parts[i].dev = st.st_dev;
		p->parts[i].ino = st.st_ino;
	}
}

/* An error of another kind, such as a closed directory above, tells nothing. */
static bool is_gone(struct ofs_store *s, size_t part)
{
	struct stat st;
	int r = stat_part(s, part, &st);

	if (!s->presence.parts[part].ino)
		return false;
	return r == 0 ? st.st_dev != s->presence.parts[part].dev ||
				st.st_ino != s->presence.parts[part].ino
		      : r == -ENOENT || r == -ENOTDIR;
}

/* NULL: nothing is wrong. */
static const char *look(struct ofs_store *s)
{
	struct statvfs fs;
	struct stat st;
	int fault;

	if (fstat(s->dirfd, &st) == 0 && !st.st_nlink)
		return "the store was deleted";
	for (size_t i = 0; i < OFS_PRESENCE_PARTS; i++)
		if (is_gone(s, i))
			return parts[i].gone;
	fault = ofs_journal_fault(s->journal);
	if (fault == -ESTALE)
		return "a file in 'journal'" REMOVED;
	if (fault == -EROFS || (fstatvfs(s->dirfd, &fs) == 0 && fs.f_flag & ST_RDONLY))
		return OFS_STORE_ON_READ_ONLY;
	return fault ? "the journal could not be synced" : NULL;
}

void ofs_store_break(struct ofs_store *s, const char *why)
{
	if (atomic_exchange(&s->broken, why) != why)
		ofs_log(LOG_ERR, "%s; nothing is written until the next start", why);
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
