/* SPDX-License-Identifier: MIT */
/* A chat completion as OpenAI's API has it: what is asked, and what comes back. */
#pragma once

#include "io/endpoint.h"

/* What is asked; all borrowed, and in UTF-8. */
struct ofs_completion {
	const char *model;
	const char *instruction; /* the system's message */
	const void *text; /* the user's message */
	size_t len;
	uint64_t max_tokens; /* of the answer; 0: not said */
	bool max_by_new_name; /* as "max_completion_tokens" */
	bool any_temperature; /* it is not said; else 0 */
};

/* Appends the body of the request. */
void ofs_completion_write(const struct ofs_completion *c, struct ofs_buf *out);

/*
 * Appends the text of an answer. -EBADMSG, with `err` to stand after "it ": the answer is no
 * completion, has no text, or is one that was cut off.
 */
int ofs_completion_read(const struct ofs_buf *answer, struct ofs_error *err,
			struct ofs_buf *ret_text);

/*
 * Changes what is asked if the body of a refusal says that this model does not take it in that
 * form. False: it does not say so, or that has been tried.
 */
bool ofs_completion_adapt(struct ofs_completion *c, const struct ofs_buf *refusal);

/*
 * Asks for a completion, in a form that the model takes, and appends its text. Errors as of
 * ofs_endpoint_post(), and -EBADMSG.
 */
int ofs_completion_ask(struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		       struct ofs_buf *ret_text);
