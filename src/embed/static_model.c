/* SPDX-License-Identifier: MIT */
#include "embed/static_model.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "codec/hash.h"
#include "embed/tensors.h"
#include "embed/tokenizer.h"
#include "embed/vector.h"
#include "io/file.h"

#define TENSORS_FILE "model.safetensors"
#define TOKENIZER_FILE "tokenizer.json"

#define TOKENIZER_MAX ((size_t)64 << 20)
/* Number and bytes of the samples of the tensors' data that enter the id. */
#define SAMPLES 64
#define SAMPLE_SIZE ((size_t)4096)
/* Bytes of the hash shown in the id. */
#define ID_HASH_SIZE 16
#define ID_SIZE 64

struct ofs_static_model {
	struct ofs_tokenizer *tokenizer;
	struct ofs_tensor vectors;
	struct ofs_tensor weights; /* one per token; no data: all are 1 */
	struct ofs_tensor mapping; /* token id to row of `vectors`; no data: the id is the row */
	char id[ID_SIZE];

	/* For a model opened from files: */
	char *path; /* of the tensors, made printable for messages */
	int fd; /* of the tensors; -1: the content is the caller's */
	void *map; /* the mapped tensors; MAP_FAILED: none */
	size_t size;
	struct timespec modified;
};

/* ---- content */

/* Sets the error to "'NAME': WHAT" and returns -EBADMSG. */
static int fail(const char *name, const char *what, struct ofs_error *err)
{
	return ofs_error_set(err, EBADMSG, "'%s': %s", name, what);
}

/* Returns 0 or -EBADMSG. If the tensor is missing, returns 0 and leaves *ret unchanged. */
static int find_tensor(const struct ofs_tensors *t, const char *tensor, size_t dimensions,
		       struct ofs_error *err, struct ofs_tensor *ret)
{
	return OFS_MIN(ofs_tensors_find(t, tensor, dimensions, err, ret), 0);
}

static int read_tensors(struct ofs_static_model *m, const struct ofs_tensors *t, const char *name,
			struct ofs_error *err)
{
	int r = find_tensor(t, "embeddings", 2, err, &m->vectors);

	if (r == 0 && !m->vectors.data)
		r = find_tensor(t, "embedding.weight", 2, err, &m->vectors);
	if (r == 0)
		r = find_tensor(t, "weights", 1, err, &m->weights);
	if (r == 0)
		r = find_tensor(t, "mapping", 1, err, &m->mapping);
	if (r < 0)
		return r;
	if (!m->vectors.data)
		return fail(name, "there is no tensor 'embeddings'", err);
	if (m->vectors.columns > OFS_EMBED_DIMS_MAX)
		return ofs_error_set(err, EBADMSG,
				     "'%s': vectors have %zu numbers, which is more than %d", name,
				     m->vectors.columns, OFS_EMBED_DIMS_MAX);
	if (m->vectors.rows > OFS_TOKENIZER_WORDS || m->mapping.rows > OFS_TOKENIZER_WORDS)
		return fail(name, "there are more than 2000000 vectors", err);
	return 0;
}

/* Checks that each token has a vector. */
static int check_tokens(const struct ofs_static_model *m, const char *name, struct ofs_error *err)
{
	size_t tokens = ofs_tokenizer_size(m->tokenizer);
	size_t have = m->mapping.data ? m->mapping.rows : m->vectors.rows;

	if (have < tokens)
		return ofs_error_set(err, EBADMSG,
				     "'%s' has vectors for %zu tokens, but " TOKENIZER_FILE
				     " has ids up to %zu: these files do not belong together",
				     name, have, tokens - 1);
	if (m->weights.data && m->weights.rows < tokens)
		return ofs_error_set(err, EBADMSG,
				     "'%s' has weights for %zu tokens, but " TOKENIZER_FILE
				     " has ids up to %zu",
				     name, m->weights.rows, tokens - 1);
	for (size_t i = 0; m->mapping.data && i < m->mapping.rows; i++) {
		int64_t row = ofs_tensor_integer(&m->mapping, i);

		if (row < 0 || (uint64_t)row >= m->vectors.rows)
			return fail(name, "the tensor 'mapping' names missing vectors", err);
	}
	return 0;
}

/*
 * Hashes the tokenizer, the tensors' header and samples of their data. Reading all of the data
 * would make each start about a hundred times slower.
 */
static int make_id(struct ofs_static_model *m, const uint8_t *tensors, size_t len, size_t head,
		   const void *tokenizer, size_t tokenizer_len)
{
	struct ofs_sha256 *h = ofs_sha256_create();
	size_t rest = len - head, step = OFS_MAX(rest / SAMPLES, SAMPLE_SIZE);
	char hex[2 * OFS_SHA256_SIZE + 1];
	uint8_t sha[OFS_SHA256_SIZE], size[8];
	int r;

	ofs_put_le64(size, len);
	r = ofs_sha256_update(h, size, sizeof(size));
	if (r == 0)
		r = ofs_sha256_update(h, tensors, head);
	for (size_t at = 0; r == 0 && at < rest; at += step)
		r = ofs_sha256_update(h, tensors + head + at, OFS_MIN(rest - at, SAMPLE_SIZE));
	if (r == 0)
		r = ofs_sha256_update(h, tokenizer, tokenizer_len);
	if (r == 0)
		r = ofs_sha256_final(h, sha);
	ofs_sha256_destroy(h);
	if (r < 0)
		return r;
	ofs_sha256_hex(sha, hex);
	snprintf(m->id, sizeof(m->id), "static:%.*s:%zu", 2 * ID_HASH_SIZE, hex,
		 m->vectors.columns);
	return 0;
}

static int read_content(struct ofs_static_model *m, const void *tensors, size_t len,
			const void *tokenizer, size_t tokenizer_len, const char *name,
			const char *tokenizer_name, struct ofs_error *err)
{
	struct ofs_tensors *t = NULL;
	int r = ofs_tensors_create(tensors, len, name, err, &t);

	if (r == 0)
		r = read_tensors(m, t, name, err);
	if (r == 0)
		r = ofs_tokenizer_create(tokenizer, tokenizer_len, tokenizer_name, err,
					 &m->tokenizer);
	if (r == 0)
		r = check_tokens(m, name, err);
	if (r == 0) {
		r = make_id(m, tensors, len, ofs_tensors_head(t), tokenizer, tokenizer_len);
		if (r < 0)
			ofs_error_set(err, -r, "libcrypto cannot hash '%s'", name);
	}
	ofs_tensors_destroy(t);
	return r;
}

int ofs_static_model_create(const void *tensors, size_t tensors_len, const void *tokenizer,
			    size_t tokenizer_len, const char *directory, struct ofs_error *err,
			    struct ofs_static_model **ret)
{
	struct ofs_static_model *m = ofs_alloc(sizeof(*m));
	OFS_FREE char *shown = ofs_text_shown(directory);
	OFS_FREE char *name = ofs_format("%.200s/" TOKENIZER_FILE, shown);
	int r;

	m->fd = -1;
	m->map = MAP_FAILED;
	m->path = ofs_format("%.200s/" TENSORS_FILE, shown);
	r = read_content(m, tensors, tensors_len, tokenizer, tokenizer_len, m->path, name, err);
	if (r < 0)
		ofs_static_model_close(m);
	else
		*ret = m;
	return r;
}

/* ---- files */

/* Opens a regular file; O_NONBLOCK, so that a FIFO does not block. Returns a descriptor. */
static int open_file(const char *directory, const char *name, struct ofs_error *err,
		     struct stat *ret_stat)
{
	OFS_FREE char *path = ofs_format("%s/%s", directory, name);
	OFS_FREE char *shown = ofs_text_shown(path);
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
	int r = fd < 0 ? fd : fstat(fd, ret_stat) < 0 ? -errno : 0;

	if (r < 0)
		return ofs_error_set(err, -r, "cannot open '%.300s': %s", shown, strerror(-r));
	if (!S_ISREG(ret_stat->st_mode))
		return ofs_error_set(err, EINVAL, "'%.300s' is not a regular file", shown);
	return ofs_steal_fd(&fd);
}

static int read_tokenizer(const char *directory, struct ofs_error *err, struct ofs_buf *ret)
{
	OFS_FREE char *shown = ofs_text_shown(directory);
	struct stat st;
	OFS_CLOSE int fd = open_file(directory, TOKENIZER_FILE, err, &st);
	int r = fd < 0 ? fd : ofs_io_read_fd(fd, TOKENIZER_MAX, ret);

	if (fd >= 0 && r == -EFBIG)
		return ofs_error_set(err, EBADMSG,
				     "'%.200s/" TOKENIZER_FILE "' is larger than 64 MiB", shown);
	if (fd >= 0 && r < 0)
		return ofs_error_set(err, -r, "cannot read '%.200s/" TOKENIZER_FILE "': %s", shown,
				     strerror(-r));
	return r;
}

int ofs_static_model_open(const char *directory, struct ofs_error *err,
			  struct ofs_static_model **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf tokenizer = OFS_BUF_INIT;
	struct ofs_static_model *m;
	struct stat st;
	OFS_CLOSE int fd = open_file(directory, TENSORS_FILE, err, &st);
	size_t size = fd < 0 ? 0 : (size_t)st.st_size;
	void *map = MAP_FAILED;
	int r = fd < 0 ? fd : read_tokenizer(directory, err, &tokenizer);

	if (r < 0)
		return r;
	if (size)
		map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (size && map == MAP_FAILED)
		return ofs_error_set(err, errno, "cannot map '" TENSORS_FILE "' into memory: %s",
				     strerror(errno));
	r = ofs_static_model_create(size ? map : "", size, tokenizer.data, tokenizer.len, directory,
				    err, &m);
	if (r < 0) {
		if (size)
			munmap(map, size);
		return r;
	}
	m->fd = ofs_steal_fd(&fd);
	m->map = map;
	m->size = size;
	m->modified = st.st_mtim;
	*ret = m;
	return 0;
}

void ofs_static_model_close(struct ofs_static_model *m)
{
	if (!m)
		return;
	ofs_tokenizer_destroy(m->tokenizer);
	if (m->map != MAP_FAILED)
		munmap(m->map, m->size);
	ofs_cleanup_close(&m->fd);
	free(m->path);
	free(m);
}

const char *ofs_static_model_id(const struct ofs_static_model *m)
{
	return m->id;
}

unsigned int ofs_static_model_dims(const struct ofs_static_model *m)
{
	return (unsigned int)m->vectors.columns;
}

/* ---- texts */

/* If the file was truncated, reading the mapping beyond its end would kill the process (SIGBUS). */
static int check_unchanged(const struct ofs_static_model *m, struct ofs_error *err)
{
	struct stat st;

	if (m->fd < 0)
		return 0;
	if (fstat(m->fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot check '%s': %s", m->path, strerror(errno));
	if ((size_t)st.st_size != m->size || st.st_mtim.tv_sec != m->modified.tv_sec ||
	    st.st_mtim.tv_nsec != m->modified.tv_nsec)
		return ofs_error_set(err, ESTALE, "'%s' has changed while it was in use", m->path);
	return 0;
}

static void embed_text(const struct ofs_static_model *m, const struct ofs_embed_text *text,
		       int8_t *ret)
{
	uint32_t ids[OFS_TOKENIZER_IDS];
	float sums[OFS_EMBED_DIMS_MAX];
	size_t n = ofs_tokenizer_run(m->tokenizer, text->text, text->len, ids);

	memset(sums, 0, m->vectors.columns * sizeof(*sums));
	for (size_t i = 0; i < n; i++) {
		float weight = m->weights.data ? ofs_tensor_float(&m->weights, ids[i]) : 1;
		int64_t row = m->mapping.data ? ofs_tensor_integer(&m->mapping, ids[i]) : ids[i];

		/* Checked on opening, but the file may have been overwritten since. */
		if (row >= 0 && (uint64_t)row < m->vectors.rows)
			ofs_tensor_add_row(&m->vectors, (size_t)row, weight, sums);
	}
	ofs_vector_quantise(sums, m->vectors.columns, ret);
}

int ofs_static_model_embed(const struct ofs_static_model *m, const struct ofs_embed_text texts[],
			   size_t n, int64_t deadline, struct ofs_buf *ret, struct ofs_error *err)
{
	size_t dims = m->vectors.columns, before = ret->len;
	int r = check_unchanged(m, err);

	if (r < 0)
		return r;
	ofs_buf_reserve(ret, n * dims);
	for (size_t i = 0; i < n; i++) {
		if (deadline && ofs_clock_monotonic() >= deadline) {
			ret->len = before;
			return ofs_error_set(err, ETIMEDOUT,
					     "time ran out with %zu of %zu texts left", n - i, n);
		}
		embed_text(m, &texts[i], (int8_t *)ret->data + ret->len);
		ret->len += dims;
	}
	return 0;
}
