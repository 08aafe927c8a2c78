/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests, from their head to the call they ask for, without a server or a tree. An input is
 * the method, the target and the fields on one line each, an empty line, and the body. Each answer
 * has a status and is JSON.
 */
#include <jansson.h>

#include "fuzz.h"
#include "service/http/route.h"
#include "service/http/site.h"
#include "service/http/strict.h"

#define TOKEN "0123456789abcdef"
#define FIELDS_MAX 16

static const char *const hosts[] = { "127.0.0.1:8377", NULL };
static struct ofs_service *service;

static void make_service(void)
{
	/* A store that cannot be created, so that no request finds a tree. */
	const struct ofs_service_options options = { .target = { .store = "/proc/nothing/store" } };
	struct ofs_error err;

	if (!service)
		FUZZ_ASSERT(ofs_service_create(&options, &err, &service) == 0);
}

/* Returns the next line without its end, to be freed, or NULL if there is none. */
static char *take_line(struct fuzz_input *in)
{
	const uint8_t *end = in->left ? memchr(in->at, '\n', in->left) : NULL;
	size_t len = end ? (size_t)(end - in->at) : in->left;
	char *line;

	if (!in->left)
		return NULL;
	line = ofs_strndup(in->at, len);
	fuzz_take(in, len + (end != NULL));
	return line;
}

/* Checks a head as libmicrohttpd leaves it in memory. Nothing after it may be read. */
static void check_strict(const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	const char *version = size ? memchr(copy, '\0', size) : NULL;

	if (version && (size_t)(version + 1 - copy) < size)
		ofs_strict_check(copy, size, version + 1);
	free(copy);
}

static void check_reply(const struct ofs_http_reply *r)
{
	json_error_t wrong;
	json_t *json;

	FUZZ_ASSERT(r->status >= 200 && r->status < 600);
	if (!r->type || strcmp(r->type, "application/json") != 0)
		return;
	json = json_loadb((const char *)r->body.data, r->body.len, 0, &wrong);
	FUZZ_ASSERT(json);
	if (r->status >= 400 && !json_object_get(json, "detail") &&
	    !json_object_get(json, "jsonrpc"))
		FUZZ_ASSERT(json_object_get(json, "error"));
	json_decref(json);
}

static void check_target(const struct ofs_http_target *t)
{
	for (size_t i = 0; i < t->n_segments; i++)
		FUZZ_ASSERT(strcmp(t->segments[i], "..") != 0);
}

/* Routes that wait for something are left to the server. */
static bool is_call(const struct ofs_http_exchange *x)
{
	return strcmp(x->route->path, "/v1/events") != 0;
}

static void serve(const struct ofs_http_request *request, const struct fuzz_input *body)
{
	const struct ofs_http_site site = { .service = service, .routes = ofs_http_routes };
	const struct ofs_admission admission = { .token = TOKEN, .hosts = hosts };
	const struct ofs_http_limits limits = { 1 << 16, 1 << 20 };
	OFS_CLEANUP(ofs_http_reply_finish) struct ofs_http_reply reply = { 0 };
	struct ofs_http_exchange x;
	size_t max;

	if (ofs_http_admit(&site, &admission, &limits, request, &x, &max, &reply)) {
		/* A client is either known or has the token, except on open routes. */
		FUZZ_ASSERT(request->known || x.route->flags & OFS_ROUTE_OPEN ||
			    ofs_admission_has_token(&admission, request));
		check_target(&x.target);
		x.body = body->at;
		x.body_len = OFS_MIN(body->left, max);
		if (is_call(&x)) {
			ofs_http_handle(&x, &reply);
			check_reply(&reply);
		}
	} else {
		check_reply(&reply);
	}
	ofs_http_exchange_finish(&x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct ofs_http_field fields[FIELDS_MAX];
	struct ofs_http_request request = { .fields = fields };
	OFS_FREE char *method = NULL, *target = NULL;
	char *line;

	make_service();
	check_strict(data, size);
	request.known = fuzz_u8(&in) & 1;
	method = take_line(&in);
	target = take_line(&in);
	if (!method || !target)
		return 0;
	request.method = method;
	request.target = target;
	while (request.n_fields < FIELDS_MAX && (line = take_line(&in)) && *line) {
		char *colon = strchr(line, ':');

		if (colon)
			*colon++ = '\0';
		fields[request.n_fields++] =
			(struct ofs_http_field){ line, colon ? colon + strspn(colon, " ") : "" };
		line = NULL;
	}
	if (request.n_fields < FIELDS_MAX)
		free(line);
	serve(&request, &in);
	for (size_t i = 0; i < request.n_fields; i++)
		free((char *)fields[i].name);
	return 0;
}
