/* SPDX-License-Identifier: MIT */
#include "cli/candidates.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/mcp_entry.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/guard.h"
#include "client/access.h"
#include "client/agent_list.h"
#include "client/naming.h"
#include "client/operand.h"
#include "io/mounts.h"
#include "io/path.h"
#include "service/service.h"
#include "tree/core/place.h"

#define ANSWER_NS OFS_NS_PER_S
#define MOST 1000 /* candidates of one kind */
#define REFS "1000"
/* Bytes of index and journal. A larger store that is not mounted would take too long to open. */
#define STORE_MAX ((off_t)64 << 20)

/* ---- the tree */

struct asking {
	struct ofs_candidates *c;
	const struct kind *kind;
	bool option; /* the value of an option is completed */
	struct ofs_access access;
	struct ofs_backend *b;
	size_t n;
};

struct names {
	char **at;
	size_t n, cap;
};

static void names_finish(struct names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->at[i]);
	free(s->at);
}

static int names_add(void *arg, const char *name)
{
	struct names *s = arg;

	*ofs_append(s->at, s->n, s->cap) = ofs_strdup(name);
	return 0;
}

static bool names_have(const struct names *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->at[i], name) == 0)
			return true;
	return false;
}

struct listing {
	struct asking *a;
	const char *dir; /* in the tree */
	const char *before; /* put before each name */
	bool dirs; /* offer only directories, as words without a slash */
	struct names *seen; /* names already offered; NULL: all are new */
};

static void offer_entry(struct listing *l, const char *name)
{
	const char *typed = ofs_candidates_typed(l->a->c);
	OFS_FREE char *path = ofs_path_join(l->dir, name);
	OFS_FREE char *word = ofs_format("%s%s", l->before, name);
	OFS_FREE char *folder = NULL, *state = NULL;
	struct stat st;
	bool is_dir;

	if (strncmp(word, typed, strlen(typed)) != 0)
		return;
	is_dir = l->a->b->ops->lstat(l->a->b, path, &st) == 0 && S_ISDIR(st.st_mode);
	if (l->dirs && (!is_dir || (l->seen && names_have(l->seen, name))))
		return;
	if (l->seen)
		names_add(l->seen, name);
	folder = is_dir && !l->dirs ? ofs_format("%s/", word) : NULL;
	if (l->dirs && ofs_backend_attribute(l->a->b, path, "state", &state) < 0)
		state = NULL;
	ofs_candidates_offer(l->a->c, folder ? folder : word, state);
	l->a->n++;
}

/* No file can be examined while a directory is listed, so the names are collected first. */
static void offer_directory(struct listing *l)
{
	OFS_CLEANUP(names_finish) struct names names = { 0 };

	l->a->b->ops->list(l->a->b, l->dir, names_add, &names);
	for (size_t i = 0; i < names.n && l->a->n < MOST; i++)
		offer_entry(l, names.at[i]);
}

static void offer_tasks(struct asking *a)
{
	offer_directory(&(struct listing){ a, "tasks", "", true });
}

static void offer_categories(struct asking *a)
{
	static const char *const tops[] = { "cache", "persistent", "archive" };
	OFS_CLEANUP(names_finish) struct names seen = { 0 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++)
		offer_directory(&(struct listing){ a, tops[i], "", true, &seen });
}

static void offer_tags(struct asking *a)
{
	offer_directory(&(struct listing){ a, "views/by-tag", "", true });
}

/* Several tags, separated by commas: completes the last one. */
static void offer_tag_list(struct asking *a)
{
	const char *typed = ofs_candidates_typed(a->c), *comma = strrchr(typed, ',');

	a->c->before += comma ? (size_t)(comma + 1 - typed) : 0;
	offer_tags(a);
}

static int offer_agent(void *arg, const char *dir)
{
	struct asking *a = arg;
	OFS_FREE char *name = ofs_naming_agent_name(dir);

	ofs_candidates_offer(a->c, name, NULL);
	return ++a->n >= MOST;
}

static void offer_agents(struct asking *a)
{
	ofs_agents_each(a->b, "", offer_agent, a);
}

/* Offers one of the newest files. `file` is a line of `offload list`. */
static void offer_ref(const struct asking *a, const json_t *file)
{
	const char *title = json_string_value(json_object_get(file, "title"));
	const char *path = json_string_value(json_object_get(file, "path"));
	const char *ref = json_string_value(json_object_get(file, "ref"));
	OFS_FREE char *about = NULL;

	if (!ref || !path)
		return;
	about = ofs_format("%s%s%s", title ? title : path, title ? ": " : "", title ? path : "");
	ofs_candidates_offer(a->c, ref, about);
}

static void offer_refs(struct asking *a)
{
	OFS_FREE char *text = NULL;
	char *rest, *line;

	if (ofs_backend_read_text(a->b, ".offload/list/sort:used max:" REFS, &text) < 0)
		return;
	rest = text;
	strsep(&rest, "\n"); /* the line of totals */
	while ((line = strsep(&rest, "\n"))) {
		json_auto_t *file = json_loads(line, 0, NULL);

		offer_ref(a, file);
	}
}

/* Returns where a typed path starts in the tree: 0, or the offset after the mount point. */
static size_t path_start(const struct asking *a, const char *typed)
{
	const char *const roots[] = { a->access.mount, a->access.target.root };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(roots); i++) {
		size_t len = roots[i] ? strlen(roots[i]) : 0;

		if (len && strncmp(typed, roots[i], len) == 0 && typed[len] == '/')
			return len + 1;
	}
	return 0;
}

static void offer_paths(struct asking *a)
{
	const char *typed = ofs_candidates_typed(a->c);
	size_t start = path_start(a, typed);
	const char *slash = strrchr(typed + start, '/');
	OFS_FREE char *dir =
		ofs_strndup(typed + start, slash ? (size_t)(slash - typed) - start : 0);
	OFS_FREE char *before = ofs_strndup(typed, slash ? (size_t)(slash + 1 - typed) : start);

	/* The root of a mount may not list these directories. */
	for (size_t i = 0; !slash && i < OFS_AGENT_TOPS; i++) {
		OFS_FREE char *top = ofs_format("%s%s/", before, ofs_agent_tops[i]);

		ofs_candidates_offer(a->c, top, NULL);
	}
	if (slash)
		offer_directory(&(struct listing){ a, dir, before, false });
}

static void offer_files(struct asking *a)
{
	if (!strchr(ofs_candidates_typed(a->c), '/'))
		offer_refs(a);
	offer_paths(a);
}

static void offer_query(struct asking *a);

/* ---- the table */

static void offer_harnesses(struct ofs_candidates *c)
{
	const struct ofs_agent *agent;

	for (size_t i = 0; (agent = ofs_agent_number(i)); i++)
		ofs_candidates_offer(c, agent->name, agent->title);
}

static void offer_clients(struct ofs_candidates *c)
{
	const struct ofs_mcp_client *client;

	for (size_t i = 0; (client = ofs_mcp_client_number(i)); i++)
		ofs_candidates_offer(c, client->name, client->title);
}

static void offer_calls(struct ofs_candidates *c)
{
	for (size_t i = 0; ofs_calls[i]; i++)
		ofs_candidates_offer(c, ofs_calls[i]->name, NULL);
}

static void offer_tiers(struct ofs_candidates *c)
{
	for (size_t i = 0; i < OFS_TIERS; i++)
		ofs_candidates_offer(c, ofs_tier_names[i], NULL);
}

static const char *const ages[] = { "30m", "6h", "24h", "7d", "30d", NULL };
static const char *const lifetimes[] = { "30m", "6h", "24h", "7d", "30d", "never", NULL };

/*
 * The values of placeholders. A new placeholder needs a line here if anything can be offered for
 * it.
 */
static const struct kind {
	const char *placeholder;
	void (*ask)(struct asking *a); /* asks a tree; NULL: no tree is needed */
	void (*offer)(struct ofs_candidates *c);
	const char *const *words;
	const char *rest; /* what the shell is to offer if there is no candidate */
} kinds[] = {
	{ "AGE", .words = ages },
	{ "AGENT", .ask = offer_agents },
	{ "CALL", .offer = offer_calls },
	{ "CATEGORY", .ask = offer_categories },
	{ "CLIENT", .offer = offer_clients },
	{ "DEST", .ask = offer_paths },
	{ "DIR", .rest = "dirs" },
	{ "FILE", .rest = "files" },
	{ "HARNESS", .offer = offer_harnesses },
	{ "MOUNT", .rest = "dirs" },
	{ "MOUNTPOINT", .rest = "dirs" },
	{ "PATH", .ask = offer_paths },
	{ "PATH|PATTERN", .ask = offer_paths, .rest = "files" },
	{ "QUERY", .ask = offer_query },
	{ "REF|PATH", .ask = offer_files, .rest = "files" },
	{ "STORE", .rest = "dirs" },
	{ "STORE|PATH", .rest = "files" },
	{ "TAG", .ask = offer_tags },
	{ "TAGS", .ask = offer_tag_list },
	{ "TASK", .ask = offer_tasks },
	{ "TIER", .offer = offer_tiers },
	{ "TIME", .words = lifetimes },
	{ "WHEN", .words = ages },
	{ "WORKSPACE", .rest = "dirs" },
	{ "WORKSPACE|MOUNT|STORE", .rest = "dirs" },
};

static const struct kind *find_kind(const char *placeholder, size_t len)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds); i++)
		if (strncmp(kinds[i].placeholder, placeholder, len) == 0 &&
		    !kinds[i].placeholder[len])
			return &kinds[i];
	return NULL;
}

/* Offers filters of a query, or what can follow the colon of one. */
static void offer_query(struct asking *a)
{
	static const struct {
		const char *filter, *placeholder;
	} filters[] = {
		{ "tier:", "TIER" },  { "category:", "CATEGORY" }, { "task:", "TASK" },
		{ "tag:", "TAG" },    { "agent:", "AGENT" },	   { "after:", "AGE" },
		{ "before:", "AGE" },
	};
	const char *typed = ofs_candidates_typed(a->c);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(filters); i++) {
		const struct kind *kind =
			find_kind(filters[i].placeholder, strlen(filters[i].placeholder));
		size_t len = strlen(filters[i].filter);

		if (strncmp(typed, filters[i].filter, len) != 0) {
			ofs_candidates_offer(a->c, filters[i].filter, NULL);
			continue;
		}
		a->c->before += len;
		if (kind->ask && a->b)
			kind->ask(a);
		else if (kind->offer)
			kind->offer(a->c);
		else if (kind->words)
			ofs_candidates_offer_words(a->c, kind->words);
		return;
	}
}

/* ---- asking */

static off_t size_in(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

/* Returns true if the store, which is not mounted, can be opened quickly. */
static bool is_small(const char *store)
{
	OFS_CLOSE int dir = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int journal = dir < 0 ? -1 : openat(dir, "journal", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	off_t size = dir < 0 ? 0 : size_in(dir, "index.db") + size_in(dir, "index.db-wal");
	DIR *list = journal < 0 ? NULL : fdopendir(journal);
	struct dirent *entry;

	while (list && (entry = readdir(list)))
		size += size_in(journal, entry->d_name);
	if (list)
		closedir(list);
	else if (journal >= 0)
		close(journal);
	return size <= STORE_MAX;
}

static int ask(const void *arg)
{
	struct asking *a = *(struct asking *const *)arg;
	struct ofs_target_options target = ofs_command_target;
	struct ofs_error err;

	target.whole = a->option && a->kind->ask == offer_agents;
	ofs_access_init(&a->access, &target);
	a->access.read_only = true;
	if (ofs_access_find(&a->access, &err) == 0 && !a->access.target.stale &&
	    (a->access.target.mounted || is_small(a->access.target.store)) &&
	    ofs_access_open(&a->access, false, &err) == 0)
		a->b = a->access.backend;
	if (a->b || a->kind->ask == offer_query)
		a->kind->ask(a);
	ofs_access_finish(&a->access);
	return 0;
}

void ofs_candidates_offer_values(struct ofs_candidates *c, const char *placeholder, bool option)
{
	const struct kind *kind = find_kind(placeholder, strlen(placeholder));
	struct asking asking = { .c = c, .kind = kind, .option = option }, *a = &asking;
	const char *patience = getenv("OFFLOAD_TIMEOUT");

	if (!kind)
		return;
	if (!patience || !*patience)
		ofs_mount_set_wait(ANSWER_NS / 2);
	fflush(stdout);
	if (kind->ask)
		ofs_guard_work(ask, &a, OFS_MAX(ofs_mount_wait(), ANSWER_NS));
	if (kind->offer)
		kind->offer(c);
	if (kind->words)
		ofs_candidates_offer_words(c, kind->words);
	if (kind->rest)
		snprintf(c->rest, sizeof(c->rest), "%s", kind->rest);
}
