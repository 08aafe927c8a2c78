/* SPDX-License-Identifier: MIT */
/* Numbers that look like chance and are the same in every run (xorshift64). */
#pragma once

#include <stdint.h>

/* To be set to anything but 0 before the first is drawn. */
static uint64_t draw_state;

/* A number below the limit. */
static uint32_t draw(uint32_t limit)
{
	draw_state ^= draw_state << 13;
	draw_state ^= draw_state >> 7;
	draw_state ^= draw_state << 17;
	return (uint32_t)(draw_state >> 33) % limit;
}
