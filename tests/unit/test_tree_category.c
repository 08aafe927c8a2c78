/* SPDX-License-Identifier: MIT */
/* Categories: the classes and lifetimes that follow from them. */
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/util.h"
#include "tree/core/category.h"

#define HOUR (3600 * OFS_NS_PER_S)
#define DAY (24 * HOUR)

static uint32_t class_of(const struct ofs_categories *c, const char *category)
{
	return ofs_category_class(ofs_categories_ttl(c, category));
}

/* These numbers are stored on disk. */
Test(tree_category, classes_follow_lifetimes)
{
	struct ofs_categories *c = ofs_categories_create(NULL, 0);

	cr_expect_eq(class_of(c, "shell"), 10);
	cr_expect_eq(class_of(c, "search"), 20);
	cr_expect_eq(class_of(c, "web"), 20);
	cr_expect_eq(class_of(c, "file_read"), 30);
	cr_expect_eq(class_of(c, "whatever"), 30);
	cr_expect_eq(class_of(c, "notes"), 40);
	cr_expect_eq(class_of(c, "context"), 45);
	cr_expect_eq(class_of(c, "reports"), 50);
	cr_expect_eq(ofs_category_class(1), 10);
	cr_expect_eq(ofs_category_class(HOUR), 10);
	cr_expect_eq(ofs_category_class(HOUR + 1), 20);
	cr_expect_eq(ofs_category_class(101 * DAY), 50);
	ofs_categories_destroy(c);
}

Test(tree_category, lifetimes_of_options)
{
	static const struct ofs_lifetime lifetimes[] = { { "analysis", 30 * 86400 },
							 { "shell", 5 },
							 { "other", 0 },
							 { "analysis", 7 * 86400 } };
	struct ofs_categories *c = ofs_categories_create(lifetimes, OFS_ARRAY_SIZE(lifetimes));
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;

	cr_expect_eq(ofs_categories_ttl(c, "analysis"), 7 * DAY);
	cr_expect_eq(ofs_categories_ttl(c, "shell"), 5 * OFS_NS_PER_S);
	cr_expect_eq(ofs_categories_ttl(c, "web"), 6 * HOUR);
	cr_expect_eq(ofs_categories_ttl(c, "whatever"), OFS_TTL_NEVER);
	cr_expect_eq(ofs_categories_shortest(c), 5 * OFS_NS_PER_S);
	cr_expect_eq(class_of(c, "whatever"), 50);
	ofs_categories_list(c, &list);
	ofs_buf_append(&list, "", 1);
	cr_expect_str_eq((const char *)list.data,
			 "shell 5s, search 6h, web 6h, file_read 1d, notes 7d, reports never, "
			 "context 30d, other never, analysis 7d");
	ofs_categories_destroy(c);
}
