/* SPDX-License-Identifier: MIT */
#include "service/code.h"

#include <errno.h>

#include "service/service.h"

const char *ofs_service_code(int r)
{
	switch (-r) {
	case EINVAL:
	case ENAMETOOLONG:
	case ENOTDIR:
	case EISDIR:
	case ELOOP:
	case EILSEQ:
		return "invalid";
	case ENOENT:
	case ENODATA:
		return "not_found";
	case EKEYEXPIRED:
		return "expired";
	case ERANGE:
		return "range";
	case EACCES:
	case EPERM:
	case EXDEV:
	case EROFS:
		return "forbidden";
	case EEXIST:
		return "exists";
	case EFBIG:
		return "too_large";
	case ENOSPC:
	case EDQUOT:
		return "no_space";
	default:
		return ofs_service_is_away(r) ? "unavailable" : "failed";
	}
}
