/* SPDX-License-Identifier: MIT */
#include "cli/guard.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "cli/report.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/probe.h"

/* Time for one call on the tree, beyond that for finding it, whose failure tells more. */
#define GUARD_MORE_NS (OFS_NS_PER_S / 2)

/* Exit codes from here on stand for a signal. */
#define GUARD_SIGNAL 128

struct guarded {
	int (*work)(const void *arg);
	const void *arg;
};

static int run(const void *arg)
{
	const struct guarded *g = arg;
	int code = g->work(g->arg);

	fflush(stdout);
	return code;
}

static void pass_on(int file, FILE *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (lseek(file, 0, SEEK_SET) == 0 && ofs_io_read_fd(file, SIZE_MAX, &text) == 0 && text.len)
		fwrite(text.data, 1, text.len, out);
}

/* The child may outlive us, so it holds none of the pipes of whoever waits for us. */
int ofs_guard_work(int (*work)(const void *arg), const void *arg, int64_t limit)
{
	const struct guarded g = { work, arg };
	OFS_CLOSE int answer = memfd_create("answer", MFD_CLOEXEC);
	OFS_CLOSE int messages = memfd_create("messages", MFD_CLOEXEC);
	int r;

	if (answer < 0 || messages < 0)
		return -errno;
	r = ofs_process_watch(run, &g, limit, ofs_mount_wait() + GUARD_MORE_NS, answer, messages);
	if (r < 0 || r >= GUARD_SIGNAL)
		return r < 0 ? r : -ECHILD;
	pass_on(messages, stderr);
	pass_on(answer, stdout);
	return r;
}

const char *ofs_guard_reason(int r)
{
	if (r == -ETIMEDOUT && ofs_probe_reason())
		return ofs_probe_reason();
	if (r == -ETIMEDOUT)
		return "the tree does not answer; offload doctor says what to do";
	return r == -ECHILD ? "a signal ended the work on it" : strerror(-r);
}

int ofs_guard_command(int (*work)(const void *arg), const void *arg)
{
	int r = ofs_guard_work(work, arg, INT64_MAX);

	return r < 0 ? ofs_report("%s", ofs_guard_reason(r)) : r;
}
