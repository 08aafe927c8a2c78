/* SPDX-License-Identifier: MIT */
/* Which parts of packs were used last. Any thread may call. */
#pragma once

#include "base/util.h"

#define OFS_PACK_PART \
	(UINT64_C(1) << 20) /* bytes of a pack that are one part; the last is shorter */

struct ofs_pack_use;

struct ofs_pack_use *ofs_pack_use_create(void);
void ofs_pack_use_destroy(struct ofs_pack_use *u);

/* The part with the byte at `off` is used now. */
void ofs_pack_use_note(struct ofs_pack_use *u, uint32_t pack, uint64_t off);

/* Higher for what was used later; 0: it was not used yet. */
uint64_t ofs_pack_use_last(struct ofs_pack_use *u, uint32_t pack, uint64_t off);

void ofs_pack_use_forget(struct ofs_pack_use *u, uint32_t pack);
