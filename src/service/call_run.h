/* SPDX-License-Identifier: MIT */
/* A call that runs: what the functions in call_*.c are given, and what helps them. */
#pragma once

#include "client/operand.h"
#include "service/service.h"

struct ofs_call_run {
	const struct ofs_call *call;
	const json_t *args; /* checked against the schema; NULL: none */
	const char *way; /* as of the caller; may be NULL */
	const char *task; /* of what is stored where the call names none; NULL: none */
	struct ofs_access *access; /* open */
	struct ofs_error *err;
	size_t base; /* the length of the agent's directory that it was called in */
	json_t *result; /* to be set on success */
};

/* An argument; NULL, `otherwise`: it was not given. */
const char *ofs_call_text(const struct ofs_call_run *c, const char *name);
int64_t ofs_call_number(const struct ofs_call_run *c, const char *name, int64_t otherwise);
bool ofs_call_flag(const struct ofs_call_run *c, const char *name, bool otherwise);

struct ofs_call_file {
	const char *id; /* as it was named; borrowed */
	char *path; /* in the tree that c->access means */
	struct stat attr;
};

void ofs_call_file_finish(struct ofs_call_file *f);

/*
 * Finds a file or directory by its ref, its path or offload://REF. c->access means the tree that it
 * is of afterwards, which may be that of an agent. 0 or -errno with c->err set.
 */
int ofs_call_find_file(struct ofs_call_run *c, const char *id, struct ofs_call_file *ret);

/* Allocated, "": the path in the tree that an argument names, which need not be there. */
int ofs_call_path(struct ofs_call_run *c, const char *name, char **ret);

/*
 * Allocated: a path in the tree that c->access means as one in the tree that was called, of which
 * that may be an agent's.
 */
char *ofs_call_shown(const struct ofs_call_run *c, const char *path);

/* Text of any bytes as a string of JSON: valid UTF-8; null for NULL. */
json_t *ofs_call_string(const char *text);

/* An attribute of a file as such a string, as a number; null: it has none. */
json_t *ofs_call_attribute(struct ofs_call_run *c, const char *path, const char *name);
json_t *ofs_call_count(struct ofs_call_run *c, const char *path, const char *name);

/* Tags as a list. */
json_t *ofs_call_tags(const char *tags);

/* Sets "cannot <what> '<path>': <reason>", -errno `r`, which is returned. */
int ofs_call_failed(struct ofs_call_run *c, int r, const char *what, const char *path);
