/* SPDX-License-Identifier: MIT */
/* A static model as model2vec writes it: a text's vector is the mean of its tokens' vectors. */
#pragma once

#include "embed/embed.h"

struct ofs_static_model;

/* From a directory, as ofs_embedder_open() says. */
int ofs_static_model_open(const char *directory, struct ofs_error *err,
			  struct ofs_static_model **ret);

/*
 * From the content of model.safetensors, which is borrowed, and of tokenizer.json, in `directory`
 * as errors call it. -EBADMSG.
 */
int ofs_static_model_create(const void *tensors, size_t tensors_len, const void *tokenizer,
			    size_t tokenizer_len, const char *directory, struct ofs_error *err,
			    struct ofs_static_model **ret);

/* NULL is allowed. */
void ofs_static_model_close(struct ofs_static_model *m);

const char *ofs_static_model_id(const struct ofs_static_model *m);
unsigned int ofs_static_model_dims(const struct ofs_static_model *m);

/* As ofs_embed(). */
int ofs_static_model_embed(const struct ofs_static_model *m, const struct ofs_embed_text texts[],
			   size_t n, int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);
