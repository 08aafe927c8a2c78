/* SPDX-License-Identifier: MIT */
#include "service/http/mhd.h"

#include <dlfcn.h>

/* The ABI has been stable since 2015. */
#define NAME "libmicrohttpd.so.12"

struct ofs_mhd ofs_mhd;

bool ofs_mhd_load(void)
{
	void *handle = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
	bool found = handle;

	if (!handle)
		return false;
#define LOOK_UP(name)                                          \
	*(void **)&ofs_mhd.name = dlsym(handle, "MHD_" #name); \
	found = found && ofs_mhd.name;
	OFS_MHD_FUNCTIONS(LOOK_UP)
	return found;
}
