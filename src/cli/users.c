/* SPDX-License-Identifier: MIT */
#include "cli/users.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "io/file.h"
#include "io/path.h"

#define USERS_MAX 4

struct users {
	const char *mountpoint;
	const char *pid; /* of the process being looked at */
	int count;
	struct ofs_buf text;
};

static bool users_link_leads_in(const struct users *u, const char *link)
{
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n <= 0)
		return false;
	target[n] = '\0';
	return ofs_path_below(u->mountpoint, target) != NULL;
}

static int users_look_at_file(void *arg, const char *name)
{
	const struct users *u = arg;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%.20s/fd/%.20s", u->pid, name);
	return users_link_leads_in(u, link);
}

static bool users_is_user(struct users *u)
{
	static const char *const links[] = { "cwd", "root", "exe" };
	char path[64];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(links); i++) {
		snprintf(path, sizeof(path), "/proc/%.20s/%s", u->pid, links[i]);
		if (users_link_leads_in(u, path))
			return true;
	}
	snprintf(path, sizeof(path), "/proc/%.20s/fd", u->pid);
	return ofs_io_list(AT_FDCWD, path, users_look_at_file, u) > 0;
}

static int users_look_at_process(void *arg, const char *name)
{
	struct users *u = arg;
	char path[64], comm[32] = "a process";
	FILE *in;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	u->pid = name;
	if (!users_is_user(u))
		return 0;
	snprintf(path, sizeof(path), "/proc/%.20s/comm", name);
	in = fopen(path, "re");
	if (in) {
		if (fgets(comm, sizeof(comm), in))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(in);
	}
	ofs_buf_printf(&u->text, "%s%s (pid %s)", u->count ? ", " : "", comm, name);
	return ++u->count == USERS_MAX;
}

char *ofs_users_find(const char *mountpoint)
{
	struct users u = { .mountpoint = mountpoint };
	char *text;

	ofs_io_list(AT_FDCWD, "/proc", users_look_at_process, &u);
	text = ofs_alloc(u.text.len + 1);
	if (u.text.len)
		memcpy(text, u.text.data, u.text.len);
	ofs_buf_finish(&u.text);
	return text;
}
