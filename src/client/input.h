/* SPDX-License-Identifier: MIT */
/* All of what a descriptor gives, in memory once and no more than that. */
#ifndef OFS_CLIENT_INPUT_H
#define OFS_CLIENT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct ofs_input {
	char *data; /* not NUL-terminated; never NULL */
	size_t len;
	size_t cap; /* mapped; only what was read takes memory */
};

/* From where the descriptor stands up to its end. 0 or -errno; -EFBIG: there are more than `max` bytes. */
int ofs_input_read(int fd, size_t max, struct ofs_input *ret);
void ofs_input_finish(struct ofs_input *i);

#endif
