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

/*
 * Sorts in place by the bits from `bit` down: the C library's qsort() needs as much memory again. A
 * sorted list, as lists of inodes mostly are, costs one pass.
 */
static void u64_sort(uint64_t *at, size_t n, unsigned int bit)
{
	size_t i = 1, zeros = 0;

	while (i < n && at[i - 1] <= at[i])
		i++;
	if (i >= n)
		return;
	for (i = 0; i < n; i++)
		if (!(at[i] >> bit & 1)) {
			uint64_t number = at[i];

			at[i] = at[zeros];
			at[zeros++] = number;
		}
	if (bit) {
		u64_sort(at, zeros, bit - 1);
		u64_sort(at + zeros, n - zeros, bit - 1);
	}
}

void ofs_u64_list_sort_unique(struct ofs_u64_list *l)
{
	size_t n = 0;

	if (!l->n)
		return;
	u64_sort(l->at, l->n, 63);
	for (size_t i = 0; i < l->n; i++)
		if (!n || l->at[i] != l->at[n - 1])
			l->at[n++] = l->at[i];
	l->n = n;
}

size_t ofs_u64_list_seek(const struct ofs_u64_list *l, uint64_t number)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->at[mid] <= number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void ofs_u64_list_finish(struct ofs_u64_list *l)
{
	ofs_cleanup_free(&l->at);
	*l = (struct ofs_u64_list){ 0 };
}
