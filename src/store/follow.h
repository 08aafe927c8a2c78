/* SPDX-License-Identifier: MIT */
/* A store that another host writes: ofs_store_follow() and ofs_store_reload() of replication.h. */
#pragma once

#include <offloadfs/error.h>

#include "index/index.h"

struct ofs_store;

/* Opens the index.db of a follower as it is now, and reads its meta. 0 or -errno, with a message. */
int ofs_follow_open_index(struct ofs_store *s, struct ofs_error *err, struct ofs_index_meta *meta,
			  struct ofs_index **ret);
