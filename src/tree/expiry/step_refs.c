/* SPDX-License-Identifier: MIT */

#include "tree/expiry/step_refs.h"

#include <jansson.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/u64_list.h"
#include "base/util.h"
#include "tree/core/category.h"
#include "tree/core/changes.h"
#include "tree/core/entry_list.h"
#include "tree/core/place.h"
#include "tree/core/slice.h"
#include "tree/core/tree_state.h"
#include "tree/core/walk.h"
#include "tree/expiry/step_file.h"
#include "tree/expiry/task.h"
#include "tree/expiry/task_activity.h"

#define KEY "outcome_ref"
#define DEPTH_MAX 32 /* of objects and arrays that are searched */
#define TRIES_MAX 4 /* places in a path at which the tree may begin */

/* Bytes charged for a step, a name in it and a file that it names, including map entries. */
#define STEP_COST 256u
#define NAME_COST 64u /* and the bytes of the name; also for each '/', which takes time to follow */
#define TARGET_COST 64u

struct step {
	uint64_t ino;
	uint64_t version; /* of its content when it was read */
	uint64_t seen; /* last refresh of its tree that found it */
	char **names; /* in its outcome_ref */
	size_t nnames, cap_names;
	struct ofs_u64_list targets; /* inodes that the names meant at any time since it was read */
	size_t held; /* bytes charged for it */
	bool large; /* it exceeds a limit by itself */
	bool failed; /* the last try to read it failed */
};

/* The steps of a tree. Their names refer to files in it, and in the trees inside it. */
struct branch {
	struct ofs_step_refs *refs;
	const struct ofs_root *root;
	struct ofs_map steps; /* inode -> struct step */
	struct ofs_map targets; /* inode -> struct step, one of those that name it */
	uint64_t refreshes;
	int64_t as_of; /* ofs_tree_touches() before the last refresh; 0: none, or it failed */
	int64_t read; /* when that was (monotonic clock) */
	int64_t end; /* when the first of the live tasks becomes idle */
	uint64_t unread; /* the first step that exceeds a limit, as of the last refresh; 0: none */
	uint64_t told; /* the one that was logged */
};

struct ofs_step_refs {
	struct ofs_map branches; /* directory of a tree -> struct branch */
	size_t held; /* bytes charged, at most OFS_STEP_REFS_MAX */
};

/* Charges memory to a step. Returns false if there is not enough left. */
static bool charge(struct ofs_step_refs *s, struct step *step, size_t bytes)
{
	if (bytes > OFS_STEP_REFS_MAX - s->held)
		return false;
	s->held += bytes;
	step->held += bytes;
	return true;
}

static void forget_names(struct ofs_step_refs *s, struct step *step)
{
	while (step->nnames)
		free(step->names[--step->nnames]);
	free(step->names);
	step->names = NULL;
	step->cap_names = 0;
	ofs_u64_list_finish(&step->targets);
	s->held -= step->held - STEP_COST;
	step->held = STEP_COST;
}

static void step_destroy(struct ofs_step_refs *s, struct step *step)
{
	forget_names(s, step);
	s->held -= STEP_COST;
	free(step);
}

struct ofs_step_refs *ofs_step_refs_create(void)
{
	return ofs_alloc(sizeof(struct ofs_step_refs));
}

void ofs_step_refs_destroy(struct ofs_step_refs *s)
{
	struct branch *b;
	struct step *step;
	size_t pos = 0;

	if (!s)
		return;
	while ((b = ofs_map_next(&s->branches, &pos))) {
		for (size_t i = 0; (step = ofs_map_next(&b->steps, &i));)
			step_destroy(s, step);
		ofs_map_finish(&b->steps);
		ofs_map_finish(&b->targets);
		free(b);
	}
	ofs_map_finish(&s->branches);
	free(s);
}

static void set_unread(struct branch *b, const struct step *step)
{
	if (!b->unread)
		b->unread = step->ino;
}

uint64_t ofs_step_refs_find(const struct ofs_step_refs *s, const struct ofs_root *root,
			    uint64_t ino, bool *ret_unread)
{
	uint64_t unread = 0;

	*ret_unread = false;
	/* A step may refer to files in the trees inside its own. */
	for (; root; root = root->above) {
		const struct branch *b = ofs_map_get(&s->branches, root->ino);
		const struct step *step = b ? ofs_map_get(&b->targets, ino) : NULL;

		if (step)
			return step->ino;
		unread = b && !unread ? b->unread : unread;
	}
	*ret_unread = unread;
	return unread;
}

int64_t ofs_step_refs_end(const struct ofs_step_refs *s)
{
	int64_t end = OFS_TTL_NEVER;
	const struct branch *b;
	size_t pos = 0;

	while ((b = ofs_map_next(&s->branches, &pos)))
		end = OFS_MIN(end, b->end);
	return end;
}

uint64_t ofs_step_refs_unread(const struct ofs_step_refs *s, const struct ofs_root *root)
{
	const struct branch *b = ofs_map_get(&s->branches, root->ino);

	return b ? b->unread : 0;
}

/* ---- names */

/* Returns the part of a path after the mount point, or after the ".offload/" of a workspace. */
static const char *within_tree(struct ofs_tree *t, const char *path)
{
	static const char dir[] = ".offload/";
	size_t len = t->mountpoint ? strlen(t->mountpoint) : 0;

	if (len && strncmp(path, t->mountpoint, len) == 0 && path[len] == '/')
		return path + len + 1;
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return strncmp(path, dir, strlen(dir)) == 0 ? path + strlen(dir) : path;
}

static bool begins_in_tree(const char *path)
{
	static const char *const tops[] = { "cache/", "tasks/", "refs/" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++)
		if (strncmp(path, tops[i], strlen(tops[i])) == 0)
			return true;
	return false;
}

/* Cuts off the suffix of a slice. Returns false if there is none. */
static bool cut_slice(char *name)
{
	struct ofs_slice_spec spec;
	size_t len;

	if (ofs_slice_parse(name, &len, &spec) == -ENOENT)
		return false;
	name[len] = 0;
	return true;
}

/* Returns the file with this ref, or the file of a slice of it; 0: none. */
static uint64_t resolve_ref(struct ofs_tree *t, const struct ofs_root *root, char *name)
{
	struct ofs_attr attr;
	uint64_t ino;

	cut_slice(name);
	ino = ofs_ref_parse(t, name);
	return ino && ofs_store_getattr(t->store, ino, &attr) == 0 && attr.nlink &&
			       S_ISREG(attr.mode) &&
			       ofs_root_is_in(ofs_root_of_attr(t, &attr), root)
		       ? ino
		       : 0;
}

/* Returns the inode of an entry in the store if it has this type; 0: none. */
static uint64_t look_up(struct ofs_tree *t, uint64_t dir, const char *name, mode_t type)
{
	struct ofs_attr attr;

	if (ofs_store_lookup(t->store, dir, name, &attr) < 0)
		return 0;
	ofs_store_forget(t->store, attr.ino, 1);
	return (attr.mode & S_IFMT) == type ? attr.ino : 0;
}

static uint64_t resolve_path(struct ofs_tree *t, const struct ofs_root *root, const char *path)
{
	OFS_FREE char *copy = ofs_strdup(path);
	char *rest = copy, *name = strsep(&rest, "/");
	uint64_t dir = root->ino, ino;

	for (; rest && dir; name = strsep(&rest, "/")) {
		if (dir == root->ino && strcmp(name, "refs") == 0)
			return resolve_ref(t, root, rest);
		if (name[0] && strcmp(name, ".") != 0)
			dir = look_up(t, dir, name, S_IFDIR);
	}
	if (!dir || strlen(name) > OFS_NAME_MAX)
		return 0;
	ino = look_up(t, dir, name, S_IFREG);
	return !ino && cut_slice(name) ? look_up(t, dir, name, S_IFREG) : ino;
}

uint64_t ofs_step_refs_resolve(struct ofs_tree *t, const struct ofs_root *root, const char *name)
{
	char ref[OFS_REF_SIZE + 64];
	uint64_t ino = resolve_path(t, root, within_tree(t, name));
	int tries = 0;

	/* The mount may have been somewhere else, or there is none now. */
	for (const char *at = strchr(name, '/'); at && !ino && tries < TRIES_MAX;
	     at = strchr(at + 1, '/'))
		if (begins_in_tree(at + 1)) {
			ino = resolve_path(t, root, at + 1);
			tries++;
		}
	if (ino || strlen(name) >= sizeof(ref))
		return ino;
	strcpy(ref, name);
	return resolve_ref(t, root, ref);
}

/* ---- reading a step */

struct reading {
	struct ofs_step_refs *refs;
	struct step *step;
	bool full; /* there was no room for a name */
};

static void take_name(struct reading *rd, const char *name)
{
	struct step *s = rd->step;
	size_t len = strlen(name), cost = NAME_COST + len;

	for (const char *at = name; (at = strchr(at, '/')); at++)
		cost += NAME_COST;
	if (len > OFS_STEP_NAME_MAX)
		s->large = true;
	else if (!charge(rd->refs, s, cost))
		rd->full = true;
	else
		*ofs_append(s->names, s->nnames, s->cap_names) = ofs_strdup(name);
}

/* Takes the value of the key: a name, several, or an object with "ref" or "path". */
static void take_value(struct reading *rd, const json_t *value, int depth)
{
	const json_t *ref;
	size_t i;

	if (json_is_string(value)) {
		take_name(rd, json_string_value(value));
	} else if (json_is_array(value) && depth < DEPTH_MAX) {
		for (i = 0; i < json_array_size(value); i++)
			take_value(rd, json_array_get(value, i), depth + 1);
	} else if (json_is_object(value) && depth < DEPTH_MAX) {
		ref = json_object_get(value, "ref");
		take_value(rd, ref ? ref : json_object_get(value, "path"), depth + 1);
	}
}

static void look_for_key(struct reading *rd, json_t *json, int depth)
{
	const char *key;
	json_t *value;
	size_t i;

	if (depth == DEPTH_MAX)
		return;
	if (json_is_array(json)) {
		for (i = 0; i < json_array_size(json); i++)
			look_for_key(rd, json_array_get(json, i), depth + 1);
	} else if (json_is_object(json)) {
		json_object_foreach(json, key, value)
		{
			if (strcmp(key, KEY) == 0)
				take_value(rd, value, depth);
			else
				look_for_key(rd, value, depth + 1);
		}
	}
}

/* Returns 0, -EFBIG (it exceeds a limit) or -errno. *ret is NULL if the file is not JSON. */
static int read_json(struct ofs_tree *t, const struct ofs_attr *file, json_t **ret)
{
	OFS_FREE char *text = NULL;
	ssize_t n;

	*ret = NULL;
	if (file->size > OFS_STEP_FILE_MAX)
		return -EFBIG;
	text = ofs_realloc(NULL, file->size + 1, 1);
	n = ofs_store_read(t->store, file->ino, text, file->size, 0);
	if (n < 0)
		return (int)n;
	if (ofs_step_file_values(text, (size_t)n) > OFS_STEP_VALUES_MAX)
		return -EFBIG;
	*ret = json_loadb(text, (size_t)n, JSON_DISABLE_EOF_CHECK, NULL);
	return 0;
}

/*
 * A step that is being written or cannot be read keeps the names it had. In the latter case it is
 * read again each time.
 */
static void read_step(struct ofs_tree *t, struct branch *b, struct step *s,
		      const struct ofs_attr *file)
{
	struct reading rd = { .refs = b->refs, .step = s };
	json_t *json;
	int r = read_json(t, file, &json);
	bool failed = r < 0 && r != -EFBIG;

	if (failed && !s->failed)
		ofs_log(LOG_WARNING, "inode %llu: a step of a task cannot be read: %s",
			(unsigned long long)s->ino, strerror(-r));
	s->failed = failed;
	if (failed)
		return;
	s->version = file->version;
	s->large = r == -EFBIG;
	if (!json)
		return;
	forget_names(b->refs, s);
	look_for_key(&rd, json, 0);
	json_decref(json);
	/* Read it again when there is room. */
	if (rd.full) {
		set_unread(b, s);
		s->version = 0;
	}
}

/* A path may now lead to another file, and its former file may have moved: both count. */
static void resolve_names(struct ofs_tree *t, struct branch *b, struct step *s)
{
	struct ofs_u64_list *l = &s->targets;
	size_t sorted = l->n, more;

	for (size_t i = 0; i < s->nnames; i++) {
		uint64_t ino = ofs_step_refs_resolve(t, b->root, s->names[i]);
		size_t at = OFS_BISECT(k, sorted, l->at[k] < ino);

		if (!ino || (at < sorted && l->at[at] == ino))
			continue;
		if (charge(b->refs, s, TARGET_COST))
			ofs_u64_list_add(l, ino);
		else
			set_unread(b, s);
	}
	more = l->n;
	ofs_u64_list_sort_unique(l);
	more = (more - l->n) * TARGET_COST;
	b->refs->held -= more;
	s->held -= more;
}

/* ---- finding steps */

static int add_step(void *arg, uint64_t ino, const char *name)
{
	if (ofs_step_file_is(name))
		ofs_entry_list_add(arg, ino, "");
	return 0;
}

static int refresh_step(struct ofs_tree *t, struct branch *b, uint64_t ino)
{
	struct step *step = ofs_map_get(&b->steps, ino);
	struct ofs_attr attr;
	int r = ofs_store_getattr(t->store, ino, &attr);

	if (r < 0 || !attr.nlink)
		return r == -ENOENT ? 0 : r;
	/* Once all files of the tree count as referred to, reading more steps is pointless. */
	if (!step && b->unread)
		return 0;
	if (!step) {
		step = ofs_alloc(sizeof(*step));
		step->ino = ino;
		if (!charge(b->refs, step, STEP_COST)) {
			set_unread(b, step);
			free(step);
			return 0;
		}
		ofs_map_put(&b->steps, ino, step);
	}
	step->seen = b->refreshes;
	if (step->version != attr.version && !b->unread)
		read_step(t, b, step, &attr);
	if (step->large)
		set_unread(b, step);
	resolve_names(t, b, step);
	return 0;
}

static int refresh_task(struct ofs_tree *t, struct branch *b, uint64_t task)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list found = { 0 };
	struct ofs_attr history;
	struct ofs_task_end ended;
	int64_t end = 0;
	int r = ofs_task_ended(t, task, &ended);

	if (r < 0 || ended.age)
		return r;
	r = ofs_store_lookup(t->store, task, OFS_STEP_DIR, &history);
	if (r < 0)
		return r;
	r = ofs_task_activity_end(t, task, &end);
	if (r == 0 && S_ISDIR(history.mode) && end > ofs_store_age(t->store)) {
		b->end = OFS_MIN(b->end, end);
		r = ofs_walk_files(t, history.ino, false, add_step, &found);
	}
	ofs_store_forget(t->store, history.ino, 1);
	for (size_t i = 0; i < found.n && r == 0; i++)
		r = refresh_step(t, b, found.entries[i].key);
	return r;
}

/* Forgets the steps that this refresh did not find, and collects the targets of the others. */
static void settle(struct branch *b)
{
	struct ofs_map kept = OFS_MAP_INIT;
	struct step *step;
	size_t pos = 0;

	ofs_map_finish(&b->targets);
	b->targets = (struct ofs_map)OFS_MAP_INIT;
	while ((step = ofs_map_next(&b->steps, &pos))) {
		if (step->seen != b->refreshes) {
			step_destroy(b->refs, step);
			continue;
		}
		ofs_map_put(&kept, step->ino, step);
		ofs_map_put(&b->targets, step->ino, step);
		for (size_t i = 0; i < step->targets.n; i++)
			ofs_map_put(&b->targets, step->targets.at[i], step);
	}
	ofs_map_finish(&b->steps);
	b->steps = kept;
}

/* Logs a step that exceeds the limits, once. */
static void tell_unread(struct ofs_tree *t, struct branch *b)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };

	if (b->unread && b->unread != b->told && ofs_place_of(t, b->unread, &place) == 0)
		ofs_log(LOG_WARNING,
			"%s exceeds the limits of steps: no file is removed until its task is idle "
			"or ends, or the step is removed",
			(const char *)place.path.data);
	b->told = b->unread;
}

static int refresh_branch(struct ofs_tree *t, struct branch *b)
{
	OFS_CLEANUP(ofs_entry_list_finish) struct ofs_entry_list tasks = { 0 };
	size_t held;
	int r;

	b->refreshes++;
	b->end = OFS_TTL_NEVER;
	b->unread = 0;
	r = ofs_walk_subdirs(t, b->root->tops[OFS_TOP_TASKS], &tasks);
	for (size_t i = 0; i < tasks.n && r == 0; i++) {
		r = refresh_task(t, b, tasks.entries[i].key);
		r = r == -ENOENT || r == -ENOTDIR ? 0 : r;
	}
	r = r == -ENOENT ? 0 : r;
	/* After an error, forget nothing: some steps were not read. */
	held = b->refs->held;
	if (r == 0)
		settle(b);
	/* There is now some of the room that was missing. */
	if (b->unread && b->refs->held < held)
		return refresh_branch(t, b);
	tell_unread(t, b);
	return r;
}

/* ---- which trees */

struct refresh {
	struct ofs_tree *tree;
	struct ofs_step_refs *refs;
	const struct ofs_root *asked; /* for the files of this tree; NULL: of all */
};

/*
 * Names change what they mean with changes in the tree of the file, where they lead to, or in those
 * around it, through which they lead.
 */
static bool is_current(const struct refresh *rf, const struct branch *b)
{
	if (ofs_clock_monotonic() - b->read >= ofs_task_activity_known())
		return false;
	if (!rf->asked)
		return b->as_of == ofs_tree_touches(rf->tree);
	for (const struct ofs_root *root = rf->asked; root; root = root->above)
		if (ofs_changes_number(root->changes) > b->as_of)
			return false;
	return b->as_of;
}

static int refresh_root(void *arg, struct ofs_root *root)
{
	const struct refresh *rf = arg;
	struct branch *b = ofs_map_get(&rf->refs->branches, root->ino);
	int64_t as_of = ofs_tree_touches(rf->tree);
	int r;

	if (!b) {
		b = ofs_alloc(sizeof(*b));
		b->refs = rf->refs;
		b->root = root;
		ofs_map_put(&rf->refs->branches, root->ino, b);
	} else if (is_current(rf, b)) {
		return 0;
	}
	b->read = ofs_clock_monotonic();
	r = refresh_branch(rf->tree, b);
	b->as_of = r == 0 ? as_of : 0;
	return r;
}

int ofs_step_refs_refresh(struct ofs_tree *t, struct ofs_step_refs *s, const struct ofs_root *root)
{
	struct refresh rf = { t, s, root };
	struct branch *b;
	size_t pos = 0;
	int r = 0;

	if (!root)
		r = ofs_root_each(t, t->root, refresh_root, &rf);
	/* A removed tree has no tasks any more. */
	while (!root && r == 0 && (b = ofs_map_next(&s->branches, &pos)))
		if (atomic_load(&b->root->gone) && b->steps.count)
			r = refresh_branch(t, b);
	for (; root && r == 0; root = root->above)
		r = refresh_root(&rf, (struct ofs_root *)root);
	return r;
}
