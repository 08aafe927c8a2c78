/* SPDX-License-Identifier: MIT */
#include "service/service.h"

#include <pthread.h>

#include "base/thread.h"
#include "client/naming.h"
#include "io/path.h"
#include "service/call_run.h"
#include "service/arguments.h"

struct ofs_service {
	struct ofs_target_options options;
	char *dir, *store, *agent, *from, *task; /* owned; borrowed by `options` */
	pthread_mutex_t lock; /* guards `found` and `is_found` */
	struct ofs_target found; /* a mount */
	bool is_found;
	pthread_mutex_t at_rest; /* held while an unmounted store is open */
};

static char *copy(const char *text)
{
	return text ? ofs_strdup(text) : NULL;
}

/* ---- finding the tree */

static void forget(struct ofs_service *s)
{
	OFS_LOCKED(&s->lock);

	if (s->is_found)
		ofs_target_finish(&s->found);
	s->is_found = false;
}

/* Reuses the mount found before, since finding one takes longer than most calls. */
static bool recall(struct ofs_service *s, struct ofs_access *a)
{
	OFS_LOCKED(&s->lock);

	if (s->is_found)
		ofs_access_take(a, &s->found);
	return s->is_found;
}

static void remember(struct ofs_service *s, const struct ofs_target *t)
{
	OFS_LOCKED(&s->lock);

	if (s->is_found || !t->mounted)
		return;
	ofs_target_copy(t, &s->found);
	s->is_found = true;
}

static int find(struct ofs_service *s, struct ofs_access *a, struct ofs_error *err)
{
	int r;

	ofs_access_init(a, &s->options);
	if (recall(s, a))
		return 0;
	r = ofs_access_find(a, err);
	if (r == 0)
		remember(s, &a->target);
	return r;
}

static int enter(struct ofs_access *a, const char *agent, struct ofs_error *err)
{
	OFS_FREE char *inner = NULL, *whole = NULL;
	int r = ofs_naming_agent("the agent", agent, err, &inner);

	if (r < 0)
		return r;
	whole = a->target.agent ? ofs_path_join(a->target.agent, inner) : ofs_strdup(inner);
	ofs_access_set_agent(a, whole);
	return 0;
}

int ofs_service_create(const struct ofs_service_options *options, struct ofs_error *err,
		       struct ofs_service **ret)
{
	struct ofs_service *s = ofs_alloc(sizeof(*s));
	const struct ofs_target_options *t = &options->target;
	OFS_CLEANUP(ofs_access_finish) struct ofs_access a = { 0 };
	int r;

	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->at_rest, NULL);
	s->options = (struct ofs_target_options){
		.dir = s->dir = copy(t->dir),
		.store = s->store = copy(t->store),
		.agent = s->agent = copy(t->agent),
		.from = s->from = copy(t->from),
	};
	s->task = copy(options->task);
	r = find(s, &a, err);
	if (r < 0)
		ofs_service_destroy(s);
	else
		*ret = s;
	return r;
}

void ofs_service_destroy(struct ofs_service *s)
{
	if (!s)
		return;
	forget(s);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->at_rest);
	free(s->dir);
	free(s->store);
	free(s->agent);
	free(s->from);
	free(s->task);
	free(s);
}

/* ---- using the tree */

bool ofs_service_is_away(int r)
{
	return r == -ENODEV || r == -ENOTCONN || r == -ECONNABORTED || r == -ECANCELED ||
	       r == -EBUSY || r == -ETIMEDOUT;
}

struct use {
	int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err);
	void *arg;
	bool make;
};

static int use_open(const struct use *u, struct ofs_access *a, struct ofs_error *err)
{
	int r = ofs_access_open(a, u->make, err);

	return r < 0 ? r : u->fn(a, u->arg, err);
}

static int use_once(struct ofs_service *s, const char *agent, const struct use *u,
		    struct ofs_error *err)
{
	struct ofs_access a;
	int r = find(s, &a, err);

	if (r == 0 && agent)
		r = enter(&a, agent, err);
	if (r == 0 && a.target.mounted) {
		r = use_open(u, &a, err);
	} else if (r == 0) {
		OFS_LOCKED(&s->at_rest);

		r = use_open(u, &a, err);
		ofs_backend_close(a.backend);
		a.backend = NULL;
	}
	ofs_access_finish(&a);
	return r;
}

int ofs_service_use(struct ofs_service *s, const char *agent, bool make,
		    int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		    void *arg, struct ofs_error *err)
{
	const struct use u = { fn, arg, make };
	int r = use_once(s, agent, &u, err);

	if (!ofs_service_is_away(r) || r == -ETIMEDOUT || r == -EBUSY)
		return r;
	forget(s);
	return use_once(s, agent, &u, err);
}

static int run(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct ofs_call_run *c = arg;

	c->access = access;
	c->base = access->target.agent ? strlen(access->target.agent) : 0;
	c->err = err;
	return c->call->run(c);
}

int ofs_service_call(struct ofs_service *s, const struct ofs_caller *by,
		     const struct ofs_call *call, const json_t *args, struct ofs_error *err,
		     json_t **ret)
{
	struct ofs_call_run c = { .call = call, .args = args, .way = by->way, .task = s->task };
	int r = ofs_arguments_check(json_object_get(ofs_call_describe(call), "inputSchema"), args,
				    err);

	if (r == 0)
		r = ofs_service_use(s, by->agent, call->flags & OFS_CALL_MAKES, run, &c, err);
	if (r < 0)
		return r;
	*ret = c.result;
	return 0;
}
