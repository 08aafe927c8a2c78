/* SPDX-License-Identifier: MIT */
/* What user and model said to each other: the goal, decisions, and what is still open. */
#ifndef OFS_CONTEXT_SNAPSHOT_SAID_H
#define OFS_CONTEXT_SNAPSHOT_SAID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "context/json/span.h"
#include "context/snapshot/digest.h"

/* Sentences on what remains are kept from so many of the last messages. */
#define OFS_SAID_RECENT 8

/* A line, and the message that it is from. */
struct ofs_said_line {
	struct ofs_buf text;
	size_t message;
};

struct ofs_said {
	struct ofs_digest *digest;
	bool has_goal;
	struct ofs_said_line question; /* the last of the model */
	struct ofs_said_line request; /* the last of the user */
	struct ofs_said_line remains[OFS_SAID_RECENT]; /* a ring */
	size_t n_remains;
	struct ofs_buf plan; /* the last list of steps, a line each */
	struct ofs_buf tasks; /* from the last list of tasks that was kept with a tool */
	struct ofs_buf topic; /* what a bare "yes" of the user would mean */
	size_t spoken; /* messages of the model */
};

/* `has_goal`: it is known from before. */
void ofs_said_init(struct ofs_said *s, struct ofs_digest *digest, bool has_goal);
void ofs_said_finish(struct ofs_said *s);

/* Takes in what the user, or the model, says in a message of that number. */
void ofs_said_by_user(struct ofs_said *s, const char *text, size_t len, size_t message);
void ofs_said_by_model(struct ofs_said *s, const char *text, size_t len, size_t message);

/* Takes in a call that keeps a list of tasks; others are left alone. */
void ofs_said_tasks(struct ofs_said *s, struct ofs_span args);

/*
 * Adds what is still open to the digest. `user` and `model` are the numbers of the last messages of each in the
 * chat, plus one.
 */
void ofs_said_open(struct ofs_said *s, size_t user, size_t model);

#endif
