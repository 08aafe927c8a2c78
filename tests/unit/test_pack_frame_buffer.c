/* SPDX-License-Identifier: MIT */
/* Memory for frames: which buffers are kept for reuse, and how many. */
#include <criterion/criterion.h>

#include "pack/frame_buffer.h"

#define LARGE (OFS_FRAME_BUFFER / 2 + 1)
#define MANY 40u

static uint8_t *taken[MANY];

static void take(uint32_t len)
{
	for (size_t i = 0; i < MANY; i++) {
		taken[i] = ofs_frame_buffer_get(len);
		cr_assert_not_null(taken[i]);
		memset(taken[i], (int)i, len);
	}
}

static void give_back(uint32_t len)
{
	for (size_t i = 0; i < MANY; i++) {
		cr_assert_eq(taken[i][0], (uint8_t)i);
		cr_assert_eq(taken[i][len - 1], (uint8_t)i);
		ofs_frame_buffer_put(taken[i], len);
	}
}

Test(pack_frame_buffer, a_large_one_is_used_again_at_any_large_length)
{
	uint8_t *first = ofs_frame_buffer_get(LARGE), *again;

	ofs_frame_buffer_put(first, LARGE);
	again = ofs_frame_buffer_get(OFS_FRAME_BUFFER);
	cr_assert_eq(again, first);
	memset(again, 1, OFS_FRAME_BUFFER);
	ofs_frame_buffer_put(again, OFS_FRAME_BUFFER);
}

Test(pack_frame_buffer, no_two_share_one)
{
	static const uint32_t lengths[] = { 1, LARGE - 1, LARGE, OFS_FRAME_BUFFER,
					    OFS_FRAME_BUFFER + 1 };

	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < OFS_ARRAY_SIZE(lengths); i++) {
			take(lengths[i]);
			give_back(lengths[i]);
		}
}

Test(pack_frame_buffer, odd_cases)
{
	ofs_frame_buffer_put(NULL, OFS_FRAME_BUFFER);
	ofs_frame_buffer_put(ofs_frame_buffer_get(0), 0);
	/* The owner of a large buffer may also free it without giving it back. */
	free(ofs_frame_buffer_get(OFS_FRAME_BUFFER));
}
