/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Protects the memory of this process, which holds content, from other processes of the same user,
 * and keeps it out of core dumps. OFFLOADFS_COREDUMP=1 in the environment disables both
 * protections, for debugging. Programs that this process executes are not affected.
 */
void ofs_exposure_end(void);
