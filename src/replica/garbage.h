/* SPDX-License-Identifier: MIT */
/*
 * Removing what no manifest from some one on needs (docs/REPLICATION.md). It asks for lists of all
 * objects, so it is done about once an hour, and only where something was written.
 */
#pragma once

#include <jansson.h>

#include "replica/lineage.h"

/* A manifest, and what there was when it was made. */
struct ofs_anchor {
	struct ofs_log_place at; /* of the log that it needs; at.epoch is its own */
	uint32_t n; /* 0: there is none */
	uint32_t parts, packs; /* the last numbers that were given to objects */
	json_t *chain, *drafts; /* the parts that it names */
	uint64_t *objects; /* the packs that it needs: epoch << 32 | number, sorted by us */
	size_t nobjects, cap_objects;
};

struct ofs_garbage {
	struct ofs_anchor anchor;
	bool newer; /* a manifest was made behind it */
	int64_t proved_at; /* when an object was made behind that, on the boot clock; 0: none */
};

void ofs_anchor_finish(struct ofs_anchor *a);
void ofs_anchor_add(struct ofs_anchor *a, uint32_t epoch, uint32_t number);

void ofs_garbage_finish(struct ofs_garbage *g);

/* The next manifest is wanted as an anchor. */
bool ofs_garbage_wants_anchor(const struct ofs_garbage *g);

/* A manifest was acknowledged; takes what `a` owns, or frees it. */
void ofs_garbage_note_manifest(struct ofs_garbage *g, struct ofs_anchor *a);

/* An object of the log was acknowledged. */
void ofs_garbage_note_link(struct ofs_garbage *g);

/*
 * Removes what there is to remove, if it is time; what fails is left for the next time. -EAGAIN and
 * others as of ofs_s3_list() and ofs_s3_delete().
 */
int ofs_garbage_sweep(struct ofs_garbage *g, struct ofs_lineage *l, struct ofs_error *err);
