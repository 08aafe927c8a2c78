/* SPDX-License-Identifier: MIT */
/* Checks of `offload doctor` on choices: what would make a working store faster or safer. */
#include <fcntl.h>

#include <offloadfs/tree.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/checks.h"
#include "io/file.h"

#define SYNCS 5
#define SYNC_SLOW (10 * OFS_NS_PER_MS) /* the least that a spinning disk needs */

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the median time of an fdatasync() of 4 KiB in an unnamed file, in ns, or -errno. */
static int64_t measure_sync(int dirfd)
{
	OFS_CLOSE int fd = ofs_io_open(dirfd, ".", O_TMPFILE | O_WRONLY, 0600);
	static const char block[4096];
	int64_t times[SYNCS];

	if (fd < 0)
		return fd;
	for (size_t i = 0; i < SYNCS; i++) {
		int64_t begin = ofs_clock_monotonic();

		if (pwrite(fd, block, sizeof(block), (off_t)(i * sizeof(block))) < 0 ||
		    fdatasync(fd) < 0)
			return -errno;
		times[i] = ofs_clock_monotonic() - begin;
	}
	qsort(times, SYNCS, sizeof(*times), compare_times);
	return times[SYNCS / 2];
}

static void check_sync(int dirfd)
{
	int64_t time = measure_sync(dirfd);

	if (time >= SYNC_SLOW)
		ofs_found(
			OFS_NOTE, "sync",
			"the disk needs %.1f ms to make 4 KiB durable: each fsync waits for it\n"
			"-> keep the store on a faster disk, such as a local SSD: --store DIR, or "
			"XDG_DATA_HOME",
			(double)time / OFS_NS_PER_MS);
	else if (time >= 0)
		ofs_found(OFS_FINE, "sync", "the disk needs %.2f ms to make 4 KiB durable",
			  (double)time / OFS_NS_PER_MS);
}

static void check_copies(const char *remote)
{
	if (remote)
		ofs_found(OFS_FINE, "copies", "replicated to %s", remote);
	else
		ofs_found(OFS_NOTE, "copies",
			  "the store is only on this disk, and would be lost with it\n"
			  "-> offload remote add s3://BUCKET/PREFIX keeps a copy elsewhere");
}

static void check_scrub(bool on)
{
	if (on)
		ofs_found(OFS_FINE, "scrub", "content at rest is read again to find damage early");
	else
		ofs_found(OFS_NOTE, "scrub",
			  "content at rest is not read again: damage shows when it is needed\n"
			  "-> remove scrub = never from config.ini, or run offload verify often");
}

void ofs_check_choices(int dirfd, const struct ofs_config *config)
{
	struct ofs_tree_options options = OFS_TREE_OPTIONS_INIT;

	ofs_config_apply(config, &options);
	check_sync(dirfd);
	check_copies(options.remote);
	check_scrub(options.scrub_ms != 0);
}
