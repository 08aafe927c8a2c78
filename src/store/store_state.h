/* SPDX-License-Identifier: MIT */
/*
 * The state of an open store, which the files of this folder share.
 *
 * Locks, in the order in which they are taken:
 *   cycle    one sealing and checkpoint cycle at a time
 *   reclaim  shared by whoever turns a content map into bytes, from reading the map to having the
 *            bytes; exclusive while space that no map names any more is given back (punched
 *            frames, trimmed segments)
 *   lock     everything in memory below, and the order of journal records. Held while a record is
 *            appended, never while waiting for a disk to sync
 *   the locks inside journal, packs and index, and that of the reserve
 *
 * Epochs: every change of memory is stamped with `epoch`. A checkpoint takes everything dirty and
 * raises `epoch`; once it is committed, `committed` becomes the epoch that it took. A thing is
 * dirty while its stamp is above `committed`, so a checkpoint that fails has nothing to undo.
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
	bool stop; /* guarded by the store's `lock` */
	/* Used by the thread only. All times are monotonic, unless said otherwise. */
	int64_t pause; /* how long to wait before the next look for work */
	int64_t quiet_since; /* when something was last sealed */
	int64_t scrub_at; /* when to read back the next frame */
	int64_t dense_at; /* when to look for idle frames, on the boot clock */
};

/* What is kept of a removed file. Constant, but for `former`. */
struct ofs_tombstone {
	uint64_t ino;
	int64_t removed; /* seconds since 1970 */
	/* The same of the tombstone in the index that it replaces; INT64_MAX: there is none. */
	int64_t former;
	size_t len;
	uint8_t what[];
};

struct ofs_store {
	/* Set while the store is opened, constant afterwards. */
	bool read_only;
	bool follow; /* implies read_only */
	char *path; /* of a follower, absolute; else NULL */
	bool blocks_data;
	char *index_copy; /* the directory of the copy of the index; NULL: it is no copy */
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

	pthread_mutex_t cycle; /* guards what follows, up to `uncertain` */
	struct ofs_compressor *compressor;
	uint64_t next_chunk;
	uint64_t scrubbed; /* the frame that was read back last */
	uint64_t densified; /* the frame up to which idle ones were made dense */
	/*
	 * Frames were appended to the packs and not committed to the index. Until they are cut off,
	 * nothing is appended and no pack is removed.
	 */
	bool strays;
	unsigned int pins; /* how many read frames that may be dead by now */
	bool uncertain; /* a commit failed, but may be in effect at the next start */

	pthread_rwlock_t reclaim;

	struct ofs_reserve reserve;
	struct ofs_presence presence;
	_Atomic(const char *) broken; /* why nothing is written any more; NULL: it is whole */
	atomic_bool deposed; /* broken because another host has the store */
	atomic_bool verifying;
	struct ofs_away away; /* has a lock of its own */

	pthread_mutex_t lock;
	/* Guarded by `lock`, down to `inodes_loaded`. */
	struct ofs_map inodes; /* ino -> struct ofs_inode */
	struct ofs_weight weight; /* of `inodes` */
	struct ofs_tally refs; /* ino -> number of references that callers hold */
	struct ofs_map regions; /* directory -> struct ofs_region */
	uint64_t region_moves; /* changes whenever a directory may have moved to another region */
	struct ofs_inode_list dirty; /* inodes with a stamp above `committed` */
	struct ofs_inode_list drafts; /* inodes to be sealed or hashed */
	struct ofs_class_move *moves; /* not yet in the index */
	size_t nmoves, cap_moves;
	uint64_t epoch;
	uint64_t committed;
	uint64_t next_ino; /* number.h */
	/* The first number from next_ino on that is in use; below next_ino: unknown. */
	uint64_t ino_ahead;
	uint64_t next_version;
	struct ofs_map versions; /* of a follower: ino -> version, of held inodes to be reloaded */
	struct ofs_index_counts counts; /* of all inodes with a name, and of tombstones */
	struct ofs_map tombstones; /* ino -> struct ofs_tombstone, until the index has it */
	struct ofs_map ledger; /* id -> struct ofs_ledger_row, until the index has it */
	uint64_t held; /* sum of `refs` */
	int64_t dirty_since; /* monotonic; 0 while nothing is dirty */
	struct ofs_damage damage; /* what recovery has found */
	atomic_bool journal_damaged; /* quarantine/ has a notice of damage, or `damage` has some */
	/* Unlinked inodes are kept: a later record may write to one. Always true in a follower. */
	bool replaying;
	bool closing; /* nobody else uses the store any more */

	uint64_t inodes_asked, inodes_loaded; /* how often; loaded: from the index */

	struct ofs_sealer sealer;
	struct ofs_room room;
	/* Guarded by `lock`, except for atomics. */
	atomic_int sync_error; /* -errno of the last sync of the journal that failed; 0: none has */
	struct ofs_u64_list changed; /* inodes of whose attributes the kernel is to be told */
	struct ofs_u64_list sealed_files; /* to be told of: 2 * inode, plus 1 for `again` */
	void (*news)(void *arg); /* see ofs_store_watch() */
	void *news_arg;
	ofs_lsn log_held; /* the log from here on is kept for somebody else; UINT64_MAX: none */
	uint64_t log_held_max; /* bytes kept for that alone, at most */
	_Atomic ofs_lsn log_needed; /* the store itself needs the log from here on */
	int (*_Atomic sync_hook)(void *arg, ofs_lsn lsn); /* read without the lock */
	void *sync_arg; /* set before `sync_hook` */
	_Atomic uint64_t sealed_bytes, sealed_stored; /* of content; of the frames made of it */
	_Atomic uint64_t packs_max; /* bytes on this disk; 0: unbounded */
	void (*crowded)(void *arg); /* see ofs_store_bound_packs() */
	void *crowded_arg;
	uint64_t changes; /* records logged or followed in this run */
	uint64_t name_changes; /* of these, renames, links and changes of attributes */
	bool unsettled; /* there may be something to repack */
};

#define OFS_STORE_ON_READ_ONLY "the filesystem of the store has become read-only"

/*
 * -EAGAIN if the inode, or a directory between it and those in the root of its region, was used
 * after `used`, or if something of `guard` (may be NULL) has changed; else 0 or -errno. `lock`
 * held.
 */
struct ofs_expire_guard;
int ofs_store_check_unused(struct ofs_store *s, const struct ofs_inode *n, int64_t used,
			   const struct ofs_expire_guard *guard);
