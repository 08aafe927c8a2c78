/* SPDX-License-Identifier: MIT */
/* Bodies of ReMe's requests and answers, in the manner of FastAPI and pydantic. */
#pragma once

#include "service/http/exchange.h"

/* Reads a body that is an object. Returns false with the reply made, 422. */
bool ofs_reme_body(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_body);

/* Makes the reply 422: a member of the body is missing or of the wrong type. */
void ofs_reme_refuse(struct ofs_http_reply *ret, const char *member, const char *type,
		     const char *message);

/*
 * Read a member. Leave *ret alone if it is missing or null. Return false, with the reply made, if
 * its type is wrong. Texts are borrowed.
 */
bool ofs_reme_text(const json_t *body, const char *name, struct ofs_http_reply *reply,
		   const char **ret);
bool ofs_reme_number(const json_t *body, const char *name, struct ofs_http_reply *reply,
		     int64_t *ret);
bool ofs_reme_real(const json_t *body, const char *name, struct ofs_http_reply *reply, double *ret);

/* Makes the reply {"success", "answer", "messages", "metadata"}. Takes the last three. */
void ofs_reme_answer(struct ofs_http_reply *ret, bool success, json_t *answer, json_t *messages,
		     json_t *metadata);
