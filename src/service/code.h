/* SPDX-License-Identifier: MIT */
/* The words by which programs tell failures of calls apart, the same as the server's. */
#pragma once

/* Static, of a -errno: "not_found"; "failed" where a program can do nothing about it. */
const char *ofs_service_code(int r);
