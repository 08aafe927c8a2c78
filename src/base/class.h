/* SPDX-License-Identifier: MIT */
/*
 * The class of content says how long it is expected to live: frames hold content of one class, so
 * that what lies together goes at about the same time. What each number stands for is decided in
 * src/tree; the layers below know only their order.
 */
#ifndef OFS_BASE_CLASS_H
#define OFS_BASE_CLASS_H

/* Content of this class and above is kept densely. On disk: never renumber. */
#define OFS_CLASS_DENSE 64

#endif
