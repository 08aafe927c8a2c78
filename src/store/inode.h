/* SPDX-License-Identifier: MIT */
/*
 * An inode in memory, with its content map and, for a directory, its entries. All of it is guarded
 * by the store's lock.
 */
#ifndef OFS_STORE_INODE_H
#define OFS_STORE_INODE_H

#include "index/index.h"
#include "store/content_map.h"
#include "store/dir.h"

struct ofs_inode {
	struct ofs_index_inode row;
	/*
	 * The last change of `row`; it is dirty while that is newer than the store's committed
	 * epoch. Dirty inodes stay in memory and on the store's dirty list.
	 */
	uint64_t epoch;
	bool on_dirty_list;
	bool on_draft_list;
	bool gone; /* no name and no reference is left: the next checkpoint deletes it */
	uint64_t version; /* of the content, unique in this run */
	int64_t written_at; /* monotonic time of the last write */
	struct ofs_content_map content; /* regular files */
	struct ofs_dir *dir; /* directories, once loaded */
	struct ofs_buf xattrs; /* a list as in base/xattr.h */
	bool xattrs_loaded; /* it is known; else it is fetched from the index when it is needed */
	uint64_t xattrs_epoch; /* of its last change */
};

struct ofs_inode *ofs_inode_create(uint64_t ino);
void ofs_inode_destroy(struct ofs_inode *n);

#endif
