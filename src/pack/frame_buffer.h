/* SPDX-License-Identifier: MIT */
/*
 * Memory for frames, a few of which are kept for the next: mapping and faulting in their pages
 * would take a tenth as long as expanding them. Any thread may call.
 */
#pragma once

#include "base/util.h"

/*
 * Those of more than half of this, and no more than it, are kept: for the content of a full frame,
 * or for all of it where it is stored as it is.
 */
#define OFS_FRAME_BUFFER ((256u << 10) + 4096)

/* NULL: no memory. It may be freed with free() as well. */
uint8_t *ofs_frame_buffer_get(uint32_t len);

/* `len` as it was asked for; NULL is ignored. */
void ofs_frame_buffer_put(uint8_t *buf, uint32_t len);
