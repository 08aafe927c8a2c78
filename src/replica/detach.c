/* SPDX-License-Identifier: MIT */
#include "replica/detach.h"

#include <fcntl.h>

#include "base/clock.h"
#include "io/file.h"
#include "replica/replica_state.h"
#include "replica/replicator.h"

#define NEVER_SEAL_MS 3600000u

/* Fetches everything and makes the store forget the objects, so a later remote gets all. */
static int fetch_all(const char *store, const struct ofs_remote_access *remote,
		     void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
		     struct ofs_error *err)
{
	const struct ofs_store_options opts = { .seal_delay_ms = NEVER_SEAL_MS,
						.cache_bytes = 1 << 20 };
	const struct ofs_replicator_settings set = { .store = store, .every = OFS_NS_PER_S };
	struct ofs_replicator *rp = NULL;
	struct ofs_store *s;
	int r = ofs_store_open(store, &opts, err, &s), closed;

	if (r < 0)
		return r;
	r = ofs_replicator_create(s, remote, &set, err, &rp);
	if (r == 0) {
		r = ofs_store_bring_all(s, progress, NULL, arg);
		if (r == 0)
			r = ofs_store_forget_objects(s);
		if (r < 0)
			ofs_error_set(err, -r, "cannot fetch everything from the remote: %s",
				      strerror(-r));
	}
	closed = ofs_store_close(s);
	ofs_replicator_destroy(rp);
	if (r == 0 && closed < 0)
		r = ofs_error_set(err, -closed, "cannot close '%s': %s", store, strerror(-closed));
	return r;
}

static int forget_state(const char *store, struct ofs_error *err)
{
	OFS_CLOSE int dirfd = ofs_io_open(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
	int r = dirfd < 0 ? dirfd : ofs_replica_state_remove(dirfd);

	return r < 0 ? ofs_error_set(err, -r, "'%s/remote' cannot be removed: %s", store,
				     strerror(-r))
		     : 0;
}

char *ofs_detach_location(const char *store)
{
	OFS_CLEANUP(ofs_replica_state_finish) struct ofs_replica_state st = { 0 };
	OFS_CLOSE int dirfd = ofs_io_open(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);

	return dirfd >= 0 && ofs_replica_state_load(dirfd, &st) == 0 ? ofs_steal(st.location)
								     : NULL;
}

int ofs_detach(const char *store, const struct ofs_remote_access *remote,
	       void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
	       struct ofs_error *err)
{
	int r = fetch_all(store, remote, progress, arg, err);

	return r < 0 ? r : forget_state(store, err);
}
