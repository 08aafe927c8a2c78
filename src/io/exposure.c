/* SPDX-License-Identifier: MIT */
#include "io/exposure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

/* The leak checker of this sanitizer attaches to the process. */
#ifdef __SANITIZE_ADDRESS__
#define ATTACHED 1
#else
#define ATTACHED 0
#endif

void ofs_exposure_end(void)
{
	const char *asked = secure_getenv("OFFLOADFS_COREDUMP");

	if (!ATTACHED && !(asked && strcmp(asked, "1") == 0))
		prctl(PR_SET_DUMPABLE, 0);
}
