/* SPDX-License-Identifier: MIT */
/* Remembers which parts of packs were used last. Any thread may call. */
#pragma once

#include "base/util.h"

#define OFS_PACK_PART (UINT64_C(1) << 20) /* bytes of a part; the last one of a pack is shorter */

struct ofs_pack_use;

struct ofs_pack_use *ofs_pack_use_create(void);
void ofs_pack_use_destroy(struct ofs_pack_use *u);

/* Records a use of the part that contains the byte at `off`. */
void ofs_pack_use_note(struct ofs_pack_use *u, uint32_t pack, uint64_t off);

/* Higher for a later use; 0: not used yet. */
uint64_t ofs_pack_use_last(struct ofs_pack_use *u, uint32_t pack, uint64_t off);

void ofs_pack_use_forget(struct ofs_pack_use *u, uint32_t pack);
