/* SPDX-License-Identifier: MIT */
/*
 * The state of an open store, which the files of this folder share.
 *
 * Locks, in the order in which they are taken:
 *   cycle    one sealing and checkpoint cycle at a time
 *   reclaim  shared by whoever turns a content map into bytes, from reading the map to having the
 *            bytes; exclusive while space that no map names any more is given back (punched
 *            frames, trimmed segments)
 *   lock     everything in memory below, and the order of journal records. Held for the time of an
 *            append, never while waiting for a disk to sync
 *   the locks inside journal, packs and index, and that of the reserve
 *
 * Epochs: every change of memory is stamped with `epoch`. A checkpoint takes all that is stamped
 * and raises `epoch`; once committed, `committed` becomes the epoch it took. A thing is dirty while
 * its stamp is above `committed`, so a checkpoint that fails has nothing to undo.
 */
#pragma once

#include <stdatomic.h>

#include "base/tally.h"
#include "base/thread.h"
#include "base/u64_list.h"
#include "index/index.h"
#include "journal/journal.h"
#include "pack/pack.h"
#include "store/age.h"
#include "store/away.h"
#include "store/damage.h"
#include "store/inode.h"
#include "store/presence.h"
#include "store/pressure.h"
#include "store/region.h"
#include "store/store.h"

struct ofs_sealer {
	pthread_t thread;
	bool runs;
	pthread_cond_t wake;
	bool stop; /* the store's `lock` */
	/* The thread's own. */
	int64_t pause; /* until the next look */
	int64_t quiet_since; /* when something was sealed last */
	int64_t scrub_at; /* when the next frame is to be read back */
	int64_t dense_at; /* when idle frames are to be looked for, on the boot clock */
};

/* Kept of a file that was removed; never changes. */
struct ofs_tombstone {
	uint64_t ino;
	int64_t removed; /* seconds since 1970 */
	size_t len;
	uint8_t what[];
};

struct ofs_store {
	/* Set at open, constant afterwards. */
	bool read_only;
	bool follow; /* read_only as well */
	char *path; /* of a follower, absolute; else NULL */
	bool blocks_data;
	char *index_copy; /* the directory of the copy that `index` is; NULL: it is none */
	int dirfd;
	int lockfd;
	int journal_fd;
	int packs_fd;
	uint8_t uuid[16];
	int64_t ref_seed;
	struct ofs_journal *journal;
	struct ofs_packset *packs;
	struct ofs_index *index;
	uint32_t seal_delay_ms;
	uint32_t scrub_ms;
	uint64_t journal_max;
	uint32_t (*classify)(void *arg, uint64_t top, uint64_t second);
	void (*attr_changed)(void *arg, uint64_t ino);
	void (*sealed)(void *arg, uint64_t ino, bool again);
	void (*followed)(void *arg, const struct ofs_followed *what);
	void (*close_hook)(void *arg);
	void *events_arg;
	struct ofs_age age;

	pthread_mutex_t cycle;
	struct ofs_compressor *compressor; /* cycle */
	uint64_t next_chunk; /* cycle */
	uint64_t scrubbed; /* the frame that was read back last; cycle */
	uint64_t densified; /* the frame up to which idle ones were made dense; cycle */
	/*
	 * The packs' tail is not the one that the index knows: frames were appended and not
	 * committed. Until they are cut off nothing is appended, and no pack is removed. cycle.
	 */
	bool strays;
	unsigned int pins; /* somebody reads frames that may be dead by now; cycle */
	bool uncertain; /* a commit to the index failed: a start may find that it did not; cycle */

	pthread_rwlock_t reclaim;

	struct ofs_reserve reserve;
	struct ofs_presence presence;
	_Atomic(const char *) broken; /* why there are only reads from now on; NULL: it is whole */
	atomic_bool deposed; /* that is why */
	atomic_bool verifying;
	struct ofs_away away; /* locks itself */

	pthread_mutex_t lock;
	/* All guarded by `lock`. */
	struct ofs_map inodes; /* ino -> struct ofs_inode */
	struct ofs_weight weight; /* of those */
	struct ofs_tally refs; /* of an ino: how many callers hold */
	struct ofs_map regions; /* directory -> struct ofs_region */
	uint64_t region_moves; /* another number once a directory can be in another region */
	struct ofs_inode_list dirty; /* inodes with a stamp above `committed` */
	struct ofs_inode_list drafts; /* inodes whose content changed since it was sealed */
	struct ofs_class_move *moves; /* not yet in the index */
	size_t nmoves, cap_moves;
	uint64_t epoch;
	uint64_t committed;
	uint64_t next_ino; /* number.h */
	/* The first number from next_ino on that is used; less: it is to be looked for. */
	uint64_t ino_ahead;
	uint64_t next_version;
	struct ofs_map versions; /* of held inodes that are to be loaded again; of a follower */
	struct ofs_index_counts counts; /* of all inodes that have a name */
	struct ofs_map tombstones; /* ino -> struct ofs_tombstone, until it is in the index */
	struct ofs_map ledger; /* id -> struct ofs_ledger_row, until it is in the index */
	uint64_t held; /* the sum of `refs` */
	int64_t dirty_since; /* monotonic; 0 while nothing is dirty */
	struct ofs_damage damage; /* what the recovery has met */
	atomic_bool journal_damaged; /* a notice of damage is in quarantine/, or `damage` says so */
	/* Unlinked inodes are kept: a later record may still write to one. A follower does always. */
	bool replaying;
	bool closing; /* nobody else has the store any more */

	uint64_t inodes_asked, inodes_loaded; /* how often; the latter from the index */

	struct ofs_sealer sealer;
	struct ofs_room room;
	/* All guarded by `lock`. */
	atomic_int sync_error; /* of the journal; it stays */
	struct ofs_u64_list changed; /* inodes whose attributes the kernel is to be told of */
	struct ofs_u64_list sealed_files; /* to be told of: 2 * inode, and 1 for `again` */
	void (*news)(void *arg); /* see ofs_store_watch() */
	void *news_arg;
	ofs_lsn log_held; /* the log from there on is wanted elsewhere; UINT64_MAX: none of it */
	uint64_t log_held_max; /* bytes of it that are kept for that alone */
	_Atomic ofs_lsn log_needed; /* what lies before is kept for that alone */
	int (*_Atomic sync_hook)(void *arg, ofs_lsn lsn); /* read without the lock */
	void *sync_arg; /* set before it */
	_Atomic uint64_t sealed_bytes, sealed_stored; /* of content; of the frames made of it */
	_Atomic uint64_t packs_max; /* bytes on this disk; 0: no bound */
	void (*crowded)(void *arg); /* see ofs_store_bound_packs() */
	void *crowded_arg;
	uint64_t changes; /* records logged by this run */
	uint64_t name_changes; /* of those, what changes where something is or how it is labelled */
	bool unsettled; /* there may be something to repack */
};

#define OFS_STORE_ON_READ_ONLY "the filesystem of the store has become read-only"

/*
 * `lock` held. -EAGAIN when the inode, or something between it and the root's directories, was used
 * after `used`, or something of `guard` (may be NULL) has changed.
 */
struct ofs_expire_guard;
int ofs_store_check_unused(struct ofs_store *s, const struct ofs_inode *n, int64_t used,
			   const struct ofs_expire_guard *guard);
