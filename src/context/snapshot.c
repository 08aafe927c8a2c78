/* SPDX-License-Identifier: MIT */
#include "context/snapshot.h"
int ofs_snapshot_write(const struct ofs_chat *chat, const bool gone[], const char *earlier,
		       size_t earlier_len, uint64_t max_tokens, struct ofs_buf *out)
{
	return ofs_buf_append_str(out, "Goal:\n- stub\n");
}
