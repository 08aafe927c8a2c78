/* SPDX-License-Identifier: MIT */
/*
 * Search by meaning, if a model is configured: keeps a vector for each document of the search index
 * (index/fts.h), made in the background, and finds those nearest to a query.
 */
#pragma once

#include "embed/embed.h"
#include "tree/core/tree_state.h"

struct ofs_meaning;

/* A document close to a query. */
struct ofs_near {
	uint64_t doc;
	double cosine;
};

/* Returns NULL if no model is set. If opening one fails, this is logged and retried later. */
struct ofs_meaning *ofs_meaning_create(struct ofs_tree *t, const struct ofs_embed_settings *s);

/* Starts the thread that makes vectors; returns 0 or -errno. NULL is a no-op. */
int ofs_meaning_start(struct ofs_meaning *m);

/* Ends the thread. NULL is a no-op. */
void ofs_meaning_stop(struct ofs_meaning *m);
void ofs_meaning_destroy(struct ofs_meaning *m); /* NULL is a no-op */

/*
 * For a tree without background threads, makes missing vectors for up to two seconds, if the model
 * is on this machine. NULL is a no-op.
 */
void ofs_meaning_settle(struct ofs_meaning *m);

/*
 * Sets `ret` to the documents that stand out as close to a text, nearest first, and returns their
 * number, at most `max`. Returns 0 also without a model, or if an endpoint does not answer in time.
 * `m` may be NULL.
 */
size_t ofs_meaning_find(struct ofs_meaning *m, const char *text, size_t len, struct ofs_near *ret,
			size_t max);

/*
 * Returns the index of the text nearest to `text`, or SIZE_MAX if none has a positive cosine or the
 * model is not on this machine. `m` may be NULL.
 */
size_t ofs_meaning_nearest(struct ofs_meaning *m, const char *text,
			   const struct ofs_embed_text texts[], size_t n);

struct ofs_meaning_stats {
	char model[128]; /* "": none */
	uint64_t vectors; /* in memory as of the last search */
	bool caught_up; /* every document has a vector */
	char trouble[sizeof(((struct ofs_error *)NULL)->text)]; /* "": none */
};

/* Without a model all is empty. `m` may be NULL. */
void ofs_meaning_stats(struct ofs_meaning *m, struct ofs_meaning_stats *ret);
