/* SPDX-License-Identifier: MIT */
#include "io/mounts.h"

#include <linux/magic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "io/path.h"
#include "io/probe.h"

#define MOUNTS_FSTYPE "fuse.offloadfs"
#define MOUNTS_AGENTS "/agents/"

/* Decodes the \ooo that mountinfo writes for blanks and backslashes. */
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

/* Parses options such as "rw,user_id=1000,...". */
static uid_t mounts_owner(const char *options)
{
	const char *id = options ? strstr(options, "user_id=") : NULL;

	return id ? (uid_t)strtoul(id + strlen("user_id="), NULL, 10) : 0;
}

/* Parses options such as "ro,nosuid,relatime"; modifies the text. */
static unsigned long mounts_flags(char *options)
{
	static const struct {
		const char *word;
		unsigned long flag;
	} known[] = {
		{ "ro", MS_RDONLY },
		{ "nosuid", MS_NOSUID },
		{ "nodev", MS_NODEV },
		{ "noexec", MS_NOEXEC },
	};
	unsigned long flags = 0;
	const char *word;

	while ((word = strsep(&options, ",")))
		for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++)
			if (strcmp(word, known[i].word) == 0)
				flags |= known[i].flag;
	return flags;
}

/* True for "/" or the directory of an agent: "/agents/a", "/agents/a/agents/b". */
static bool mounts_is_tree(const char *type, const char *root)
{
	if (strcmp(type, MOUNTS_FSTYPE) != 0)
		return false;
	if (strcmp(root, "/") == 0)
		return true;
	while (strncmp(root, MOUNTS_AGENTS, strlen(MOUNTS_AGENTS)) == 0) {
		root += strlen(MOUNTS_AGENTS);
		root += strcspn(root, "/");
	}
	return !*root;
}

/* Parses "36 35 98:0 ROOT POINT OPTIONS [TAG...] - FSTYPE SOURCE SUPEROPTIONS"; modifies `line`. */
static void mounts_parse(struct ofs_mounts *m, char *line, bool all)
{
	enum {
		ID,
		DEVICE = 2,
		ROOT,
		POINT,
		OPTIONS,
		FIRST
	};
	char *save = NULL, *field = strtok_r(line, " \n", &save), *first[FIRST] = { NULL };
	char *type, *source, *options;

	for (int i = 0; field && strcmp(field, "-") != 0; i++) {
		if (i < FIRST)
			first[i] = field;
		field = strtok_r(NULL, " \n", &save);
	}
	type = field ? strtok_r(NULL, " \n", &save) : NULL;
	source = type ? strtok_r(NULL, " \n", &save) : NULL;
	options = source ? strtok_r(NULL, " \n", &save) : NULL;
	if (!first[OPTIONS] || !source || (!all && !mounts_is_tree(type, first[ROOT])))
		return;
	*ofs_append(m->list, m->count, m->cap) = (struct ofs_mount){
		.id = atoi(first[ID]),
		.device = ofs_strdup(first[DEVICE]),
		.root = mounts_unescape(first[ROOT]),
		.point = mounts_unescape(first[POINT]),
		.type = mounts_unescape(type),
		.flags = mounts_flags(first[OPTIONS]),
		.source = mounts_unescape(source),
		.owner = mounts_owner(options),
		.shared = options && strstr(options, "allow_other"),
	};
}

static int mounts_read(const char *mountinfo, bool all, struct ofs_mounts *ret)
{
	struct ofs_mounts m = OFS_MOUNTS_INIT;
	FILE *in = fopen(mountinfo ? mountinfo : "/proc/self/mountinfo", "re");
	OFS_FREE char *line = NULL;
	size_t cap = 0;
	int r;

	if (!in)
		return -errno;
	while (getline(&line, &cap, in) > 0)
		mounts_parse(&m, line, all);
	r = ferror(in) ? -EIO : 0;
	fclose(in);
	if (r < 0)
		ofs_mounts_finish(&m);
	else
		*ret = m;
	return r;
}

int ofs_mounts_read(const char *mountinfo, struct ofs_mounts *ret)
{
	return mounts_read(mountinfo, false, ret);
}

int ofs_mounts_read_all(const char *mountinfo, struct ofs_mounts *ret)
{
	return mounts_read(mountinfo, true, ret);
}

void ofs_mounts_finish(struct ofs_mounts *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->list[i].device);
		free(m->list[i].root);
		free(m->list[i].point);
		free(m->list[i].type);
		free(m->list[i].source);
	}
	free(m->list);
	*m = (struct ofs_mounts)OFS_MOUNTS_INIT;
}

/* A later mount covers an earlier one, so all searches start at the last. */
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

		if (strcmp(one->source, store) == 0 && strcmp(one->root, "/") == 0 &&
		    (one->owner == 0 || one->owner == geteuid()))
			return one;
	}
	return NULL;
}

bool ofs_mount_is_alive(const struct ofs_mount *m)
{
	struct statfs st;

	/*
	 * Unlike stat, statfs is never answered from the kernel's cache. If the mount is gone, it
	 * sees the underlying directory, on another filesystem.
	 */
	if (statfs(m->point, &st) == 0)
		return st.f_type == FUSE_SUPER_MAGIC;
	/* The last two: the daemon died during the call. */
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
	/* No answer from a child: asks itself. */
	return (enum ofs_mount_state)(r == OFS_MOUNT_ALIVE || r == OFS_MOUNT_DEAD ? r : ask(m));
}
