/* SPDX-License-Identifier: MIT */
#include "store/inode.h"

#include "base/alloc.h"
#include "base/util.h"
#include "store/content_map.h"
#include "store/dir.h"

struct ofs_inode *ofs_inode_create(uint64_t ino)
{
	struct ofs_inode *n = ofs_alloc(sizeof(*n));

	n->row.ino = ino;
	n->row.lines = -1;
	ofs_content_map_init(&n->content);
	return n;
}

void ofs_inode_destroy(struct ofs_inode *n)
{
	if (!n)
		return;
	ofs_content_map_finish(&n->content);
	ofs_dir_destroy(n->dir);
	ofs_buf_finish(&n->xattrs);
	free(n->row.target);
	free(n);
}
