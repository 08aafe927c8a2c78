/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Closes the memory of this process, which holds content, to other processes of the same user, and
 * keeps it out of core dumps. OFFLOADFS_COREDUMP=1 in the environment leaves both, for debugging.
 * Programs that the process executes are not affected.
 */
void ofs_exposure_end(void);
