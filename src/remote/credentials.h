/* SPDX-License-Identifier: MIT */
/* The keys that sign requests to S3. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

/* All allocated. The secret and the token are only for signing: nothing may show them. */
struct ofs_credentials {
	char *access_key;
	char *secret;
	char *token; /* of a session; NULL: none */
	int64_t expires; /* by ofs_clock_wall(); INT64_MAX: never */
};

/*
 * Loads the credentials from the first source that exists: the environment (AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN); `command` (NULL: none), which /bin/sh runs for at most
 * a minute and which prints the JSON of AWS's credential_process; or the profile $AWS_PROFILE, or
 * "default", of the file $AWS_SHARED_CREDENTIALS_FILE, or ~/.aws/credentials. The file must belong
 * to the caller or root, and nobody else may read or write it. -EACCES: there are no usable
 * credentials; `err` says why, without a word of the command, its output or the content of the
 * file.
 */
int ofs_credentials_load(const char *command, struct ofs_error *err, struct ofs_credentials *ret);

/* True if they expire within five minutes of `now`, by ofs_clock_wall(): load them again. */
bool ofs_credentials_are_stale(const struct ofs_credentials *c, int64_t now);

/* Wipes them from memory. */
void ofs_credentials_finish(struct ofs_credentials *c);

/* Wipes and frees a text, for OFS_CLEANUP. *text may be NULL. */
void ofs_credentials_wipe(char **text);
