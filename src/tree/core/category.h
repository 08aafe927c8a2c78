/* SPDX-License-Identifier: MIT */
/* Categories: how long an unused file of each may stay in the working tier. */
#pragma once

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/class.h"

/*
 * The categories that every tree knows: name, lifetime in seconds (0: for ever), content. `other`
 * stands for all that have no lifetime of their own. The configuration's keys, a tree's defaults
 * and its README.md come from this table.
 */
/* clang-format off */
#define OFS_CATEGORY_TABLE(X)                                           \
	X(shell, 30 * 60, "output of commands")                         \
	X(search, 6 * 3600, "search results")                           \
	X(web, 6 * 3600, "web pages")                                   \
	X(file_read, 24 * 3600, "files that were read")                 \
	X(notes, 7 * 86400, "notes")                                    \
	X(reports, 0, "reports")                                        \
	X(context, 30 * 86400, "parts of chats")                        \
	X(other, 24 * 3600, "all other categories")
/* clang-format on */

/* A lifetime that never ends, in nanoseconds. */
#define OFS_TTL_NEVER INT64_MAX

/* Parses a lifetime as in the attribute, "30m", "7d", "never", to nanoseconds. 0: it is none. */
int64_t ofs_ttl_parse(const char *text);

/* Appends a lifetime in that form. */
void ofs_ttl_format(int64_t ttl, struct ofs_buf *out);

/* Converts seconds to nanoseconds; 0 seconds: never. */
int64_t ofs_ttl_of_seconds(uint64_t seconds);

/* Returns whether a directory could have this name: a line of UTF-8 that can be shown. */
bool ofs_category_is_name(const char *name);

/* Returns whether this is such a name, or several separated by '/': an agent and agents in it. */
bool ofs_agent_is_name(const char *name);

/* The categories in effect in a tree: those of the table, and those that options name. */
struct ofs_categories;

struct ofs_categories *ofs_categories_create(const struct ofs_lifetime *lifetimes, size_t n);
void ofs_categories_destroy(struct ofs_categories *c);

/* Returns the lifetime of a category in nanoseconds, or OFS_TTL_NEVER. */
int64_t ofs_categories_ttl(const struct ofs_categories *c, const char *category);
int64_t ofs_categories_shortest(const struct ofs_categories *c);

/*
 * Classes of content by expected lifetime, so that everything in one frame is removed at about the
 * same time. Stored on disk: never renumber.
 */
enum {
	OFS_CLASS_HOUR = 10,
	OFS_CLASS_HALF_DAY = OFS_CLASS_BRIEF,
	OFS_CLASS_TASK = 25,
	OFS_CLASS_DAYS = 30,
	OFS_CLASS_WEEKS = 40,
	OFS_CLASS_MONTHS = 45,
	OFS_CLASS_KEPT = 50,
	OFS_CLASS_LONG_TERM = 60,
	OFS_CLASS_ARCHIVE = OFS_CLASS_DENSE
};

/* Returns the class of content with this lifetime. */
uint32_t ofs_category_class(int64_t ttl);

/* Appends "shell 30m, search 6h, ..., other 1d". */
void ofs_categories_list(const struct ofs_categories *c, struct ofs_buf *out);
