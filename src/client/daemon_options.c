/* SPDX-License-Identifier: MIT */
#include "client/daemon_options.h"

#include <stddef.h>

/* clang-format off */
#define ENTRY(member, name, again, text) { name, again, NULL, text },

const struct ofs_daemon_option ofs_daemon_flags[] = {
	OFS_DAEMON_FLAGS(ENTRY)
	{ "-o", NULL, "OPTION,...", "those below, and the general ones of mount.fuse3(8)" },
	{ NULL }
};

const struct ofs_daemon_option ofs_daemon_words[] = {
	{ "config", NULL, "FILE", "The configuration (default STORE/config.ini)" },
	{ "io_uring", NULL, NULL, "The same as io_uring=on" },
	{ "no_io_uring", NULL, NULL, "The same as io_uring=off" },
	OFS_DAEMON_WORDS(ENTRY)
	{ "allow_other", NULL, NULL, "Let other users in, as modes allow" },
	{ "ro", NULL, NULL, "Let nobody write to the tree" },
	{ NULL }
};
/* clang-format on */
