/* SPDX-License-Identifier: MIT */
#include "client/backend.h"

#include <stdio.h>

#include "client/naming.h"
#include "io/path.h"

#define BACKEND_DIR_MODE 0700
#define BACKEND_OPEN_MODE (S_ISVTX | 0777) /* for all users, like /tmp */
#define BACKEND_CHUNK ((size_t)16 << 10)
#define ATTRIBUTE_USUAL 255 /* bytes; a longer attribute takes further calls */

void ofs_backend_close(struct ofs_backend *b)
{
	if (!b)
		return;
	free(b->agent);
	b->ops->destroy(b);
}

/* A task is never made open: files of other users would become part of its history. */
static bool is_task(const char *path)
{
	return strncmp(path, "tasks/", strlen("tasks/")) == 0 &&
	       !strchr(path + strlen("tasks/"), '/');
}

const char *ofs_backend_strerror(int code)
{
	switch (code) {
	case EKEYEXPIRED:
		return "the file has expired and was removed";
	case ENODEV:
		return "the tree was unmounted meanwhile";
	case ENOTCONN:
	case ECONNABORTED:
	case ECANCELED: /* a request in flight over io_uring */
		return "the mount has lost its daemon; 'offload up' mounts it again";
	default:
		return strerror(code);
	}
}

int ofs_backend_failed(struct ofs_error *err, int r, const char *what, const char *path)
{
	const char *why = r == -ELOOP ? "a symbolic link is in the way, and links are not "
					"followed: remove it"
				      : ofs_backend_strerror(-r);

	return ofs_error_set(err, -r, "cannot %s '%s': %s", what, path, why);
}

int ofs_backend_mkdirs(struct ofs_backend *b, const char *path, struct ofs_error *err)
{
	OFS_FREE char *part = ofs_strdup(path);
	struct stat st;
	char *slash = part;
	mode_t mode = BACKEND_DIR_MODE;
	uid_t above = 0; /* owner of the last directory that existed already */

	for (;;) {
		int r = 0, found;

		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (is_task(part))
			mode = BACKEND_DIR_MODE;
		/* lstat first, which the kernel answers from its cache; mkdir asks the daemon. */
		found = b->ops->lstat(b, part, &st);
		if (found == -ENOENT) {
			r = b->ops->mkdir(b, part, mode);
			if (r == -EEXIST) /* another process made it meanwhile */
				found = b->ops->lstat(b, part, &st);
		}
		if (found == 0)
			r = S_ISLNK(st.st_mode) ? -ELOOP : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
		else if (found != -ENOENT)
			r = found;
		if (r < 0)
			return ofs_backend_failed(err, r, "make the folder", path);
		if (found == 0 && strchr(part, '/') && st.st_uid != above &&
		    st.st_uid != geteuid() && st.st_uid != 0)
			return ofs_error_set(
				err, EPERM,
				"'%s' belongs to uid %u, who could replace what is put "
				"there: use another category or task, or have it given "
				"to uid %u, who owns the folder above it",
				part, st.st_uid, above);
		if (!slash)
			return 0;
		if (found == 0) {
			above = st.st_uid;
			mode = (st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH)
				       ? BACKEND_OPEN_MODE
				       : BACKEND_DIR_MODE;
		}
		*slash++ = '/';
	}
}

int ofs_backend_enter(struct ofs_backend *b, const char *agent, bool create, struct ofs_error *err)
{
	OFS_FREE char *name = ofs_naming_agent_name(agent);
	struct stat st;
	int r = b->ops->lstat(b, agent, &st);

	if (r == -ENOENT && !create)
		return ofs_error_set(err, ENOENT,
				     "there is no agent '%s' here; 'offload agent list' shows the "
				     "existing ones, and storing something makes a new one",
				     name);
	if (r == -ENOENT)
		r = ofs_backend_mkdirs(b, agent, err);
	else if (r < 0 || !S_ISDIR(st.st_mode))
		return ofs_backend_failed(err, r < 0 ? r : -ENOTDIR, "use the agent", name);
	if (r == 0) {
		char *whole = b->agent ? ofs_path_join(b->agent, agent) : ofs_strdup(agent);

		free(b->agent);
		b->agent = whole;
	}
	return r;
}

int ofs_backend_attribute(struct ofs_backend *b, const char *path, const char *name, char **ret)
{
	size_t size = ATTRIBUTE_USUAL;
	OFS_FREE char *text = ofs_alloc(size + 1);
	char attribute[64];
	ssize_t n;

	snprintf(attribute, sizeof(attribute), "user.offload.%s", name);
	/* Most values fit at once. A longer one may grow again between the two calls. */
	while ((n = b->ops->getxattr(b, path, attribute, text, size)) == -ERANGE) {
		n = b->ops->getxattr(b, path, attribute, NULL, 0);
		if (n < 0)
			return (int)n;
		size = OFS_MAX((size_t)n, (size_t)ATTRIBUTE_USUAL);
		text = ofs_realloc(text, size + 1, 1);
	}
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	*ret = ofs_steal(text);
	return 0;
}

int ofs_backend_set_attribute(struct ofs_backend *b, const char *path, const char *name,
			      const char *value)
{
	char attribute[64];

	snprintf(attribute, sizeof(attribute), "user.offload.%s", name);
	return b->ops->setxattr(b, path, attribute, value, strlen(value));
}

int ofs_backend_read_all(struct ofs_backend *b, ofs_handle h, uint64_t max, char **ret,
			 size_t *ret_len)
{
	OFS_FREE char *text = NULL;
	size_t len = 0, cap = 0;
	ssize_t n;

	do {
		text = ofs_grow(text, &cap, len + BACKEND_CHUNK + 1, 1);
		n = b->ops->read(b, h, text + len, BACKEND_CHUNK, len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && len <= max);
	if (n < 0)
		return (int)n;
	if (len > max)
		return -EFBIG;
	text[len] = '\0';
	*ret = ofs_steal(text);
	if (ret_len)
		*ret_len = len;
	return 0;
}

int ofs_backend_read_text(struct ofs_backend *b, const char *path, char **ret)
{
	ofs_handle h;
	int r = b->ops->open(b, path, &h);

	if (r < 0)
		return r;
	r = ofs_backend_read_all(b, h, UINT64_MAX, ret, NULL);
	b->ops->close(b, h);
	return r;
}
