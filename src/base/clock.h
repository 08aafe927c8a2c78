/* SPDX-License-Identifier: MIT */
#ifndef OFS_BASE_CLOCK_H
#define OFS_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since 1970, as file times use them; may step. */
int64_t ofs_clock_wall(void);

/* Nanoseconds on a clock that never steps back; for delays. */
int64_t ofs_clock_monotonic(void);

#define OFS_NS_PER_MS INT64_C(1000000)
#define OFS_NS_PER_S INT64_C(1000000000)

#endif
