/* SPDX-License-Identifier: MIT */
/* A file, an image of it in memory, and what can be done to both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE UINT64_C(4096)
#define MIN(a, b) ((a) < (b) ? (a) : (b))

struct exercise;
struct step;

/* Where an operation works, chosen for it: a range is never empty. */
enum where {
	NOWHERE,
	IN_FILE,
	BELOW_MAX /* in what the file may become */
};

struct operation {
	const char *name;
	unsigned int weight;
	enum where where;
	int (*run)(struct exercise *x, struct step *s); /* 0, or -errno */
	int flags; /* of the system call */
	bool required;
	bool off; /* it is not supported here */
};

/* One operation, as it was chosen. */
struct step {
	struct operation *op;
	uint64_t number, off, len;
	uint64_t to; /* of a copy */
	uint64_t size; /* of the file before */
	unsigned int how; /* a variant of the operation */
};

struct exercise {
	const char *path;
	int fd, append, direct; /* open files; direct: past the page cache, -1 when not supported */
	uint64_t state; /* of the random numbers */
	uint64_t size, max; /* bytes of the file now, and at most */
	uint64_t length; /* of one operation, at most */
	unsigned char *image; /* what the file holds, and zeros from `size` to `max` */
	uint32_t *changed_by; /* for each byte the operation that changed it last */
	unsigned char *buf; /* `max` bytes, aligned to pages */
	struct step *log; /* a ring of the last `last` operations */
	uint64_t last, number;
};

extern struct operation operations[];
extern const size_t noperations;

/* Says what is wrong and what led there, and ends the program. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(const struct exercise *x,
							  const char *format, ...);

/* A random number from 0 to `below` - 1. */
uint64_t choose(struct exercise *x, uint64_t below);

/* A random offset from 0 to `most`, often at a boundary or a byte beside it. */
uint64_t choose_offset(struct exercise *x, uint64_t most);

/* A random length from 1 to `most`, short ones as often as long ones; 0 if `most` is. */
uint64_t choose_length(struct exercise *x, uint64_t most);

/* Opens the file in all its ways, with more `flags` the first time. */
void open_file(struct exercise *x, int flags);
void close_file(const struct exercise *x);

/* The size must be that of the image; and in check_all() every byte, too. */
void check_size(const struct exercise *x);
void check_all(struct exercise *x);

/*
 * What a system call that transfers `len` bytes gave: 0, or -errno where it failed. A short
 * transfer that nothing explains ends the program.
 */
int transferred(const struct exercise *x, ssize_t n, uint64_t len);

/* The bytes `got` must be those of the image at `off`, where zeros are behind the end. */
void compare(const struct exercise *x, const char *how, const unsigned char *got, uint64_t off,
	     uint64_t len);
