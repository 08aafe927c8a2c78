/* SPDX-License-Identifier: MIT */
#include "cli/checks.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <offloadfs/config.h>

#include "base/text.h"
#include "base/util.h"
#include "context/settings.h"
#include "index/index.h"
#include "index/schema.h"
#include "index/vfs.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/path.h"
#include "journal/segment.h"
#include "store/owner.h"

#define MIB (UINT64_C(1) << 20)
#define SPACE_LITTLE (1024 * MIB)
/* The engine's reserve and a checkpoint or two. */
#define SPACE_TOO_LITTLE (32 * MIB)

struct store {
	struct ofs_findings *findings;
	const char *path;
	char *word; /* the path as a word of a shell's command line */
	int dirfd; /* -1: it cannot be looked into */
	bool held; /* somebody has it open */
};

static void store_finish(struct store *s)
{
	free(s->word);
	ofs_io_close(&s->dirfd);
}

/* ---- the directory */

static const char *store_user(uid_t uid, char ret[64])
{
	struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(ret, 64, "%s", user->pw_name);
	else
		snprintf(ret, 64, "user %u", (unsigned int)uid);
	return ret;
}

static void check_owner(struct store *s, const struct stat *st)
{
	char owner[64];

	if (st->st_uid == geteuid())
		return;
	store_user(st->st_uid, owner);
	ofs_findings_add(s->findings, geteuid() == 0 ? OFS_STATE_WARNING : OFS_STATE_PROBLEM,
			 "owner", "the store belongs to %s", owner);
	ofs_findings_advise(s->findings,
			    "run this as %s: what others write there its owner "
			    "cannot read",
			    owner);
}

/* Whether there is a directory to look into. */
static bool check_directory(struct store *s)
{
	struct stat st;

	if (stat(s->path, &st) < 0 && errno == ENOENT) {
		ofs_findings_add(s->findings, OFS_STATE_NOTE, "store", "%s is not made yet",
				 s->path);
		ofs_findings_advise(s->findings, "offload up, put and run make it");
		return false;
	}
	s->dirfd = ofs_io_open(AT_FDCWD, s->path, O_RDONLY | O_DIRECTORY, 0);
	if (s->dirfd < 0 || fstat(s->dirfd, &st) < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "store", "%s cannot be opened: %s",
				 s->path, strerror(-s->dirfd));
		ofs_findings_advise(s->findings, "name a store of your own with --store, or give "
						 "yourself rights to this one");
		return false;
	}
	if (st.st_mode & 077) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "store",
				 "%s has mode %04o: others can look into it", s->path,
				 (unsigned int)st.st_mode & 07777);
		ofs_findings_advise(s->findings, "chmod 700 %s", s->word);
	} else if (faccessat(s->dirfd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0 && errno == EROFS) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "store",
				 "%s lies on a filesystem mounted read-only", s->path);
		ofs_findings_advise(s->findings, "mount it rw, or name another store with --store");
	} else if (faccessat(s->dirfd, ".", R_OK | W_OK | X_OK, AT_EACCESS) < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "store",
				 "%s: you may not write there", s->path);
		ofs_findings_advise(s->findings, "chmod 700 %s", s->word);
	} else {
		ofs_findings_add(s->findings, OFS_STATE_OK, "store", "%s", s->path);
	}
	check_owner(s, &st);
	return true;
}

/* ---- who has it open */

static void tell_owner(struct store *s)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	struct ofs_owner owner;

	ofs_owner_read(s->dirfd, &owner);
	if (!owner.pid) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "lock", "in use");
	} else if (strcmp(owner.mountpoint, "-") == 0) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "lock",
				 "in use by process %ld, not mounted", owner.pid);
	} else if (ofs_mounts_read(NULL, &mounts) == 0 &&
		   ofs_mounts_at(&mounts, owner.mountpoint)) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "lock",
				 "in use by process %ld, mounted at %s", owner.pid,
				 owner.mountpoint);
	} else {
		ofs_findings_add(
			s->findings, OFS_STATE_WARNING, "lock",
			"in use by process %ld, whose mount at %s is not to be seen from here",
			owner.pid, owner.mountpoint);
		ofs_findings_advise(s->findings,
				    "wait until it has closed the store, or look in the other "
				    "container or mount namespace that has the mount");
	}
}

static void check_lock(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "lock", O_RDONLY, 0);

	if (fd == -ENOENT) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "lock", "nobody has the store open");
	} else if (fd < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "lock",
				 "the lock cannot be opened: %s", strerror(-fd));
		ofs_findings_advise(s->findings, "chmod 600 %s/lock", s->word);
	} else if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		/* Shared, and gone when the file is closed: an owner that starts now waits for it. */
		s->held = true;
		tell_owner(s);
	} else {
		ofs_findings_add(s->findings, OFS_STATE_OK, "lock", "nobody has the store open");
	}
}

/* ---- the format */

static int note_any(void *arg, const char *name)
{
	(void)name;
	*(bool *)arg = true;
	return 1;
}

/* No index: has it never been made, or did it get lost? */
static void check_missing_index(struct store *s)
{
	bool content = false;

	ofs_io_list(s->dirfd, "journal", note_any, &content);
	ofs_io_list(s->dirfd, "packs", note_any, &content);
	if (!content) {
		ofs_findings_add(s->findings, OFS_STATE_NOTE, "format", "nothing is stored yet");
		ofs_findings_advise(s->findings, "offload up, put and run begin it");
		return;
	}
	ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "format",
			 "index.db is missing, but the store has content");
	ofs_findings_advise(s->findings, "put index.db back from a backup");
}

/* The head of the database file: where SQLite keeps what `PRAGMA` gives by these names. */
struct head {
	uint8_t magic[16];
	uint8_t rest[44];
	uint32_t user_version;
	uint32_t vacuum;
	uint32_t application_id;
};

/* A database that was just made may have all but its first bytes in its log still. */
static bool is_begun(const struct store *s, const char *log)
{
	struct stat st;

	return fstatat(s->dirfd, log, &st, 0) == 0 && st.st_size > 0;
}

/* Whether it is the head of a database with that application_id. */
static bool is_database(const struct head *h, uint32_t application)
{
	return memcmp(h->magic, "SQLite format 3", sizeof(h->magic)) == 0 &&
	       be32toh(h->application_id) == application;
}

static void check_format(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "index.db", O_RDONLY, 0);
	uint32_t application, format;
	struct head h = { 0 };

	if (fd == -ENOENT) {
		check_missing_index(s);
		return;
	}
	if (fd < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "format",
				 "index.db cannot be opened: %s", strerror(-fd));
		ofs_findings_advise(s->findings, "chmod 600 %s/index.db", s->word);
		return;
	}
	ofs_io_pread(fd, &h, sizeof(h), 0);
	application = be32toh(h.application_id);
	format = be32toh(h.user_version);
	if (!is_database(&h, OFS_INDEX_APPLICATION) &&
	    !(is_database(&h, 0) && is_begun(s, "index.db-wal"))) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "format",
				 "index.db is damaged, or no index of offloadfs");
		ofs_findings_advise(s->findings, "put index.db back from a backup");
	} else if (application == 0) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "format", "the index is being made");
	} else if (format < OFS_INDEX_FORMAT_OLD || format > OFS_INDEX_FORMAT) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "format",
				 "%u, and offloadfs " OFS_VERSION " understands %d to %d", format,
				 OFS_INDEX_FORMAT_OLD, OFS_INDEX_FORMAT);
		ofs_findings_advise(s->findings,
				    "use the version of offloadfs that made the store");
	} else if (format != OFS_INDEX_FORMAT) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "format",
				 "%u, to become %d when it is next opened", format,
				 OFS_INDEX_FORMAT);
	} else {
		ofs_findings_add(s->findings, OFS_STATE_OK, "format", "%u", format);
	}
}

/* ---- the configuration */

static void check_context(struct store *s)
{
	OFS_CLEANUP(ofs_settings_finish) struct ofs_settings settings;
	struct ofs_error err;

	ofs_settings_init(&settings);
	if (ofs_settings_load_store(&settings, s->path, &err) < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "context", "%s", err.text);
		ofs_findings_advise(s->findings, "correct or remove it: offload(1) lists the keys");
	} else if (faccessat(s->dirfd, "context.ini", F_OK, 0) == 0) {
		ofs_findings_add(s->findings, OFS_STATE_OK, "context", "context.ini is valid");
	}
}

/* Returns how large the journal may become. */
static uint64_t check_config(struct store *s)
{
	struct ofs_config *config = ofs_config_create();
	struct ofs_error err;
	uint64_t journal_max;

	if (ofs_config_load_store(config, s->path, &err) < 0) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "config", "%s", err.text);
		ofs_findings_advise(s->findings, "correct or remove it: nothing can open the store "
						 "before; offloadfs --help lists the keys");
	} else {
		ofs_findings_add(s->findings, OFS_STATE_OK, "config", "%s",
				 faccessat(s->dirfd, "config.ini", F_OK, 0) == 0
					 ? "config.ini is valid"
					 : "no config.ini: all defaults");
	}
	journal_max = ofs_config_get(config, "journal_max") * MIB;
	ofs_config_destroy(config);
	return journal_max;
}

/* ---- where it lies */

static const char *size_text(uint64_t bytes, char ret[32])
{
	double mb = (double)bytes / 1e6;

	snprintf(ret, 32, mb < 1000 ? "%.1f MB" : "%.1f GB", mb < 1000 ? mb : mb / 1000);
	return ret;
}

static void check_space(struct store *s)
{
	struct statvfs fs;
	uint64_t available;
	char size[32];

	if (fstatvfs(s->dirfd, &fs) < 0)
		return;
	available = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (fs.f_files && !fs.f_favail) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "space",
				 "no inode is free on its filesystem");
		ofs_findings_advise(s->findings, "remove files there");
		return;
	}
	ofs_findings_add(s->findings,
			 available < SPACE_TOO_LITTLE ? OFS_STATE_PROBLEM
			 : available < SPACE_LITTLE   ? OFS_STATE_WARNING
						      : OFS_STATE_OK,
			 "space", "%s free", size_text(available, size));
	if (available < SPACE_LITTLE)
		ofs_findings_advise(s->findings, "make room on its filesystem, by removing files "
						 "from the tree, too");
}

enum kind {
	KIND_DISK,
	KIND_MEMORY,
	KIND_REMOTE,
	KIND_LAYER,
	KIND_FUSE,
	KIND_FAT
};

static const struct {
	uint32_t magic;
	const char *name;
	enum kind kind;
} filesystems[] = {
	{ EXT4_SUPER_MAGIC, "ext4", KIND_DISK },
	{ XFS_SUPER_MAGIC, "XFS", KIND_DISK },
	{ BTRFS_SUPER_MAGIC, "Btrfs", KIND_DISK },
	{ F2FS_SUPER_MAGIC, "F2FS", KIND_DISK },
	{ 0x2fc12fc1, "ZFS", KIND_DISK },
	{ 0xca451a4e, "bcachefs", KIND_DISK },
	{ TMPFS_MAGIC, "tmpfs", KIND_MEMORY },
	{ RAMFS_MAGIC, "ramfs", KIND_MEMORY },
	{ NFS_SUPER_MAGIC, "NFS", KIND_REMOTE },
	{ SMB_SUPER_MAGIC, "SMB", KIND_REMOTE },
	{ CIFS_SUPER_MAGIC, "SMB", KIND_REMOTE },
	{ SMB2_SUPER_MAGIC, "SMB", KIND_REMOTE },
	{ V9FS_MAGIC, "9p", KIND_REMOTE },
	{ CEPH_SUPER_MAGIC, "Ceph", KIND_REMOTE },
	{ AFS_SUPER_MAGIC, "AFS", KIND_REMOTE },
	{ AFS_FS_MAGIC, "AFS", KIND_REMOTE },
	{ CODA_SUPER_MAGIC, "Coda", KIND_REMOTE },
	{ OVERLAYFS_SUPER_MAGIC, "overlayfs", KIND_LAYER },
	{ FUSE_SUPER_MAGIC, "FUSE", KIND_FUSE },
	{ MSDOS_SUPER_MAGIC, "FAT", KIND_FAT },
	{ EXFAT_SUPER_MAGIC, "exFAT", KIND_FAT },
};

static void check_filesystem(struct store *s)
{
	static const char *const doubts[] = {
		[KIND_MEMORY] = "in memory: gone after a restart of the machine",
		[KIND_REMOTE] = "not of this machine: locks and fsync may not hold",
		[KIND_LAYER] = "a layer of a container: gone with it",
		[KIND_FUSE] = "a program's: locks and fsync may not hold",
		[KIND_FAT] = "without owners and modes: others can read what is stored",
	};
	struct statfs fs;

	if (fstatfs(s->dirfd, &fs) < 0)
		return;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(filesystems); i++) {
		if (filesystems[i].magic != (uint32_t)fs.f_type)
			continue;
		if (filesystems[i].kind == KIND_DISK) {
			ofs_findings_add(s->findings, OFS_STATE_OK, "filesystem", "%s",
					 filesystems[i].name);
			return;
		}
		ofs_findings_add(s->findings, OFS_STATE_WARNING, "filesystem", "%s, %s",
				 filesystems[i].name, doubts[filesystems[i].kind]);
		ofs_findings_advise(s->findings, "keep the store on a local disk: --store DIR, or "
						 "XDG_DATA_HOME");
		return;
	}
	ofs_findings_add(s->findings, OFS_STATE_OK, "filesystem", "of type 0x%x",
			 (unsigned int)fs.f_type);
}

/* ---- the journal */

struct journal {
	int dirfd;
	uint64_t bytes;
	bool is_foreign; /* a segment has another format than ours: this one */
	uint32_t foreign;
};

/* One may go while it is looked at: that is nothing to tell. */
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
	    format != OFS_SEGMENT_FORMAT) {
		j->is_foreign = true;
		j->foreign = format;
	}
	return 0;
}

static void check_journal(struct store *s, uint64_t max)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "journal", O_RDONLY | O_DIRECTORY, 0);
	struct journal j = { .dirfd = fd };
	char size[32], limit[32];

	if (fd < 0)
		return;
	ofs_io_list(fd, ".", look_at_segment, &j);
	if (j.is_foreign) {
		ofs_findings_add(s->findings, OFS_STATE_PROBLEM, "journal",
				 "format %u, and offloadfs " OFS_VERSION " understands %u",
				 j.foreign, OFS_SEGMENT_FORMAT);
		ofs_findings_advise(s->findings,
				    "use the version of offloadfs that made the store");
		return;
	}
	ofs_findings_add(s->findings, j.bytes > max ? OFS_STATE_WARNING : OFS_STATE_OK, "journal",
			 "%s on disk, %s at most: then writers wait", size_text(j.bytes, size),
			 size_text(max, limit));
	if (j.bytes > max)
		ofs_findings_advise(s->findings,
				    s->held ? "journalctl -t offloadfs: why it is not sealed"
					    : "offload up seals it");
}

/* ---- the search index */

/* Derived from the rest: nothing that is wrong with it is worse than waiting for another. */
static void check_search(struct store *s)
{
	OFS_CLOSE int fd = ofs_io_open(s->dirfd, "search.db", O_RDONLY | O_NONBLOCK, 0);
	struct head h = { 0 };
	struct stat st;
	char size[32];

	if (fd == -ENOENT)
		return;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		ofs_findings_add(s->findings, OFS_STATE_WARNING, "search",
				 "search.db cannot be used: %s",
				 fd < 0 ? strerror(-fd) : "it is no regular file");
		ofs_findings_advise(s->findings, "remove it: it is built anew");
		return;
	}
	ofs_io_pread(fd, &h, sizeof(h), 0);
	if (st.st_size && !is_database(&h, OFS_FTS_APPLICATION) &&
	    !(is_database(&h, 0) && is_begun(s, "search.db-wal"))) {
		ofs_findings_add(s->findings, OFS_STATE_NOTE, "search",
				 "search.db is damaged, or no search index of offloadfs");
		ofs_findings_advise(s->findings, "nothing: it is built anew when it is next used");
		return;
	}
	ofs_findings_add(s->findings, OFS_STATE_OK, "search", "index of %s",
			 size_text((uint64_t)st.st_blocks * 512, size));
}

void ofs_check_store(struct ofs_findings *f, const char *store)
{
	OFS_CLEANUP(store_finish)
	struct store s = {
		.findings = f,
		.path = store,
		.word = ofs_text_command((const char *const[]){ store, NULL }),
		.dirfd = -1,
	};
	uint64_t journal_max;

	if (!check_directory(&s))
		return;
	check_lock(&s);
	check_format(&s);
	journal_max = check_config(&s);
	check_context(&s);
	check_space(&s);
	check_filesystem(&s);
	check_journal(&s, journal_max);
	check_search(&s);
}
