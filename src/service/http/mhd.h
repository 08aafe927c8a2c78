/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd, which is loaded when a server starts: linked in, it would bring eleven libraries
 * to each start of a tool that runs once a tool call.
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

/* Usable once ofs_mhd_load() has returned true. */
extern struct ofs_mhd ofs_mhd;

/* False: this machine does not have the library. Of one thread at a time. */
bool ofs_mhd_load(void);
