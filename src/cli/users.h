/* SPDX-License-Identifier: MIT */
/* The processes that keep a mount busy. */
#ifndef OFS_CLI_USERS_H
#define OFS_CLI_USERS_H

/*
 * Allocated: "bash (pid 123), tail (pid 124)", as far as they can be seen; "" for none. Looks at
 * the paths of open files and working directories only, never into the mount.
 */
char *ofs_users_find(const char *mountpoint);

#endif
