/* SPDX-License-Identifier: MIT */
/*
 * Search by meaning, where a model is set: the documents of the search index (index/fts.h) as
 * vectors, made in the background, and those nearest to a query.
 */
#pragma once

#include "embed/embed.h"
#include "tree/core/tree_state.h"

struct ofs_meaning;

/* A document near a query. */
struct ofs_near {
	uint64_t doc;
	double cosine;
};

/* NULL without a model. One that cannot be used is logged, and opened again from time to time. */
struct ofs_meaning *ofs_meaning_create(struct ofs_tree *t, const struct ofs_embed_settings *s);

/* Starts the thread that makes vectors. */
int ofs_meaning_start(struct ofs_meaning *m);

/* Ends the thread. NULL is allowed. */
void ofs_meaning_stop(struct ofs_meaning *m);
void ofs_meaning_destroy(struct ofs_meaning *m); /* NULL is allowed */

/*
 * Without a thread, makes the vectors that are missing where that takes no service, for up to two
 * seconds. NULL is allowed.
 */
void ofs_meaning_settle(struct ofs_meaning *m);

/*
 * The documents that stand out as near to a text, the nearest first: up to `max`. Returns how many;
 * 0 also where there is no model, or its service does not answer at once. NULL is allowed.
 */
size_t ofs_meaning_find(struct ofs_meaning *m, const char *text, size_t len, struct ofs_near *ret,
			size_t max);

/*
 * Of some texts, the one nearest to `text`, where that takes no service; SIZE_MAX: none is near, or
 * it is not known. NULL is allowed.
 */
size_t ofs_meaning_nearest(struct ofs_meaning *m, const char *text,
			   const struct ofs_embed_text texts[], size_t n);

struct ofs_meaning_stats {
	char model[128]; /* "": there is none */
	uint64_t vectors; /* that the last search has looked at */
	bool caught_up; /* no document is without */
	char trouble[sizeof(((struct ofs_error *)NULL)->text)]; /* "": none */
};

/* Without a model all is empty. NULL is allowed. */
void ofs_meaning_stats(struct ofs_meaning *m, struct ofs_meaning_stats *ret);
