/* SPDX-License-Identifier: MIT */
/* Names of slices, and refs: any text. */
#include <inttypes.h>

#include <offloadfs/tree.h>

#include "fuzz.h"
#include "tree/core/ref.h"
#include "tree/core/slice.h"

#define REF_RANGE UINT64_C(2821109907456) /* 36^8 */

/* Returns the canonical spelling of a slice, to be freed. */
static char *slice_print(const char *base, size_t len, const struct ofs_slice_spec *spec)
{
	const char *lead = spec->kind == OFS_SLICE_BYTES ? "b" : "";
	char *text = NULL;
	int r;

	if (spec->kind == OFS_SLICE_LAST_LINES)
		r = asprintf(&text, "%.*s:-%" PRIu64, (int)len, base, spec->first);
	else if (spec->last == UINT64_MAX)
		r = asprintf(&text, "%.*s:%s%" PRIu64 "-", (int)len, base, lead, spec->first);
	else
		r = asprintf(&text, "%.*s:%s%" PRIu64 "-%" PRIu64, (int)len, base, lead,
			     spec->first, spec->last);
	FUZZ_ASSERT(r > 0);
	return text;
}

/* Returns true if the digits of `n` occur in the name, perhaps after leading zeros. */
static bool is_spelt(const char *name, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, n);
	return strstr(name, digits) != NULL;
}

static void check_slice(const char *name)
{
	struct ofs_slice_spec spec = { 0 }, again = { 0 };
	size_t len = strlen(name), base = len, base_again = 0;
	int r = ofs_slice_parse(name, &base, &spec);
	OFS_FREE char *text = NULL;

	FUZZ_ASSERT(r == 0 || r == -ENOENT || r == -EINVAL);
	if (r == -ENOENT)
		return;
	FUZZ_ASSERT(base > 0 && base < len && (name[base] == ':' || name[base + 1] == 'L'));
	if (r || spec.kind == OFS_SLICE_INFO || spec.kind == OFS_SLICE_SUMMARY)
		return;
	FUZZ_ASSERT(spec.first <= spec.last && (spec.first || spec.kind == OFS_SLICE_BYTES));
	FUZZ_ASSERT(is_spelt(name + base, spec.first));
	FUZZ_ASSERT(spec.last == UINT64_MAX || is_spelt(name + base, spec.last));
	text = slice_print(name, base, &spec);
	FUZZ_ASSERT(ofs_slice_parse(text, &base_again, &again) == 0);
	FUZZ_ASSERT(base_again == base && again.kind == spec.kind && again.first == spec.first &&
		    again.last == spec.last);
}

/* Each number has one ref, and each text is the ref of at most one number. */
static void check_refs(const char *text, uint64_t ino)
{
	char ref[OFS_REF_SIZE];
	ofs_node named = ofs_ref_read(0, text);

	if (named) {
		FUZZ_ASSERT(named < REF_RANGE);
		ofs_ref_write(0, named, ref);
		FUZZ_ASSERT(strcmp(ref, text) == 0);
	}
	ofs_ref_write(0, ino, ref);
	FUZZ_ASSERT(strnlen(ref, OFS_REF_SIZE) < OFS_REF_SIZE);
	if (ino < REF_RANGE)
		FUZZ_ASSERT(ofs_ref_read(0, ref) == ino);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	OFS_FREE char *name = fuzz_alloc(size + 1);
	OFS_FREE char *exact = NULL;

	memcpy(name, data, size);
	name[size] = 0;
	exact = fuzz_copy(name, strlen(name) + 1);
	check_slice(exact);
	check_refs(exact, fuzz_u64(&in));
	return 0;
}
