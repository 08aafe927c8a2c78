/* SPDX-License-Identifier: MIT */
#include "client/input.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define INPUT_FIRST ((size_t)64 << 10)

void ofs_input_finish(struct ofs_input *i)
{
	if (i->cap)
		munmap(i->data, i->cap);
	*i = (struct ofs_input){ 0 };
}

/* Grown by moving pages, not bytes: what has not been written to yet takes no memory. */
static int input_grow(struct ofs_input *i)
{
	size_t cap = i->cap ? i->cap * 2 : INPUT_FIRST;
	void *data = i->cap ? mremap(i->data, i->cap, cap, MREMAP_MAYMOVE)
			    : mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

	if (data == MAP_FAILED)
		return -ENOMEM;
	i->data = data;
	i->cap = cap;
	return 0;
}

int ofs_input_read(int fd, size_t max, struct ofs_input *ret)
{
	OFS_CLEANUP(ofs_input_finish) struct ofs_input i = { 0 };
	ssize_t n = 1;

	while (n) {
		int r = i.len == i.cap ? input_grow(&i) : 0;

		if (r < 0)
			return r;
		n = read(fd, i.data + i.len, i.cap - i.len);
		if (n < 0 && errno != EINTR)
			return -errno;
		i.len += n > 0 ? (size_t)n : 0;
		if (i.len > max)
			return -EFBIG;
		n = n < 0 ? 1 : n;
	}
	*ret = i;
	i = (struct ofs_input){ 0 };
	return 0;
}
