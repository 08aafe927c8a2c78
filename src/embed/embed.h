/* SPDX-License-Identifier: MIT */
/*
 * Converts texts to vectors for search by meaning, with a static model on this machine (model2vec
 * format) or an endpoint with OpenAI's embeddings API. Nothing is ever downloaded.
 */
#pragma once

#include <stdatomic.h>

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_embedder;

#define OFS_EMBED_DIMS_MAX 4096

/* Read only by ofs_embedder_open(); strings are copied. */
struct ofs_embed_settings {
	/*
	 * Without `url`, the directory of a static model: model.safetensors with the tensor
	 * "embeddings" or "embedding.weight", optionally "weights" and "mapping", and a
	 * tokenizer.json of type WordPiece. With `url`, the name of the model at the endpoint.
	 */
	const char *model;
	const char *url; /* "http://127.0.0.1:11434/v1"; without TLS only to this machine */
	const char *key; /* sent as "Authorization: Bearer KEY"; NULL: none */
	int64_t timeout; /* of each ofs_embed() at an endpoint, in nanoseconds; 0: none */
	const atomic_bool *cancel; /* true ends a request soon; borrowed, or NULL */
	unsigned int dims; /* dimension required of an endpoint; 0: taken from its first answer */
};

/* Any bytes, interpreted as UTF-8. */
/* Any bytes, interpreted as UTF-8. */
struct ofs_embed_text {
	const char *text;
	size_t len;
};

/*
 * Opens a model. Nothing is sent to an endpoint yet. A static model is read, checked and mapped
 * into memory: replace its files by renaming others over them, never by writing into them. On
 * failure sets *err and returns -EINVAL (unusable settings), -EBADMSG (a file is damaged or not a
 * supported model), -EOPNOTSUPP (no libcurl), or an error of open(2) or mmap(2).
 */
int ofs_embedder_open(const struct ofs_embed_settings *s, struct ofs_error *err,
		      struct ofs_embedder **ret);

/* NULL is a no-op. */
void ofs_embedder_close(struct ofs_embedder *e);

/*
 * Vectors are comparable if they were made under the same id. For a static model it is
 * "static:HEX:DIMS", which depends on its content and not on its path; for an endpoint
 * "endpoint:MODEL", whatever the URL. Valid until the embedder is closed.
 */
const char *ofs_embedder_id(const struct ofs_embedder *e);

/* The dimension of each vector; 0 until an endpoint has answered for the first time. */
unsigned int ofs_embedder_dims(const struct ofs_embedder *e);

/* True for a static model: a text takes microseconds and nothing leaves the machine. */
bool ofs_embedder_is_local(const struct ofs_embedder *e);

/*
 * Appends one vector per text, in order: `n` times ofs_embedder_dims() bytes of int8_t from -127 to
 * 127. Each vector is scaled so that its largest magnitude is 127, so only its direction has a
 * meaning (see ofs_embed_cosine()). A text without a known word gets a zero vector. Only the first
 * 512 tokens of a text count, or 16 KiB at an endpoint: split long texts into passages first.
 *
 * `deadline` is a time of ofs_clock_monotonic(); 0: none. Thread-safe. On failure sets *err, leaves
 * `ret` unchanged and returns -ETIMEDOUT, -ESTALE (the files of a static model have changed; reopen
 * it), -EBADMSG (an endpoint's answer is malformed), or an error of ofs_endpoint_post().
 */
int ofs_embed(struct ofs_embedder *e, const struct ofs_embed_text texts[], size_t n,
	      int64_t deadline, struct ofs_buf *ret, struct ofs_error *err);

/*
 * Returns the cosine, from -1 to 1; 0 if a vector is all zeros. `dims` is at most
 * OFS_EMBED_DIMS_MAX. Vectors need no alignment.
 */
float ofs_embed_cosine(const int8_t *a, const int8_t *b, unsigned int dims);
