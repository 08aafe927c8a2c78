/* SPDX-License-Identifier: MIT */
/* Disk space of packs: frees and measures it, and puts back content that was away. */
#include <fcntl.h>

#include "io/file.h"
#include "pack/packset.h"

#define BLOCK 4096 /* the unit in which filesystems free space */

int ofs_packset_put_back(struct ofs_packset *ps, uint32_t pack, uint64_t off, const void *bytes,
			 size_t len)
{
	struct ofs_pack *p;
	int r;

	/* Another thread may be about to create it, too. */
	do {
		r = ofs_pack_get(&ps->table, pack, &p);
		if (r == -ENOENT)
			r = ofs_pack_create(&ps->table, pack, &p);
	} while (r == -EEXIST);
	if (r < 0)
		return r;
	r = ofs_io_pwrite(p->fd, bytes, len, off);
	for (uint64_t at = off; at < off + len; at += OFS_PACK_PART)
		ofs_pack_use_note(ps->use, pack, at);
	ofs_pack_put(&ps->table, p);
	return r;
}

uint64_t ofs_packset_next_data(struct ofs_packset *ps, uint32_t pack, uint64_t off)
{
	uint64_t at = UINT64_MAX;
	struct ofs_pack *p;

	if (ofs_pack_get(&ps->table, pack, &p) < 0)
		return at;
	ofs_io_next_data(p->fd, off, &at);
	ofs_pack_put(&ps->table, p);
	return at;
}

/* Clips [*off, *end) to the range between the header and the end of the file. */
static int punch_clip(struct ofs_pack *p, uint64_t *off, uint64_t *end)
{
	uint64_t size;
	int r = ofs_io_size(p->fd, &size, NULL);

	if (r < 0)
		return r;
	*off = OFS_MAX(*off, (uint64_t)OFS_PACK_HEADER);
	*end = OFS_MIN(*end, size);
	return 0;
}

/*
 * Frees the block around `at` if it holds nothing but zeros: a block that two ranges share is freed
 * with the second of them. A block that reaches beyond `size` is left alone, because a frame may be
 * appended there meanwhile.
 */
static int punch_edge(const struct ofs_pack *p, uint64_t at, uint64_t size)
{
	uint64_t block = at / BLOCK * BLOCK;
	uint8_t bytes[BLOCK];
	ssize_t n;

	if (at == block || block + BLOCK > size)
		return 0;
	n = ofs_io_pread(p->fd, bytes, BLOCK, block);
	if (n < BLOCK || bytes[0] || memcmp(bytes, bytes + 1, BLOCK - 1) != 0)
		return (int)OFS_MIN(n, 0);
	return ofs_io_punch(p->fd, block, BLOCK);
}

int ofs_packset_punch(struct ofs_packset *ps, uint32_t pack, uint64_t off, uint64_t len)
{
	struct ofs_pack *p;
	uint64_t end, size;
	uint32_t tail;
	int r;

	if (__builtin_add_overflow(off, len, &end))
		end = UINT64_MAX;
	r = ofs_pack_get(&ps->table, pack, &p);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = punch_clip(p, &off, &end);
	if (r == 0 && off < end)
		r = ofs_io_punch(p->fd, off, end - off);
	ofs_packset_tail(ps, &tail, &size);
	if (pack != tail)
		size = UINT64_MAX;
	if (r == 0 && off < end)
		r = punch_edge(p, off, size);
	if (r == 0 && off < end)
		r = punch_edge(p, end, size);
	ofs_pack_put(&ps->table, p);

	/* Only now: a frame that was loaded before the punch must not stay in the cache. */
	if (off < end)
		ofs_frame_cache_drop(ps->cache, pack, off, end);
	return r;
}

int ofs_packset_remove(struct ofs_packset *ps, uint32_t pack)
{
	char name[OFS_PACK_NAME_MAX];
	uint64_t size;
	uint32_t tail;
	int r;

	ofs_packset_tail(ps, &tail, &size);
	if (pack == tail)
		return -EBUSY;
	ofs_pack_name(name, pack);
	r = ofs_io_unlink(ps->dirfd, name);
	if (r < 0)
		return r;
	ofs_pack_table_forget(&ps->table, pack, pack);
	ofs_pack_use_forget(ps->use, pack);
	ofs_frame_cache_drop(ps->cache, pack, 0, UINT64_MAX);
	return 0;
}

struct parts {
	struct ofs_packset *ps;
	int (*fn)(void *arg, uint32_t pack, uint64_t off, uint64_t used);
	void *arg;
};

static int list_parts_of(void *arg, const char *name)
{
	struct parts *parts = arg;
	uint32_t pack = ofs_pack_number(name);
	uint64_t off = OFS_PACK_HEADER;
	struct ofs_pack *p;
	int r = pack ? ofs_pack_get(&parts->ps->table, pack, &p) : -ENOENT;

	if (r < 0)
		return r == -ENOENT || r == -EINVAL ? 0 : r;
	while ((r = ofs_io_next_data(p->fd, off, &off)) == 0) {
		uint64_t part = off / OFS_PACK_PART * OFS_PACK_PART;

		r = parts->fn(parts->arg, pack, part,
			      ofs_pack_use_last(parts->ps->use, pack, part));
		if (r)
			break;
		off = part + OFS_PACK_PART;
	}
	ofs_pack_put(&parts->ps->table, p);
	return r == -ENXIO ? 0 : r;
}

int ofs_packset_list_parts(struct ofs_packset *ps,
			   int (*fn)(void *arg, uint32_t pack, uint64_t off, uint64_t used),
			   void *arg)
{
	struct parts parts = { ps, fn, arg };

	return ofs_io_list(ps->dirfd, ".", list_parts_of, &parts);
}

static int sync_one(void *arg, const char *name)
{
	struct ofs_packset *ps = arg;
	uint32_t pack = ofs_pack_number(name);
	struct ofs_pack *p;
	int r = pack ? ofs_pack_get(&ps->table, pack, &p) : -ENOENT;

	if (r < 0)
		return r == -ENOENT || r == -EINVAL ? 0 : r;
	r = ofs_io_datasync(p->fd);
	ofs_pack_put(&ps->table, p);
	return r;
}

int ofs_packset_sync_all(struct ofs_packset *ps)
{
	int r = ofs_io_list(ps->dirfd, ".", sync_one, ps);

	return r < 0 ? r : ofs_io_sync(ps->dirfd);
}

struct usage {
	struct ofs_packset *ps;
	uint64_t bytes;
};

static int usage_add(void *arg, const char *name)
{
	struct usage *usage = arg;
	uint64_t size, allocated;
	int fd, r;

	if (!ofs_pack_number(name))
		return 0;
	fd = ofs_io_open(usage->ps->dirfd, name, O_RDONLY | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = ofs_io_size(fd, &size, &allocated);
	ofs_io_close(&fd);
	if (r == 0)
		usage->bytes += allocated;
	return r;
}

int ofs_packset_disk_usage(struct ofs_packset *ps, uint64_t *ret)
{
	struct usage usage = { ps, 0 };
	int r = ofs_io_list(ps->dirfd, ".", usage_add, &usage);

	if (r == 0)
		*ret = usage.bytes;
	return r;
}
