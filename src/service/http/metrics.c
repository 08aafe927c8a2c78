/* SPDX-License-Identifier: MIT */
#include "service/http/metrics.h"

static int read_metrics(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	int r = ofs_backend_read_text(access->backend, ".offload/metrics", arg);

	return r < 0 ? ofs_backend_failed(err, r, "read", ".offload/metrics") : 0;
}

void ofs_metrics_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	OFS_FREE char *text = NULL;

	/* The server's own metrics are sent even if the tree cannot be reached. */
	if (ofs_http_use_tree(x, read_metrics, &text, ret) < 0 && ret->status != 503 &&
	    ret->status != 404)
		return;
	ofs_http_reply_finish(ret);
	ret->status = 200;
	ret->type = "text/plain; version=0.0.4; charset=utf-8";
	ofs_buf_append_str(&ret->body, text ? text : "");
	if (x->site->measure)
		x->site->measure(x->site->measure_arg, &ret->body);
}

static int look(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	*(bool *)arg = access->target.mounted;
	return 0;
}

void ofs_health_get(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	struct ofs_error err;
	bool mounted = false;

	/* Errors of the tree are ignored; a daemon that hangs makes the reply late. */
	ofs_service_use(x->site->service, NULL, false, look, &mounted, &err);
	ofs_http_reply_json(ret, 200,
			    json_pack("{s:s, s:s, s:b}", "status", "ok", "version", OFS_VERSION,
				      "mounted", mounted));
}
