/* SPDX-License-Identifier: MIT */
/*
 * Texts to vectors, for search by meaning: by a static model on this machine (the form of
 * model2vec), or by the embeddings of an endpoint with OpenAI's API. Nothing is ever downloaded.
 */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_embedder;

#define OFS_EMBED_DIMS_MAX 4096

/* Read while an embedder is opened; strings are copied. */
struct ofs_embed_settings {
	/*
	 * Without `url`, the directory of a static model: model.safetensors with the tensor
	 * "embeddings" or "embedding.weight" and perhaps "weights" and "mapping", and a
	 * tokenizer.json of type WordPiece. With it, the name of the model at the endpoint.
	 */
	const char *model;
	const char *url; /* "http://127.0.0.1:11434/v1"; without TLS to this machine only */
	const char *key; /* sent as "Authorization: Bearer KEY"; NULL: none */
	int64_t timeout; /* of each ofs_embed() at an endpoint, in nanoseconds; 0: none */
	const atomic_bool *cancel; /* true ends a request soon; borrowed, or NULL */
	unsigned int dims; /* that an endpoint's vectors must have; 0: as the first answer says */
};

/* Any bytes, which are read as UTF-8. */
struct ofs_embed_text {
	const char *text;
	size_t len;
};

/*
 * Nothing is sent to an endpoint yet. A static model is read and checked, and mapped into memory:
 * replace its files by renaming others into their place, and do not write into them. Errors, told
 * in `err`: -EINVAL: settings that cannot be used; -EBADMSG: a file is damaged or is no model that
 * this program can use; -EOPNOTSUPP: there is no libcurl; or as open(2) and mmap(2).
 */
int ofs_embedder_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		      struct ofs_embedder **ret);

/* NULL is allowed. */
void ofs_embedder_close(struct ofs_embedder *e);

/*
 * Vectors may be compared if they were made under the same id. That of a static model stands for
 * its content and dimension, wherever its files are: "static:HEX:DIMS"; that of an endpoint for the
 * model's name, whatever the URL: "endpoint:MODEL". Valid until the embedder is closed.
 */
const char *ofs_embedder_id(const struct ofs_embedder *e);

/* Numbers of a vector; 0: no endpoint has answered yet. */
unsigned int ofs_embedder_dims(const struct ofs_embedder *e);

/* True: a text takes some microseconds and nothing leaves the machine. */
bool ofs_embedder_is_local(const struct ofs_embedder *e);

/*
 * Appends a vector for each text, in their order: `n` times ofs_embedder_dims() bytes, which are
 * int8_t from -127 to 127. The largest number of a vector has the magnitude 127, so only its
 * direction says something; see ofs_embed_cosine(). A text without a word that the model knows gets
 * zeros alone. Of a text the first 512 tokens count, at an endpoint the first 16 KiB: cut long ones
 * into passages before.
 *
 * `deadline` is by ofs_clock_monotonic(); 0: none. Threads may call this at the same time. Errors,
 * told in `err` and leaving `ret` as it was: -ETIMEDOUT; -ESTALE: the files of a static model were
 * changed, and it must be opened again; at an endpoint as of ofs_endpoint_post(), and -EBADMSG: its
 * answer is none.
 */
int ofs_embed(struct ofs_embedder *e, const struct ofs_embed_text texts[], size_t n,
	      int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);

/*
 * From -1 to 1; 0 if one of the vectors has zeros alone. `dims` is at most OFS_EMBED_DIMS_MAX; a
 * vector may be at any address.
 */
float ofs_embed_cosine(const int8_t *a, const int8_t *b, unsigned int dims);
