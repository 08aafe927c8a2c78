/* SPDX-License-Identifier: MIT */
#ifndef OFFLOADFS_EXPORT_H
#define OFFLOADFS_EXPORT_H

/** Marks the symbols that liboffloadfs exports; all others are hidden. */
#define OFS_EXPORT __attribute__((visibility("default")))

#endif
