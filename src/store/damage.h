/* SPDX-License-Identifier: MIT */
/* Damage to the journal that a recovery has found, and the notice of it in the store. */
#pragma once

#include "base/buf.h"
#include "journal/journal.h"

struct ofs_damage {
	bool read_only; /* nothing may be copied or written */
	unsigned int found; /* damaged places */
	ofs_lsn pos; /* of the first one */
	unsigned int mended; /* records in which a byte was corrected */
	unsigned int unreadable; /* records with damaged content */
	unsigned int refused; /* sound records that cannot be applied without lost ones */
	uint64_t lost; /* bytes of the log */
};

/* Returns a descriptor of quarantine/ in the store, which it makes if missing, or -errno. */
int ofs_damage_open_quarantine(int dirfd);

/*
 * Counts and logs what was found. The first time, copies the log from there on to quarantine/. 0 or
 * -errno: then nothing may be changed.
 */
int ofs_damage_note(struct ofs_damage *d, int dirfd, int journal_fd,
		    const struct ofs_journal_damage *found);

/* Appends a description in one line, without a newline. */
void ofs_damage_describe(const struct ofs_damage *d, struct ofs_buf *out);

/* Adds that line to the notice, unless it is there. 0 or -errno. */
int ofs_damage_write(const struct ofs_damage *d, int dirfd);

/* Appends the lines of the notice; -ENOENT: there is none. */
int ofs_damage_read(int dirfd, struct ofs_buf *out);

/* Renames the notice once somebody has taken note of it. 0 or -errno. */
int ofs_damage_retire(int dirfd);
