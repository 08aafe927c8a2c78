/* SPDX-License-Identifier: MIT */
/*
 * flip [--every K] [--start I] [--only FILE] [--bits] [--names-may-differ] STORE EXPECTED SCRATCH
 *
 * Damages a copy of STORE in SCRATCH, one byte at a time, and reads everything back through the
 * tree. It must give the files below EXPECTED, or report damage: an error text when opening, -EIO
 * or -EUCLEAN. Each damaged store is opened twice, because what the first opening writes must not
 * make damage look sound.
 *
 * The bytes of all files are numbered twice: once for inverting the byte, once for flipping one of
 * its bits. With --bits all bits of FILE are numbered instead. Every Kth number from I on is tried
 * if it is in FILE, a path in the store, or in any file without --only.
 *
 * Lines on standard output:
 *   progress DONE OF       about once a second
 *   wrong PATH OFFSET ...  a finding: the place, the byte before and after, and what was wrong
 *   done TRIED RIGHT EIO REFUSED WRONG
 * Exit status: 0 if nothing was wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <offloadfs/tree.h>

#define FILES_MAX 4096
#define PIECE ((size_t)128 << 10)
#define HANG_SECONDS 20

struct image {
	char *path; /* relative to the directory that was read */
	uint8_t *bytes;
	size_t size;
};

struct image_list {
	struct image files[FILES_MAX];
	size_t n;
};

enum outcome {
	RIGHT,
	SAID_EIO,
	REFUSED,
	WRONG
};

/* Shared with the child that opens the damaged store. */
struct verdict {
	enum outcome outcome;
	char text[512];
};

static struct image_list store, expected;
static struct verdict *verdict;
static bool names_may_differ, bits;
static const char *scratch;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void *must(void *p)
{
	if (!p)
		die("flip");
	return p;
}

/* ---- reading and writing directories */

static struct image_list *load_list;
static size_t load_root;

static int load_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct image *f;
	int fd;

	(void)ftw;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	if (load_list->n == FILES_MAX) {
		errno = E2BIG;
		return -1;
	}
	f = &load_list->files[load_list->n++];
	f->path = must(strdup(path + load_root));
	f->size = (size_t)st->st_size;
	f->bytes = must(malloc(f->size + 1));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, f->bytes, f->size) != (ssize_t)f->size)
		return -1;
	close(fd);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct image *)a)->path, ((const struct image *)b)->path);
}

static void load(const char *root, struct image_list *ret)
{
	load_list = ret;
	load_root = strlen(root) + 1;
	if (nftw(root, load_one, 16, FTW_PHYS) != 0)
		die(root);
	qsort(ret->files, ret->n, sizeof(*ret->files), by_path);
}

static const struct image *find_file(const struct image_list *l, const char *path)
{
	struct image key = { .path = (char *)(uintptr_t)path };

	return bsearch(&key, l->files, l->n, sizeof(key), by_path);
}

static int remove_stranger(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_F && !find_file(&store, path + load_root))
		return unlink(path);
	return 0;
}

static void make_folders(const char *path)
{
	char copy[4096];
	char *slash;

	snprintf(copy, sizeof(copy), "%s", path);
	for (slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			die(copy);
		*slash = '/';
	}
}

/* Makes the scratch store equal to the store. */
static void restore(void)
{
	char path[4096];
	size_t i;
	int fd;

	load_root = strlen(scratch) + 1;
	if (nftw(scratch, remove_stranger, 16, FTW_PHYS) != 0)
		die(scratch);
	for (i = 0; i < store.n; i++) {
		const struct image *f = &store.files[i];

		snprintf(path, sizeof(path), "%s/%s", scratch, f->path);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 && errno == ENOENT) {
			make_folders(path);
			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		}
		if (fd < 0 || write(fd, f->bytes, f->size) != (ssize_t)f->size)
			die(path);
		close(fd);
	}
}

static void damage(const struct image *f, size_t offset, uint8_t mask)
{
	uint8_t byte = f->bytes[offset] ^ mask;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch, f->path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &byte, 1, (off_t)offset) != 1)
		die(path);
	close(fd);
}

/* ---- the child, which opens and reads */

static void found_wrong(const char *path, const char *what)
{
	if (verdict->outcome == WRONG)
		return;
	verdict->outcome = WRONG;
	snprintf(verdict->text, sizeof(verdict->text), "%s: %s", path, what);
}

static void found_error(const char *path, const char *call, int error)
{
	char what[128];

	/* -EUCLEAN stands for a damaged index, -EIO for damaged content. */
	if (error == -EIO || error == -EUCLEAN) {
		if (verdict->outcome == RIGHT)
			verdict->outcome = SAID_EIO;
		return;
	}
	snprintf(what, sizeof(what), "%s: %s", call, strerror(-error));
	found_wrong(path, what);
}

static void check_content(struct ofs_tree *t, ofs_node node, const struct image *want)
{
	static uint8_t piece[PIECE];
	char what[128];
	size_t off = 0, i;
	ssize_t n;

	for (;;) {
		n = ofs_tree_read(t, node, piece, sizeof(piece), off);
		if (n <= 0)
			break;
		i = off < want->size ? want->size - off : 0;
		if (i > (size_t)n)
			i = (size_t)n;
		if (i && memcmp(piece, want->bytes + off, i) == 0 && i == (size_t)n) {
			off += i;
			continue;
		}
		for (i = 0; i < (size_t)n; i++) {
			if (off + i < want->size ? piece[i] == want->bytes[off + i]
						 : names_may_differ)
				continue;
			snprintf(what, sizeof(what), "byte %zu is wrong", off + i);
			found_wrong(want->path, what);
			return;
		}
		off += (size_t)n;
	}
	if (n < 0)
		found_error(want->path, "read", (int)n);
	else if (off < want->size && !names_may_differ)
		found_wrong(want->path, "it ends too early");
}

static void check_file(struct ofs_tree *t, const struct image *want)
{
	struct ofs_entry e;
	struct stat st;
	char what[128];
	int r = ofs_tree_walk(t, want->path, &e);

	if (names_may_differ &&
	    (r == -ENOENT || r == -ENOTDIR || (r == 0 && !S_ISREG(e.attr.st_mode))))
		return;
	if (r < 0) {
		found_error(want->path, "walk", r);
		return;
	}
	r = ofs_tree_getattr(t, e.node, &st);
	if (r < 0)
		found_error(want->path, "getattr", r);
	else if (!S_ISREG(st.st_mode))
		found_wrong(want->path, "it is no file any more");
	else if ((size_t)st.st_size != want->size && !names_may_differ) {
		snprintf(what, sizeof(what), "st_size is %lld", (long long)st.st_size);
		found_wrong(want->path, what);
	}
	if (r == 0 && S_ISREG(st.st_mode))
		check_content(t, e.node, want);
	ofs_tree_forget(t, e.node, 1);
}

/* Returns true if the store could be opened. */
static bool open_and_read(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { .text = "" };
	struct ofs_tree *t;
	size_t i;

	opts.create = false;
	opts.background = false;
	if (ofs_tree_open(scratch, &opts, &err, &t) < 0) {
		if (verdict->outcome < REFUSED)
			verdict->outcome = REFUSED;
		if (!err.text[0])
			found_wrong("the store", "it was refused without a word");
		return false;
	}
	for (i = 0; i < expected.n; i++)
		check_file(t, &expected.files[i]);
	ofs_tree_close(t);
	return true;
}

static void try_twice(void)
{
	int null = open("/dev/null", O_WRONLY);
	enum outcome before;

	alarm(HANG_SECONDS);
	if (!getenv("FLIP_VERBOSE"))
		dup2(null, 2);
	if (!open_and_read() || verdict->outcome == WRONG)
		return;
	before = verdict->outcome;
	open_and_read();
	if (verdict->outcome == WRONG && before != WRONG) {
		size_t n = strlen(verdict->text);

		snprintf(verdict->text + n, sizeof(verdict->text) - n, " (at the second opening)");
	}
}

/* ---- the parent */

/* Runs the child. One that ends in any other way counts as wrong, too. */
static void try_in_child(void)
{
	int status;
	pid_t pid;

	verdict->outcome = RIGHT;
	verdict->text[0] = '\0';
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		try_twice();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	verdict->outcome = WRONG;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		snprintf(verdict->text, sizeof(verdict->text), "it hangs");
	else if (WIFSIGNALED(status))
		snprintf(verdict->text, sizeof(verdict->text), "it died of signal %d",
			 WTERMSIG(status));
	else
		snprintf(verdict->text, sizeof(verdict->text), "it exited with %d",
			 WEXITSTATUS(status));
}

static uint64_t scramble(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* Returns true if the number was to be tried. */
static bool flip_one(uint64_t number, const char *only, unsigned long *counts)
{
	uint64_t offset = number / (bits ? 8 : 2);
	uint8_t mask = bits	    ? (uint8_t)(1u << number % 8)
		       : number % 2 ? (uint8_t)(1u << (scramble(number) & 7))
				    : 0xff;
	size_t i;

	for (i = 0; !bits && offset >= store.files[i].size; i++)
		offset -= store.files[i].size;
	while (bits && strcmp(only, store.files[i].path) != 0)
		i++;
	if (only && strcmp(only, store.files[i].path) != 0)
		return false;
	restore();
	damage(&store.files[i], offset, mask);
	try_in_child();
	counts[verdict->outcome]++;
	if (verdict->outcome == WRONG)
		printf("wrong %s %llu %02x %02x %s\n", store.files[i].path,
		       (unsigned long long)offset, store.files[i].bytes[offset],
		       store.files[i].bytes[offset] ^ mask, verdict->text);
	return true;
}

static unsigned long long number_of(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*end || end == text) {
		fprintf(stderr, "flip: '%s' is not a number\n", text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "every", required_argument, NULL, 'e' },
		{ "start", required_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'o' },
		{ "bits", no_argument, NULL, 'b' },
		{ "names-may-differ", no_argument, NULL, 'n' },
		{ 0 },
	};
	unsigned long long every = 1, start = 0, total = 0, number;
	const char *only = NULL;
	unsigned long counts[WRONG + 1] = { 0 }, tried = 0;
	time_t shown = 0;
	size_t i;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'e')
			every = number_of(optarg);
		else if (c == 's')
			start = number_of(optarg);
		else if (c == 'o')
			only = optarg;
		else if (c == 'b')
			bits = true;
		else if (c == 'n')
			names_may_differ = true;
		else
			return 2;
	}
	if (argc - optind != 3 || !every) {
		fprintf(stderr, "usage: flip [options] STORE EXPECTED SCRATCH\n");
		return 2;
	}
	load(argv[optind], &store);
	load(argv[optind + 1], &expected);
	scratch = argv[optind + 2];
	if (mkdir(scratch, 0700) < 0 && errno != EEXIST)
		die(scratch);
	verdict = mmap(NULL, sizeof(*verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (verdict == MAP_FAILED)
		die("mmap");

	/*
	 * The undamaged store must be right, or else the results mean nothing. This is done here so
	 * that the children inherit initialised libraries.
	 */
	restore();
	open_and_read();
	if (verdict->outcome != RIGHT) {
		printf("wrong - 0 00 00 undamaged: %s\n", verdict->text);
		return 1;
	}
	if (bits && (!only || !find_file(&store, only))) {
		fprintf(stderr, "flip: --bits needs --only and a file of the store\n");
		return 2;
	}
	for (i = 0; i < store.n && !bits; i++)
		total += 2 * (unsigned long long)store.files[i].size;
	if (bits)
		total = 8 * (unsigned long long)find_file(&store, only)->size;
	for (number = start; number < total; number += every) {
		if (!flip_one(number, only, counts))
			continue;
		tried++;
		if (time(NULL) != shown) {
			shown = time(NULL);
			printf("progress %lu %llu\n", tried, (total - start + every - 1) / every);
		}
	}
	printf("done %lu %lu %lu %lu %lu\n", tried, counts[RIGHT], counts[SAID_EIO],
	       counts[REFUSED], counts[WRONG]);
	return counts[WRONG] ? 1 : 0;
}
