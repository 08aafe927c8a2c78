/* SPDX-License-Identifier: MIT */
#include "service/http/connection.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/thread.h"
#include "io/file.h"

#define STEP (500 * OFS_NS_PER_MS)
#define MAP_MAX 65536

static bool is_gone(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Shuts a connection down, whereupon libmicrohttpd closes it. */
static void cut(struct ofs_connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->deadline = 0;
	c->listening = false;
}

static void look(struct ofs_connections *all, struct ofs_connection *c, int64_t now)
{
	void (*gone)(void *arg) = c->gone;

	if (c->deadline && c->deadline <= now) {
		cut(c);
		all->cut++;
	} else if (gone && is_gone(c->fd)) {
		c->gone = NULL;
		gone(c->gone_arg);
	} else if (c->listening && is_gone(c->fd)) {
		/* Only at the second check: the server may still be handling earlier data. */
		if (c->silent)
			cut(c);
		c->silent = true;
	}
}

static void *watch(void *arg)
{
	struct ofs_connections *all = arg;
	OFS_LOCKED(&all->lock);

	while (!all->ending) {
		struct ofs_connection *c;
		int64_t now = ofs_clock_monotonic();

		LIST_FOREACH(c, &all->list, entry)
		look(all, c, now);
		ofs_cond_wait_until(&all->changed, &all->lock, ofs_clock_monotonic() + STEP);
	}
	return NULL;
}

int ofs_connections_start(struct ofs_connections *all)
{
	*all = (struct ofs_connections){ 0 };
	pthread_mutex_init(&all->lock, NULL);
	ofs_cond_init(&all->changed);
	return ofs_thread_start(&all->thread, "connections", watch, all);
}

void ofs_connections_stop(struct ofs_connections *all)
{
	pthread_mutex_lock(&all->lock);
	all->ending = true;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
	pthread_join(all->thread, NULL);
	pthread_cond_destroy(&all->changed);
	pthread_mutex_destroy(&all->lock);
}

/*
 * True if a process is in our user namespace, as far as its map of user IDs tells. A sandbox of
 * `offload agent run` is in another one, whose map has a single user and cannot be changed.
 */
static bool is_beside_us(pid_t pid)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf ours = OFS_BUF_INIT, theirs = OFS_BUF_INIT;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	return ofs_io_read_file(AT_FDCWD, "/proc/self/uid_map", MAP_MAX, &ours) == 0 &&
	       ofs_io_read_file(AT_FDCWD, path, MAP_MAX, &theirs) == 0 && ours.len == theirs.len &&
	       memcmp(ours.data, theirs.data, ours.len) == 0;
}

static bool is_known(const struct ofs_listener *listener, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return listener->path && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0) && is_beside_us(peer.pid);
}

struct ofs_connection *ofs_connections_add(struct ofs_connections *all,
					   const struct ofs_listener *listener, int fd,
					   int64_t patience)
{
	struct ofs_connection *c = ofs_alloc(sizeof(*c));
	OFS_LOCKED(&all->lock);

	c->listener = listener;
	c->fd = fd;
	c->known = is_known(listener, fd);
	c->deadline = ofs_clock_monotonic() + patience;
	c->listening = true;
	LIST_INSERT_HEAD(&all->list, c, entry);
	all->n++;
	return c;
}

void ofs_connections_remove(struct ofs_connections *all, struct ofs_connection *c)
{
	OFS_LOCKED(&all->lock);

	LIST_REMOVE(c, entry);
	all->n--;
	free(c);
}

void ofs_connections_expect(struct ofs_connections *all, struct ofs_connection *c, int64_t patience,
			    bool listening)
{
	OFS_LOCKED(&all->lock);

	c->deadline = patience ? ofs_clock_monotonic() + patience : 0;
	c->listening = listening;
	c->silent = false;
	c->gone = NULL;
}

void ofs_connections_watch(struct ofs_connections *all, struct ofs_connection *c,
			   void (*gone)(void *arg), void *arg)
{
	OFS_LOCKED(&all->lock);

	c->gone = gone;
	c->gone_arg = arg;
}
