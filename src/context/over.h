/* SPDX-License-Identifier: MIT */
/* A context of <offloadfs/context.h> over a tree that is open already. */
#pragma once

#include <offloadfs/context.h>

#include "client/access.h"

/* `access` is borrowed, and must have been found. */
int ofs_context_over(struct ofs_access *access, struct ofs_error *err, struct ofs_context **ret);
