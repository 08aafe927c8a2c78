/* SPDX-License-Identifier: MIT */
/* A running call: the parameter of the functions in call_*.c, and helpers for them. */
#pragma once

#include "client/operand.h"
#include "service/service.h"

struct ofs_call_run {
	const struct ofs_call *call;
	const json_t *args; /* checked against the schema; NULL: none */
	const char *way; /* that of the caller; may be NULL */
	const char *task; /* default task of what is stored; NULL: none */
	struct ofs_access *access; /* open */
	struct ofs_error *err;
	size_t base; /* length of the directory of the agent that made the call */
	json_t *result; /* set by the call on success */
};

/* Return an argument, or NULL or `otherwise` if it was not given. */
const char *ofs_call_text(const struct ofs_call_run *c, const char *name);
int64_t ofs_call_number(const struct ofs_call_run *c, const char *name, int64_t otherwise);
bool ofs_call_flag(const struct ofs_call_run *c, const char *name, bool otherwise);

struct ofs_call_file {
	const char *id; /* as given in the call; borrowed */
	char *path; /* in the tree that c->access has selected */
	struct stat attr;
};

void ofs_call_file_finish(struct ofs_call_file *f);

/*
 * Finds a file or directory by its ref, its path or offload://REF, and makes c->access select the
 * tree that it lies in, which may be an agent's. 0, or -errno with c->err set.
 */
int ofs_call_find_file(struct ofs_call_run *c, const char *id, struct ofs_call_file *ret);

/* Sets *ret to the path that an argument names, allocated; "" if not given. 0 or -errno. */
int ofs_call_path(struct ofs_call_run *c, const char *name, char **ret);

/*
 * Converts a path in the tree that c->access has selected, which may be an agent's, to one in the
 * tree of the caller. Allocated.
 */
char *ofs_call_shown(const struct ofs_call_run *c, const char *path);

/* Returns any bytes as a JSON string of valid UTF-8, or null for NULL. */
json_t *ofs_call_string(const char *text);

/* Return an attribute of a file as such a string or as a number; null if it has none. */
json_t *ofs_call_attribute(struct ofs_call_run *c, const char *path, const char *name);
json_t *ofs_call_count(struct ofs_call_run *c, const char *path, const char *name);

/* Returns tags separated by commas as an array. */
json_t *ofs_call_tags(const char *tags);

/* Sets "cannot <what> '<path>': <reason>" for `r` (-errno), and returns `r`. */
int ofs_call_failed(struct ofs_call_run *c, int r, const char *what, const char *path);
