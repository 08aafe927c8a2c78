/* SPDX-License-Identifier: MIT */
#include "service/http/bearer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "codec/hash.h"
#include "io/file.h"
#include "io/path.h"

#define BYTES 32
#define LEN_MIN 16
#define LEN_MAX 4096
#define OURS "offloadfs"

static char *below(const char *variable, const char *home)
{
	const char *value = getenv(variable), *user = getenv("HOME");
	OFS_FREE char *base = NULL;

	if (value && value[0] == '/')
		return ofs_path_join(value, OURS);
	if (!home || !user || user[0] != '/')
		return NULL;
	base = ofs_path_join(user, home);
	return ofs_path_join(base, OURS);
}

char *ofs_bearer_folder(void)
{
	char *folder = below("XDG_RUNTIME_DIR", NULL);

	return folder ? folder : below("XDG_STATE_HOME", ".local/state");
}

char *ofs_bearer_file(const struct ofs_target *t, const char *kind)
{
	OFS_FREE char *tree = ofs_format("%s\n%s", t->store, t->agent ? t->agent : "");
	OFS_FREE char *folder = ofs_bearer_folder(), *name = NULL;

	name = ofs_format("serve-%016" PRIx64 ".%s", ofs_checksum(tree, strlen(tree), 0), kind);
	return folder ? ofs_path_join(folder, name) : NULL;
}

static int check(int fd, const char *path, struct ofs_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return ofs_error_set(err, EINVAL, "'%s' is not a regular file", path);
	if ((st.st_uid != geteuid() && st.st_uid != 0) || st.st_mode & (S_IRWXG | S_IRWXO))
		return ofs_error_set(err, EPERM,
				     "'%s' is not safe for a token: other users can read or change "
				     "it (chmod 600 makes it yours alone)",
				     path);
	return 0;
}

static int read_token(int fd, const char *path, struct ofs_error *err, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = check(fd, path, err);

	if (r < 0)
		return r;
	r = ofs_io_read_fd(fd, LEN_MAX, &text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r));
	while (text.len && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == '\r'))
		text.len--;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
			text.len = 0;
	if (text.len < LEN_MIN)
		return ofs_error_set(err, EINVAL,
				     "'%s' holds no token: it must be one line of %d or more "
				     "letters, digits and marks",
				     path, LEN_MIN);
	*ret = ofs_buf_steal_str(&text);
	return 0;
}

static int make_token(char **ret, struct ofs_error *err)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned char bytes[BYTES + 1] = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (getrandom(bytes, BYTES, 0) != BYTES)
		return ofs_error_set(err, EIO, "cannot get random bytes");
	for (size_t bit = 0; bit < (size_t)BYTES * 8; bit += 6) {
		unsigned int pair = (unsigned int)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];

		ofs_buf_append(&text, &digits[pair >> (10 - bit % 8) & 63], 1);
	}
	*ret = ofs_buf_steal_str(&text);
	return 0;
}

static int make_file(const char *path, struct ofs_error *err, char **ret)
{
	OFS_FREE char *folder = ofs_path_parent(path), *token = NULL, *line = NULL;
	OFS_CLOSE int fd = -1;
	int r = make_token(&token, err);

	if (r < 0)
		return r;
	r = ofs_path_make(folder, 0700);
	if (r == 0)
		r = fd =
			ofs_io_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make '%s': %s", path, strerror(-r));
	line = ofs_format("%s\n", token);
	r = ofs_io_pwrite(fd, line, strlen(line), 0);
	if (r < 0) {
		unlink(path);
		return ofs_error_set(err, -r, "cannot write '%s': %s", path, strerror(-r));
	}
	*ret = ofs_steal(token);
	return 0;
}

int ofs_bearer_load(const char *path, bool make, struct ofs_error *err, bool *ret_made, char **ret)
{
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, path, O_RDONLY, 0);

	*ret_made = fd == -ENOENT && make;
	if (*ret_made)
		return make_file(path, err, ret);
	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s': %s", path, strerror(-fd));
	return read_token(fd, path, err, ret);
}
