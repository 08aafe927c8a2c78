/* SPDX-License-Identifier: MIT */
/* All that is known about a file, as an object. */
#pragma once

#include "client/operand.h"

/* A member of the object. */
struct ofs_operand_field {
	const char *key;
	const char *attribute; /* NULL: stat tells it */
	const char *noun; /* of a number */
	const char *label; /* in a text; NULL: the key */
};

/* In their order, up to one without a key. */
extern const struct ofs_operand_field ofs_operand_fields[];

/*
 * Describes the file of `o`, which somebody named `name`; what it, or its tree, does not have is
 * null. o->path becomes where the file is, rather than its ref. 0 or -errno.
 */
int ofs_operand_describe(struct ofs_operand *o, const char *name, struct ofs_error *err,
			 json_t **ret);
