/* SPDX-License-Identifier: MIT */
/* Values as a struct ofs_config_key describes them, for other tables of keys than the tree's. */
#ifndef OFS_TREE_CONFIG_H
#define OFS_TREE_CONFIG_H

#include <offloadfs/config.h>

/* The value that `text` gives the key. False: it is none. */
bool ofs_config_value_parse(const struct ofs_config_key *key, const char *text, uint64_t *ret);

/* What is allowed, as it follows "must be". */
void ofs_config_value_describe(const struct ofs_config_key *key, char *ret, size_t size);

#endif
