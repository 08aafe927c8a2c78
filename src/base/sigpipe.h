/* SPDX-License-Identifier: MIT */
/* Writing where nobody reads any more, as an error of the write and not as the end of the program. */
#ifndef OFS_BASE_SIGPIPE_H
#define OFS_BASE_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct ofs_sigpipe {
	sigset_t before; /* what the thread blocked */
	bool pending; /* a SIGPIPE that is not ours */
};

/* From here on writes of the calling thread fail with EPIPE alone. Other threads are as they were. */
void ofs_sigpipe_hold(struct ofs_sigpipe *ret);

/* Ends that; nothing is left of what the writes have raised. By the same thread, the last held first. */
void ofs_sigpipe_release(const struct ofs_sigpipe *s);

#endif
