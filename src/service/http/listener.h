/* SPDX-License-Identifier: MIT */
/* Listening sockets: at a path, at an address, or inherited from a service manager. */
#pragma once

#include <stdint.h>

#include <offloadfs/error.h>

#include "base/util.h"

#define OFS_LISTENER_HOSTS 8

struct ofs_listener {
	int fd;
	char *path; /* of a Unix socket; NULL: TCP */
	bool made; /* this program made the path and removes it */
	bool inherited; /* a service manager has the socket, too */
	uint64_t inode; /* of the path, if `made` */
	char *address; /* of TCP: "127.0.0.1:8377" */
	char *hosts[OFS_LISTENER_HOSTS + 1]; /* the allowed values of Host, ended by NULL */
	bool any_host; /* listens on all addresses, so any Host is allowed */
};

/* Closes the socket, removes the path if this program made it, and frees the strings. */
void ofs_listener_finish(struct ofs_listener *l);

/*
 * Listens on a Unix socket that only its owner can use. Makes a missing folder, and replaces the
 * socket of a dead server. -EADDRINUSE: another server listens there; or -errno.
 */
int ofs_listener_unix(const char *path, struct ofs_error *err, struct ofs_listener *ret);

/*
 * Listens on "ADDRESS:PORT", "localhost:PORT" or "[ADDRESS]:PORT"; port 0 is any free one. -EPERM:
 * other machines could reach it, which `remote` does not allow; or another -errno.
 */
int ofs_listener_tcp(const char *text, bool remote, struct ofs_error *err,
		     struct ofs_listener *ret);

/*
 * Takes the sockets, at most `max`, that systemd has passed to this process, and unsets their
 * variables. Returns their number or -errno.
 */
int ofs_listener_inherit(struct ofs_listener *list, size_t max, bool remote, struct ofs_error *err);
