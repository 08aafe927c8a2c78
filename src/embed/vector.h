/* SPDX-License-Identifier: MIT */
/* Vectors of numbers as int8_t. */
#pragma once

#include "base/util.h"

/*
 * Scales `n` numbers so that the largest has the magnitude 127, and rounds them. Those that are not
 * finite count as 0.
 */
void ofs_vector_quantise(const float *numbers, size_t n, int8_t *ret);
