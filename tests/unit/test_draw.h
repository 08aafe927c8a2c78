/* SPDX-License-Identifier: MIT */
/* Pseudorandom numbers, the same in every run (xorshift64). */
#pragma once

#include <stdint.h>

/* The seed: set to non-zero before the first draw. */
static uint64_t draw_state;

/* Returns a number below `limit`. */
static uint32_t draw(uint32_t limit)
{
	draw_state ^= draw_state << 13;
	draw_state ^= draw_state >> 7;
	draw_state ^= draw_state << 17;
	return (uint32_t)(draw_state >> 33) % limit;
}
