/* SPDX-License-Identifier: MIT */
/*
 * Calls src/base/tokens.h for `tools/bench tokens`. Counts or only times the documents on standard
 * input, each given as its length in decimal, a newline and that many bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/tokens.h"
#include "base/util.h"

#define CHUNK ((size_t)1 << 20)

static const char usage[] =
	"usage: tokens count < DOCUMENTS\n"
	"       tokens time ROUNDS < DOCUMENTS\n"
	"count prints the tokens of each document on a line of its own; time prints\n"
	"the bytes of all, and the seconds that they took in the quickest round.\n";

static void die(const char *what)
{
	fprintf(stderr, "tokens: %s\n", what);
	exit(1);
}

static void read_all(struct ofs_buf *b)
{
	size_t n;

	do {
		ofs_buf_reserve(b, CHUNK);
		n = fread(b->data + b->len, 1, CHUNK, stdin);
		b->len += n;
	} while (n > 0);
	if (ferror(stdin))
		die("cannot read standard input");
}

/* Finds the document at `*at` and moves `*at` past it. Returns false at the end. */
static bool next(const struct ofs_buf *b, size_t *at, const uint8_t **ret_data, size_t *ret_len)
{
	const uint8_t *line = b->data + *at;
	const uint8_t *end = memchr(line, '\n', b->len - *at);
	uintmax_t len;

	if (*at == b->len)
		return false;
	if (!end)
		die("a document has no length");
	len = strtoumax((const char *)line, NULL, 10);
	*at += (size_t)(end - line) + 1;
	if (len > b->len - *at)
		die("a document is shorter than its length says");
	*ret_data = b->data + *at;
	*ret_len = (size_t)len;
	*at += *ret_len;
	return true;
}

static void count(const struct ofs_buf *b)
{
	const uint8_t *data;
	size_t at = 0, len;

	while (next(b, &at, &data, &len))
		printf("%" PRIu64 "\n", ofs_tokens_count(data, len));
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void time_rounds(const struct ofs_buf *b, long rounds)
{
	volatile uint64_t sum = 0; /* keeps the counting from being optimised away */
	double best = 0;
	size_t bytes = 0;

	for (long i = 0; i < rounds; i++) {
		const uint8_t *data;
		size_t at = 0, len;
		double begin = now(), took;
		bytes = 0;
		while (next(b, &at, &data, &len)) {
			sum += ofs_tokens_count(data, len);
			bytes += len;
		}
		took = now() - begin;
		best = i == 0 ? took : OFS_MIN(best, took);
	}
	printf("%zu %.9f\n", bytes, best);
}

int main(int argc, char **argv)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf b = OFS_BUF_INIT;
	bool counts = argc == 2 && strcmp(argv[1], "count") == 0;
	long rounds = argc == 3 && strcmp(argv[1], "time") == 0 ? strtol(argv[2], NULL, 10) : 0;

	if (!counts && rounds <= 0) {
		fputs(usage, stderr);
		return 2;
	}
	read_all(&b);
	if (counts)
		count(&b);
	else
		time_rounds(&b, rounds);
	return fflush(stdout) == 0 ? 0 : 1;
}
