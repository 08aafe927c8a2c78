/* SPDX-License-Identifier: MIT */
/*
 * Adds our server's entry to an agent's settings, or to any other bytes. The result contains the
 * entry until it is removed again.
 */
#include "agent/mcp_entry.h"
#include "fuzz.h"

static const char *const argv[] = { "offload", "mcp", NULL };

static void check(const struct ofs_mcp_client *client, const struct ofs_buf *text)
{
	OFS_CLEANUP(ofs_buf_finish)
	struct ofs_buf added = OFS_BUF_INIT, again = OFS_BUF_INIT, removed = OFS_BUF_INIT,
		       left = OFS_BUF_INIT;
	struct ofs_error err = { "" };
	int r = ofs_mcp_entry_add(client, text, argv, &err, &added);

	if (r < 0) {
		FUZZ_ASSERT((r == -EINVAL || r == -EEXIST) && err.text[0]);
		return;
	}
	ofs_buf_str(&added);
	FUZZ_ASSERT(ofs_mcp_entry_add(client, &added, argv, &err, &again) == 0);
	FUZZ_ASSERT(ofs_mcp_entry_remove(client, &added, &err, &removed) == 1);
	ofs_buf_str(&removed);
	FUZZ_ASSERT(ofs_mcp_entry_remove(client, &removed, &err, &left) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_buf_append(&text, data, size);
	ofs_buf_str(&text);
	for (size_t i = 0; ofs_mcp_client_number(i); i++)
		check(ofs_mcp_client_number(i), &text);
	return 0;
}
