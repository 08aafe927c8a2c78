/* SPDX-License-Identifier: MIT */
/* Words for the errors of calls, for programs; those of the HTTP server. */
#pragma once

/* Returns the word for a -errno, such as "not_found", or "failed" if there is none. Static. */
const char *ofs_service_code(int r);
