/* SPDX-License-Identifier: MIT */
#include "client/workspace.h"

#include <sys/stat.h>

#include "codec/hash.h"
#include "io/path.h"

#define WORKSPACE_NAME_MAX 100
#define WORKSPACE_HASH_DIGITS 12

/* True for the caller, root, and the user who became root by sudo. */
static bool is_ours(uid_t uid)
{
	const char *sudo = geteuid() == 0 ? getenv("SUDO_UID") : NULL;

	return uid == geteuid() || uid == 0 || (sudo && uid == strtoul(sudo, NULL, 10));
}

/*
 * True if `dir` has an entry `name`. Entries of other users, who may have made them in /tmp, do not
 * count. A mount counts untouched, since its daemon may not answer; it is checked when it is used.
 * Any other entry that cannot be examined counts, too.
 */
static bool workspace_has(const char *dir, const char *name, const struct ofs_mounts *mounts)
{
	OFS_FREE char *path = ofs_path_join(dir, name);
	struct stat st;

	if (ofs_mounts_at(mounts, path))
		return true;
	return lstat(path, &st) == 0 ? is_ours(st.st_uid) : errno != ENOENT && errno != ENOTDIR;
}

/*
 * True if `dir` is the root of a repository. An empty .git, which a sandbox may leave behind, does
 * not count; one that cannot be examined does, and so does a file, which a worktree has.
 */
static bool workspace_has_git(const char *dir, const struct ofs_mounts *mounts)
{
	OFS_FREE char *git = ofs_path_join(dir, ".git"), *head = ofs_path_join(git, "HEAD");
	struct stat st;

	if (!workspace_has(dir, ".git", mounts))
		return false;
	return ofs_mounts_at(mounts, git) || lstat(head, &st) == 0 || errno != ENOENT;
}

char *ofs_workspace_find(const char *start, const struct ofs_mounts *mounts)
{
	const struct ofs_mount *mount = ofs_mounts_around(mounts, start);
	OFS_FREE char *outside = mount ? ofs_path_parent(mount->point) : ofs_strdup(start);
	char *dir = ofs_strdup(outside);

	for (;;) {
		char *parent;

		if (workspace_has(dir, OFS_WORKSPACE_MOUNT, mounts) ||
		    workspace_has_git(dir, mounts))
			return dir;
		if (strcmp(dir, "/") == 0)
			break;
		parent = ofs_path_parent(dir);
		free(dir);
		dir = parent;
	}
	free(dir);
	return ofs_steal(outside);
}

/* Sets *ret to the user's directory that `variable` names, or else to `below` in HOME. */
static int workspace_home(const char *variable, const char *below, struct ofs_error *err,
			  char **ret)
{
	const char *data = getenv(variable), *home = getenv("HOME");

	if (data && data[0] == '/') { /* the XDG specification ignores relative paths */
		*ret = ofs_strdup(data);
		return 0;
	}
	if (!home || home[0] != '/')
		return ofs_error_set(err, ENOENT,
				     "no place for the store: HOME is not set; set it, or name the "
				     "store with --store");
	*ret = ofs_path_join(home, below);
	return 0;
}

int ofs_workspace_here(struct ofs_error *err, char **ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_FREE char *cwd = ofs_path_cwd();
	int r;

	if (!cwd)
		return ofs_error_set(err, ENOENT, "the current directory is gone");
	r = ofs_mounts_read(NULL, &mounts);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the list of mounts: %s", strerror(-r));
	*ret = ofs_workspace_find(cwd, &mounts);
	return 0;
}

/* Sets *ret to <home>/offloadfs/<name>-<digits of the hash of `what`>. */
static int workspace_place(const char *home, const char *name, const char *what,
			   struct ofs_error *err, char **ret)
{
	char hex[2 * OFS_SHA256_SIZE + 1];
	uint8_t sha[OFS_SHA256_SIZE];
	int r = ofs_sha256(what, strlen(what), sha);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot hash '%s': %s", what, strerror(-r));
	ofs_sha256_hex(sha, hex);
	*ret = ofs_format("%s/offloadfs/%.*s-%.*s", home, WORKSPACE_NAME_MAX, *name ? name : "root",
			  WORKSPACE_HASH_DIGITS, hex);
	return 0;
}

int ofs_workspace_store(const char *workspace, struct ofs_error *err, char **ret)
{
	OFS_FREE char *data = NULL;
	int r = workspace_home("XDG_DATA_HOME", ".local/share", err, &data);

	return r < 0 ? r : workspace_place(data, strrchr(workspace, '/') + 1, workspace, err, ret);
}

int ofs_workspace_copy(const char *url, struct ofs_error *err, char **ret)
{
	OFS_FREE char *cache = NULL, *name = ofs_strndup(url, strcspn(url, "?"));
	int r = workspace_home("XDG_CACHE_HOME", ".cache", err, &cache);

	return r < 0 ? r : workspace_place(cache, strrchr(name, '/') + 1, url, err, ret);
}
