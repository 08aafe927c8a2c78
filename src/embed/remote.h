/* SPDX-License-Identifier: MIT */
/* Vectors from an endpoint with OpenAI's embeddings API. */
#pragma once

#include "embed/embed.h"

struct ofs_remote;

/* Like ofs_embedder_open(); `url` must not be NULL. */
int ofs_remote_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		    struct ofs_remote **ret);

/* NULL is a no-op. */
void ofs_remote_close(struct ofs_remote *remote);

const char *ofs_remote_id(const struct ofs_remote *remote);
unsigned int ofs_remote_dims(const struct ofs_remote *remote);

/* Like ofs_embed(). */
int ofs_remote_embed(struct ofs_remote *remote, const struct ofs_embed_text texts[], size_t n,
		     int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);
