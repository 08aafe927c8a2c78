/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* NULL for the machine's clocks. Set after the variables below, which depend on it. */
static const struct ofs_clock_control *control;
static bool control_is_little_endian; /* control from a file is little-endian, otherwise native */
static int64_t wall_start, boot_start; /* real times when control was taken */
static int64_t boot_reached; /* latest boot time returned under control; atomic */

static int64_t clock_read(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec;
}

static const struct ofs_clock_control *control_get(void)
{
	return __atomic_load_n(&control, __ATOMIC_ACQUIRE);
}

static int64_t control_number(const int64_t *number)
{
	uint64_t n = (uint64_t)__atomic_load_n(number, __ATOMIC_RELAXED);

	return (int64_t)(control_is_little_endian ? le64toh(n) : n);
}

static int64_t control_rate(const struct ofs_clock_control *c)
{
	int64_t rate = control_number(&c->rate);

	return rate > 1 ? rate : 1;
}

/* The arithmetic is unsigned and wraps, since the numbers may be anything. */
static int64_t controlled(const struct ofs_clock_control *c, int64_t start, int64_t now,
			  const int64_t *offset)
{
	uint64_t run = (uint64_t)(now - start) * (uint64_t)control_rate(c);

	return (int64_t)((uint64_t)start + run + (uint64_t)control_number(offset));
}

/* Returns `now`, or the latest boot time returned so far if that is later. */
static int64_t boot_not_backwards(int64_t now)
{
	int64_t reached = __atomic_load_n(&boot_reached, __ATOMIC_RELAXED);

	while (now > reached)
		if (__atomic_compare_exchange_n(&boot_reached, &reached, now, true,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return now;
	return reached;
}

int64_t ofs_clock_wall(void)
{
	const struct ofs_clock_control *c = control_get();
	int64_t now = clock_read(CLOCK_REALTIME);

	return c ? controlled(c, wall_start, now, &c->wall_offset) : now;
}

int64_t ofs_clock_monotonic(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

int64_t ofs_clock_boot(void)
{
	const struct ofs_clock_control *c = control_get();
	int64_t now = clock_read(CLOCK_MONOTONIC);

	return c ? boot_not_backwards(controlled(c, boot_start, now, &c->boot_offset)) : now;
}

bool ofs_clock_is_controlled(void)
{
	return control_get();
}

int64_t ofs_clock_rate(void)
{
	const struct ofs_clock_control *c = control_get();

	return c ? control_rate(c) : 1;
}

static void control_take(const struct ofs_clock_control *c, bool little_endian)
{
	control_is_little_endian = little_endian;
	wall_start = clock_read(CLOCK_REALTIME);
	boot_start = boot_reached = clock_read(CLOCK_MONOTONIC);
	__atomic_store_n(&control, c, __ATOMIC_RELEASE);
}

void ofs_clock_set_control(const struct ofs_clock_control *c)
{
	control_take(c, false);
}

int ofs_clock_control_from_file(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	void *p = MAP_FAILED;
	int r = 0;

	if (!f)
		return -errno;
	if (fstat(fileno(f), &st) < 0)
		r = -errno;
	else if (st.st_size < (off_t)sizeof(struct ofs_clock_control))
		r = -EINVAL;
	if (r == 0) {
		p = mmap(NULL, sizeof(struct ofs_clock_control), PROT_READ, MAP_SHARED, fileno(f),
			 0);
		r = p == MAP_FAILED ? -errno : 0;
	}
	fclose(f);
	if (r == 0)
		control_take(p, true);
	return r;
}
