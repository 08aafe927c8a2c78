/* SPDX-License-Identifier: MIT */
/* Damage to the journal that a recovery has met, and the notice of it in the store. */
#pragma once

#include "base/buf.h"
#include "journal/journal.h"

struct ofs_damage {
	bool read_only; /* nothing is copied or written */
	unsigned int found;
	ofs_lsn pos; /* of the first */
	unsigned int mended; /* records in which a byte was put right */
	unsigned int unreadable; /* records with damaged content */
	unsigned int refused; /* sound records that cannot be applied without what is lost */
	uint64_t lost; /* bytes of the log */
};

/* A descriptor of quarantine/ in the store, which is made when it is missing; or -errno. */
int ofs_damage_open_quarantine(int dirfd);

/*
 * Counts what was found and logs a warning. The first time the log from there on is copied to
 * quarantine/. 0 or -errno: then nothing may be changed.
 */
int ofs_damage_note(struct ofs_damage *d, int dirfd, int journal_fd,
		    const struct ofs_journal_damage *found);

/* One line, without a newline. */
void ofs_damage_describe(const struct ofs_damage *d, struct ofs_buf *out);

/* Adds that line to the notice. */
int ofs_damage_write(const struct ofs_damage *d, int dirfd);

/* The lines of the notice; -ENOENT: there is none. */
int ofs_damage_read(int dirfd, struct ofs_buf *out);

/* The notice has been taken note of, and is kept under another name. */
int ofs_damage_retire(int dirfd);
