/* SPDX-License-Identifier: MIT */
/*
 * Removes what no manifest from the anchor on needs (docs/REPLICATION.md, "Garbage"). Lists all
 * objects, so it runs about once an hour, and only if something was written.
 */
#pragma once

#include <jansson.h>

#include "replica/lineage.h"

/* A manifest, what it needs, and what existed when it was made. */
struct ofs_anchor {
	struct ofs_log_place at; /* place from which it needs the log; at.epoch is its own epoch */
	uint32_t n; /* its number; 0: there is none */
	uint32_t parts, packs; /* last numbers given to objects */
	json_t *chain, *drafts; /* parts that it names */
	uint64_t *objects; /* packs that it needs: epoch << 32 | number */
	size_t nobjects, cap_objects;
};

struct ofs_garbage {
	struct ofs_anchor anchor;
	bool newer; /* there is a newer manifest */
	int64_t proved_at; /* boot time of the first log object after `newer`; 0: none */
};

void ofs_anchor_finish(struct ofs_anchor *a);
void ofs_anchor_add(struct ofs_anchor *a, uint32_t epoch, uint32_t number);

void ofs_garbage_finish(struct ofs_garbage *g);

/* True if the next manifest is to become the anchor. */
bool ofs_garbage_wants_anchor(const struct ofs_garbage *g);

/* Notes that a manifest was acknowledged. Takes or frees what `a` owns. */
void ofs_garbage_note_manifest(struct ofs_garbage *g, struct ofs_anchor *a);

/* Notes that an object of the log was acknowledged. */
void ofs_garbage_note_link(struct ofs_garbage *g);

/*
 * Removes garbage if it is time to. What fails is left for the next time. Returns 0, -EAGAIN or
 * another error of ofs_s3_list() or ofs_s3_delete().
 */
int ofs_garbage_sweep(struct ofs_garbage *g, struct ofs_lineage *l, struct ofs_error *err);
