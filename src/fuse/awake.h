/* SPDX-License-Identifier: MIT */
/*
 * Keeps processors from halting while requests keep coming, since waking one takes longer than
 * serving a request, and keeps the program from moving between processors. The guard of a processor
 * is a thread that runs when hardly any other thread wants the processor, and only until no request
 * has come for a fraction of a millisecond.
 */
#pragma once

/* Values of the setting `awake`. */
enum ofs_awake_mode {
	OFS_AWAKE_AUTO, /* on, unless there is an obstacle (io/wakeup.h) */
	OFS_AWAKE_ON,
	OFS_AWAKE_OFF
};

struct ofs_awake;

struct ofs_awake *ofs_awake_create(enum ofs_awake_mode mode);

/* Records that this thread serves a request. Cheap; from any thread; NULL is allowed. */
void ofs_awake_note(struct ofs_awake *a);

/* Ends the guards. No thread may call ofs_awake_note() any more. NULL is allowed. */
void ofs_awake_destroy(struct ofs_awake *a);
