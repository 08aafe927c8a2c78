/* SPDX-License-Identifier: MIT */
/*
 * Memory for frames. A few buffers are kept for reuse: mapping and faulting in their pages would
 * take a tenth as long as expanding a frame. Any thread may call.
 */
#pragma once

#include "base/util.h"

/*
 * Buffers for lengths above half of this, up to all of it, are kept. That is enough for the content
 * of a full frame, and for the whole frame if it is stored uncompressed.
 */
#define OFS_FRAME_BUFFER ((256u << 10) + 4096)

/* Returns a buffer of at least `len` bytes; NULL: out of memory. free() may release it as well. */
uint8_t *ofs_frame_buffer_get(uint32_t len);

/* Releases a buffer. `len` is the length that was requested; a NULL `buf` is ignored. */
void ofs_frame_buffer_put(uint8_t *buf, uint32_t len);
