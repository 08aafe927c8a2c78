/* SPDX-License-Identifier: MIT */
/*
 * What messages come down to, found by rule: goal, decisions, what was done and looked up, files
 * touched, errors, open ends, names, references.
 */
#pragma once

#include "context/chat/chat.h"

/*
 * Appends the sections of a snapshot of the messages i for which gone[i], each line ended; sections
 * without a line are left out. `earlier` is the inside of a snapshot that was made before of what
 * came before (NULL: none), and goes into it. At most about `max_tokens`: what is worth least and
 * oldest goes first; references stay, shortened.
 */
void ofs_snapshot_write(const struct ofs_chat *chat, const bool gone[], const char *earlier,
			size_t earlier_len, uint64_t max_tokens, struct ofs_buf *out);
