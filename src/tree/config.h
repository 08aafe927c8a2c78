/* SPDX-License-Identifier: MIT */
/* The keys of <offloadfs/config.h>, for the command line and its help. */
#pragma once

#include <offloadfs/config.h>

#include "io/ini.h"

/* All keys, those of sections too. */
extern const struct ofs_ini_table ofs_config_table;

/* The keys that may be options, in the order of the table; NULL after the last one. */
const struct ofs_ini_key *ofs_config_key(size_t number);

bool ofs_config_has(const char *name);

/* The text of a key of type text; "" where it is not set. Borrowed. */
const char *ofs_config_get_text(const struct ofs_config *c, const char *name);

/* The key that `name` is likely a misspelling of; NULL: none is close to it. */
const char *ofs_config_nearest(const char *name);

/*
 * Sets a key of the first section in the store's config.ini, which is made if need be, and leaves
 * everything else there as it is; NULL removes the key. The value is checked as an option is.
 */
int ofs_config_store_set(const char *store, const char *name, const char *value,
			 struct ofs_error *err);
