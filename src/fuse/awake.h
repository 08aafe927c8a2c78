/* SPDX-License-Identifier: MIT */
/*
 * Keeps processors from halting while requests keep coming, since waking them takes longer than
 * serving a request does, and the program from going to and fro between them. The guard of a
 * processor is a thread that runs when hardly anybody else wants it, and only until no request has
 * come for a fraction of a millisecond.
 */
#pragma once

/* Values of the key awake. */
enum ofs_awake_mode {
	OFS_AWAKE_AUTO, /* unless there is an obstacle (io/wakeup.h) */
	OFS_AWAKE_ON,
	OFS_AWAKE_OFF
};

struct ofs_awake;

struct ofs_awake *ofs_awake_create(enum ofs_awake_mode mode);

/* A request is being served by the calling thread. Cheap; from any thread; NULL is allowed. */
void ofs_awake_note(struct ofs_awake *a);

/* No thread calls ofs_awake_note() any more. NULL is allowed. */
void ofs_awake_destroy(struct ofs_awake *a);
