/* SPDX-License-Identifier: MIT */
#include "io/mounts.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "io/path.h"
#include "io/probe.h"

#define MOUNTS_FSTYPE "fuse.offloadfs"

/* mountinfo writes blanks and backslashes of a field as \ooo. */
static char *mounts_unescape(const char *field)
{
	char *text = ofs_strdup(field), *to = text;

	for (const char *p = field; *p; to++) {
		if (p[0] == '\\' && strspn(p + 1, "01234567") >= 3) {
			*to = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
	return text;
}

/* "rw,user_id=1000,..." */
static uid_t mounts_owner(const char *options)
{
	const char *id = options ? strstr(options, "user_id=") : NULL;

	return id ? (uid_t)strtoul(id + strlen("user_id="), NULL, 10) : 0;
}

/* "36 35 98:0 ROOT POINT OPTIONS [TAG...] - FSTYPE SOURCE SUPEROPTIONS"; `line` is taken apart. */
static void mounts_parse(struct ofs_mounts *m, char *line)
{
	char *save = NULL, *field = strtok_r(line, " \n", &save), *source, *options;
	const char *root = NULL, *point = NULL;

	for (int i = 0; field && strcmp(field, "-") != 0; i++) {
		if (i == 3)
			root = field;
		else if (i == 4)
			point = field;
		field = strtok_r(NULL, " \n", &save);
	}
	field = field ? strtok_r(NULL, " \n", &save) : NULL;
	source = field ? strtok_r(NULL, " \n", &save) : NULL;
	options = source ? strtok_r(NULL, " \n", &save) : NULL;
	if (!point || !source || strcmp(field, MOUNTS_FSTYPE) != 0 || strcmp(root, "/") != 0)
		return;
	*ofs_append(m->list, m->count, m->cap) = (struct ofs_mount){
		.point = mounts_unescape(point),
		.source = mounts_unescape(source),
		.owner = mounts_owner(options),
		.shared = options && strstr(options, "allow_other"),
	};
}

int ofs_mounts_read(const char *mountinfo, struct ofs_mounts *ret)
{
	struct ofs_mounts m = OFS_MOUNTS_INIT;
	FILE *in = fopen(mountinfo ? mountinfo : "/proc/self/mountinfo", "re");
	OFS_FREE char *line = NULL;
	size_t cap = 0;
	int r;

	if (!in)
		return -errno;
	while (getline(&line, &cap, in) > 0)
		mounts_parse(&m, line);
	r = ferror(in) ? -EIO : 0;
	fclose(in);
	if (r < 0)
		ofs_mounts_finish(&m);
	else
		*ret = m;
	return r;
}

void ofs_mounts_finish(struct ofs_mounts *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->list[i].point);
		free(m->list[i].source);
	}
	free(m->list);
	*m = (struct ofs_mounts)OFS_MOUNTS_INIT;
}

/* A later mount covers an earlier one: every search goes from the last to the first. */
const struct ofs_mount *ofs_mounts_at(const struct ofs_mounts *m, const char *point)
{
	for (size_t i = m->count; i-- > 0;) {
		if (strcmp(m->list[i].point, point) == 0)
			return &m->list[i];
	}
	return NULL;
}

const struct ofs_mount *ofs_mounts_around(const struct ofs_mounts *m, const char *path)
{
	const struct ofs_mount *best = NULL;

	for (size_t i = m->count; i-- > 0;) {
		const struct ofs_mount *one = &m->list[i];

		if (!ofs_path_below(one->point, path))
			continue;
		if (!best || strlen(one->point) > strlen(best->point))
			best = one;
	}
	return best;
}

const struct ofs_mount *ofs_mounts_of_store(const struct ofs_mounts *m, const char *store)
{
	for (size_t i = m->count; i-- > 0;) {
		const struct ofs_mount *one = &m->list[i];

		if (strcmp(one->source, store) == 0 && (one->owner == 0 || one->owner == geteuid()))
			return one;
	}
	return NULL;
}

bool ofs_mount_is_alive(const struct ofs_mount *m)
{
	struct statvfs st;

	/* Unlike stat, this is never answered from the kernel's cache. */
	if (statvfs(m->point, &st) == 0)
		return true;
	/* The last two: the daemon died while it was asked. */
	return errno != ENOTCONN && errno != ECONNABORTED && errno != ECANCELED;
}

static int64_t wait_ns = OFS_MOUNT_WAIT_NS;

int64_t ofs_mount_wait(void)
{
	return wait_ns;
}

void ofs_mount_set_wait(int64_t ns)
{
	wait_ns = ns;
}

static int ask(const void *m)
{
	return ofs_mount_is_alive(m) ? OFS_MOUNT_ALIVE : OFS_MOUNT_DEAD;
}

enum ofs_mount_state ofs_mount_ask(const struct ofs_mount *m)
{
	int r = ofs_process_probe(ask, m, wait_ns, -1, -1);

	if (r == -ETIMEDOUT)
		return OFS_MOUNT_SILENT;
	/* Without a child to ask, or to tell what it was told. */
	return (enum ofs_mount_state)(r == OFS_MOUNT_ALIVE || r == OFS_MOUNT_DEAD ? r : ask(m));
}
