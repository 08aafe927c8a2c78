/* SPDX-License-Identifier: MIT */
/* Attributes in the form of stat(2). */
#include "tree/core/stat.h"

#include "base/clock.h"

static struct timespec to_timespec(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / OFS_NS_PER_S, .tv_nsec = ns % OFS_NS_PER_S };

	if (ts.tv_nsec < 0) {
		ts.tv_nsec += OFS_NS_PER_S;
		ts.tv_sec--;
	}
	return ts;
}

void ofs_stat_fill(const struct ofs_attr *attr, struct stat *ret)
{
	*ret = (struct stat){
		.st_ino = attr->ino,
		.st_mode = attr->mode,
		.st_nlink = attr->nlink + (attr->ino == attr->region ? OFS_ROOT_VIRTUAL_DIRS : 0),
		.st_uid = attr->uid,
		.st_gid = attr->gid,
		.st_rdev = attr->rdev,
		.st_size = (off_t)attr->size,
		.st_blksize = 4096,
		.st_blocks = (blkcnt_t)((attr->shown + 511) / 512),
		.st_atim = to_timespec(attr->atime),
		.st_mtim = to_timespec(attr->mtime),
		.st_ctim = to_timespec(attr->ctime),
	};
}

void ofs_stat_fill_entry(const struct ofs_attr *attr, bool keep_name, struct ofs_entry *ret)
{
	ret->node = attr->ino;
	ret->keep_name = keep_name;
	ret->keep_attr = true;
	ofs_stat_fill(attr, &ret->attr);
}

void ofs_stat_make_up(struct ofs_tree *t, const struct ofs_root *root, ofs_node node, uint32_t mode,
		      struct ofs_attr *ret)
{
	struct ofs_attr dir = { .uid = t->uid, .gid = t->gid, .btime = t->created };

	if (root->above)
		ofs_store_getattr(t->store, root->ino, &dir);
	*ret = (struct ofs_attr){
		.ino = node,
		.region = root->ino,
		.mode = mode,
		.uid = dir.uid,
		.gid = dir.gid,
		.nlink = 1, /* of a directory: subdirectories are not counted */
		.atime = dir.btime,
		.mtime = dir.btime,
		.ctime = dir.btime,
	};
}
