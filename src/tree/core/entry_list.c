/* SPDX-License-Identifier: MIT */
#include "tree/core/entry_list.h"

#include "codec/hash.h"

void ofs_entry_list_finish(struct ofs_entry_list *l)
{
	free(l->entries);
	ofs_buf_finish(&l->names);
	*l = (struct ofs_entry_list){ 0 };
}

void ofs_entry_list_add(struct ofs_entry_list *l, uint64_t key, const char *name)
{
	size_t at = l->names.len;

	ofs_buf_append(&l->names, name, strlen(name) + 1);
	*ofs_append(l->entries, l->n, l->cap) = (struct ofs_list_entry){ key, at };
}

uint64_t ofs_entry_list_key(const char *name)
{
	return ofs_checksum(name, strlen(name), 0) >> 2;
}

/* Of several names of one file, the one found first comes first. */
static int compare_keys(const void *a, const void *b)
{
	const struct ofs_list_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

void ofs_entry_list_settle(struct ofs_entry_list *l)
{
	size_t i, n = 0;

	if (!l->n)
		return;
	qsort(l->entries, l->n, sizeof(*l->entries), compare_keys);
	for (i = 0; i < l->n; i++)
		if (!n || l->entries[n - 1].key != l->entries[i].key)
			l->entries[n++] = l->entries[i];
	l->n = n;
}

void ofs_entry_list_keep_last(struct ofs_entry_list *l, size_t n)
{
	struct ofs_entry_list kept = { 0 };

	ofs_entry_list_settle(l);
	for (size_t i = l->n - OFS_MIN(l->n, n); i < l->n; i++)
		ofs_entry_list_add(&kept, l->entries[i].key, ofs_entry_list_name(l, i));
	ofs_entry_list_finish(l);
	*l = kept;
}
