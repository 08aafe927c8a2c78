/* SPDX-License-Identifier: MIT */
#include "base/u64_list.h"

void ofs_u64_list_add(struct ofs_u64_list *l, uint64_t number)
{
	*ofs_append(l->at, l->n, l->cap) = number;
}

int ofs_u64_list_collect(void *list, uint64_t number)
{
	ofs_u64_list_add(list, number);
	return 0;
}

static int u64_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void ofs_u64_list_sort_unique(struct ofs_u64_list *l)
{
	size_t n = 0;

	if (!l->n)
		return;
	qsort(l->at, l->n, sizeof(*l->at), u64_compare);
	for (size_t i = 0; i < l->n; i++)
		if (!n || l->at[i] != l->at[n - 1])
			l->at[n++] = l->at[i];
	l->n = n;
}

void ofs_u64_list_finish(struct ofs_u64_list *l)
{
	ofs_cleanup_free(&l->at);
	*l = (struct ofs_u64_list){ 0 };
}
