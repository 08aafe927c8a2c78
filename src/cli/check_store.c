/* SPDX-License-Identifier: MIT */
/* Checks of `offload doctor` on a store: its directory, lock, format, settings and disk. */
#include "cli/checks.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <offloadfs/config.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/util.h"
#include "context/settings.h"
#include "index/index.h"
#include "index/schema.h"
#include "index/vfs.h"
#include "io/file.h"
#include "io/mounts.h"
#include "journal/segment.h"
#include "store/owner.h"

#define OTHER_VERSION "\n-> use the version of offloadfs that made the store"
#define PROC_MAX 4096
#define MIB (UINT64_C(1) << 20)
#define SPACE_LITTLE (1024 * MIB)
/* The store's reserve and a checkpoint or two. */
#define SPACE_TOO_LITTLE (32 * MIB)

struct store {
	const char *path;
	char *word; /* the path, quoted for a shell */
	int dirfd; /* -1: the store cannot be examined */
	bool mounted;
	bool held; /* somebody has the store open */
};

/* ---- the directory */

static void check_owner(struct store *s, uid_t uid)
{
	struct passwd *user = getpwuid(uid);
	OFS_FREE char *owner = user ? ofs_strdup(user->pw_name) : ofs_format("user %u", uid);

	if (uid != geteuid())
		ofs_found(geteuid() == 0 ? OFS_WARNING : OFS_PROBLEM, "owner",
			  "the store belongs to %s\n"
			  "-> run this as %s: the owner cannot read what others write there",
			  owner, owner);
}

/* Returns false if there is no directory to examine. */
static bool check_directory(struct store *s)
{
	struct stat st;
	int denied, r;

	if (stat(s->path, &st) < 0 && errno == ENOENT) {
		if (s->mounted)
			ofs_found(OFS_PROBLEM, "store",
				  "%s is gone, but its daemon still serves it\n"
				  "-> if it was moved, move it back; else offload down, and put a "
				  "backup there",
				  s->path);
		else
			ofs_found(OFS_NOTE, "store",
				  "%s does not exist yet\n-> offload up, put and run create it",
				  s->path);
		return false;
	}
	s->dirfd = ofs_io_open(AT_FDCWD, s->path, O_RDONLY | O_DIRECTORY, 0);
	r = s->dirfd < 0 ? s->dirfd : fstat(s->dirfd, &st) < 0 ? -errno : 0;
	if (r < 0) {
		ofs_found(OFS_PROBLEM, "store",
			  "%s cannot be opened: %s\n"
			  "-> name a store of your own with --store, or give yourself rights to "
			  "this one",
			  s->path, strerror(-r));
		return false;
	}
	denied = faccessat(s->dirfd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
	if (st.st_mode & 077)
		ofs_found(OFS_PROBLEM, "store",
			  "%s has mode %04o: others can look into it\n-> chmod 700 %s", s->path,
			  (unsigned int)st.st_mode & 07777, s->word);
	else if (denied == EROFS)
		ofs_found(OFS_PROBLEM, "store",
			  "%s lies on a filesystem mounted read-only\n"
			  "-> mount it rw, or name another store with --store",
			  s->path);
	else if (denied)
		ofs_found(OFS_PROBLEM, "store", "%s: you may not write there\n-> chmod 700 %s",
			  s->path, s->word);
	else
		ofs_found(OFS_FINE, "store", "%s", s->path);
	check_owner(s, st.st_uid);
	return true;
}

/* ---- the files in it */

struct open_files {
	int dirfd;
	const char *dir; /* its name in the finding, with a slash */
	size_t count;
	char *first;
};

/* Settings are not checked: they are written by hand and hold no content. */
static int look_at_mode(void *arg, const char *name)
{
	struct open_files *o = arg;
	struct stat st;

	if (fnmatch("*.ini", name, 0) == 0)
		return 0;
	if (fstatat(o->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode) ||
	    !(st.st_mode & 077))
		return 0;
	if (!o->count++)
		o->first = ofs_format("%s%s (mode %04o)", o->dir, name, st.st_mode & 07777u);
	return 0;
}

/* If a file has an ACL, the group bits of its mode are the mask: 0 if it lets nobody in. */
static void check_modes(struct store *s)
{
	static const char *const folders[] = { "",     "journal/",   "packs/", "quarantine/",
					       "log/", "log/agents/" };
	struct open_files o = { .dirfd = -1 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(folders); i++) {
		OFS_CLOSE int fd =
			ofs_io_open_beneath(s->dirfd, folders[i], O_RDONLY | O_DIRECTORY, 0);

		o.dirfd = fd;
		o.dir = folders[i];
		if (fd >= 0)
			ofs_io_list(fd, ".", look_at_mode, &o);
	}
	if (o.count)
		ofs_found(OFS_WARNING, "modes",
			  "%s: only the mode of the directory above keeps others from it%s\n"
			  "-> chmod -R go= %s",
			  o.first, o.count > 1 ? ", and from more files" : "", s->word);
	free(o.first);
}

/* ---- the lock */

/* Returns true if the process was stopped by SIGSTOP or a debugger. */
static bool is_stopped(long pid)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf stat = OFS_BUF_INIT;
	OFS_FREE char *path = ofs_format("/proc/%ld/stat", pid);
	const char *state;

	if (ofs_io_read_file(AT_FDCWD, path, PROC_MAX, &stat) < 0)
		return false;
	state = strrchr(ofs_buf_str(&stat), ')'); /* after the name */
	return state && (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}

static void tell_owner(struct store *s)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	struct ofs_owner owner;

	ofs_owner_read(s->dirfd, &owner);
	if (!owner.pid)
		ofs_found(OFS_FINE, "lock", "in use");
	else if (is_stopped(owner.pid))
		ofs_found(OFS_PROBLEM, "lock",
			  "in use by process %ld, which is stopped\n-> kill -CONT %ld", owner.pid,
			  owner.pid);
	else if (strcmp(owner.mountpoint, "-") == 0)
		ofs_found(OFS_FINE, "lock", "in use by process %ld, not mounted", owner.pid);
	else if (ofs_mounts_read(NULL, &mounts) == 0 && ofs_mounts_at(&mounts, owner.mountpoint))
		ofs_found(OFS_FINE, "lock", "in use by process %ld, mounted at %s", owner.pid,
			  owner.mountpoint);
	else
		ofs_found(
			OFS_WARNING, "lock",
			"in use by process %ld, whose mount at %s cannot be seen from here\n"
			"-> wait until it has closed the store, or look in the other container or "
			"mount namespace that has the mount",
			owner.pid, owner.mountpoint);
}

static void check_lock(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "lock", O_RDONLY, 0);
	struct ofs_owner owner;

	ofs_owner_read(s->dirfd, &owner);
	if (fd < 0 && fd != -ENOENT) {
		ofs_found(OFS_PROBLEM, "lock",
			  "the lock cannot be opened: %s\n-> chmod 600 %s/lock", strerror(-fd),
			  s->word);
	} else if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0) {
		/* The lock is shared and ends with the file: an owner that starts waits for it. */
		s->held = true;
		tell_owner(s);
	} else if (owner.pid) {
		ofs_found(
			OFS_NOTE, "lock",
			"nobody has the store open; process %ld, which had it last, was killed or "
			"could not write everything\n"
			"-> offload up: it recovers what is in the journal",
			owner.pid);
	} else {
		ofs_found(OFS_FINE, "lock", "nobody has the store open");
	}
}

/* ---- the format */

static int note_any(void *arg, const char *name)
{
	(void)name;
	*(bool *)arg = true;
	return 1;
}

/* Reports a missing index, which was never made or is lost. */
static void check_missing_index(struct store *s)
{
	bool content = false;

	ofs_io_list(s->dirfd, "journal", note_any, &content);
	ofs_io_list(s->dirfd, "packs", note_any, &content);
	if (content)
		ofs_found(OFS_PROBLEM, "format",
			  "index.db is missing, but the store has content\n"
			  "-> put index.db back from a backup");
	else
		ofs_found(OFS_NOTE, "format",
			  "nothing is stored yet\n-> offload up, put and run create the index");
}

/* The header of a database file, in which SQLite keeps what PRAGMA gives by these names. */
struct head {
	uint8_t magic[16];
	uint8_t rest[44];
	uint32_t user_version;
	uint32_t vacuum;
	uint32_t application_id;
};

/*
 * Reads the header. Returns true for a database with that application_id. A new database has 0, and
 * all but its first bytes may still be in its log.
 */
static bool read_head(const struct store *s, int fd, const char *log, uint32_t application,
		      struct head *ret)
{
	struct stat st;

	*ret = (struct head){ 0 };
	ofs_io_pread(fd, ret, sizeof(*ret), 0);
	ret->application_id = be32toh(ret->application_id);
	ret->user_version = be32toh(ret->user_version);
	if (memcmp(ret->magic, "SQLite format 3", sizeof(ret->magic)) != 0)
		return false;
	return ret->application_id == application ||
	       (ret->application_id == 0 && fstatat(s->dirfd, log, &st, 0) == 0 && st.st_size > 0);
}

static void check_format(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "index.db", O_RDONLY, 0);
	struct head h;

	if (fd == -ENOENT)
		check_missing_index(s);
	else if (fd < 0)
		ofs_found(OFS_PROBLEM, "format",
			  "index.db cannot be opened: %s\n-> chmod 600 %s/index.db", strerror(-fd),
			  s->word);
	else if (!read_head(s, fd, "index.db-wal", OFS_INDEX_APPLICATION, &h))
		ofs_found(OFS_PROBLEM, "format",
			  "index.db is damaged, or not an index of offloadfs\n"
			  "-> put index.db back from a backup");
	else if (h.application_id == 0)
		ofs_found(OFS_FINE, "format", "the index is being made");
	else if (h.user_version < OFS_INDEX_FORMAT_OLD || h.user_version > OFS_INDEX_FORMAT)
		ofs_found(OFS_PROBLEM, "format",
			  "%u, and offloadfs " OFS_VERSION " understands %d to %d" OTHER_VERSION,
			  h.user_version, OFS_INDEX_FORMAT_OLD, OFS_INDEX_FORMAT);
	else if (h.user_version != OFS_INDEX_FORMAT)
		ofs_found(OFS_FINE, "format", "%u, which becomes %d when the store is next opened",
			  h.user_version, OFS_INDEX_FORMAT);
	else
		ofs_found(OFS_FINE, "format", "%u", h.user_version);
}

/* ---- the configuration */

static void check_context(struct store *s)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings = { 0 };
	struct ofs_error err;

	ofs_settings_init(&settings);
	if (ofs_settings_load(&settings, s->path, &err) < 0)
		ofs_found(OFS_PROBLEM, "context",
			  "%s\n-> correct or remove it: offloadfs-context(5) lists the keys",
			  err.text);
	else if (faccessat(s->dirfd, "context.ini", F_OK, 0) == 0)
		ofs_found(OFS_FINE, "context", "context.ini is valid");
}

/* Also loads the configuration. */
static void check_config(struct store *s, struct ofs_config *config)
{
	struct ofs_error err;

	if (ofs_config_load_store(config, s->path, &err) < 0)
		ofs_found(OFS_PROBLEM, "config",
			  "%s\n-> correct or remove it: nothing can open the store until then; "
			  "offloadfs --help lists the keys",
			  err.text);
	else
		ofs_found(OFS_FINE, "config", "%s",
			  faccessat(s->dirfd, "config.ini", F_OK, 0) == 0
				  ? "config.ini is valid"
				  : "no config.ini: all defaults");
}

/* ---- the filesystem below */

struct size {
	char text[32];
};

static struct size size_of(uint64_t bytes)
{
	double mb = (double)bytes / 1e6;
	struct size s;

	snprintf(s.text, sizeof(s.text), mb < 1000 ? "%.1f MB" : "%.1f GB",
		 mb < 1000 ? mb : mb / 1000);
	return s;
}

static void check_space(struct store *s)
{
	struct statvfs fs;
	uint64_t available;

	if (fstatvfs(s->dirfd, &fs) < 0)
		return;
	available = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fs.f_files && !fs.f_favail)
		ofs_found(OFS_PROBLEM, "space",
			  "no inode is free on its filesystem\n-> remove files there");
	else if (available < SPACE_LITTLE)
		ofs_found(available < SPACE_TOO_LITTLE ? OFS_PROBLEM : OFS_WARNING, "space",
			  "%s free\n-> make room on its filesystem, also by removing files from "
			  "the tree",
			  size_of(available).text);
	else
		ofs_found(OFS_FINE, "space", "%s free", size_of(available).text);
}

#define IN_MEMORY "in memory: gone after a restart of the machine"
#define REMOTE "on another machine: locks and fsync may not be reliable"
#define IN_FAT "without owners and modes: others can read what is stored"

static const struct {
	uint32_t magic;
	const char *name;
	const char *doubt; /* NULL: none */
} filesystems[] = {
	{ EXT4_SUPER_MAGIC, "ext4", NULL },
	{ XFS_SUPER_MAGIC, "XFS", NULL },
	{ BTRFS_SUPER_MAGIC, "Btrfs", NULL },
	{ F2FS_SUPER_MAGIC, "F2FS", NULL },
	{ 0x2fc12fc1, "ZFS", NULL },
	{ TMPFS_MAGIC, "tmpfs", IN_MEMORY },
	{ RAMFS_MAGIC, "ramfs", IN_MEMORY },
	{ NFS_SUPER_MAGIC, "NFS", REMOTE },
	{ SMB_SUPER_MAGIC, "SMB", REMOTE },
	{ CIFS_SUPER_MAGIC, "SMB", REMOTE },
	{ SMB2_SUPER_MAGIC, "SMB", REMOTE },
	{ V9FS_MAGIC, "9p", REMOTE },
	{ CEPH_SUPER_MAGIC, "Ceph", REMOTE },
	{ AFS_FS_MAGIC, "AFS", REMOTE },
	{ OVERLAYFS_SUPER_MAGIC, "overlayfs", "a layer of a container: gone with it" },
	{ FUSE_SUPER_MAGIC, "FUSE", "served by a program: locks and fsync may not be reliable" },
	{ MSDOS_SUPER_MAGIC, "FAT", IN_FAT },
	{ EXFAT_SUPER_MAGIC, "exFAT", IN_FAT },
};

static void check_filesystem(struct store *s)
{
	struct statfs fs;
	size_t i = 0;

	if (fstatfs(s->dirfd, &fs) < 0)
		return;
	while (i < OFS_ARRAY_SIZE(filesystems) && filesystems[i].magic != (uint32_t)fs.f_type)
		i++;
	if (i == OFS_ARRAY_SIZE(filesystems))
		ofs_found(OFS_FINE, "filesystem", "of type 0x%x", (unsigned int)fs.f_type);
	else if (filesystems[i].doubt)
		ofs_found(
			OFS_WARNING, "filesystem",
			"%s, %s\n-> keep the store on a local disk: --store DIR, or XDG_DATA_HOME",
			filesystems[i].name, filesystems[i].doubt);
	else
		ofs_found(OFS_FINE, "filesystem", "%s", filesystems[i].name);
}

/* ---- the journal */

struct journal {
	int dirfd;
	uint64_t bytes;
	uint32_t foreign; /* format of a segment that is not ours; 0: none */
};

/* A segment may be removed in the meantime, which is not a finding. */
static int look_at_segment(void *arg, const char *name)
{
	struct journal *j = arg;
	OFS_CLOSE int fd = ofs_io_open(j->dirfd, name, O_RDONLY | O_NONBLOCK, 0);
	uint8_t head[OFS_SEGMENT_HEADER] = { 0 };
	uint32_t format;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	j->bytes += (uint64_t)st.st_blocks * 512;
	ofs_io_pread(fd, head, sizeof(head), 0);
	if (ofs_segment_is_sound(head, ofs_get_le64(head + 32), &format) &&
	    format != OFS_SEGMENT_FORMAT)
		j->foreign = format;
	return 0;
}

static void check_journal(struct store *s, uint64_t max)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "journal", O_RDONLY | O_DIRECTORY, 0);
	struct journal j = { .dirfd = fd };
	bool full;

	if (fd < 0)
		return;
	ofs_io_list(fd, ".", look_at_segment, &j);
	full = j.bytes > max;
	if (j.foreign)
		ofs_found(OFS_PROBLEM, "journal",
			  "format %u, and offloadfs " OFS_VERSION " understands %u" OTHER_VERSION,
			  j.foreign, OFS_SEGMENT_FORMAT);
	else
		ofs_found(full ? OFS_WARNING : OFS_FINE, "journal",
			  "%s on disk, %s at most: then writers wait%s", size_of(j.bytes).text,
			  size_of(max).text,
			  !full	    ? ""
			  : s->held ? "\n-> journalctl -t offloadfs says why it is not sealed"
				    : "\n-> offload up seals it");
}

/* ---- the search index */

/* The search index is derived from the rest, so it can always be rebuilt. */
static void check_search(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "search.db", O_RDONLY | O_NONBLOCK, 0);
	struct head h;
	struct stat st;

	if (fd == -ENOENT)
		return;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		ofs_found(OFS_WARNING, "search",
			  "search.db cannot be used: %s\n-> remove it: it will be rebuilt",
			  fd < 0 ? strerror(-fd) : "it is not a regular file");
	else if (st.st_size && !read_head(s, fd, "search.db-wal", OFS_FTS_APPLICATION, &h))
		ofs_found(OFS_NOTE, "search",
			  "search.db is damaged, or not a search index of offloadfs\n"
			  "-> nothing to do: it is rebuilt when it is next used");
	else
		ofs_found(OFS_FINE, "search", "index of %s",
			  size_of((uint64_t)st.st_blocks * 512).text);
}

void ofs_check_store(const char *store, bool mounted)
{
	OFS_FREE char *word = ofs_text_command((const char *const[]){ store, NULL });
	struct store s = { .path = store, .word = word, .dirfd = -1, .mounted = mounted };

	if (check_directory(&s)) {
		struct ofs_config *config = ofs_config_create();

		check_modes(&s);
		check_lock(&s);
		check_format(&s);
		check_config(&s, config);
		check_context(&s);
		check_space(&s);
		check_filesystem(&s);
		check_journal(&s, ofs_config_get(config, "journal_max") * MIB);
		check_search(&s);
		ofs_check_choices(s.dirfd, config);
		ofs_config_destroy(config);
	}
	ofs_io_close(&s.dirfd);
}
