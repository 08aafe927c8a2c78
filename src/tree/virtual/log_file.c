/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include "tree/core/audit.h"
#include "tree/core/audit_disk.h"
#include "tree/core/stat.h"
#include "tree/virtual/nodes.h"

#define PART "log."

int ofs_log_file_write(struct ofs_tree *t, struct ofs_root *root, struct ofs_buf *out)
{
	uint64_t start, end;
	int r = ofs_audit_bounds(t, root, &start, &end);

	if (r == 0)
		r = ofs_audit_read(t, root, end - OFS_MIN(end, OFS_AUDIT_PAGE_MAX), end, out);
	return r;
}

int ofs_log_file_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			struct ofs_entry *ret)
{
	struct ofs_root *root =
		ofs_node_kind(parent) == OFS_NODE_OFFLOAD ? ofs_root_of_node(t, parent) : NULL;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	uint64_t from, to;
	struct ofs_attr attr;
	char canonical[64];
	int r;

	if (!root || sscanf(name, PART "%" SCNu64 "-%" SCNu64, &from, &to) != 2)
		return -ENOENT;
	snprintf(canonical, sizeof(canonical), PART "%" PRIu64 "-%" PRIu64, from, to);
	if (strcmp(name, canonical) != 0)
		return -ENOENT;
	r = ofs_audit_read(t, root, from, to, &text);
	if (r < 0)
		return r;
	ofs_stat_make_up(t, root, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, parent, name, &attr, &text, ret);
	return 0;
}

int ofs_log_file_bounds(struct ofs_tree *t, const struct ofs_root *root, struct ofs_buf *out)
{
	uint64_t start, end;
	int r = ofs_audit_bounds(t, root, &start, &end);

	if (r == 0)
		ofs_buf_printf(out, "%" PRIu64 " %" PRIu64, start, end);
	return r;
}
