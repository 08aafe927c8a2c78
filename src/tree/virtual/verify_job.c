/* SPDX-License-Identifier: MIT */
/* Verification of the store, run by attributes of the root: see <offloadfs/tree.h>. */
#include "tree/virtual/nodes.h"

#include <jansson.h>

#include "base/map.h"
#include "base/text.h"
#include "base/thread.h"
#include "tree/core/audit.h"
#include "tree/core/place.h"
#include "tree/expiry/gc.h"

#define PROBLEMS_MAX 10000 /* problems kept; further ones are only counted */
#define LOST_DIR "lost+found" /* in persistent/ */

struct problem {
	uint64_t ino; /* 0: it concerns the store */
	char *path; /* UTF-8; NULL for the store */
	char *what; /* UTF-8 */
	bool repaired;
};

struct ofs_verify_job {
	struct ofs_tree *tree;

	pthread_mutex_t lock; /* guards what follows; never held while the store is called */
	pthread_t thread;
	bool joinable; /* `thread` was started and not yet joined */
	bool stop;
	enum ofs_work_state state;
	int error; /* errno of OFS_WORK_FAILED */
	bool repair; /* constant while it runs */
	struct ofs_verify_counts counts; /* except for problems and repaired; see the next line */
	uint64_t found, repaired; /* numbers of problems */
	struct problem *problems;
	size_t n, cap;
	struct ofs_map hurt; /* the inodes with problems; the values mean nothing */
};

static void problem_finish(struct problem *p)
{
	free(p->path);
	free(p->what);
}

static void clear(struct ofs_verify_job *job)
{
	for (size_t i = 0; i < job->n; i++)
		problem_finish(&job->problems[i]);
	free(job->problems);
	ofs_map_finish(&job->hurt);
	job->problems = NULL;
	job->n = job->cap = 0;
	job->hurt = (struct ofs_map)OFS_MAP_INIT;
	job->counts = (struct ofs_verify_counts){ 0 };
	job->found = job->repaired = 0;
	job->stop = false;
	job->error = 0;
}

struct ofs_verify_job *ofs_verify_job_create(struct ofs_tree *t)
{
	struct ofs_verify_job *job = ofs_alloc(sizeof(*job));

	job->tree = t;
	pthread_mutex_init(&job->lock, NULL);
	return job;
}

static int stop(struct ofs_verify_job *job)
{
	OFS_LOCKED(&job->lock);
	job->stop = true;
	return 0;
}

void ofs_verify_job_destroy(struct ofs_verify_job *job)
{
	if (!job)
		return;
	stop(job);
	if (job->joinable)
		pthread_join(job->thread, NULL);
	clear(job);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

/* ---- problems */

/* Returns the path, allocated. A file without a name is given as refs/REF. */
static char *path_of(struct ofs_tree *t, uint64_t ino)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	char name[sizeof("refs/") + OFS_REF_SIZE] = "refs/";

	if (ofs_place_of(t, ino, &place) == 0)
		return ofs_text_readable(place.path.data[0] ? (const char *)place.path.data : "/");
	ofs_ref_format(t, ino, name + strlen(name));
	return ofs_strdup(name);
}

static void log_repair(struct ofs_tree *t, uint64_t ino, const char *what, bool repaired)
{
	OFS_FREE char *cause = ofs_format("%s; %srepaired", what, repaired ? "" : "not ");

	ofs_audit_tell(t, "repair", ino, cause);
}

static void on_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
	struct ofs_verify_job *job = arg;
	struct problem p = { .ino = ino,
			     .path = ino ? path_of(job->tree, ino) : NULL,
			     .what = ofs_text_readable(what),
			     .repaired = repaired };

	if (job->repair)
		log_repair(job->tree, ino, what, repaired);
	OFS_LOCKED(&job->lock);
	if (ino)
		ofs_map_put(&job->hurt, ino, job);
	job->found++;
	job->repaired += repaired;
	if (job->n < PROBLEMS_MAX)
		*ofs_append(job->problems, job->n, job->cap) = p;
	else
		problem_finish(&p);
}

static int on_progress(void *arg, const struct ofs_verify_counts *counts)
{
	struct ofs_verify_job *job = arg;
	OFS_LOCKED(&job->lock);

	job->counts = *counts;
	return job->stop;
}

/* ---- the thread */

/*
 * Opens the directory for files that have lost their names, creating it if necessary (*ret_made).
 * Returns its inode with a reference, or 0 if that fails: then such files stay nameless.
 */
static uint64_t open_lost(struct ofs_tree *t, bool *ret_made)
{
	struct ofs_create dir = { .mode = S_IFDIR | 0700, .uid = t->uid, .gid = t->gid };
	uint64_t parent = t->root->tops[OFS_TOP_PERSISTENT];
	struct ofs_attr attr;
	int r = ofs_store_lookup(t->store, parent, LOST_DIR, &attr);

	if (r == -ENOENT) {
		r = ofs_store_create(t->store, parent, LOST_DIR, &dir, &attr);
		*ret_made = r == 0;
	}
	if (r == 0 && S_ISDIR(attr.mode))
		return attr.ino;
	if (r == 0)
		ofs_store_forget(t->store, attr.ino, 1);
	return 0;
}

static void *verify_main(void *arg)
{
	struct ofs_verify_job *job = arg;
	struct ofs_tree *t = job->tree;
	struct ofs_verify v = {
		.problem = on_problem,
		.progress = on_progress,
		.arg = job,
	};
	struct ofs_verify_counts counts;
	bool made = false;
	int r;

	pthread_mutex_lock(&job->lock);
	v.repair = job->repair;
	pthread_mutex_unlock(&job->lock);
	/* In a served store names are not repaired, so nothing would be put there. */
	if (v.repair && !t->background)
		v.lost_dir = open_lost(t, &made);
	r = ofs_store_verify(t->store, &v, &counts);
	if (made) /* fails if the directory is in use */
		ofs_store_rmdir(t->store, t->root->tops[OFS_TOP_PERSISTENT], LOST_DIR);
	if (v.lost_dir)
		ofs_store_forget(t->store, v.lost_dir, 1);
	pthread_mutex_lock(&job->lock);
	if (r == 0)
		job->counts = counts;
	job->state = r == 0 ? OFS_WORK_DONE : r == -ECANCELED ? OFS_WORK_STOPPED : OFS_WORK_FAILED;
	job->error = r == 0 ? 0 : -r;
	pthread_mutex_unlock(&job->lock);
	return NULL;
}

static int start(struct ofs_verify_job *job, bool repair)
{
	int r;

	OFS_LOCKED(&job->lock);
	if (job->state == OFS_WORK_RUNNING)
		return -EBUSY;
	/* The thread no longer takes the lock, so joining it here does not deadlock. */
	if (job->joinable)
		pthread_join(job->thread, NULL);
	clear(job);
	job->repair = repair;
	r = ofs_thread_start(&job->thread, "verify", verify_main, job);
	job->joinable = r == 0;
	job->state = r == 0 ? OFS_WORK_RUNNING : OFS_WORK_NONE;
	return r;
}

int ofs_verify_job_set(struct ofs_verify_job *job, const char *value, size_t size)
{
	if (size == strlen("start") && memcmp(value, "start", size) == 0)
		return start(job, false);
	if (size == strlen("repair") && memcmp(value, "repair", size) == 0)
		return start(job, true);
	if (size == strlen("stop") && memcmp(value, "stop", size) == 0)
		return stop(job);
	return -EINVAL;
}

/* ---- reports */

/* Call it with `lock` held, as problem_json(). */
static json_t *status_json(const struct ofs_verify_job *job)
{
	const struct ofs_verify_counts *c = &job->counts;

	return json_pack("{s:s, s:s?, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "state",
			 ofs_work_states[job->state], "error",
			 job->state == OFS_WORK_FAILED ? strerror(job->error) : NULL, "repair",
			 job->repair, "done", (json_int_t)c->done, "total", (json_int_t)c->total,
			 "frames", (json_int_t)c->frames, "chunks", (json_int_t)c->chunks, "files",
			 (json_int_t)c->files, "bytes", (json_int_t)c->bytes, "problems",
			 (json_int_t)job->found, "repaired", (json_int_t)job->repaired, "hurt",
			 (json_int_t)job->hurt.count);
}

static json_t *problem_json(const struct ofs_tree *t, const struct problem *p)
{
	char ref[OFS_REF_SIZE];

	if (p->ino)
		ofs_ref_format(t, p->ino, ref);
	return json_pack("{s:s?, s:s?, s:s, s:b}", "path", p->path, "ref", p->ino ? ref : NULL,
			 "what", p->what, "repaired", p->repaired);
}

/* Returns the problem's number at the end of an attribute's name, or SIZE_MAX if malformed. */
static size_t parse_number(const char *text)
{
	size_t len = strlen(text);

	if (!len || len > 9 || strspn(text, "0123456789") != len)
		return SIZE_MAX;
	return strtoul(text, NULL, 10);
}

int ofs_verify_job_get(struct ofs_verify_job *job, const char *which, struct ofs_buf *out)
{
	json_t *json = NULL;
	size_t k = 0;

	if (*which) {
		k = which[0] == '.' ? parse_number(which + 1) : SIZE_MAX;
		if (k == SIZE_MAX)
			return -ENODATA;
	}
	OFS_LOCKED(&job->lock);
	if (!*which)
		json = status_json(job);
	else if (k < job->n)
		json = problem_json(job->tree, &job->problems[k]);
	if (!json)
		return -ENODATA;
	ofs_json_append(json, JSON_COMPACT, out);
	return 0;
}
