/* SPDX-License-Identifier: MIT */
/* Replaces server.c in a build without libmicrohttpd. */
#include "service/http/server.h"

int ofs_server_create(const struct ofs_server_options *options, struct ofs_error *err,
		      struct ofs_server **ret)
{
	(void)options;
	(void)ret;
	return ofs_error_set(err, ENOSYS,
			     "this program was built without libmicrohttpd, which "
			     "'offload serve' needs");
}

bool ofs_server_destroy(struct ofs_server *s)
{
	(void)s;
	return true;
}
