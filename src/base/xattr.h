/* SPDX-License-Identifier: MIT */
/*
 * The extended attributes of an inode as one run of bytes, the same in memory and on disk: for
 * each, in the order of the names (as bytes), the length of its name (u8), of its value (u32,
 * little-endian), name, value. No attributes are no bytes.
 */
#pragma once

#include "base/buf.h"

#define OFS_XATTR_NAME_MAX 255
#define OFS_XATTR_VALUE_MAX 65536
#define OFS_XATTR_ROOM 131072 /* names and values of one inode together */
/* Its names, each with a NUL: a list of 64 KiB, less room for the names that are computed. */
#define OFS_XATTR_NAMES_ROOM 64512

/* One of a list; borrowed from it. */
struct ofs_xattr {
	const char *name; /* not terminated */
	size_t name_len;
	const void *value;
	size_t size;
};

/* Checks bytes from a disk; only valid lists may be given to the functions below. */
bool ofs_xattr_is_list(const void *data, size_t len);

/* The attribute at *at, which moves past it; false at the end. Start with *at = 0. */
bool ofs_xattr_next(const struct ofs_buf *list, size_t *at, struct ofs_xattr *ret);

bool ofs_xattr_find(const struct ofs_buf *list, const char *name, struct ofs_xattr *ret);

/* Bytes of names and values. */
size_t ofs_xattr_room(const struct ofs_buf *list);

/* The value must not lie in the list. */
void ofs_xattr_set(struct ofs_buf *list, const char *name, const void *value, size_t size);
void ofs_xattr_remove(struct ofs_buf *list, const char *name);
