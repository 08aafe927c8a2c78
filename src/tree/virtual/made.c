/* SPDX-License-Identifier: MIT */

#include "tree/virtual/made.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/util.h"
#include "codec/hash.h"
#include "tree/core/stat.h"
#include "tree/core/tree_state.h"

struct ofs_made_nodes {
	pthread_mutex_t lock;
	struct ofs_map nodes; /* node -> struct ofs_made */
};

struct ofs_made_nodes *ofs_made_nodes_create(void)
{
	struct ofs_made_nodes *n = ofs_alloc(sizeof(*n));

	pthread_mutex_init(&n->lock, NULL);
	return n;
}

void ofs_made_nodes_destroy(struct ofs_made_nodes *n)
{
	struct ofs_made *m;
	size_t pos = 0;

	if (!n)
		return;
	while ((m = ofs_map_next(&n->nodes, &pos)))
		ofs_made_destroy(m);
	ofs_map_finish(&n->nodes);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void ofs_made_lock(struct ofs_tree *t)
{
	pthread_mutex_lock(&t->made->lock);
}

void ofs_made_unlock(struct ofs_tree *t)
{
	pthread_mutex_unlock(&t->made->lock);
}

uint64_t ofs_made_count(struct ofs_tree *t)
{
	uint64_t n;

	ofs_made_lock(t);
	n = t->made->nodes.count;
	ofs_made_unlock(t);
	return n;
}

void ofs_made_destroy(struct ofs_made *m)
{
	if (!m)
		return;
	if (m->slice) {
		free(m->slice->path);
		ofs_buf_finish(&m->slice->range.notice);
		free(m->slice);
	}
	ofs_buf_finish(&m->text);
	free(m);
}

void ofs_made_share(struct ofs_tree *t, struct ofs_made *m)
{
	struct ofs_made *there;

	m->refs = 1;
	m->attr.ino = m->node;
	ofs_made_lock(t);
	there = ofs_map_get(&t->made->nodes, m->node);
	if (there)
		there->refs++;
	else
		ofs_map_put(&t->made->nodes, m->node, m);
	ofs_made_unlock(t);
	if (there)
		ofs_made_destroy(m);
}

struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node)
{
	struct ofs_made *m;

	ofs_made_lock(t);
	m = ofs_map_get(&t->made->nodes, node);
	if (m)
		m->refs++;
	ofs_made_unlock(t);
	return m;
}

void ofs_made_put(struct ofs_tree *t, struct ofs_made *m)
{
	if (m)
		ofs_made_forget(t, m->node, 1);
}

void ofs_made_forget(struct ofs_tree *t, ofs_node node, uint64_t n)
{
	struct ofs_made *m;

	ofs_made_lock(t);
	m = ofs_map_get(&t->made->nodes, node);
	if (m) {
		m->refs -= OFS_MIN(n, m->refs);
		if (m->refs)
			m = NULL;
		else
			ofs_map_remove(&t->made->nodes, node);
	}
	ofs_made_unlock(t);
	ofs_made_destroy(m);
}

ofs_node ofs_made_derive(ofs_node parent, const char *name, const void *what, size_t len)
{
	uint64_t sum = ofs_checksum(name, strlen(name), parent);

	return OFS_NODE_DERIVED | ofs_checksum(what, len, sum) >> 3;
}

void ofs_made_text(struct ofs_tree *t, ofs_node parent, const char *name,
		   const struct ofs_attr *attr, struct ofs_buf *text, struct ofs_entry *ret)
{
	const uint32_t access[] = { attr->mode & 0444, attr->uid, attr->gid };
	struct ofs_made *m = ofs_alloc(sizeof(*m));

	/* A held node keeps its attributes, so the right to read it is part of its identity. */
	m->node = ofs_made_derive(ofs_made_derive(parent, name, access, sizeof(access)), name,
				  text->data, text->len);
	m->attr = *attr;
	m->attr.ino = m->node;
	m->attr.mode = S_IFREG | (attr->mode & 0444);
	m->attr.nlink = 1;
	m->attr.size = text->len;
	m->attr.occupied = 0;
	m->text = *text;
	*text = (struct ofs_buf)OFS_BUF_INIT;
	ofs_stat_fill_entry(&m->attr, false, ret);
	ofs_made_share(t, m);
}
