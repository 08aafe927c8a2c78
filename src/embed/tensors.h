/* SPDX-License-Identifier: MIT */
/* A safetensors file: tables of numbers after a header in JSON that describes them. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

enum ofs_dtype {
	OFS_DTYPE_F64,
	OFS_DTYPE_F32,
	OFS_DTYPE_F16,
	OFS_DTYPE_BF16,
	OFS_DTYPE_I64,
	OFS_DTYPE_I32,
	OFS_DTYPE_I8,
};

/* A table of numbers of any alignment. */
struct ofs_tensor {
	const uint8_t *data;
	enum ofs_dtype dtype;
	size_t rows, columns; /* at least 1 each; a one-dimensional tensor has one column */
};

struct ofs_tensors;

/*
 * Parses the header. `file` is borrowed, and errors call it `name`. The tensors themselves are
 * checked by ofs_tensors_find(). Fails with -EBADMSG if it is not a safetensors file.
 */
int ofs_tensors_create(const void *file, size_t size, const char *name, struct ofs_error *err,
		       struct ofs_tensors **ret);

/* NULL is a no-op. Tensors already found stay valid as long as the file's content does. */
void ofs_tensors_destroy(struct ofs_tensors *t);

/* The size of the header in bytes, which is the offset of the tensors' data. */
size_t ofs_tensors_head(const struct ofs_tensors *t);

/*
 * Returns 1 and sets *ret, 0 if there is no tensor of that name, or -EBADMSG if it does not have
 * `dimensions` (1 or 2) dimensions, its type is unknown or its place in the file is invalid.
 */
int ofs_tensors_find(const struct ofs_tensors *t, const char *tensor, size_t dimensions,
		     struct ofs_error *err, struct ofs_tensor *ret);

/* The number at [i / columns, i % columns], rounded to a float. */
float ofs_tensor_float(const struct ofs_tensor *t, size_t i);

/* The same number as an integer; -1 if its type is neither I32 nor I64. */
int64_t ofs_tensor_integer(const struct ofs_tensor *t, size_t i);

/* Adds `weight` times the row to `sums`, which has one number per column. */
void ofs_tensor_add_row(const struct ofs_tensor *t, size_t row, float weight, float *sums);
