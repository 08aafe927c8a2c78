/* SPDX-License-Identifier: MIT */
#include "service/http/exchange.h"

#include <strings.h>

#include "base/text.h"
#include "base/text_form.h"

bool ofs_http_is_json(const struct ofs_http_exchange *x)
{
	const char *type = ofs_http_request_field(x->request, "Content-Type");
	size_t len = type ? strcspn(type, "; \t") : 0;

	return (len == 16 && strncasecmp(type, "application/json", len) == 0) ||
	       (len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0);
}

int ofs_http_read_json(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_json)
{
	json_error_t wrong;
	json_t *json;
	OFS_FREE char *text = NULL;

	if (!ofs_http_is_json(x)) {
		ofs_http_reply_error(ret, 415,
				     "the body must be JSON: send Content-Type: "
				     "application/json");
		return -EINVAL;
	}
	if (ofs_json_is_deep(x->body, x->body_len)) {
		text = ofs_format("the body has more than %d levels of nesting", OFS_JSON_DEPTH);
		ofs_http_reply_error(ret, 400, text);
		return -EINVAL;
	}
	/* ReMe's requests are read as C strings. Of others only content may have a NUL. */
	json = ofs_json_load(x->body ? x->body : "", x->body_len,
			     JSON_REJECT_DUPLICATES |
				     (x->route->flags & OFS_ROUTE_REME ? 0 : JSON_ALLOW_NUL),
			     &wrong);
	if (!json) {
		text = ofs_format("the body is not JSON: %s at byte %d", wrong.text,
				  wrong.position);
		ofs_http_reply_error(ret, 400, text);
		return -EINVAL;
	}
	if (!json_is_object(json)) {
		json_decref(json);
		ofs_http_reply_error(ret, 400, "the body must be a JSON object");
		return -EINVAL;
	}
	*ret_json = json;
	return 0;
}

int ofs_http_use_tree(struct ofs_http_exchange *x,
		      int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		      void *arg, struct ofs_http_reply *ret)
{
	struct ofs_error err = { "" };
	int r = ofs_service_use(x->site->service, ofs_http_agent(x), false, fn, arg, &err);

	if (r < 0)
		ofs_http_reply_failed(ret, r, &err);
	return r;
}
