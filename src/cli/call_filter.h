/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/*
 * Denies this process, and all that it starts, the system calls that act on others who share its
 * terminal: typing into it (EPERM) and, if `group` says that the process group is shared, signals
 * to the whole group, except those that stop or continue a job. Needs no_new_privs. Returns 0,
 * -ENOSYS if the calls of this machine are not known, or another -errno.
 */
int ofs_call_filter_set(bool group);
