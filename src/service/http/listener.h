/* SPDX-License-Identifier: MIT */
/* Sockets that listen: of a path, of an address, or handed over by a service manager. */
#pragma once

#include <stdint.h>

#include <offloadfs/error.h>

#include "base/util.h"

#define OFS_LISTENER_HOSTS 8

struct ofs_listener {
	int fd;
	char *path; /* of a Unix socket; NULL: it is TCP */
	bool made; /* the path is ours to remove */
	bool inherited; /* a service manager has it, too */
	uint64_t inode; /* of what was made */
	char *address; /* "127.0.0.1:8377", of TCP */
	char *hosts[OFS_LISTENER_HOSTS + 1]; /* the names that Host may have, up to NULL */
	bool any_host; /* it listens on all addresses, so they are not known */
};

/* Stops listening, and removes a path that it made. */
void ofs_listener_finish(struct ofs_listener *l);

/*
 * Listens on a Unix socket, for its owner alone; its folder is made where it is missing. What a dead
 * server has left there is replaced. -EADDRINUSE: a living one is there, as `err` tells.
 */
int ofs_listener_unix(const char *path, struct ofs_error *err, struct ofs_listener *ret);

/*
 * Listens on "ADDRESS:PORT", "localhost:PORT" or "[ADDRESS]:PORT"; port 0 is any that is free.
 * -EPERM: others than this machine could reach it, and `remote` does not allow that.
 */
int ofs_listener_tcp(const char *text, bool remote, struct ofs_error *err,
		     struct ofs_listener *ret);

/*
 * Takes the sockets that systemd hands over to this process, up to `max`. How many, or -errno; 0
 * where there are none. Their variables are gone afterwards.
 */
int ofs_listener_inherit(struct ofs_listener *list, size_t max, bool remote, struct ofs_error *err);
