/* SPDX-License-Identifier: MIT */
/* Quantised vectors. */
#pragma once

#include "base/util.h"

/*
 * Scales `n` numbers so that the largest magnitude is 127, and rounds them. Infinities and NaN
 * become 0.
 */
void ofs_vector_quantise(const float *numbers, size_t n, int8_t *ret);
