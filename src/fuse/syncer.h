/* SPDX-License-Identifier: MIT */
/*
 * Answers fsync over io_uring. One thread serves all requests that come from one processor, so it
 * must not wait for the disk: it leaves the request here and goes on. All that have come while one
 * sync was under way are answered by the next one.
 */
#ifndef OFS_FUSE_SYNCER_H
#define OFS_FUSE_SYNCER_H

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_syncer;

struct ofs_syncer *ofs_syncer_create(void);

/*
 * Takes the request over, and answers it once `t` is synced. A thread that has given one does not end
 * before it is answered, so that nothing of the session goes before. False: it could not be taken.
 */
bool ofs_syncer_add(struct ofs_syncer *s, struct ofs_tree *t, fuse_req_t req);

/* The threads that gave requests have ended. NULL is allowed. */
void ofs_syncer_destroy(struct ofs_syncer *s);

#endif
