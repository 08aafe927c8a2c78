/* SPDX-License-Identifier: MIT */
/* Vectors by the embeddings of an endpoint. */
#pragma once

#include "embed/embed.h"

struct ofs_remote;

/* As ofs_embedder_open(); `url` is not NULL. */
int ofs_remote_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		    struct ofs_remote **ret);

/* NULL is allowed. */
void ofs_remote_close(struct ofs_remote *remote);

const char *ofs_remote_id(const struct ofs_remote *remote);
unsigned int ofs_remote_dims(const struct ofs_remote *remote);

/* As ofs_embed(). */
int ofs_remote_embed(struct ofs_remote *remote, const struct ofs_embed_text texts[], size_t n,
		     int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);
