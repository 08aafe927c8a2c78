/* SPDX-License-Identifier: MIT */
/*
 * The checks of `offload doctor`. Each adds its findings and changes nothing; none waits for a
 * daemon that does not answer.
 */
#ifndef OFS_CLI_CHECKS_H
#define OFS_CLI_CHECKS_H

#include <stdbool.h>

#include "cli/findings.h"

/*
 * Whether this user can mount here: kernel, device, daemon, transport, fusermount3. `mounted`: the
 * tree in question is, so that what is missing is a warning: the next mount will fail.
 */
void ofs_check_machine(struct ofs_findings *f, bool mounted);

/* The store in the directory `store`, whether it is in use or not. */
void ofs_check_store(struct ofs_findings *f, const char *store);

/* Programs that make life easier. */
void ofs_check_tools(struct ofs_findings *f);

#endif
