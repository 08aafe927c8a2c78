/* SPDX-License-Identifier: MIT */
/* Describes a file by a JSON object of all that is known about it. */
#pragma once

#include "client/operand.h"

/* A member of the object. */
struct ofs_operand_field {
	const char *key;
	const char *attribute; /* NULL: taken from stat */
	const char *noun; /* the unit of a number; NULL: a text */
	const char *label; /* in text output; NULL: the key */
};

/* In order of output; ends with an entry without a key. */
extern const struct ofs_operand_field ofs_operand_fields[];

/*
 * Describes the file of `o`; messages call it `name`. Members that the file or its tree does not
 * have are null. Replaces a ref in o->path by the path of the file. 0 or -errno.
 */
int ofs_operand_describe(struct ofs_operand *o, const char *name, struct ofs_error *err,
			 json_t **ret);
