/* SPDX-License-Identifier: MIT */
#include "io/failpoint.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "base/util.h"

#define FAILPOINT_MAX 64
/* Actions besides OFS_FAULT_*. */
#define FAILPOINT_KILL 3
#define FAILPOINT_SLOW 4
#define SLOW_NS (20 * 1000 * 1000)

static const struct {
	const char *name;
	int fault;
} failpoint_actions[] = {
	{ "kill", FAILPOINT_KILL },
	{ "kill-after", OFS_FAULT_KILL_AFTER },
	{ "short", OFS_FAULT_SHORT },
	{ "eio", -EIO },
	{ "enospc", -ENOSPC },
	{ "eopnotsupp", -EOPNOTSUPP },
	{ "note", 0 },
	{ "slow", FAILPOINT_SLOW },
};

struct failpoint {
	const char *name; /* points into failpoint_list */
	const char *action;
	int fault;
	unsigned long at; /* the hit at which it fires; 0: every hit */
	unsigned long hits; /* atomic */
};

int ofs_failpoint_armed = 1;

/* Written once under failpoint_once, except for the hit counts. */
static pthread_once_t failpoint_once = PTHREAD_ONCE_INIT;
static struct failpoint failpoints[FAILPOINT_MAX];
static size_t failpoint_count;
static char *failpoint_list;
static const char *failpoint_log;

static void failpoint_refuse(const char *item)
{
	fprintf(stderr,
		"offloadfs: cannot parse '%s' in OFS_FAILPOINT; name=action[@N] is expected\n",
		item);
	abort();
}

static void failpoint_parse_item(char *item)
{
	struct failpoint *p = &failpoints[failpoint_count];
	char *action = strchr(item, '=');
	char *at, *end;
	size_t i;

	if (!action || action == item || failpoint_count == FAILPOINT_MAX)
		failpoint_refuse(item);
	*action++ = '\0';
	at = strchr(action, '@');
	if (at) {
		*at++ = '\0';
		p->at = strtoul(at, &end, 10);
		if (*at < '1' || *at > '9' || *end)
			failpoint_refuse(at);
	}
	for (i = 0; i < OFS_ARRAY_SIZE(failpoint_actions); i++)
		if (strcmp(failpoint_actions[i].name, action) == 0)
			break;
	if (i == OFS_ARRAY_SIZE(failpoint_actions))
		failpoint_refuse(action);
	p->name = item;
	p->action = failpoint_actions[i].name;
	p->fault = failpoint_actions[i].fault;
	failpoint_count++;
}

static void failpoint_parse(void)
{
	const char *list = secure_getenv("OFS_FAILPOINT");
	char *save, *item;

	if (!list || !*list) {
		__atomic_store_n(&ofs_failpoint_armed, 0, __ATOMIC_RELAXED);
		return;
	}
	failpoint_log = secure_getenv("OFS_FAILPOINT_LOG");
	failpoint_list = strdup(list);
	if (!failpoint_list)
		failpoint_refuse(list);
	for (item = strtok_r(failpoint_list, ",", &save); item; item = strtok_r(NULL, ",", &save))
		failpoint_parse_item(item);
}

/* Calls the system directly, so that a failpoint cannot trigger another. */
static void failpoint_record(const struct failpoint *p, unsigned long hit)
{
	char line[128];
	int n, fd;

	if (!failpoint_log)
		return;
	n = snprintf(line, sizeof(line), "%s=%s@%lu\n", p->name, p->action, hit);
	fd = open(failpoint_log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, OFS_MIN((size_t)n, sizeof(line) - 1)) < 0)
		perror(failpoint_log);
	if (fd >= 0)
		close(fd);
}

int ofs_failpoint_hit(const char *name)
{
	pthread_once(&failpoint_once, failpoint_parse);
	for (size_t i = 0; i < failpoint_count; i++) {
		struct failpoint *p = &failpoints[i];
		unsigned long hit;

		if (strcmp(p->name, name) != 0)
			continue;
		hit = __atomic_add_fetch(&p->hits, 1, __ATOMIC_RELAXED);
		if (p->at && p->at != hit)
			continue;
		failpoint_record(p, hit);
		if (p->fault == FAILPOINT_KILL)
			ofs_failpoint_kill();
		if (p->fault == FAILPOINT_SLOW)
			nanosleep(&(struct timespec){ .tv_nsec = SLOW_NS }, NULL);
		else if (p->fault)
			return p->fault;
	}
	return 0;
}

void ofs_failpoint_kill(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}
