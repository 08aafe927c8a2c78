/* SPDX-License-Identifier: MIT */
#include "remote/secret.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/process.h"

#define COMMAND_TIMEOUT_S 60
/* The most bytes of a command's output. */
#define OUTPUT_MAX ((size_t)64 << 10)
#define FILE_MAX ((size_t)1 << 20)

void ofs_secret_finish(struct ofs_buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	ofs_buf_finish(b);
}

int ofs_secret_read_file(const char *path, struct ofs_error *err, struct ofs_buf *ret)
{
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;
	ssize_t n;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return ofs_error_set(err, EACCES, "cannot read '%s': %s", path,
				     strerror(fd < 0 ? -fd : errno));
	if (!S_ISREG(st.st_mode))
		return ofs_error_set(err, EACCES, "'%s' is not a regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return ofs_error_set(err, EACCES, "'%s' belongs to user %u, so it is not used",
				     path, (unsigned int)st.st_uid);
	if (st.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH))
		return ofs_error_set(err, EACCES,
				     "others may read or write '%s', which holds secrets, so it is "
				     "not used; run: chmod 600 '%s'",
				     path, path);
	if ((uint64_t)st.st_size > FILE_MAX)
		return ofs_error_set(err, EACCES, "'%s' is larger than 1 MiB", path);
	ofs_buf_reserve(ret, (size_t)st.st_size + 1);
	n = ofs_io_pread(fd, ret->data, (size_t)st.st_size, 0);
	if (n < 0)
		return ofs_error_set(err, EACCES, "cannot read '%s': %s", path, strerror((int)-n));
	ret->len = (size_t)n;
	return 1;
}

static int take(void *arg, int fd, const void *data, size_t len)
{
	struct ofs_buf *out = arg;

	if (fd != STDOUT_FILENO)
		return 0; /* stderr may hold secrets */
	if (len > OUTPUT_MAX - out->len)
		return -EFBIG;
	ofs_buf_append(out, data, len);
	return 0;
}

int ofs_secret_run(const char *command, const char *what, struct ofs_error *err,
		   struct ofs_buf *ret)
{
	const char *const argv[] = { "/bin/sh", "-c", "--", command, NULL };
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FILTER,
		.argv = argv,
		.take = take,
		.arg = ret,
		.timeout_s = COMMAND_TIMEOUT_S,
	};
	struct ofs_process_end end = { 0 };
	int r;

	ofs_buf_reserve(ret, OUTPUT_MAX + 1);
	r = ofs_process_run(&process, &end);
	if (r == -ETIMEDOUT)
		return ofs_error_set(err, EACCES, "%s was ended because it took longer than %d s",
				     what, COMMAND_TIMEOUT_S);
	if (r < 0)
		return ofs_error_set(err, EACCES, "%s cannot be run: %s", what, strerror(-r));
	if (end.exit_code)
		return ofs_error_set(err, EACCES,
				     "%s ended with exit code %d; run it by hand to see why", what,
				     end.exit_code);
	return 0;
}
