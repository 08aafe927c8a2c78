/* SPDX-License-Identifier: MIT */
/* A file, its image in memory, and the operations on both. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE UINT64_C(4096)
#define MIN(a, b) ((a) < (b) ? (a) : (b))

struct exercise;
struct step;

/* Where an operation works. A chosen range is never empty. */
enum where {
	NOWHERE,
	IN_FILE,
	BELOW_MAX /* within the largest size that the file may reach */
};

struct operation {
	const char *name;
	unsigned int weight;
	enum where where;
	int (*run)(struct exercise *x, struct step *s); /* returns 0 or -errno */
	int flags; /* for the system call */
	bool required;
	bool off; /* not supported here */
};

/* One operation with its chosen parameters. */
struct step {
	struct operation *op;
	uint64_t number, off, len;
	uint64_t to; /* destination of a copy */
	uint64_t size; /* of the file, before the operation */
	unsigned int how; /* variant of the operation */
};

struct exercise {
	const char *path;
	int fd, append, direct; /* descriptors; direct: with O_DIRECT, -1 if not supported */
	uint64_t state; /* of the random number generator */
	uint64_t size, max; /* current and maximum size in bytes */
	uint64_t length; /* maximum length of an operation */
	unsigned char *image; /* content of the file, with zeros from `size` to `max` */
	uint32_t *changed_by; /* for each byte, the operation that last changed it */
	unsigned char *buf; /* `max` bytes, page-aligned */
	struct step *log; /* ring of the latest `last` operations */
	uint64_t last, number;
};

extern struct operation operations[];
extern const size_t noperations;

/* Reports the failure and the operations that led to it, then exits. */
__attribute__((noreturn, format(printf, 2, 3))) void fail(const struct exercise *x,
							  const char *format, ...);

/* Returns a random number from 0 to `below` - 1. */
uint64_t choose(struct exercise *x, uint64_t below);

/* Returns a random offset from 0 to `most`, often at a boundary or one byte beside it. */
uint64_t choose_offset(struct exercise *x, uint64_t most);

/*
 * Returns a random length from 1 to `most`, short ones as often as long ones, or 0 if `most` is 0.
 */
uint64_t choose_length(struct exercise *x, uint64_t most);

/* Opens all descriptors of the file. `flags` are added for the first. */
void open_file(struct exercise *x, int flags);
void close_file(const struct exercise *x);

/* Fail if the size, and in check_all() also any byte, differs from the image. */
void check_size(const struct exercise *x);
void check_all(struct exercise *x);

/*
 * Returns 0 or -errno for the result `n` of a system call that should transfer `len` bytes. Ends
 * the program after a short transfer without a reason.
 */
int transferred(const struct exercise *x, ssize_t n, uint64_t len);

/* Fails unless `got` equals the image at `off`, with zeros after its end. */
void compare(const struct exercise *x, const char *how, const unsigned char *got, uint64_t off,
	     uint64_t len);
