/* SPDX-License-Identifier: MIT */
/* Telling what was read back from the tree, which must not be offloaded again. */
#pragma once

#include "client/access.h"

/*
 * True if a command, a path or the arguments of a call name something in the tree (which must have
 * been found), or a command of the tool that prints stored content or a pointer.
 */
bool ofs_readback_names(const char *text, const struct ofs_access *access);
