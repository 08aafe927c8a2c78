/* SPDX-License-Identifier: MIT */
#include "tree/core/origin.h"

int ofs_origin_read(struct ofs_tree *t, uint64_t ino, struct ofs_origin *ret)
{
	char value[2 * OFS_NAME_MAX + 2], *category;
	ssize_t n = ofs_store_getxattr(t->store, ino, OFS_ORIGIN_MARK, value, sizeof(value) - 1);

	*ret = (struct ofs_origin){ 0 };
	if (n < 0)
		return n == -ENODATA || n == -ERANGE ? 0 : (int)n;
	value[n] = 0;
	category = memchr(value, 0, (size_t)n);
	if (!category || strlen(value) > OFS_NAME_MAX || strlen(category + 1) > OFS_NAME_MAX)
		return 0;
	memcpy(ret->task, value, strlen(value) + 1);
	memcpy(ret->category, category + 1, strlen(category + 1) + 1);
	return 1;
}

void ofs_origin_write(const struct ofs_origin *o, struct ofs_buf *out)
{
	ofs_buf_append(out, o->task, strlen(o->task) + 1);
	ofs_buf_append(out, o->category, strlen(o->category));
}
