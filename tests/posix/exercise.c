/* SPDX-License-Identifier: MIT */
/*
 * Does random operations on one file, in every way that a program can read or change it, and
 * compares it with an image in memory. docs/POSIX.md explains its use.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercise.h"

#define BLOCK (UINT64_C(256) << 10) /* the unit in which the daemon seals */

static const char usage[] =
	"usage: exercise [--ops N] [--seed N] [--size BYTES] [--length BYTES] [--last N]\n"
	"                [--image FILE] [--require OPERATION,...] FILE\n"
	"\n"
	"Does random operations on FILE, which is made or emptied, and compares it with what it must hold.\n"
	"\n"
	"    --ops N          how many operations (default 10000)\n"
	"    --seed N         which ones (default 1)\n"
	"    --size BYTES     the file grows up to this (default 2 MiB)\n"
	"    --length BYTES   one operation reaches at most so far (default 128 KiB)\n"
	"    --last N         how many operations a failure shows (default 20)\n"
	"    --image FILE     what the file must hold at the start, if FILE exists; written at the end\n"
	"    --require LIST   operations that must not answer 'Operation not supported'\n";

void fail(const struct exercise *x, const char *format, ...)
{
	uint64_t n = x->number > x->last ? x->number - x->last + 1 : 1;
	va_list ap;

	for (; n <= x->number; n++) {
		const struct step *s = &x->log[n % x->last];

		fprintf(stderr, "%10ju %-9s at %-8ju length %-7ju", s->number, s->op->name, s->off,
			s->len);
		if (s->to != UINT64_MAX)
			fprintf(stderr, " to %-8ju", s->to);
		fprintf(stderr, " variant %u, size was %ju%s\n", s->how, s->size,
			s->op->off ? ", left out" : "");
	}
	va_start(ap, format);
	verrx(1, format, ap);
}

/* SplitMix64. */
uint64_t choose(struct exercise *x, uint64_t below)
{
	uint64_t z = x->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

uint64_t choose_offset(struct exercise *x, uint64_t most)
{
	uint64_t off = choose(x, most + 1), kind = choose(x, 8);

	if (kind == 0)
		off -= off % PAGE;
	else if (kind == 1)
		off = off - off % BLOCK + choose(x, 3) - 1;
	else if (kind == 2)
		off = x->size;
	return MIN(off, most);
}

uint64_t choose_length(struct exercise *x, uint64_t most)
{
	uint64_t len = x->length;

	while (len > 8 && choose(x, 4))
		len /= 2 + choose(x, 3);
	len = choose(x, len) + 1;
	return MIN(len, most);
}

static void choose_range(struct exercise *x, struct step *s, enum where where)
{
	uint64_t end = where == IN_FILE ? x->size : x->max;

	/* Rarely far beyond the end, or else the file would be mostly holes. */
	s->off = choose_offset(x, choose(x, 4) ? MIN(x->size + x->length, end) : end);
	s->len = choose_length(x, end - s->off);
}

static struct operation *choose_operation(struct exercise *x)
{
	struct operation *op = operations;
	unsigned int total = 0, i;
	uint64_t at;

	for (i = 0; i < noperations; i++)
		total += operations[i].weight;
	for (at = choose(x, total); at >= op->weight; op++)
		at -= op->weight;
	return op;
}

static void run_one(struct exercise *x)
{
	struct step *s = &x->log[++x->number % x->last];
	struct operation *op;
	int r;

	*s = (struct step){ .number = x->number, .to = UINT64_MAX, .size = x->size };
	s->op = op = choose_operation(x);
	if (op->off)
		return;
	if (op->where != NOWHERE) {
		choose_range(x, s, op->where);
		if (!s->len)
			return;
	}
	r = op->run(x, s);
	op->off = r == -EOPNOTSUPP && !op->required;
	if (op->off)
		warnx("%s is not supported here and left out", op->name);
	else if (r < 0)
		fail(x, "%s: %s", op->name, strerror(-r));
	check_size(x);
}

/* Loads the image from `path`. Returns false if there is none. */
static bool load_image(struct exercise *x, const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f && errno == ENOENT)
		return false;
	if (!f)
		err(2, "cannot read the image '%s'", path);
	x->size = fread(x->image, 1, x->max, f);
	if (ferror(f) || getc(f) != EOF)
		errx(2, "cannot read the image '%s': it is larger than --size", path);
	fclose(f);
	return true;
}

static void save_image(const struct exercise *x, const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(x->image, 1, x->size, f) != x->size || fclose(f) != 0)
		err(2, "cannot write the image '%s'", path);
}

static void allocate(struct exercise *x)
{
	x->max += (PAGE - x->max % PAGE) % PAGE;
	x->image = calloc(1, x->max);
	x->changed_by = calloc(x->max, sizeof(*x->changed_by));
	x->buf = aligned_alloc(PAGE, x->max);
	x->log = calloc(x->last, sizeof(*x->log));
	if (!x->image || !x->changed_by || !x->buf || !x->log)
		err(2, "cannot hold an image of %ju bytes", x->max);
}

static void finish(struct exercise *x)
{
	close_file(x);
	free(x->image);
	free(x->changed_by);
	free(x->buf);
	free(x->log);
}

static void require(char *list)
{
	char *name, *save = NULL;
	unsigned int i;

	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		for (i = 0; i < noperations && strcmp(operations[i].name, name) != 0; i++)
			;
		if (i == noperations)
			errx(2, "there is no operation '%s' to require", name);
		operations[i].required = true;
	}
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		errx(2, "'%s': a number from %ju to %ju is expected", text, least, most);
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'm' },
		{ "length", required_argument, NULL, 'c' },
		{ "last", required_argument, NULL, 'l' },
		{ "image", required_argument, NULL, 'i' },
		{ "require", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	struct exercise x = { .max = 2 << 20, .length = 128 << 10, .last = 20 };
	uint64_t ops = 10000, seed = 1;
	const char *image = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'o')
			ops = number(optarg, 1, UINT32_MAX);
		else if (c == 's')
			seed = number(optarg, 0, UINT64_MAX);
		else if (c == 'm')
			x.max = number(optarg, PAGE, 1 << 30);
		else if (c == 'c')
			x.length = number(optarg, 1, 1 << 30);
		else if (c == 'l')
			x.last = number(optarg, 1, 1 << 20);
		else if (c == 'i')
			image = optarg;
		else if (c == 'r')
			require(optarg);
		else
			return fputs(usage, c == 'h' ? stdout : stderr), c == 'h' ? 0 : 2;
	}
	if (optind != argc - 1)
		return fputs(usage, stderr), 2;
	x.path = argv[optind];
	x.state = seed;
	allocate(&x);
	open_file(&x, image && load_image(&x, image) ? 0 : O_CREAT | O_TRUNC);
	check_all(&x);
	while (x.number < ops)
		run_one(&x);
	check_all(&x);
	if (image)
		save_image(&x, image);
	finish(&x);
	printf("exercise: %ju operations on '%s' passed, seed %ju\n", ops, x.path, seed);
	return 0;
}
