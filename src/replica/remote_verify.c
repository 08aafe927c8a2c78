/* SPDX-License-Identifier: MIT */
#include "replica/remote_verify.h"

#include <fcntl.h>
#include <inttypes.h>

#include "base/text.h"
#include "io/file.h"
#include "replica/follower.h"
#include "replica/lineage.h"
#include "replica/scratch.h"

#define LOCAL_MAX (UINT64_C(64) << 20)

static void on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct ofs_remote_verify *v = arg;

	v->bytes = done;
	v->progress(v->arg, done, total);
}

static void on_problem(void *arg, const struct ofs_index_frame *f,
		       const struct ofs_index_object *object, int error)
{
	OFS_FREE char *key =
		object ? ofs_key_pack(object->epoch, object->number)
		       : ofs_format("packs/%08x.pack, position %" PRIu64, f->pack, f->off);
	struct ofs_remote_verify *v = arg;

	v->problem(v->arg, key,
		   !object	  ? "no object has this content"
		   : error == EIO ? "content is missing or damaged"
				  : strerror(error));
}

static int read_all(struct ofs_remote_verify *v, const char *dir, struct ofs_follower *f,
		    struct ofs_error *err)
{
	const struct ofs_store_options opts = { .follow = true, .cache_bytes = 1 << 20 };
	struct ofs_store_stats stats;
	struct ofs_store *s;
	int r = ofs_store_open(dir, &opts, err, &s);

	if (r < 0)
		return r;
	ofs_follower_attach(f, s, LOCAL_MAX);
	r = ofs_store_stats(s, &stats);
	if (r == 0)
		r = ofs_store_bring_all(s, on_progress, on_problem, v);
	if (r < 0)
		ofs_error_set(err, -r, "the index of the checkpoint cannot be read: %s",
			      strerror(-r));
	v->files = r < 0 ? 0 : stats.files;
	ofs_store_close(s);
	return r;
}

int ofs_remote_verify(struct ofs_remote_verify *v, struct ofs_error *err)
{
	const char *tmp = getenv("TMPDIR");
	OFS_FREE char *base = ofs_format("%s/offload-verify", tmp && *tmp == '/' ? tmp : "/tmp");
	OFS_FREE char *dir = NULL;
	struct ofs_follower *f = NULL;
	int r = ofs_scratch_make(base, &dir, err);

	if (r == 0)
		r = ofs_follower_create(dir, v->remote, err, &f);
	if (r == 0)
		r = read_all(v, dir, f, err);
	ofs_follower_destroy(f);
	if (dir)
		ofs_scratch_remove(dir);
	return r;
}
