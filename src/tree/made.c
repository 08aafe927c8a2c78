/* SPDX-License-Identifier: MIT */
/*
 * Made-up nodes that come with a lookup and go with the last reference. Their numbers are derived
 * from what they say, so that looking the same thing up again gives the same node (cp and others
 * look twice), and looking another thing up never does: the kernel keeps what it has read of one.
 */
#include "base/alloc.h"
#include "base/util.h"
#include "codec/hash.h"
#include "tree/internal.h"

void ofs_made_destroy(struct ofs_made *m)
{
	if (!m)
		return;
	ofs_slice_destroy(m->slice);
	ofs_buf_finish(&m->text);
	free(m);
}

void ofs_made_share(struct ofs_tree *t, struct ofs_made *m)
{
	struct ofs_made *there;

	m->refs = 1;
	m->attr.ino = m->node;
	pthread_mutex_lock(&t->lock);
	there = ofs_map_get(&t->made, m->node);
	if (there)
		there->refs++;
	else
		ofs_map_put(&t->made, m->node, m);
	pthread_mutex_unlock(&t->lock);
	if (there)
		ofs_made_destroy(m);
}

struct ofs_made *ofs_made_get(struct ofs_tree *t, ofs_node node)
{
	struct ofs_made *m;

	pthread_mutex_lock(&t->lock);
	m = ofs_map_get(&t->made, node);
	if (m)
		m->refs++;
	pthread_mutex_unlock(&t->lock);
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

	pthread_mutex_lock(&t->lock);
	m = ofs_map_get(&t->made, node);
	if (m) {
		m->refs -= OFS_MIN(n, m->refs);
		if (m->refs)
			m = NULL;
		else
			ofs_map_remove(&t->made, node);
	}
	pthread_mutex_unlock(&t->lock);
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

	/* Who may read it is part of what it is: a node that somebody holds keeps its attributes. */
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
	ofs_tree_fill_entry(&m->attr, false, ret);
	ofs_made_share(t, m);
}
