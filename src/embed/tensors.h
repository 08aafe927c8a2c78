/* SPDX-License-Identifier: MIT */
/* A safetensors file: tables of numbers with a description in JSON before them. */
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

/* Rows of numbers, at any alignment. */
struct ofs_tensor {
	const uint8_t *data;
	enum ofs_dtype dtype;
	size_t rows, columns; /* at least 1 each; with one dimension there is one column */
};

struct ofs_tensors;

/*
 * Reads what describes a file; `file` is borrowed, and errors call it `name`. The tensors are
 * looked at when they are looked for. -EBADMSG: it is no such file.
 */
int ofs_tensors_create(const void *file, size_t size, const char *name, struct ofs_error *err,
		       struct ofs_tensors **ret);

/* NULL is allowed. Tensors that were found stay as they are. */
void ofs_tensors_destroy(struct ofs_tensors *t);

/* Bytes before the numbers. */
size_t ofs_tensors_head(const struct ofs_tensors *t);

/*
 * 1; 0: there is none of that name; -EBADMSG: it has not `dimensions` (1 or 2) of them, is of a type
 * that is not known, or is not where it should be.
 */
int ofs_tensors_find(const struct ofs_tensors *t, const char *tensor, size_t dimensions,
		     struct ofs_error *err, struct ofs_tensor *ret);

/* The number at [i / columns, i % columns]; of an integer the nearest float. */
float ofs_tensor_float(const struct ofs_tensor *t, size_t i);

/* The same as an integer; -1 if its type is not I32 or I64. */
int64_t ofs_tensor_integer(const struct ofs_tensor *t, size_t i);

/* Adds the row times `weight` to as many numbers as there are columns. */
void ofs_tensor_add_row(const struct ofs_tensor *t, size_t row, float weight, float *sums);
