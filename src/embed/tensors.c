/* SPDX-License-Identifier: MIT */
#include "embed/tensors.h"

#include <jansson.h>

#include "base/text.h"

#define LENGTH_SIZE 8 /* bytes of the number before the header */
#define DESCRIPTION_MAX ((uint64_t)1 << 20)

static const struct {
	const char *name;
	size_t size;
} dtypes[] = {
	[OFS_DTYPE_F64] = { "F64", 8 }, [OFS_DTYPE_F32] = { "F32", 4 },
	[OFS_DTYPE_F16] = { "F16", 2 }, [OFS_DTYPE_BF16] = { "BF16", 2 },
	[OFS_DTYPE_I64] = { "I64", 8 }, [OFS_DTYPE_I32] = { "I32", 4 },
	[OFS_DTYPE_I8] = { "I8", 1 },
};

struct ofs_tensors {
	json_t *description;
	char *name;
	const uint8_t *data; /* what follows the header */
	size_t size; /* of `data`, in bytes */
	size_t head; /* bytes before `data` */
};

int ofs_tensors_create(const void *file, size_t size, const char *name, struct ofs_error *err,
		       struct ofs_tensors **ret)
{
	struct ofs_tensors *t;
	json_error_t error;
	json_t *description;
	uint64_t len;

	if (size < LENGTH_SIZE)
		return ofs_error_set(err, EBADMSG, "'%s' is too short to be a safetensors file",
				     name);
	len = ofs_get_le64(file);
	if (len > size - LENGTH_SIZE || len > DESCRIPTION_MAX)
		return ofs_error_set(err, EBADMSG,
				     "'%s' is not a safetensors file: its header would have %llu "
				     "bytes, which is more than %s",
				     name, (unsigned long long)len,
				     len > DESCRIPTION_MAX ? "1 MiB" : "the file has");
	description = json_loadb((const char *)file + LENGTH_SIZE, (size_t)len,
				 JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(description)) {
		OFS_FREE char *shown = ofs_text_shown(description ? "not an object" : error.text);

		json_decref(description);
		return ofs_error_set(err, EBADMSG,
				     "'%s' is not a safetensors file: its header is not JSON: %s",
				     name, shown);
	}
	t = ofs_alloc(sizeof(*t));
	t->description = description;
	t->name = ofs_strdup(name);
	t->head = LENGTH_SIZE + (size_t)len;
	t->data = (const uint8_t *)file + t->head;
	t->size = size - t->head;
	*ret = t;
	return 0;
}

void ofs_tensors_destroy(struct ofs_tensors *t)
{
	if (!t)
		return;
	json_decref(t->description);
	free(t->name);
	free(t);
}

size_t ofs_tensors_head(const struct ofs_tensors *t)
{
	return t->head;
}

/* ---- looking for a tensor */

/* The element as a size; 0 if it is not a positive integer. */
static size_t size_at(const json_t *array, size_t i)
{
	const json_t *n = json_array_get(array, i);

	return json_is_integer(n) && json_integer_value(n) > 0 ? (size_t)json_integer_value(n) : 0;
}

static int find_dtype(const struct ofs_tensors *t, const char *tensor, const json_t *entry,
		      struct ofs_error *err, enum ofs_dtype *ret)
{
	const char *name = json_string_value(json_object_get(entry, "dtype"));
	OFS_FREE char *shown = NULL;

	for (size_t i = 0; name && i < OFS_ARRAY_SIZE(dtypes); i++) {
		if (strcmp(name, dtypes[i].name) == 0) {
			*ret = (enum ofs_dtype)i;
			return 0;
		}
	}
	shown = ofs_text_shown(name ? name : "?");
	return ofs_error_set(err, EBADMSG,
			     "'%s': the tensor '%s' has numbers of type '%.30s', which is not "
			     "supported",
			     t->name, tensor, shown);
}

int ofs_tensors_find(const struct ofs_tensors *t, const char *tensor, size_t dimensions,
		     struct ofs_error *err, struct ofs_tensor *ret)
{
	const json_t *entry = json_object_get(t->description, tensor);
	const json_t *shape = json_object_get(entry, "shape");
	const json_t *offsets = json_object_get(entry, "data_offsets");
	size_t start = size_at(offsets, 0), end = size_at(offsets, 1), size;
	struct ofs_tensor found;
	int r;

	if (!entry)
		return 0;
	r = find_dtype(t, tensor, entry, err, &found.dtype);
	if (r < 0)
		return r;
	found.rows = size_at(shape, 0);
	found.columns = dimensions == 1 ? 1 : size_at(shape, 1);
	if (json_array_size(shape) != dimensions || !found.rows || !found.columns)
		return ofs_error_set(err, EBADMSG,
				     "'%s': the tensor '%s' must have %zu dimension%s of at "
				     "least 1",
				     t->name, tensor, dimensions, dimensions == 1 ? "" : "s");
	if (__builtin_mul_overflow(found.rows, found.columns, &size) ||
	    __builtin_mul_overflow(size, dtypes[found.dtype].size, &size) || start > end ||
	    end > t->size || end - start != size)
		return ofs_error_set(err, EBADMSG,
				     "'%s': the tensor '%s' has offsets that do not match its "
				     "shape",
				     t->name, tensor);
	found.data = t->data + start;
	*ret = found;
	return 1;
}

/* ---- numbers */

static float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static float half_of(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31;
	uint32_t fraction = bits & 0x3ff;

	if (!exponent)
		return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
	exponent = exponent == 31 ? 255 : exponent + 112;
	return float_of(sign | exponent << 23 | fraction << 13);
}

/* Magnitudes of 2^127 or more become infinity, since converting too large ones is undefined. */
static float float_of_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d > -0x1p127 && d < 0x1p127 ? (float)d : float_of(0x7f800000);
}

static inline float number(const uint8_t *data, enum ofs_dtype dtype, size_t i)
{
	switch (dtype) {
	case OFS_DTYPE_F64:
		return float_of_double(ofs_get_le64(data + 8 * i));
	case OFS_DTYPE_F32:
		return float_of(ofs_get_le32(data + 4 * i));
	case OFS_DTYPE_F16:
		return half_of(ofs_get_le16(data + 2 * i));
	case OFS_DTYPE_BF16:
		return float_of((uint32_t)ofs_get_le16(data + 2 * i) << 16);
	case OFS_DTYPE_I64:
		return (float)(int64_t)ofs_get_le64(data + 8 * i);
	case OFS_DTYPE_I32:
		return (float)(int32_t)ofs_get_le32(data + 4 * i);
	case OFS_DTYPE_I8:
		return (float)(int8_t)data[i];
	}
	return 0;
}

float ofs_tensor_float(const struct ofs_tensor *t, size_t i)
{
	return number(t->data, t->dtype, i);
}

int64_t ofs_tensor_integer(const struct ofs_tensor *t, size_t i)
{
	if (t->dtype == OFS_DTYPE_I64)
		return (int64_t)ofs_get_le64(t->data + 8 * i);
	if (t->dtype == OFS_DTYPE_I32)
		return (int32_t)ofs_get_le32(t->data + 4 * i);
	return -1;
}

/* Inlined with a constant type, so that the compiler makes a loop for that type. */
static inline __attribute__((always_inline)) void
add_numbers(const uint8_t *data, enum ofs_dtype dtype, size_t n, float weight, float *sums)
{
	for (size_t i = 0; i < n; i++)
		sums[i] += weight * number(data, dtype, i);
}

void ofs_tensor_add_row(const struct ofs_tensor *t, size_t row, float weight, float *sums)
{
	const uint8_t *data = t->data + row * t->columns * dtypes[t->dtype].size;

	if (t->dtype == OFS_DTYPE_F32)
		add_numbers(data, OFS_DTYPE_F32, t->columns, weight, sums);
	else if (t->dtype == OFS_DTYPE_F16)
		add_numbers(data, OFS_DTYPE_F16, t->columns, weight, sums);
	else
		add_numbers(data, t->dtype, t->columns, weight, sums);
}
