/* SPDX-License-Identifier: MIT */
/*
 * Fills a store with small files like those of SmallFiles in corpus.py, without a mount. This is
 * several times as fast and leaves the same on disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <offloadfs/tree.h>

static const char usage[] =
	"usage: fill STORE POOL DIRECTORY PREFIX FROM TO PER_DIRECTORY SIZE\n"
	"makes the files FROM to TO of DIRECTORY/PREFIX00000 and on, of SIZE to four times SIZE\n"
	"bytes (SIZE at most 1024); POOL is the text that they are parts of.\n";

static void check(int64_t r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "fill: cannot %s: %s\n", what, strerror((int)-r));
	exit(1);
}

/* Equals SmallFiles.content() in corpus.py. */
static size_t content(char buf[4096], const char *pool, size_t pool_len, uint64_t number,
		      uint64_t least)
{
	uint64_t rng = number * 0x9e3779b97f4a7c15u + 0x1234567;
	size_t size, head;

	rng ^= rng >> 29;
	size = least + rng % (3 * least);
	head = (size_t)snprintf(buf, 4096, "result %" PRIu64 " of %016" PRIx64 "\n", number, rng);
	memcpy(buf + head, pool + (rng >> 16) % (pool_len - 4096), size - head);
	return size;
}

static ofs_node directory(struct ofs_tree *t, ofs_node parent, const char *name,
			  const struct ofs_cred *cred)
{
	struct ofs_entry e;
	int r = ofs_tree_mkdir(t, parent, name, 0700, cred, &e);

	if (r == -EEXIST)
		r = ofs_tree_lookup(t, parent, name, &e);
	check(r, "make a directory");
	return e.node;
}

int main(int argc, char **argv)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_cred cred = { .uid = geteuid(), .gid = getegid() };
	uint64_t i, from, to, per, least;
	struct ofs_error err;
	struct ofs_entry e;
	struct ofs_tree *t;
	struct stat st;
	char buf[4096], name[256];
	const char *pool;
	ofs_node top, dir = 0;
	size_t len;
	int fd;

	if (argc != 9) {
		fputs(usage, stderr);
		return 2;
	}
	opts.gc_interval_ms = UINT32_MAX; /* nothing expires here */
	opts.scrub_ms = 0;
	from = strtoull(argv[5], NULL, 10);
	to = strtoull(argv[6], NULL, 10);
	per = strtoull(argv[7], NULL, 10);
	least = strtoull(argv[8], NULL, 10);
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		check(-errno, "open the text");
	pool = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (pool == MAP_FAILED)
		check(-errno, "read the text");
	if (ofs_tree_open(argv[1], &opts, &err, &t) < 0) {
		fprintf(stderr, "fill: %s\n", err.text);
		return 1;
	}
	top = directory(t, OFS_NODE_ROOT, argv[3], &cred);
	for (i = from; i < to; i++) {
		if (i == from || i % per == 0) {
			if (dir)
				ofs_tree_forget(t, dir, 1);
			snprintf(name, sizeof(name), "%s%05" PRIu64, argv[4], i / per);
			dir = directory(t, top, name, &cred);
		}
		snprintf(name, sizeof(name), "%07" PRIu64 ".txt", i);
		check(ofs_tree_mknod(t, dir, name, S_IFREG | 0600, 0, &cred, &e), "make a file");
		len = content(buf, pool, (size_t)st.st_size, i, least);
		check(ofs_tree_write(t, e.node, buf, len, 0), "write");
		ofs_tree_forget(t, e.node, 1);
	}
	check(ofs_tree_seal(t), "seal");
	check(ofs_tree_close(t), "close");
	return 0;
}
