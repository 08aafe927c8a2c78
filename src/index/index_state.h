/* SPDX-License-Identifier: MIT */
/* The state of an open index, shared by the files that implement it. */
#pragma once

#include "base/bits.h"
#include "base/u64_list.h"
#include "index/db.h"
#include "index/index.h"
#include "index/schema.h"

/* All but `db` is guarded by the lock of `db`. */
struct ofs_index {
	struct ofs_db db;
	struct ofs_u64_list heirs; /* inodes whose charge changed; see ofs_index_take_recharged() */
	size_t heirs_kept; /* how many of them a rollback keeps */
	struct ofs_u64_list dropped; /* chunks that lost their last reference in this transaction */
	bool changed; /* since the database was last compacted */
	int changes; /* SQLite's count of changes at begin; wraps */
	struct ofs_bits pages; /* written before the last copy, and not known to have arrived */
};

/* The hash of the chunk in block 0. -ENOENT: the file has none. Under the lock. */
int ofs_index_block_sha(struct ofs_index *ix, uint64_t ino, uint8_t ret[32]);

/* Deletes the chunks in `dropped` that still have no reference. Not under the lock. */
void ofs_index_delete_dropped(struct ofs_index *ix);
