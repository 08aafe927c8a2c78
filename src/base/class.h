/* SPDX-License-Identifier: MIT */
/*
 * The class of content says how long it is expected to live: frames hold content of one class, so
 * that neighbours are removed at about the same time. src/tree gives the numbers their meaning; the
 * layers below know only their order.
 */
#pragma once

/* Content of this class and above is kept densely. On disk: never renumber. */
#define OFS_CLASS_DENSE 64

/* Content of this class and below goes so soon that nothing is worth while for it. */
#define OFS_CLASS_BRIEF 20
