/* SPDX-License-Identifier: MIT */
/*
 * What speed and profile do with files, without the cost of an interpreter: creates, writes, reads
 * and looks up files, and prints the seconds it took. The text to write is made before the clock
 * starts, and differs for each SEED.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)
#define BLOCKS ((size_t)64)
#define PAGE ((size_t)4096)
#define WRITERS_MAX ((uint64_t)64)
#define PER_DIRECTORY ((size_t)1000)
#define SIZE_MAX_CREATE ((uint64_t)4 << 30)

static const char usage[] =
	"usage: workload create DIRECTORY FILES BYTES SEED [WRITERS [fsync]]\n"
	"       workload write FILE BYTES SEED\n"
	"       workload read FILE\n"
	"       workload ask PATH TIMES\n"
	"create makes DIRECTORY, with files that are all different, 1000 in a subdirectory;\n"
	"in one of each 1000 there is the word 'needle-in-hay'. write ends with an fsync, and\n"
	"prints how many lines it wrote as well. ask looks PATH up, be it there or not, and\n"
	"prints the seconds a call.\n";
static const char needle[] = "needle-in-hay";

static void die(const char *what, const char *name)
{
	fprintf(stderr, "workload: cannot %s '%s': %s\n", what, name, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * Fills with lines of words from a vocabulary of 4096, which compress about as well as tool output.
 * Each text number `i` of a seed is different.
 */
static void fill(char *buf, size_t size, uint64_t seed, uint64_t i)
{
	uint64_t state = ((seed << 32) + i) * 0x9e3779b97f4a7c15u | 1;
	size_t at = 0, words = 0;

	while (at < size) {
		uint64_t r = random_next(&state), word = (r >> 20) % 4096 * 0x2545f4914f6cdd1du + 7;
		size_t len = 3 + (word >> 60) % 8;

		while (len-- && at < size) {
			buf[at++] = (char)('a' + word % 26);
			word /= 26;
		}
		if (at < size)
			buf[at++] = ++words % 12 ? ' ' : '\n';
	}
}

static void write_all(int fd, const char *buf, size_t size, const char *name)
{
	while (size) {
		ssize_t n = write(fd, buf, size);

		if (n < 0)
			die("write", name);
		buf += n;
		size -= (size_t)n;
	}
}

/*
 * Page-aligned, like the buffers of cat, cp, dd and grep: the speed at which the kernel copies to
 * and from other addresses differs between processors by up to a factor of three.
 */
static void *text_alloc(size_t size, const char *name)
{
	void *text;

	errno = posix_memalign(&text, PAGE, size);
	if (errno)
		die("hold the content of", name);
	return text;
}

/* ---- create */

struct writer {
	pthread_t thread;
	const char *dir;
	const char *text;
	size_t from, to, size;
	bool sync;
};

static void *create_files(void *arg)
{
	struct writer *w = arg;
	char name[4096];
	size_t i;

	for (i = w->from; i < w->to; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s/%03zu/%06zu.txt", w->dir, i / PER_DIRECTORY, i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			die("create", name);
		write_all(fd, w->text + i * w->size, w->size, name);
		if (w->sync && fsync(fd) < 0)
			die("sync", name);
		if (close(fd) < 0)
			die("close", name);
	}
	return NULL;
}

static char *make_texts(const char *dir, size_t files, size_t size, uint64_t seed)
{
	char *text = text_alloc(files * size, dir);
	size_t i;

	for (i = 0; i < files; i++) {
		fill(text + i * size, size, seed, i);
		if (i % PER_DIRECTORY == 99 && size > 2 * sizeof(needle))
			memcpy(text + i * size + size / 2, needle, sizeof(needle) - 1);
	}
	return text;
}

static void make_directories(const char *dir, size_t files)
{
	char name[4096];
	size_t i;

	if (mkdir(dir, 0755) < 0)
		die("make", dir);
	for (i = 0; i < files; i += PER_DIRECTORY) {
		snprintf(name, sizeof(name), "%s/%03zu", dir, i / PER_DIRECTORY);
		if (mkdir(name, 0755) < 0)
			die("make", name);
	}
}

static double create(const char *dir, size_t files, size_t size, uint64_t seed, size_t writers,
		     bool sync)
{
	struct writer all[WRITERS_MAX];
	char *text = make_texts(dir, files, size, seed);
	double begin;
	size_t i;

	make_directories(dir, files);
	begin = now();
	for (i = 0; i < writers; i++) {
		all[i] = (struct writer){ .dir = dir,
					  .text = text,
					  .from = files * i / writers,
					  .to = files * (i + 1) / writers,
					  .size = size,
					  .sync = sync };
		errno = pthread_create(&all[i].thread, NULL, create_files, &all[i]);
		if (errno)
			die("start a writer for", dir);
	}
	for (i = 0; i < writers; i++)
		pthread_join(all[i].thread, NULL);
	begin = now() - begin;
	free(text);
	return begin;
}

/* ---- one large file */

static size_t count_lines(const char *text, size_t size)
{
	const char *end = text + size;
	size_t lines = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text)))) {
		text++;
		lines++;
	}
	return lines;
}

/* Starts each quarter of a block with a line that states its position in the file. */
static void stamp(char *block, uint64_t off)
{
	char line[18];
	size_t i;

	for (i = 0; i < BLOCK; i += BLOCK / 4) {
		snprintf(line, sizeof(line), "%016llx\n", (unsigned long long)(off + i));
		memcpy(block + i, line, sizeof(line) - 1);
	}
}

static double write_file(const char *name, uint64_t size, uint64_t seed, uint64_t *ret_lines)
{
	char *text = text_alloc(BLOCKS * BLOCK, name);
	uint64_t done, lines = 0;
	double begin;
	size_t i;
	int fd;

	for (i = 0; i < BLOCKS; i++) {
		fill(text + i * BLOCK, BLOCK, seed, i);
		stamp(text + i * BLOCK, 0);
	}
	/* A stamp replaces another, so the number of lines in a block stays the same. */
	for (done = 0; done < size; done += BLOCK)
		lines += count_lines(text + done / BLOCK % BLOCKS * BLOCK,
				     size - done < BLOCK ? size - done : BLOCK);
	begin = now();
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		die("create", name);
	for (done = 0; done < size; done += BLOCK) {
		char *block = text + done / BLOCK % BLOCKS * BLOCK;

		stamp(block, done);
		write_all(fd, block, size - done < BLOCK ? size - done : BLOCK, name);
	}
	if (fsync(fd) < 0)
		die("sync", name);
	if (close(fd) < 0)
		die("close", name);
	begin = now() - begin;
	free(text);
	*ret_lines = lines;
	return begin;
}

static double read_file(const char *name)
{
	char *buf = text_alloc(BLOCK, name);
	double begin = now();
	ssize_t n;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("open", name);
	do {
		n = read(fd, buf, BLOCK);
	} while (n > 0);
	if (n < 0)
		die("read", name);
	close(fd);
	begin = now() - begin;
	free(buf);
	return begin;
}

/* ---- one lookup */

static void look_up(const char *name)
{
	struct stat st;

	if (stat(name, &st) < 0 && errno != ENOENT)
		die("look up", name);
}

static double ask(const char *name, uint64_t times)
{
	double begin;
	uint64_t i;

	/* The kernel knows the directories of the path from now on. */
	look_up(name);
	begin = now();
	for (i = 0; i < times; i++)
		look_up(name);
	return (now() - begin) / (double)times;
}

/* ---- arguments */

static uint64_t number(const char *text, uint64_t min, uint64_t max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < min || n > max) {
		fprintf(stderr, "workload: '%s' is not a number from %llu to %llu\n", text,
			(unsigned long long)min, (unsigned long long)max);
		exit(2);
	}
	return n;
}

static void run_create(int argc, char **argv)
{
	uint64_t files = number(argv[1], 1, 1000000);
	uint64_t size = number(argv[2], 1, SIZE_MAX_CREATE / files);
	uint64_t seed = number(argv[3], 0, UINT32_MAX);
	uint64_t writers = argc > 4 ? number(argv[4], 1, WRITERS_MAX) : 1;

	printf("%.6f\n", create(argv[0], files, size, seed, writers, argc > 5));
}

static void run_write(char **argv)
{
	uint64_t size = number(argv[1], 1, INT64_MAX - BLOCK);
	uint64_t seed = number(argv[2], 0, UINT32_MAX), lines;
	double seconds = write_file(argv[0], size, seed, &lines);

	printf("%.6f %llu\n", seconds, (unsigned long long)lines);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	argc -= 2;
	argv += 2;
	if (strcmp(command, "create") == 0 && (argc == 4 || argc == 5)) {
		run_create(argc, argv);
	} else if (strcmp(command, "create") == 0 && argc == 6 && strcmp(argv[5], "fsync") == 0) {
		run_create(argc, argv);
	} else if (strcmp(command, "write") == 0 && argc == 3) {
		run_write(argv);
	} else if (strcmp(command, "read") == 0 && argc == 1) {
		printf("%.6f\n", read_file(argv[0]));
	} else if (strcmp(command, "ask") == 0 && argc == 2) {
		printf("%.9f\n", ask(argv[0], number(argv[1], 1, UINT32_MAX)));
	} else {
		fputs(usage, stderr);
		return 2;
	}
	return 0;
}
