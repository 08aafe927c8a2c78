/* SPDX-License-Identifier: MIT */
/* What `offload top` knows of a tree: samples, and what follows from two successive ones. */
#pragma once

#include <jansson.h>

#include "base/util.h"

struct ofs_top_model {
	char *store, *mounted; /* NULL: unknown; not mounted */
	char *error; /* why there is no newer sample; NULL: there is one */
	json_t *status; /* the newest; NULL: none yet */
	json_t *rates; /* by name, per second; null: not known yet */
	double seconds; /* between the two samples that the rates come from; 0: there are not two */
	/*
	 * Rows of the tables. Files and slices, the newest first, have time, event, path, slice,
	 * size, tokens, task and agent. The sums of tasks and agents have a name and "now", the
	 * tokens per second.
	 */
	json_t *newest, *tasks, *agents;
	json_t *tiers; /* files, bytes and stored_bytes of each of the three; NULL: not known */
	json_t *log; /* lines of the log among the rows, the oldest first */
	json_t *told; /* those of the newest sample */
	int64_t rows_at; /* time of tasks and agents, in milliseconds of the daemon's clock */
	json_t *rows_of; /* the status's "tokens" then */
	int64_t uptime; /* of the newest status, in milliseconds */
};

void ofs_top_model_finish(struct ofs_top_model *m);

/* Takes an answer of a sampler, which is consumed. Returns true if it was a sample. */
bool ofs_top_model_take(struct ofs_top_model *m, json_t *sample);

/* Notes that no sample is available. `reason` is copied. */
void ofs_top_model_fail(struct ofs_top_model *m, const char *reason);

/* Returns a number of the status, such as "journal.bytes", or -1 if there is none of that name. */
double ofs_top_number(const struct ofs_top_model *m, const char *path);
/* Returns a rate, or -1 if it is not known. */
double ofs_top_rate(const struct ofs_top_model *m, const char *name);
/* Returns a time that the tree wrote, in nanoseconds since 1970, or 0 if it is not one. */
int64_t ofs_top_time(const json_t *text);

/* Returns how far replication is behind, in seconds: 0 if it is not, -1 if that is not known. */
double ofs_top_lag(const struct ofs_top_model *m, int64_t now);

/* Returns an object for --json, owned: everything, but only the new lines of the log. */
json_t *ofs_top_model_json(const struct ofs_top_model *m, int64_t now);
