/* SPDX-License-Identifier: MIT */
/* The keys of <offloadfs/config.h>, for the command line and its help. */
#pragma once

#include <offloadfs/config.h>

#include "io/ini.h"

/* All keys, including those of sections. */
extern const struct ofs_ini_table ofs_config_table;

/*
 * Returns the key with this number, from 0, among those that may be options, in the order of the
 * table; NULL after the last.
 */
const struct ofs_ini_key *ofs_config_key(size_t number);

bool ofs_config_has(const char *name);

/* Returns the value of a text key; "" if unset. Borrowed. */
const char *ofs_config_get_text(const struct ofs_config *c, const char *name);

/* Returns the key of which `name` is probably a misspelling; NULL if none is similar. */
const char *ofs_config_nearest(const char *name);

/*
 * Sets a key of the first section in the store's config.ini, which is created if missing, and
 * leaves everything else in the file as it is. If `value` is NULL, removes the key. The value is
 * checked as an option is.
 */
int ofs_config_store_set(const char *store, const char *name, const char *value,
			 struct ofs_error *err);
