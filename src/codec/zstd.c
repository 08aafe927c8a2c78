/* SPDX-License-Identifier: MIT */
#include "codec/zstd.h"

#include <pthread.h>
#include <zstd.h>
#include <zstd_errors.h>

struct ofs_compressor {
	ZSTD_CCtx *ctx;
};

/* Each thread has one decompression context, which is freed when the thread ends. */
static pthread_once_t zstd_once = PTHREAD_ONCE_INIT;
static pthread_key_t zstd_key;
static int zstd_key_error;

static int zstd_errno(size_t code)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_no_error:
		return 0;
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_parameter_unsupported:
	case ZSTD_error_parameter_outOfBound:
		return -EINVAL;
	default:
		return -EIO;
	}
}

struct ofs_compressor *ofs_compressor_create(void)
{
	struct ofs_compressor *c = ofs_alloc(sizeof(*c));

	c->ctx = ZSTD_createCCtx();
	if (!c->ctx)
		ofs_out_of_memory();
	return c;
}

void ofs_compressor_destroy(struct ofs_compressor *c)
{
	int saved = errno;

	if (!c)
		return;
	ZSTD_freeCCtx(c->ctx);
	free(c);
	errno = saved;
}

static int compress(struct ofs_compressor *c, int level, bool checksum, const void *data,
		    size_t len, struct ofs_buf *out)
{
	size_t bound = ZSTD_compressBound(len);
	size_t n;

	if (ZSTD_isError(bound))
		return zstd_errno(bound);
	n = ZSTD_CCtx_setParameter(c->ctx, ZSTD_c_compressionLevel, level);
	if (!ZSTD_isError(n))
		n = ZSTD_CCtx_setParameter(c->ctx, ZSTD_c_checksumFlag, checksum);
	if (ZSTD_isError(n))
		return zstd_errno(n);
	ofs_buf_reserve(out, bound);
	n = ZSTD_compress2(c->ctx, out->data + out->len, bound, data, len);
	if (ZSTD_isError(n))
		return zstd_errno(n);
	out->len += n;
	return 0;
}

/* The checksum lets ofs_decompress() detect all damage. */
int ofs_compress(struct ofs_compressor *c, int level, const void *data, size_t len,
		 struct ofs_buf *out)
{
	return compress(c, level, true, data, len, out);
}

int ofs_compress_bare(struct ofs_compressor *c, int level, const void *data, size_t len,
		      struct ofs_buf *out)
{
	return compress(c, level, false, data, len, out);
}

static void zstd_free_thread(void *ctx)
{
	ZSTD_freeDCtx(ctx);
}

static void zstd_make_key(void)
{
	zstd_key_error = -pthread_key_create(&zstd_key, zstd_free_thread);
}

static ZSTD_DCtx *zstd_thread_context(void)
{
	ZSTD_DCtx *ctx;

	pthread_once(&zstd_once, zstd_make_key);
	if (zstd_key_error)
		return NULL;
	ctx = pthread_getspecific(zstd_key);
	if (ctx)
		return ctx;
	ctx = ZSTD_createDCtx();
	if (ctx && pthread_setspecific(zstd_key, ctx) != 0) {
		ZSTD_freeDCtx(ctx);
		return NULL;
	}
	return ctx;
}

int ofs_decompress(const void *data, size_t stored, void *ret, size_t len)
{
	ZSTD_DCtx *ctx = zstd_thread_context();
	size_t n;

	if (!ctx)
		return -ENOMEM;
	n = ZSTD_decompressDCtx(ctx, ret, len, data, stored);
	if (ZSTD_isError(n))
		return zstd_errno(n);
	return n == len ? 0 : -EIO;
}

int ofs_decompressed_size(const void *data, size_t stored, size_t max, size_t *ret)
{
	/* Both error values of this function are larger than any size. */
	unsigned long long n = ZSTD_getFrameContentSize(data, stored);

	if (n > max)
		return -EIO;
	*ret = (size_t)n;
	return 0;
}
