/* SPDX-License-Identifier: MIT */
/*
 * The extended attributes of an inode as one run of bytes, the same in memory and on disk.
 * Attributes are sorted by name, bytewise; each consists of the length of the name (u8), the length
 * of the value (u32, little-endian), the name and the value. A list without attributes has no
 * bytes.
 */
#pragma once

#include "base/buf.h"

#define OFS_XATTR_NAME_MAX 255
#define OFS_XATTR_VALUE_MAX 65536
#define OFS_XATTR_ROOM 131072 /* names and values of an inode together */
/* Names of an inode with their NULs: the 64 KiB of listxattr(2), less room for computed names. */
#define OFS_XATTR_NAMES_ROOM 64512

/* An attribute, borrowed from its list. */
struct ofs_xattr {
	const char *name; /* not NUL-terminated */
	size_t name_len;
	const void *value;
	size_t size;
};

/* True if bytes from disk are a valid list. The functions below accept only valid lists. */
bool ofs_xattr_is_list(const void *data, size_t len);

/* Reads the attribute at *at and moves *at past it; false at the end. Start with *at = 0. */
bool ofs_xattr_next(const struct ofs_buf *list, size_t *at, struct ofs_xattr *ret);

bool ofs_xattr_find(const struct ofs_buf *list, const char *name, struct ofs_xattr *ret);

/* The total size of names and values, in bytes. */
size_t ofs_xattr_room(const struct ofs_buf *list);

/* Sets an attribute. The value must not lie in the list. */
void ofs_xattr_set(struct ofs_buf *list, const char *name, const void *value, size_t size);
void ofs_xattr_remove(struct ofs_buf *list, const char *name);
