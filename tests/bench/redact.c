/* SPDX-License-Identifier: MIT */
/*
 * Calls src/base/redact.h for `tools/bench redact`: redacts the files named on standard input, one
 * per line. Prints each find as "PATH<tab>LINE" with its mark, and then the total bytes and the
 * seconds of processor time in the fastest of ROUNDS rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/redact.h"
#include "base/util.h"

#define CHUNK ((size_t)1 << 20)
#define MARK "[redacted: "

/* A missing or unreadable file counts as empty. */
static void read_file(const char *path, struct ofs_buf *ret)
{
	FILE *in = fopen(path, "re");
	size_t n = in ? 1 : 0;

	while (n > 0) {
		ofs_buf_reserve(ret, CHUNK);
		n = fread(ret->data + ret->len, 1, CHUNK, in);
		ret->len += n;
	}
	if (in)
		fclose(in);
}

/* Prints the lines of `shown` that have more marks than those of `text`. */
static void print_found(const char *path, const struct ofs_buf *text, const struct ofs_buf *shown)
{
	const char *was = (const char *)text->data, *is = (const char *)shown->data;
	const char *end = is + shown->len, *was_end = was + text->len;

	while (is < end) {
		const char *next = memchr(is, '\n', (size_t)(end - is));
		const char *was_next = memchr(was, '\n', (size_t)(was_end - was));
		size_t len = (size_t)((next ? next : end) - is);
		size_t was_len = (size_t)((was_next ? was_next : was_end) - was);

		if (len != was_len || memcmp(is, was, len) != 0)
			printf("%s\t%.*s\n", path, (int)OFS_MIN(len, (size_t)400), is);
		is = next ? next + 1 : end;
		was = was_next ? was_next + 1 : was_end;
	}
}

static double processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int rounds = argc == 2 ? atoi(argv[1]) : 0;
	double seconds = 0;
	size_t bytes = 0, cap = 0;
	OFS_FREE char *path = NULL;

	if (rounds < 1) {
		fputs("usage: redact ROUNDS < PATHS\n", stderr);
		return 2;
	}
	while (getline(&path, &cap, stdin) > 0) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
		double best = 0;

		path[strcspn(path, "\n")] = '\0';
		read_file(path, &text);
		for (int round = 0; round < rounds && text.len; round++) {
			OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
			double begun = processor_time(), took;
			int found = ofs_redact_text(&shown, (const char *)text.data, text.len);

			took = processor_time() - begun;
			best = round == 0 || took < best ? took : best;
			if (round == 0 && found)
				print_found(path, &text, &shown);
		}
		seconds += best;
		bytes += text.len;
	}
	printf("%zu %.6f\n", bytes, seconds);
	return 0;
}
