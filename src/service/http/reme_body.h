/* SPDX-License-Identifier: MIT */
/* Bodies of ReMe's requests and answers, as FastAPI and pydantic make them. */
#pragma once

#include "service/http/exchange.h"

/* A body that is an object. False: the reply is made, 422. */
bool ofs_reme_body(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_body);

/* Makes the reply 422: a member of the body is missing or of the wrong type. */
void ofs_reme_refuse(struct ofs_http_reply *ret, const char *member, const char *type,
		     const char *message);

/*
 * Members. `*ret` stays as it is where there is none, or null. False: it is of the wrong type, and
 * the reply is made. Texts are borrowed.
 */
bool ofs_reme_text(const json_t *body, const char *name, struct ofs_http_reply *reply,
		   const char **ret);
bool ofs_reme_number(const json_t *body, const char *name, struct ofs_http_reply *reply,
		     int64_t *ret);
bool ofs_reme_real(const json_t *body, const char *name, struct ofs_http_reply *reply, double *ret);

/* {"success", "answer", "messages", "metadata"}; takes the three. */
void ofs_reme_answer(struct ofs_http_reply *ret, bool success, json_t *answer, json_t *messages,
		     json_t *metadata);
