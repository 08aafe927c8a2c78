/* SPDX-License-Identifier: MIT */
#ifndef OFFLOADFS_EXPORT_H
#define OFFLOADFS_EXPORT_H

/** Marks what liboffloadfs offers; everything else is hidden. */
#define OFS_EXPORT __attribute__((visibility("default")))

#endif
