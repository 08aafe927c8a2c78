/* SPDX-License-Identifier: MIT */
/*
 * Access to libmicrohttpd, which is loaded when a server starts. If it were linked, each start of
 * the tool, one for every tool call of an agent, would load eleven libraries.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

#define OFS_MHD_FUNCTIONS(X)                              \
	X(get_version)                                    \
	X(start_daemon)                                   \
	X(quiesce_daemon)                                 \
	X(stop_daemon)                                    \
	X(get_connection_info)                            \
	X(get_connection_values_n)                        \
	X(suspend_connection)                             \
	X(resume_connection)                              \
	X(create_response_from_buffer)                    \
	X(create_response_from_buffer_with_free_callback) \
	X(create_response_from_callback)                  \
	X(add_response_header)                            \
	X(queue_response)                                 \
	X(destroy_response)

/* MHD_start_daemon() is ofs_mhd.start_daemon(), and so on. */
struct ofs_mhd {
#define OFS_MHD_DECLARE(name) __typeof__(MHD_##name) *name;
	OFS_MHD_FUNCTIONS(OFS_MHD_DECLARE)
#undef OFS_MHD_DECLARE
};

/* Valid after ofs_mhd_load() has returned true. */
extern struct ofs_mhd ofs_mhd;

/* Loads the library. Returns false if it is not installed. Not thread-safe. */
bool ofs_mhd_load(void);
