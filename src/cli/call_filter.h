/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * Denies this process, and all that it starts, the system calls by which it could act on others that
 * share its terminal: typing into it for them (EPERM), and, where `group` says that the process
 * group is shared, signals to the whole of it, but for those that stop and continue a job. Needs
 * no_new_privs. 0; -ENOSYS: it does not know this machine's calls; or another -errno.
 */
int ofs_call_filter_set(bool group);
