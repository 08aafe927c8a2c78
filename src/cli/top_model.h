/* SPDX-License-Identifier: MIT */
/* What `offload top` knows of a tree: samples of it, and what two of them in a row make. */
#pragma once

#include <jansson.h>

#include "base/util.h"

struct ofs_top_model {
	char *store, *mounted; /* NULL: not known; at rest */
	char *error; /* why there is no newer sample; NULL: there is */
	json_t *status; /* the newest; NULL: none yet */
	json_t *rates; /* by name, a second; null: not known yet */
	double seconds; /* between the two samples that they were made of; 0: there are not two */
	/*
	 * Rows of the tables, for good: of files and slices the newest first, with time, event,
	 * path, slice, size, tokens, task and agent; sums of tasks and agents with name and now, the
	 * tokens a second.
	 */
	json_t *newest, *tasks, *agents;
	json_t *tiers; /* of each of the three files, bytes and stored_bytes; NULL: not known */
	json_t *log; /* of the rows, those that the log has told of, the oldest first */
	json_t *told; /* of them, those of the newest sample */
	int64_t rows_at; /* when tasks and agents were, in milliseconds of the daemon's time */
	int64_t uptime; /* of the newest status, in milliseconds */
};

void ofs_top_model_finish(struct ofs_top_model *m);

/* Takes an answer of a sampler, which is consumed. True: it was a sample. */
bool ofs_top_model_take(struct ofs_top_model *m, json_t *sample);

/* No sample can be had; `reason` is copied. */
void ofs_top_model_fail(struct ofs_top_model *m, const char *reason);

/* A number of the status, "journal.bytes"; -1: there is none of that name. */
double ofs_top_number(const struct ofs_top_model *m, const char *path);
/* A rate; -1: it is not known. */
double ofs_top_rate(const struct ofs_top_model *m, const char *name);
/* A time as the tree writes it, in nanoseconds since 1970; 0: it is none. */
int64_t ofs_top_time(const json_t *text);

/* How long replication is behind, in seconds; -1: it is not known; 0: it is not. */
double ofs_top_lag(const struct ofs_top_model *m, int64_t now);

/* An object with all of it, of the lines of the log those that are new, for --json; owned. */
json_t *ofs_top_model_json(const struct ofs_top_model *m, int64_t now);
