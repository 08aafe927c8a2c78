/* SPDX-License-Identifier: MIT */
#include "service/http/v1.h"

#include "service/arguments.h"

/* Adds the parameters of the query, and the id, to `args`. 0 or -EINVAL. */
static int take_target(struct ofs_http_exchange *x, const json_t *schema, json_t *args,
		       struct ofs_error *err)
{
	const json_t *members = json_object_get(schema, "properties");

	for (size_t i = 0; i < x->target.n_parameters; i++) {
		const struct ofs_http_parameter *p = &x->target.parameters[i];
		const json_t *member = json_object_get(members, p->name);

		if (x->id && strcmp(p->name, "memory_id") == 0)
			return ofs_error_set(err, EINVAL, "memory_id stands in the path");
		/* An unknown parameter is kept, so that the check of the schema refuses it. */
		json_object_set_new(args, p->name,
				    member ? ofs_arguments_read(member, p->value)
					   : json_string(p->value));
	}
	if (x->id && json_object_get(args, "memory_id"))
		return ofs_error_set(err, EINVAL, "memory_id stands in the path");
	if (x->id)
		json_object_set_new(args, "memory_id", json_string(x->id));
	return 0;
}

/* Returns NULL, for no ledger entry, if the reader is a person, as the page says of itself. */
static const char *way_of(const struct ofs_http_exchange *x)
{
	const char *reader = ofs_http_request_field(x->request, "Offload-Reader");

	return reader && strcmp(reader, "person") == 0 ? NULL : "http";
}

void ofs_v1_call(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	const struct ofs_call *call = ofs_call_find(x->route->call);
	const json_t *schema = json_object_get(ofs_call_describe(call), "inputSchema");
	const struct ofs_caller by = { ofs_http_agent(x), way_of(x) };
	json_auto_t *args = NULL;
	json_t *answer = NULL;
	struct ofs_error err = { "" };
	int r;

	if (strcmp(x->route->method, "POST") == 0) {
		if (ofs_http_read_json(x, ret, &args) < 0)
			return;
	} else {
		args = json_object();
	}
	r = take_target(x, schema, args, &err);
	if (r == 0)
		r = ofs_service_call(x->site->service, &by, call, args, &err, &answer);
	if (r < 0)
		ofs_http_reply_failed(ret, r, &err);
	else
		ofs_http_reply_json(ret, x->route->flags & OFS_ROUTE_CREATED ? 201 : 200, answer);
}
