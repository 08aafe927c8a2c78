/* SPDX-License-Identifier: MIT */
/* A chat completion of OpenAI's API: the request and the answer. */
#pragma once

#include "io/endpoint.h"

/* The request. All members are borrowed; texts are UTF-8. */
struct ofs_completion {
	const char *model;
	const char *instruction; /* the system message */
	const void *text; /* the user's message */
	size_t len;
	uint64_t max_tokens; /* limit of the answer; 0: not sent */
	bool max_by_new_name; /* send the limit as "max_completion_tokens" */
	bool any_temperature; /* send no temperature, rather than 0 */
};

/* Appends the body of the request as JSON. */
void ofs_completion_write(const struct ofs_completion *c, struct ofs_buf *out);

/*
 * Appends the text of an answer. Returns -EBADMSG if the answer is not a completion, has no text,
 * or was cut off; `err` then completes a sentence that starts with "it".
 */
int ofs_completion_read(const struct ofs_buf *answer, struct ofs_error *err,
			struct ofs_buf *ret_text);

/*
 * Changes the form of the request as the body of a refusal suggests. Returns false if it suggests
 * nothing, or nothing new.
 */
bool ofs_completion_adapt(struct ofs_completion *c, const struct ofs_buf *refusal);

/*
 * Asks for a completion, in a form that the model accepts, and appends its text. Returns 0,
 * -EBADMSG, or an error of ofs_endpoint_post().
 */
int ofs_completion_ask(struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		       struct ofs_buf *ret_text);
