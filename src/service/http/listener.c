/* SPDX-License-Identifier: MIT */
#include "service/http/listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "io/file.h"
#include "io/path.h"

#define BACKLOG 512
#define FOLDER_MODE 0700
#define FIRST_FD 3 /* the first descriptor from systemd */

void ofs_listener_finish(struct ofs_listener *l)
{
	struct stat st;

	if (l->made && l->path && lstat(l->path, &st) == 0 && st.st_ino == l->inode)
		unlink(l->path);
	ofs_cleanup_close(&l->fd);
	free(l->path);
	free(l->address);
	for (size_t i = 0; i < OFS_LISTENER_HOSTS; i++)
		free(l->hosts[i]);
	*l = (struct ofs_listener){ .fd = -1 };
}

/* ---- Unix sockets */

static int make_address(const char *path, struct sockaddr_un *ret, struct ofs_error *err)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return ofs_error_set(err, ENAMETOOLONG,
				     "'%s' is too long for a socket: the path may have %zu bytes",
				     path, sizeof(ret->sun_path) - 1);
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

/* Opens the folder of a socket. -EPERM: other users could replace the socket in it; or -errno. */
static int open_folder(const char *path, struct ofs_error *err)
{
	OFS_FREE char *folder = ofs_path_parent(path);
	OFS_CLOSE int fd = -1;
	struct stat st;
	int r = ofs_path_make(folder, FOLDER_MODE);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot make '%s': %s", folder, strerror(-r));
	fd = ofs_io_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s': %s", folder, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot open '%s': %s", folder, strerror(errno));
	if ((st.st_uid != geteuid() && st.st_uid != 0) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX)))
		return ofs_error_set(err, EPERM,
				     "'%s' is not safe for a socket: other users can write to it",
				     folder);
	return ofs_steal_fd(&fd);
}

/* Returns 0 if nobody listens there, else -EADDRINUSE. */
static int check_dead(const struct sockaddr_un *address, struct ofs_error *err)
{
	OFS_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return ofs_error_set(err, errno, "cannot make a socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno != EAGAIN)
		return 0;
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	return ofs_error_set(err, EADDRINUSE, "process %d serves at '%s' already", (int)peer.pid,
			     address->sun_path);
}

/* Called with the folder locked, so of two servers that start the second finds the first. */
static int bind_in(const char *path, const struct sockaddr_un *address, struct ofs_error *err,
		   struct ofs_listener *l)
{
	struct stat st;
	mode_t mask;
	int r;

	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return ofs_error_set(err, EEXIST, "'%s' exists, but is not a socket", path);
		r = check_dead(address, err);
		if (r < 0)
			return r;
		unlink(path);
	}
	mask = umask(0177);
	r = bind(l->fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0 && (lstat(path, &st) < 0 || listen(l->fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot listen at '%s': %s", path, strerror(-r));
	l->made = true;
	l->inode = st.st_ino;
	return 0;
}

int ofs_listener_unix(const char *path, struct ofs_error *err, struct ofs_listener *ret)
{
	struct ofs_listener l = { .fd = -1, .path = ofs_path_absolute(path) };
	struct sockaddr_un address;
	OFS_CLOSE int folder = -1;
	int r = l.path ? make_address(l.path, &address, err) : -ENOENT;

	if (!l.path)
		return ofs_error_set(err, ENOENT, "the current directory is gone");
	if (r == 0)
		r = folder = open_folder(l.path, err);
	if (r >= 0) {
		flock(folder, LOCK_EX);
		l.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		r = l.fd < 0
			    ? ofs_error_set(err, errno, "cannot make a socket: %s", strerror(errno))
			    : bind_in(l.path, &address, err, &l);
	}
	if (r < 0)
		ofs_listener_finish(&l);
	else
		*ret = l;
	return r < 0 ? r : 0;
}

/* ---- TCP */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_storage room;
};

static socklen_t address_len(const union address *a)
{
	return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
	return ntohl(a->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_wildcard(const union address *a)
{
	if (a->any.sa_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
	return a->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

static bool read_port(const char *text, in_port_t *ret)
{
	char *end;
	unsigned long port = strtoul(text, &end, 10);

	*ret = htons((uint16_t)port);
	return *text >= '0' && *text <= '9' && !*end && port <= UINT16_MAX;
}

static bool read_address(const char *text, union address *ret)
{
	const char *colon = strrchr(text, ':');
	OFS_FREE char *host = colon ? ofs_strndup(text, (size_t)(colon - text)) : NULL;
	size_t len = host ? strlen(host) : 0;

	*ret = (union address){ 0 };
	if (!len)
		return false;
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		ret->any.sa_family = AF_INET6;
		return read_port(colon + 1, &ret->v6.sin6_port) &&
		       inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1;
	}
	ret->any.sa_family = AF_INET;
	return read_port(colon + 1, &ret->v4.sin_port) &&
	       inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
			 &ret->v4.sin_addr) == 1;
}

/* Sets the address, and the names by which clients may call it. 0 or -errno. */
static int describe(struct ofs_listener *l, bool remote, struct ofs_error *err)
{
	static const char *const local[] = { "localhost", "127.0.0.1", "[::1]" };
	union address a = { 0 };
	socklen_t len = sizeof(a);
	char text[INET6_ADDRSTRLEN], machine[64] = "";
	size_t n = 0;
	unsigned int port;

	if (getsockname(l->fd, &a.any, &len) < 0)
		return ofs_error_set(err, errno, "cannot get the address: %s", strerror(errno));
	if (!remote && !is_loopback(&a))
		return ofs_error_set(err, EPERM,
				     "this address can be reached from other machines, and nothing "
				     "that is sent to it is encrypted: listen on 127.0.0.1, or add "
				     "--allow-remote");
	port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	inet_ntop(a.any.sa_family,
		  a.any.sa_family == AF_INET6 ? (void *)&a.v6.sin6_addr : (void *)&a.v4.sin_addr,
		  text, sizeof(text));
	l->any_host = is_wildcard(&a);
	l->address = ofs_format(a.any.sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
	l->hosts[n++] = ofs_strdup(l->address);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(local); i++)
		l->hosts[n++] = ofs_format("%s:%u", local[i], port);
	if (!is_loopback(&a) && gethostname(machine, sizeof(machine) - 1) == 0)
		l->hosts[n++] = ofs_format("%s:%u", machine, port);
	return 0;
}

int ofs_listener_tcp(const char *text, bool remote, struct ofs_error *err, struct ofs_listener *ret)
{
	struct ofs_listener l = { .fd = -1 };
	union address a;
	const int on = 1;
	int r;

	if (!read_address(text, &a))
		return ofs_error_set(err, EINVAL,
				     "'%s' is not an address: give 127.0.0.1:PORT, localhost:PORT "
				     "or [::1]:PORT",
				     text);
	l.fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l.fd < 0)
		return ofs_error_set(err, errno, "cannot make a socket: %s", strerror(errno));
	setsockopt(l.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a.any.sa_family == AF_INET6)
		setsockopt(l.fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* The address is checked before listen(), so that nobody can connect until then. */
	r = bind(l.fd, &a.any, address_len(&a)) < 0 ? -errno : 0;
	if (r == 0) {
		r = describe(&l, remote, err);
		if (r < 0)
			goto fail;
		r = listen(l.fd, BACKLOG) < 0 ? -errno : 0;
	}
	if (r == 0) {
		*ret = l;
		return 0;
	}
	ofs_error_set(err, -r, "cannot listen at %s: %s", text, strerror(-r));
fail:
	ofs_listener_finish(&l);
	return r;
}

/* ---- from systemd */

static int take(int fd, bool remote, struct ofs_error *err, struct ofs_listener *ret)
{
	struct ofs_listener l = { .fd = fd, .inherited = true };
	union address a = { 0 };
	struct sockaddr_un name = { 0 };
	socklen_t len = sizeof(a), name_len = sizeof(name);
	int listens = 0, r;
	socklen_t size = sizeof(listens);

	if (getsockname(fd, &a.any, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || !listens)
		return ofs_error_set(err, EINVAL, "descriptor %d is not a listening socket", fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	if (a.any.sa_family == AF_UNIX) {
		getsockname(fd, (struct sockaddr *)&name, &name_len);
		l.path = ofs_strndup(name.sun_path, strnlen(name.sun_path, sizeof(name.sun_path)));
	} else if (a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6) {
		r = describe(&l, remote, err);
		if (r < 0) {
			ofs_listener_finish(&l);
			return r;
		}
	} else {
		return ofs_error_set(err, EINVAL, "descriptor %d is not a Unix or TCP socket", fd);
	}
	*ret = l;
	return 0;
}

int ofs_listener_inherit(struct ofs_listener *list, size_t max, bool remote, struct ofs_error *err)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long mine = pid ? strtol(pid, NULL, 10) : 0, n = count ? strtol(count, NULL, 10) : 0;
	size_t taken = 0;
	int r = 0;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (mine != (long)getpid() || n <= 0)
		return 0;
	if ((size_t)n > max)
		return ofs_error_set(err, EINVAL, "there may be at most %zu sockets", max);
	for (; (long)taken < n && r == 0; taken += r == 0)
		r = take(FIRST_FD + (int)taken, remote, err, &list[taken]);
	for (size_t i = 0; r < 0 && i < taken; i++)
		ofs_listener_finish(&list[i]);
	return r < 0 ? r : (int)taken;
}
