/* SPDX-License-Identifier: MIT */
#include "embed/embed.h"

#include "embed/remote.h"
#include "embed/static_model.h"

/* Exactly one of the two is set. */
struct ofs_embedder {
	struct ofs_static_model *model;
	struct ofs_remote *remote;
};

int ofs_embedder_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		      struct ofs_embedder **ret)
{
	struct ofs_embedder *e;
	int r;

	if (!s->model || !*s->model)
		return ofs_error_set(err, EINVAL, "no model is named for search by meaning");
	e = ofs_alloc(sizeof(*e));
	if (s->url)
		r = ofs_remote_open(s, err, &e->remote);
	else
		r = ofs_static_model_open(s->model, err, &e->model);
	if (r < 0)
		free(e);
	else
		*ret = e;
	return r;
}

void ofs_embedder_close(struct ofs_embedder *e)
{
	if (!e)
		return;
	ofs_remote_close(e->remote);
	ofs_static_model_close(e->model);
	free(e);
}

const char *ofs_embedder_id(const struct ofs_embedder *e)
{
	return e->remote ? ofs_remote_id(e->remote) : ofs_static_model_id(e->model);
}

unsigned int ofs_embedder_dims(const struct ofs_embedder *e)
{
	return e->remote ? ofs_remote_dims(e->remote) : ofs_static_model_dims(e->model);
}

bool ofs_embedder_is_local(const struct ofs_embedder *e)
{
	return !e->remote;
}

int ofs_embed(struct ofs_embedder *e, const struct ofs_embed_text texts[], size_t n,
	      int64_t deadline, struct ofs_buf *ret, struct ofs_error *err)
{
	if (e->remote)
		return ofs_remote_embed(e->remote, texts, n, deadline, ret, err);
	return ofs_static_model_embed(e->model, texts, n, deadline, ret, err);
}
