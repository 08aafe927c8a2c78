/* SPDX-License-Identifier: MIT */
#include "tree/core/category.h"

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"

#define HOUR (3600 * OFS_NS_PER_S)
#define DAY (24 * HOUR)
#define TTL_MAX_S (36500 * UINT64_C(86400))

/* ---- lifetimes */

static const struct ofs_quantity lifetime = { OFS_UNIT_S, 1, TTL_MAX_S, "never", true };

int64_t ofs_ttl_of_seconds(uint64_t seconds)
{
	return seconds && seconds < OFS_TTL_NEVER / OFS_NS_PER_S ? (int64_t)seconds * OFS_NS_PER_S
								 : OFS_TTL_NEVER;
}

int64_t ofs_ttl_parse(const char *text)
{
	uint64_t seconds;

	return ofs_quantity_parse(&lifetime, text, &seconds) ? ofs_ttl_of_seconds(seconds) : 0;
}

void ofs_ttl_format(int64_t ttl, struct ofs_buf *out)
{
	uint64_t seconds = ttl == OFS_TTL_NEVER ? 0 : (uint64_t)(ttl / OFS_NS_PER_S);

	ofs_buf_append_str(out, ofs_quantity_show(&lifetime, seconds).text);
}

uint32_t ofs_category_class(int64_t ttl)
{
	static const struct {
		int64_t most;
		uint32_t class;
	} classes[] = {
		{ HOUR, OFS_CLASS_HOUR },	 { 12 * HOUR, OFS_CLASS_HALF_DAY },
		{ 3 * DAY, OFS_CLASS_DAYS },	 { 14 * DAY, OFS_CLASS_WEEKS },
		{ 100 * DAY, OFS_CLASS_MONTHS },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(classes); i++)
		if (ttl <= classes[i].most)
			return classes[i].class;
	return OFS_CLASS_KEPT;
}

/* ---- the categories */

struct category {
	char *name;
	int64_t ttl;
};

struct ofs_categories {
	struct category *list;
	size_t n, cap;
};

bool ofs_category_is_name(const char *name)
{
	if (!*name || strlen(name) > OFS_NAME_MAX || strchr(name, '/') || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	return ofs_text_is_line(name);
}

bool ofs_agent_is_name(const char *name)
{
	char part[OFS_NAME_MAX + 1];
	size_t len;

	for (;; name += len + 1) {
		len = strcspn(name, "/");
		if (len > OFS_NAME_MAX)
			return false;
		memcpy(part, name, len);
		part[len] = 0;
		if (!ofs_category_is_name(part))
			return false;
		if (!name[len])
			return true;
	}
}

static struct category *find(const struct ofs_categories *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->list[i].name, name) == 0)
			return &c->list[i];
	return NULL;
}

static void set(struct ofs_categories *c, const char *name, uint64_t seconds)
{
	struct category *found = find(c, name);

	if (!found) {
		found = ofs_append(c->list, c->n, c->cap);
		found->name = ofs_strdup(name);
	}
	found->ttl = ofs_ttl_of_seconds(seconds);
}

struct ofs_categories *ofs_categories_create(const struct ofs_lifetime *lifetimes, size_t n)
{
	struct ofs_categories *c = ofs_alloc(sizeof(*c));

#define SET(name, ttl, text) set(c, #name, ttl);
	OFS_CATEGORY_TABLE(SET)
#undef SET
	for (size_t i = 0; i < n; i++)
		set(c, lifetimes[i].category, lifetimes[i].ttl_s);
	return c;
}

void ofs_categories_destroy(struct ofs_categories *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		free(c->list[i].name);
	free(c->list);
	free(c);
}

int64_t ofs_categories_ttl(const struct ofs_categories *c, const char *category)
{
	const struct category *found = find(c, category);

	return found ? found->ttl : find(c, "other")->ttl;
}

int64_t ofs_categories_shortest(const struct ofs_categories *c)
{
	int64_t least = OFS_TTL_NEVER;

	for (size_t i = 0; i < c->n; i++)
		least = OFS_MIN(least, c->list[i].ttl);
	return least;
}

void ofs_categories_list(const struct ofs_categories *c, struct ofs_buf *out)
{
	for (size_t i = 0; i < c->n; i++) {
		ofs_buf_printf(out, "%s%s ", i ? ", " : "", c->list[i].name);
		ofs_ttl_format(c->list[i].ttl, out);
	}
}
