/* SPDX-License-Identifier: MIT */
/* Following a store that another host writes; replication.h has the calls. */
#pragma once

#include <offloadfs/error.h>

#include "index/index.h"

struct ofs_store;

/* Opens a follower's current index.db and reads its meta. 0 or -errno, with a message. */
int ofs_follow_open_index(struct ofs_store *s, struct ofs_error *err, struct ofs_index_meta *meta,
			  struct ofs_index **ret);
