/* SPDX-License-Identifier: MIT */
/* A static model in model2vec's format: a text's vector is the mean of its tokens' vectors. */
#pragma once

#include "embed/embed.h"

struct ofs_static_model;

/* Opens the model in a directory, with the errors of ofs_embedder_open(). */
int ofs_static_model_open(const char *directory, struct ofs_error *err,
			  struct ofs_static_model **ret);

/*
 * Makes a model from the content of model.safetensors, which is borrowed until it is closed, and of
 * tokenizer.json. `directory` is used only in error messages. Fails with -EBADMSG.
 */
int ofs_static_model_create(const void *tensors, size_t tensors_len, const void *tokenizer,
			    size_t tokenizer_len, const char *directory, struct ofs_error *err,
			    struct ofs_static_model **ret);

/* NULL is a no-op. */
void ofs_static_model_close(struct ofs_static_model *m);

const char *ofs_static_model_id(const struct ofs_static_model *m);
unsigned int ofs_static_model_dims(const struct ofs_static_model *m);

/* Like ofs_embed(). */
int ofs_static_model_embed(const struct ofs_static_model *m, const struct ofs_embed_text texts[],
			   size_t n, int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);
