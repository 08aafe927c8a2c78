/* SPDX-License-Identifier: MIT */
#include "io/wakeup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"
#include "io/file.h"

#define NICEST 19
#define ROUNDS 30
#define REST_US 1000 /* before each round, so that both processors halt if they can */
#define SUPPLIES "/sys/class/power_supply"
#define CGROUPS "/sys/fs/cgroup"

static int bind_to(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	return sched_setaffinity(0, sizeof(one), &one) < 0 ? -errno : 0;
}

static int run_on(int processor, int policy)
{
	const struct sched_param none = { 0 };
	int r = bind_to(processor);

	return r == 0 && sched_setscheduler(0, policy, &none) < 0 ? -errno : r;
}

int ofs_wakeup_guard(int processor)
{
	return run_on(processor, SCHED_IDLE);
}

int ofs_wakeup_occupy(int processor)
{
	int r = run_on(processor, SCHED_BATCH);

	return r == 0 && setpriority(PRIO_PROCESS, (id_t)gettid(), NICEST) < 0 ? -errno : r;
}

void ofs_wakeup_spin(void)
{
	for (int i = 0; i < 32; i++)
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("isb" ::: "memory");
#else
		__asm__ volatile("" ::: "memory");
#endif
	/*
	 * The scheduler passes over a thread that waits for this processor but has recently had
	 * more than its share, even for a SCHED_IDLE one, until the next tick.
	 */
	sched_yield();
}

/* Two threads, bound to a processor each, that wake each other in turn. */
struct pair {
	int processor[2];
	int ping[2]; /* event counters: for the first and the second thread */
	atomic_bool stop;
	int r;
	int64_t median;
};

static void *answer(void *arg)
{
	struct pair *p = arg;
	eventfd_t n;

	bind_to(p->processor[1]);
	while (eventfd_read(p->ping[1], &n) == 0 && !p->stop)
		eventfd_write(p->ping[0], 1);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void *ask(void *arg)
{
	int64_t took[ROUNDS];
	struct pair *p = arg;
	eventfd_t n;

	bind_to(p->processor[0]);
	for (size_t i = 0; i < ROUNDS; i++) {
		int64_t start;

		usleep(REST_US);
		start = ofs_clock_monotonic();
		if (eventfd_write(p->ping[1], 1) < 0 || eventfd_read(p->ping[0], &n) < 0)
			p->r = -errno;
		took[i] = ofs_clock_monotonic() - start;
	}
	qsort(took, ROUNDS, sizeof(*took), compare);
	p->median = took[ROUNDS / 2];
	p->stop = true;
	eventfd_write(p->ping[1], 1);
	return NULL;
}

static int go_back_and_forth(struct pair *p, int64_t *ret)
{
	pthread_t asking, answering;
	int r;

	p->stop = false;
	p->r = 0;
	r = ofs_thread_start(&answering, "wakeup", answer, p);
	if (r < 0)
		return r;
	r = ofs_thread_start(&asking, "wakeup", ask, p);
	if (r == 0) {
		pthread_join(asking, NULL);
		r = p->r;
	} else {
		p->stop = true;
		eventfd_write(p->ping[1], 1);
	}
	pthread_join(answering, NULL);
	*ret = p->median;
	return r;
}

struct guard {
	int processor;
	const atomic_bool *stop;
};

static void *keep_awake(void *arg)
{
	struct guard *g = arg;

	if (ofs_wakeup_guard(g->processor) == 0)
		while (!*g->stop)
			ofs_wakeup_spin();
	return NULL;
}

static int measure_awake(struct pair *p, int64_t *ret)
{
	atomic_bool stop = false;
	struct guard guards[2] = { { p->processor[0], &stop }, { p->processor[1], &stop } };
	pthread_t threads[2];
	size_t n = 0;
	int r = 0;

	while (n < 2 && r == 0) {
		r = ofs_thread_start(&threads[n], "wakeup", keep_awake, &guards[n]);
		n += r == 0;
	}
	if (r == 0)
		r = go_back_and_forth(p, ret);
	stop = true;
	while (n)
		pthread_join(threads[--n], NULL);
	return r;
}

int ofs_wakeup_measure(struct ofs_wakeup *ret)
{
	struct pair p = { 0 };
	OFS_CLOSE int first = eventfd(0, EFD_CLOEXEC), second = eventfd(0, EFD_CLOEXEC);
	struct ofs_wakeup w;
	cpu_set_t may;
	int found = 0, r;

	if (first < 0 || second < 0 || sched_getaffinity(getpid(), sizeof(may), &may) < 0)
		return -errno;
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET((size_t)i, &may))
			p.processor[found++] = i;
	if (found < 2)
		return -ENOTSUP;
	p.ping[0] = first;
	p.ping[1] = second;
	r = go_back_and_forth(&p, &w.halted);
	if (r == 0)
		r = measure_awake(&p, &w.awake);
	if (r == 0)
		*ret = w;
	return r;
}

/* Reads the first word of a file; "" if it cannot be read. */
static void read_word(const char *path, char *ret, size_t size)
{
	OFS_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, " \n")] = '\0';
}

/* True if there are mains adapters, but none is plugged in. */
static bool is_on_battery(void)
{
	bool battery = false;
	struct dirent *entry;
	DIR *dir = opendir(SUPPLIES);

	while (dir && (entry = readdir(dir))) {
		OFS_FREE char *path = ofs_format(SUPPLIES "/%s/online", entry->d_name);
		char online[8];

		read_word(path, online, sizeof(online));
		if (strcmp(online, "1") == 0) {
			battery = false;
			break;
		}
		battery = battery || strcmp(online, "0") == 0;
	}
	if (dir)
		closedir(dir);
	return battery;
}

/* True if the group `path` below `root`, or one above it, has a quota. Modifies `path`. */
static bool is_limited(const char *root, const char *file, char *path)
{
	for (;;) {
		OFS_FREE char *name = ofs_format("%s%s/%s", root, path, file);
		char quota[32], *slash = strrchr(path, '/');

		read_word(name, quota, sizeof(quota));
		if (*quota >= '1' && *quota <= '9')
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* Parses lines "ID:CONTROLLERS:PATH". Version 2 names no controllers. */
static bool has_quota(void)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf groups = OFS_BUF_INIT;
	OFS_FREE char *text = NULL;
	char *rest, *line;

	if (ofs_io_read_file(AT_FDCWD, "/proc/self/cgroup", 1 << 16, &groups) < 0)
		return false;
	rest = text = ofs_buf_steal_str(&groups);
	while ((line = strsep(&rest, "\n"))) {
		char *controllers, *path;
		bool limited = false;

		strsep(&line, ":");
		controllers = strsep(&line, ":");
		path = line;
		if (!path)
			continue;
		if (!*controllers)
			limited = is_limited(CGROUPS, "cpu.max", path);
		else if (strncmp(controllers, "cpu,", 4) == 0 || strcmp(controllers, "cpu") == 0)
			limited = is_limited(CGROUPS "/cpu", "cpu.cfs_quota_us", path);
		if (limited)
			return true;
	}
	return false;
}

const char *ofs_wakeup_obstacle(void)
{
	return is_on_battery() ? "the machine is on battery"
	       : has_quota()   ? "the control group has a quota of processor time"
			       : NULL;
}
