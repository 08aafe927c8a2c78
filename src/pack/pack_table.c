/* SPDX-License-Identifier: MIT */
#include "pack/pack_table.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/log.h"
#include "io/file.h"
#include "pack/frame.h"

void ofs_pack_table_init(struct ofs_pack_table *t, int dirfd, const uint8_t uuid[16])
{
	*t = (struct ofs_pack_table){ .dirfd = dirfd };
	memcpy(t->uuid, uuid, sizeof(t->uuid));
	pthread_mutex_init(&t->lock, NULL);
}

void ofs_pack_table_finish(struct ofs_pack_table *t)
{
	ofs_pack_table_forget(t, 0, UINT32_MAX);
	pthread_mutex_destroy(&t->lock);
}

void ofs_pack_name(char ret[OFS_PACK_NAME_MAX], uint32_t number)
{
	snprintf(ret, OFS_PACK_NAME_MAX, "%08x.pack", number);
}

uint32_t ofs_pack_number(const char *name)
{
	char canonical[OFS_PACK_NAME_MAX];
	unsigned long number = strtoul(name, NULL, 16);

	if (number > UINT32_MAX)
		return 0;
	ofs_pack_name(canonical, (uint32_t)number);
	return strcmp(name, canonical) == 0 ? (uint32_t)number : 0;
}

/*
 * Drops a reference. Returns the pack if the caller must close it, for which no lock is needed.
 * Under the lock.
 */
static struct ofs_pack *pack_unref(struct ofs_pack *p)
{
	return --p->refs == 0 ? p : NULL;
}

static void pack_close(struct ofs_pack *p)
{
	if (!p)
		return;
	ofs_io_close(&p->fd);
	free(p);
}

static struct ofs_pack *table_find(struct ofs_pack_table *t, uint32_t number)
{
	for (size_t i = 0; i < OFS_PACK_OPEN_MAX; i++) {
		struct ofs_pack *p = t->slot[i];

		if (p && p->number == number) {
			p->refs++;
			p->used = ++t->clock;
			return p;
		}
	}
	return NULL;
}

/*
 * Puts an open pack into a free slot or into that of the least recently used idle pack, which is
 * returned for closing. If all packs are in use, this one stays outside the table. Under the lock.
 */
static struct ofs_pack *table_add(struct ofs_pack_table *t, struct ofs_pack *p)
{
	struct ofs_pack **best = NULL;
	struct ofs_pack *evicted;

	for (size_t i = 0; i < OFS_PACK_OPEN_MAX; i++) {
		struct ofs_pack **s = &t->slot[i];

		if (!*s) {
			best = s;
			break;
		}
		if ((*s)->refs == 1 && (!best || (*s)->used < (*best)->used))
			best = s;
	}
	if (!best)
		return NULL;
	evicted = *best ? pack_unref(*best) : NULL;
	p->refs++;
	p->used = ++t->clock;
	*best = p;
	return evicted;
}

static int pack_check_header(struct ofs_pack_table *t, struct ofs_pack *p)
{
	uint8_t header[OFS_PACK_HEADER];
	int r = ofs_io_pread_exact(p->fd, header, sizeof(header), 0);

	if (r < 0 && r != -EIO)
		return r;
	if (r == 0)
		r = ofs_pack_header_check(header, t->uuid, p->number);
	if (r == -EIO) {
		ofs_log(LOG_WARNING, "pack %08x: the file header is damaged", p->number);
		return 0;
	}
	return r;
}

/* Opens the file. With O_CREAT, writes the header; otherwise checks it. */
static int pack_open(struct ofs_pack_table *t, uint32_t number, int flags, struct ofs_pack **ret)
{
	uint8_t header[OFS_PACK_HEADER];
	char name[OFS_PACK_NAME_MAX];
	struct ofs_pack *p = ofs_alloc(sizeof(*p));
	int r;

	p->number = number;
	p->refs = 1;
	ofs_pack_name(name, number);
	p->fd = ofs_io_open(t->dirfd, name, O_RDWR | O_NOFOLLOW | flags, 0600);
	/* A pack that cannot be opened for writing can still be read. */
	if ((p->fd == -EROFS || p->fd == -EACCES) && !flags)
		p->fd = ofs_io_open(t->dirfd, name, O_RDONLY | O_NOFOLLOW, 0);
	r = p->fd < 0 ? p->fd : 0;
	if (r == 0 && (flags & O_CREAT)) {
		ofs_pack_header_encode(header, t->uuid, number);
		r = ofs_io_pwrite(p->fd, header, sizeof(header), 0);
		if (r < 0)
			ofs_io_unlink(t->dirfd, name);
	} else if (r == 0) {
		r = pack_check_header(t, p);
	}
	if (r < 0) {
		pack_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

int ofs_pack_get(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret)
{
	struct ofs_pack *p, *other, *unused = NULL;
	uint64_t forgets;
	int r;

	pthread_mutex_lock(&t->lock);
	p = table_find(t, number);
	forgets = t->forgets;
	pthread_mutex_unlock(&t->lock);
	if (p) {
		*ret = p;
		return 0;
	}
	r = pack_open(t, number, 0, &p);
	if (r < 0)
		return r;

	/* Another thread may have been faster, or the file may have been removed since. */
	pthread_mutex_lock(&t->lock);
	other = table_find(t, number);
	if (other) {
		unused = pack_unref(p);
		p = other;
	} else if (t->forgets == forgets) {
		unused = table_add(t, p);
	}
	pthread_mutex_unlock(&t->lock);
	pack_close(unused);
	*ret = p;
	return 0;
}

int ofs_pack_create(struct ofs_pack_table *t, uint32_t number, struct ofs_pack **ret)
{
	struct ofs_pack *p, *unused;
	int r = pack_open(t, number, O_CREAT | O_EXCL, &p);

	if (r < 0)
		return r;
	pthread_mutex_lock(&t->lock);
	unused = table_add(t, p);
	pthread_mutex_unlock(&t->lock);
	pack_close(unused);
	*ret = p;
	return 0;
}

void ofs_pack_put(struct ofs_pack_table *t, struct ofs_pack *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&t->lock);
	p = pack_unref(p);
	pthread_mutex_unlock(&t->lock);
	pack_close(p);
}

void ofs_pack_table_forget(struct ofs_pack_table *t, uint32_t from, uint32_t to)
{
	struct ofs_pack *unused[OFS_PACK_OPEN_MAX] = { NULL };

	pthread_mutex_lock(&t->lock);
	t->forgets++;
	for (size_t i = 0; i < OFS_PACK_OPEN_MAX; i++) {
		struct ofs_pack *p = t->slot[i];

		if (p && p->number >= from && p->number <= to) {
			unused[i] = pack_unref(p);
			t->slot[i] = NULL;
		}
	}
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < OFS_PACK_OPEN_MAX; i++)
		pack_close(unused[i]);
}
