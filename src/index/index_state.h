/* SPDX-License-Identifier: MIT */
/* The index as its parts share it. */
#pragma once

#include "base/bits.h"
#include "base/u64_list.h"
#include "index/db.h"
#include "index/index.h"
#include "index/schema.h"

/* All but `db` is guarded by the lock of `db`. */
struct ofs_index {
	struct ofs_db db;
	struct ofs_u64_list heirs; /* inodes that inherited a charge and were not taken yet */
	size_t heirs_kept; /* how many of them a rollback keeps */
	struct ofs_u64_list dropped; /* chunks that lost their last reference since begin */
	bool changed; /* since the database was last made compact */
	int changes; /* SQLite's count of them at begin; wraps */
	struct ofs_bits pages; /* written up to the last copy, and not known to have arrived */
};

/* The hash of the chunk in block 0; -ENOENT when the file has none. Under the lock. */
int ofs_index_block_sha(struct ofs_index *ix, uint64_t ino, uint8_t ret[32]);

/* Deletes the chunks in `dropped` that are still without a reference. Not under the lock. */
void ofs_index_delete_dropped(struct ofs_index *ix);
