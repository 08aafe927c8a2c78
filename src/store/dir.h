/* SPDX-License-Identifier: MIT */
/* The entries of a directory in memory, by name and in order of cookie. No I/O, no locks. */
#pragma once

#include "base/map.h"

struct ofs_dirent {
	struct ofs_dirent *next; /* with the same hash */
	uint64_t cookie; /* unique and growing in the directory: mostly the LSN of its record */
	uint64_t ino;
	uint64_t epoch; /* of the last change; 0: unchanged since loaded */
	uint8_t type; /* DT_* */
	char name[];
};

/* A name that the index may still hold. */
struct ofs_removed {
	struct ofs_removed *next;
	uint64_t epoch;
	char name[];
};

struct ofs_dir_slot {
	uint64_t cookie;
	struct ofs_dirent *entry; /* NULL: removed */
};

struct ofs_dir {
	struct ofs_map by_name; /* hash -> struct ofs_dirent */
	/*
	 * One entry of each inode; empty until it is first needed. After the removal of that entry,
	 * an inode's other entries are found by a scan. With as many as `count` none is missing.
	 */
	struct ofs_map by_ino;
	size_t count; /* of entries */
	struct ofs_dir_slot *order; /* by cookie */
	size_t norder;
	size_t cap_order;
	uint64_t listed; /* the cookie with which listings under way end */
	struct ofs_removed *removed;
	uint64_t epoch; /* of the last change of any entry */
};

/* -EINVAL or -ENAMETOOLONG: no entry can have this name. */
int ofs_dir_check_name(const char *name);

struct ofs_dir *ofs_dir_create(void);
void ofs_dir_destroy(struct ofs_dir *d);

struct ofs_dirent *ofs_dir_find(const struct ofs_dir *d, const char *name);

/*
 * Adds a name that is not there yet. While loading (epoch 0) cookies may come in any order;
 * ofs_dir_sort() then sorts the entries. -EUCLEAN: these cookies are not possible.
 */
void ofs_dir_add(struct ofs_dir *d, const char *name, uint64_t ino, uint8_t type, uint64_t cookie,
		 uint64_t epoch);
int ofs_dir_sort(struct ofs_dir *d);

/*
 * An entry that names the inode; NULL: none. The first call scans `d`; so does one that finds none,
 * where several entries name one inode.
 */
const struct ofs_dirent *ofs_dir_find_ino(struct ofs_dir *d, uint64_t ino);

/* Makes the name stand for another inode. */
void ofs_dir_change(struct ofs_dir *d, struct ofs_dirent *e, uint64_t ino, uint8_t type,
		    uint64_t epoch);

/* Removes and frees an entry of `d`, and notes its name for the next checkpoint. */
void ofs_dir_remove(struct ofs_dir *d, struct ofs_dirent *e, uint64_t epoch);

/* The index in `order` of the first slot with a cookie above `cookie`. */
size_t ofs_dir_seek(const struct ofs_dir *d, uint64_t cookie);

/* Begins a listing: it ends with the entry that is now the last, as do those under way. */
void ofs_dir_begin(struct ofs_dir *d);

/* Forgets the removed names that a checkpoint of `epoch` has committed. */
void ofs_dir_committed(struct ofs_dir *d, uint64_t epoch);
