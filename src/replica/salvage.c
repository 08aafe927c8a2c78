/* SPDX-License-Identifier: MIT */
#include "replica/salvage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/u64_list.h"
#include "io/file.h"
#include "io/path.h"
#include "replica/replica_state.h"
#include "replica/replicator.h"

#define NEVER_SEAL_MS 3600000u
#define PIECE ((size_t)1 << 20)

struct job {
	const struct ofs_salvage *set;
	struct ofs_store *store;
	struct ofs_replicator *replicator;
	struct ofs_u64_list changed;
	int dirfd; /* open directory set->into */
};

/* Gets the path of an inode below the root, which the caller frees. -ENOENT: it has no name. */
static int path_of(struct ofs_store *s, uint64_t ino, char **ret)
{
	OFS_FREE char *path = NULL;

	while (ino != OFS_ROOT_INO) {
		char name[256], *longer;
		int r = ofs_store_name_of(s, ino, &ino, name);

		if (r < 0)
			return r;
		longer = path ? ofs_format("%s/%s", name, path) : ofs_strdup(name);
		free(path);
		path = longer;
	}
	*ret = ofs_steal(path);
	return 0;
}

static int make_parents(int dirfd, char *path)
{
	int r = 0;

	for (char *slash = strchr(path, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = ofs_io_mkdir(dirfd, path, 0700);
		*slash = '/';
	}
	return r;
}

static int copy_content(struct ofs_store *s, const struct ofs_attr *a, int fd)
{
	OFS_FREE uint8_t *buf = ofs_alloc(PIECE);
	uint64_t off = 0;
	ssize_t n = 0;
	int r = 0;

	while (r == 0 && off < a->size) {
		n = ofs_store_scan(s, a->ino, buf, PIECE, off);
		if (n <= 0)
			break;
		r = ofs_io_pwrite(fd, buf, (size_t)n, off);
		off += (uint64_t)n;
	}
	return n < 0 ? (int)n : r;
}

static int copy_file(struct job *j, const struct ofs_attr *a, char *path)
{
	OFS_CLOSE int fd = -1;
	int r = make_parents(j->dirfd, path);

	if (r < 0)
		return r;
	fd = ofs_io_open(j->dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fd;
	r = copy_content(j->store, a, fd);
	if (r == 0)
		r = ofs_io_chmod(fd, a->mode & 0700);
	return r < 0 ? r : ofs_io_sync(fd);
}

static int salvage_file(struct job *j, uint64_t ino, struct ofs_error *err)
{
	OFS_FREE char *path = NULL;
	struct ofs_attr a;
	int r = ofs_store_getattr(j->store, ino, &a);

	if (r == 0 && !S_ISREG(a.mode))
		return 0;
	if (r == 0)
		r = path_of(j->store, ino, &path);
	/* Whatever has been removed is nobody's loss. */
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return ofs_error_set(err, -r, "inode %llu cannot be looked up: %s",
				     (unsigned long long)ino, strerror(-r));
	r = copy_file(j, &a, path);
	if (r < 0)
		return ofs_error_set(err, -r, "'%s' cannot be copied to '%s': %s", path,
				     j->set->into, strerror(-r));
	return j->set->found(j->set->arg, path, a.size);
}

static int note_ino(void *arg, uint64_t ino)
{
	ofs_u64_list_add(arg, ino);
	return 0;
}

static int salvage_all(struct job *j, ofs_lsn from, struct ofs_error *err)
{
	int r = ofs_store_list_changed(j->store, from, note_ino, &j->changed);

	if (r < 0)
		return ofs_error_set(err, -r,
				     "the log lacks changes that the remote never received: mount "
				     "the store and look for the files");
	ofs_u64_list_sort_unique(&j->changed);
	for (size_t i = 0; i < j->changed.n && r == 0; i++)
		r = salvage_file(j, j->changed.at[i], err);
	return r;
}

static int open_target(struct job *j, struct ofs_error *err)
{
	int r = ofs_path_make(j->set->into, 0700);

	if (r == 0)
		r = j->dirfd = ofs_io_open(AT_FDCWD, j->set->into, O_RDONLY | O_DIRECTORY, 0);
	return r < 0 ? ofs_error_set(err, -r, "'%s' cannot be used: %s", j->set->into, strerror(-r))
		     : 0;
}

static int load_place(const char *store, ofs_lsn *ret, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = { 0 };
	OFS_CLOSE int dirfd = ofs_io_open(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
	int r = dirfd < 0 ? dirfd : ofs_replica_state_load(dirfd, &st);

	if (r == -ENOENT || (r == 0 && !st.based))
		return ofs_error_set(err, ENODATA, "the store '%s' was never replicated", store);
	*ret = st.at.lsn;
	return r < 0 ? ofs_error_set(err, -r, "'%s/remote/state': %s", store, strerror(-r)) : 0;
}

int ofs_salvage(const char *store, const struct ofs_salvage *set, struct ofs_error *err)
{
	const struct ofs_store_options opts = { .seal_delay_ms = NEVER_SEAL_MS,
						.cache_bytes = 1 << 20 };
	const struct ofs_replicator_settings replication = { .store = store,
							     .every = OFS_NS_PER_S };
	struct job j = { .set = set, .dirfd = -1 };
	ofs_lsn from = 0;
	int r = load_place(store, &from, err);

	if (r == 0)
		r = open_target(&j, err);
	if (r == 0)
		r = ofs_store_open(store, &opts, err, &j.store);
	if (r == 0) {
		r = ofs_replicator_create(j.store, set->remote, &replication, err, &j.replicator);
		if (r == 0)
			r = salvage_all(&j, from, err);
		ofs_store_close(j.store);
	}
	ofs_replicator_destroy(j.replicator);
	ofs_u64_list_finish(&j.changed);
	ofs_io_close(&j.dirfd);
	return r;
}
