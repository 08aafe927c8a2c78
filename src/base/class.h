/* SPDX-License-Identifier: MIT */
/*
 * The class of content: how long it is expected to live. A frame holds content of one class, so
 * that neighbours are removed at about the same time. src/tree gives the numbers their meaning; the
 * layers below know only their order.
 */
#pragma once

/* Content of this class and above is compressed densely. Stored on disk: never renumber. */
#define OFS_CLASS_DENSE 64

/* Content of this class and below is too short-lived to be worth any effort. */
#define OFS_CLASS_BRIEF 20
