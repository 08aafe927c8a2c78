/* SPDX-License-Identifier: MIT */
#include "service/http/assets.h"

#define INDEX "index.html"
#define POLICY                                                                              \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "   \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
	"require-trusted-types-for 'script'"

void ofs_assets_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	const char *name = x->id && *x->id ? x->id : INDEX;

	for (const struct ofs_asset *each = x->site->page; each && each->name; each++) {
		if (strcmp(each->name, name) != 0)
			continue;
		ret->status = 200;
		ret->type = each->type;
		ret->asset = each;
		ret->policy = POLICY;
		return;
	}
	ofs_http_reply_error(ret, 404, "there is no such path; /openapi.json lists all");
}
