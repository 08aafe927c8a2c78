/* SPDX-License-Identifier: MIT */
#include "cli/cover.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/path.h"

#define PROC "/proc"
/* Flags that must stay when a mount is changed: the kernel has locked those that are set. */
#define KEPT_FLAGS (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)

/* Filesystems that control the kernel. Root, or whoever was given a cgroup, may write to them. */
static const char *const kernel_types[] = {
	"sysfs", "cgroup",   "cgroup2",	 "debugfs", "tracefs",
	"bpf",	 "configfs", "efivarfs", "pstore",  "securityfs",
};

/* The devices that root has in a sandbox. Through others it could read the disk below the store. */
static const char *const devices[] = {
	"/dev/null",	"/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/console",
};

/* A path by which mount(2) reaches an open directory, whatever is renamed in the meantime. */
struct place_name {
	char text[32];
};

static struct place_name place_name(int fd)
{
	struct place_name name;

	snprintf(name.text, sizeof(name.text), "/proc/self/fd/%d", fd);
	return name;
}

/* A directory to hide: what a mount of it has as its device and root. */
struct hidden {
	char *device, *root;
};

/* The mounts, and the places to cover. */
struct look {
	const struct ofs_cover *c;
	struct ofs_error *err;
	struct ofs_mounts mounts;
	int tree_fd, agent_fd; /* roots of the tree and of the agent's */
	int tree_id; /* the mount that the agent's tree replaces */
	char *tree_device, *agent_root; /* of a mount of the agent's directory */
	struct hidden hidden[2]; /* the store and the folder of servers, as far as they are here */
	size_t n_hidden;
	int *places; /* descriptors of what to cover */
	size_t count;
	size_t cap;
};

static void look_finish(struct look *l)
{
	ofs_mounts_finish(&l->mounts);
	for (size_t i = 0; i < l->count; i++)
		close(l->places[i]);
	free(l->places);
	free(l->tree_device);
	free(l->agent_root);
	for (size_t i = 0; i < l->n_hidden; i++) {
		free(l->hidden[i].device);
		free(l->hidden[i].root);
	}
	ofs_io_close(&l->tree_fd);
	ofs_io_close(&l->agent_fd);
}

static int failed(struct look *l, int r, const char *what, const char *path)
{
	return ofs_error_set(l->err, -r, "cannot %s '%s': %s", what, path, strerror(-r));
}

/* ---- finding what to cover */

/* Returns the ID of the mount that an open file is on, or -errno. */
static int mount_of(int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0)
		return -errno;
	return st.stx_mask & STATX_MNT_ID ? (int)st.stx_mnt_id : -EOPNOTSUPP;
}

static const struct ofs_mount *find_mount(const struct ofs_mounts *m, int id)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].id == id)
			return &m->list[i];
	return NULL;
}

/* Opens `path` and finds its mount. The caller closes *ret_fd in any case. */
static int open_known(struct look *l, const char *path, int *ret_fd, const struct ofs_mount **ret)
{
	int fd = ofs_io_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
	int id = fd < 0 ? fd : mount_of(fd);

	*ret_fd = fd;
	*ret = id < 0 ? NULL : find_mount(&l->mounts, id);
	return *ret ? 0 : failed(l, id < 0 ? id : -ENOENT, "find the mount of", path);
}

/*
 * Opens what mount `m` shows at `path`. Returns -ENOENT if nobody in here can reach it by any path,
 * because another mount lies over it or a directory above it is closed.
 */
static int open_place(const struct ofs_mount *m, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	OFS_CLOSE int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	int id;

	if (fd < 0)
		return errno == EACCES || errno == ENOTDIR || errno == ENOTCONN ? -ENOENT : -errno;
	id = mount_of(fd);
	if (id < 0)
		return id;
	return id == m->id ? ofs_steal_fd(&fd) : -ENOENT;
}

/* True if all that a mount shows is to be hidden, whatever directory it is of. */
static bool hides_whole(const struct look *l, const struct ofs_mount *m)
{
	bool is_agent = strcmp(m->point, l->c->mountpoint) == 0 &&
			strcmp(m->root, l->agent_root) == 0;

	if (strcmp(m->device, l->tree_device) == 0)
		return !is_agent && m->id != l->tree_id;
	return (strcmp(m->type, "proc") == 0 && strcmp(m->point, PROC) != 0) ||
	       strcmp(m->type, "fusectl") == 0;
}

/* Returns the allocated path at which a mount shows the directory or a part of it, or NULL. */
static char *place_of(const struct hidden *h, const struct ofs_mount *m)
{
	const char *rest = ofs_path_below(m->root, h->root);

	if (strcmp(m->device, h->device) != 0)
		return NULL;
	if (rest)
		return ofs_path_join(m->point, rest);
	return ofs_path_below(h->root, m->root) ? ofs_strdup(m->point) : NULL;
}

static int add_place(struct look *l, const struct ofs_mount *m, const char *path)
{
	int fd = open_place(m, path);

	if (fd >= 0)
		*ofs_append(l->places, l->count, l->cap) = fd;
	return fd >= 0 || fd == -ENOENT ? 0 : failed(l, fd, "look at", path);
}

/* Opens all places before any is covered, because a cover may lie on the way to another place. */
static int find_places(struct look *l)
{
	int r = 0;

	for (size_t i = 0; i < l->mounts.count && r == 0; i++) {
		const struct ofs_mount *m = &l->mounts.list[i];

		if (hides_whole(l, m))
			r = add_place(l, m, m->point);
		for (size_t j = 0; j < l->n_hidden && r == 0; j++) {
			OFS_FREE char *path = place_of(&l->hidden[j], m);

			r = path ? add_place(l, m, path) : 0;
		}
	}
	return r;
}

/* Returns the allocated path by which the kernel knows an open directory, or NULL. */
static char *path_of(int fd)
{
	char path[PATH_MAX];
	ssize_t n = readlink(place_name(fd).text, path, sizeof(path));

	return n < 0 || n == sizeof(path) ? NULL : ofs_strndup(path, (size_t)n);
}

/* Adds a directory to hide, which must still be the one that was checked (NULL: any). */
static int hide(struct look *l, const char *dir, const struct stat *known)
{
	struct hidden *h = &l->hidden[l->n_hidden];
	const struct ofs_mount *m;
	OFS_FREE char *path = NULL;
	OFS_CLOSE int fd = -1;
	const char *rest;
	struct stat st;
	int r = open_known(l, dir, &fd, &m);

	if (r < 0)
		return r;
	path = path_of(fd);
	rest = path ? ofs_path_below(m->point, path) : NULL;
	if (!rest || fstat(fd, &st) < 0 ||
	    (known && (st.st_dev != known->st_dev || st.st_ino != known->st_ino)))
		return failed(l, -ESTALE, "hide", dir);
	*h = (struct hidden){ ofs_strdup(m->device), ofs_path_join(m->root, rest) };
	l->n_hidden++;
	return 0;
}

static int look(struct look *l)
{
	const struct ofs_mount *m;
	int r = ofs_mounts_read_all(NULL, &l->mounts);

	if (r < 0)
		return failed(l, r, "read", "/proc/self/mountinfo");
	r = open_known(l, l->c->mountpoint, &l->tree_fd, &m);
	if (r < 0)
		return r;
	l->tree_id = m->id;
	l->tree_device = ofs_strdup(m->device);
	l->agent_root = ofs_path_join(m->root, l->c->tree);
	l->agent_fd = ofs_io_open_beneath(l->tree_fd, l->c->tree, O_PATH | O_DIRECTORY, 0);
	if (l->agent_fd < 0)
		return failed(l, l->agent_fd, "open the agent's directory", l->c->tree);
	if (l->c->store_attr.st_ino)
		r = hide(l, l->c->store, &l->c->store_attr);
	if (r == 0 && l->c->servers && access(l->c->servers, F_OK) == 0)
		r = hide(l, l->c->servers, NULL);
	return r < 0 ? r : find_places(l);
}

/*
 * Checks after covering that nothing is left to cover. Somebody may have renamed a directory in the
 * meantime.
 */
static int look_again(struct look *l)
{
	size_t before = l->count;
	int r;

	ofs_mounts_finish(&l->mounts);
	r = ofs_mounts_read_all(NULL, &l->mounts);
	if (r < 0)
		return failed(l, r, "read", "/proc/self/mountinfo");
	l->tree_id = 0; /* it is like any other mount now */
	r = find_places(l);
	if (r == 0 && l->count > before) {
		OFS_FREE char *path = path_of(l->places[before]);

		return failed(l, -ESTALE, "hide", path ? path : l->c->store);
	}
	return r;
}

/* ---- covering */

static int change_flags(int fd, const struct ofs_mount *m, unsigned long flags)
{
	flags |= MS_REMOUNT | MS_BIND | (m->flags & KEPT_FLAGS);
	return mount("none", place_name(fd).text, NULL, flags, NULL) < 0 ? -errno : 0;
}

/* Returns the flags that an existing mount is to get besides its own. */
static unsigned long wanted_flags(const struct look *l, const struct ofs_mount *m)
{
	unsigned long flags = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(kernel_types); i++)
		if (strcmp(m->type, kernel_types[i]) == 0)
			flags |= MS_RDONLY;
	if (l->c->root && strcmp(m->type, "devpts") != 0)
		flags |= MS_NODEV;
	return flags & ~m->flags;
}

/* Makes each device a mount of its own, so that the mount below can be closed to devices. */
static int keep_devices(struct look *l)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(devices); i++) {
		OFS_CLOSE int fd = open(devices[i], O_PATH | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
			continue;
		if (mount(place_name(fd).text, place_name(fd).text, NULL, MS_BIND, NULL) < 0)
			return failed(l, -errno, "keep", devices[i]);
	}
	return 0;
}

static int close_others(struct look *l)
{
	int r = l->c->root ? keep_devices(l) : 0;

	for (size_t i = 0; i < l->mounts.count && r == 0; i++) {
		const struct ofs_mount *m = &l->mounts.list[i];
		unsigned long flags = wanted_flags(l, m);
		OFS_CLOSE int fd = flags ? open_place(m, m->point) : -ENOENT;

		if (fd >= 0)
			r = change_flags(fd, m, flags);
		else if (fd != -ENOENT)
			r = fd;
		if (r < 0)
			return failed(l, r, "close", m->point);
	}
	return r;
}

/* Covers a place with an empty directory that nobody can write to. */
static int cover(struct look *l, int fd)
{
	OFS_FREE char *shown = path_of(fd);
	struct statx st;

	if (!shown)
		shown = ofs_strdup("");
	/* This asks no daemon: the kernel knows the type of what is mounted. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) < 0)
		return failed(l, -errno, "look at", shown);
	if (!S_ISDIR(st.stx_mode))
		return ofs_error_set(l->err, ENOTDIR,
				     "a file is mounted at '%s' that cannot be hidden there: "
				     "unmount it",
				     shown);
	if (mount("offload", place_name(fd).text, "tmpfs",
		  MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "mode=0555,size=4k,nr_inodes=1") < 0)
		return failed(l, -errno, "cover", shown);
	return 0;
}

static int mount_proc(struct ofs_error *err)
{
	if (mount("proc", PROC, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
		return 0;
	if (errno == EPERM)
		return ofs_error_set(err, EPERM,
				     "parts of /proc are hidden here, as in most containers, so no "
				     "other /proc can be mounted");
	return ofs_error_set(err, errno, "cannot mount a new /proc: %s", strerror(errno));
}

int ofs_cover_make(const struct ofs_cover *c, struct ofs_error *err)
{
	OFS_CLEANUP(look_finish)
	struct look l = { .c = c, .err = err, .tree_fd = -1, .agent_fd = -1 };
	int r = look(&l);

	if (r == 0)
		r = close_others(&l);
	if (r == 0)
		r = mount_proc(err);
	for (size_t i = 0; i < l.count && r == 0; i++)
		r = cover(&l, l.places[i]);
	if (r < 0)
		return r;
	if (mount(place_name(l.agent_fd).text, place_name(l.tree_fd).text, NULL, MS_BIND, NULL) < 0)
		return failed(&l, -errno, "put the agent's tree onto", c->mountpoint);
	return look_again(&l);
}

int ofs_cover_close_proc(struct ofs_error *err)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mount("none", PROC, NULL, flags, NULL) == 0)
		return 0;
	return ofs_error_set(err, errno, "cannot close %s to writing: %s", PROC, strerror(errno));
}
