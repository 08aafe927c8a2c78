/* SPDX-License-Identifier: MIT */
/*
 * Makes a snapshot of messages by rule: goal, decisions, what was done and looked up, files,
 * errors, open ends, names and references.
 */
#pragma once

#include "context/chat/chat.h"

/*
 * Appends the sections of a snapshot of the messages i for which gone[i] is set, every line with
 * its newline; empty sections are left out. `earlier` (may be NULL) is the inside of the snapshot
 * of older messages, which is merged. The result has about `max_tokens` at most: items of little
 * worth are dropped first, the oldest of them before others; references stay, but may be shortened.
 */
void ofs_snapshot_write(const struct ofs_chat *chat, const bool gone[], const char *earlier,
			size_t earlier_len, uint64_t max_tokens, struct ofs_buf *out);
