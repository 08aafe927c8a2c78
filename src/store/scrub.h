/* SPDX-License-Identifier: MIT */
/* Reading frames back. */
#ifndef OFS_STORE_SCRUB_H
#define OFS_STORE_SCRUB_H

#include "index/index.h"
#include "pack/pack.h"

struct ofs_store;
struct ofs_inode;

/*
 * Reads a frame and looks at every chunk that should be in it. -EIO: some of it is not what it
 * should be, and the frame is remembered as bad (or, 0, as good again).
 */
int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks);

/* -EIO unless every chunk that the index has in the frame is in its content. */
int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    const struct ofs_frame_content *content);

/* Reads the next frame back; 0 after the last one, else 1. */
int ofs_store_scrub(struct ofs_store *s);

#endif
