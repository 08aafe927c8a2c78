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
	int r = ofs_audit_bounds(t, &start, &end);

	if (root->above) /* it tells of all trees */
		return 0;
	return r < 0 ? r : ofs_audit_read(t, end - OFS_MIN(end, OFS_AUDIT_PAGE_MAX), end, "", out);
}

int ofs_log_file_lookup(struct ofs_tree *t, const char *name, struct ofs_entry *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	uint64_t from, to;
	struct ofs_attr attr;
	char canonical[64];
	int r;

	if (sscanf(name, PART "%" SCNu64 "-%" SCNu64, &from, &to) != 2)
		return -ENOENT;
	snprintf(canonical, sizeof(canonical), PART "%" PRIu64 "-%" PRIu64, from, to);
	if (strcmp(name, canonical) != 0)
		return -ENOENT;
	r = ofs_audit_read(t, from, to, "", &text);
	if (r < 0)
		return r;
	ofs_stat_make_up(t, t->root, 0, S_IFREG | 0400, &attr);
	ofs_made_text(t, OFS_NODE_OFFLOAD, name, &attr, &text, ret);
	return 0;
}

int ofs_log_file_bounds(struct ofs_tree *t, struct ofs_buf *out)
{
	uint64_t start, end;
	int r = ofs_audit_bounds(t, &start, &end);

	if (r == 0)
		ofs_buf_printf(out, "%" PRIu64 " %" PRIu64, start, end);
	return r;
}
