/* SPDX-License-Identifier: MIT */
#include "client/naming.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "tree/core/category.h"

#define NAMING_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define NAMING_FILE_MAX 255
#define NAMING_AGENTS "agents/"
#define NAMING_DIGITS_MAX 18
/* The task of a session whose id leaves no name. */
#define NAMING_SESSION "session"

int ofs_naming_check(const char *kind, const char *label, struct ofs_error *err)
{
	size_t len = strlen(label);

	if (!len)
		return ofs_error_set(err, EINVAL,
				     "an empty %s: give a name like shell or web-search", kind);
	if (label[0] == '.')
		return ofs_error_set(err, EINVAL,
				     "%s '%s' begins with a dot: begin with a letter or digit",
				     kind, label);
	if (strspn(label, NAMING_CHARACTERS) != len)
		return ofs_error_set(
			err, EINVAL,
			"%s '%s': use letters, digits, '.', '_' and '-' only, without '/'", kind,
			label);
	if (len > OFS_NAMING_MAX)
		return ofs_error_set(err, EINVAL, "%s '%s' is too long: at most %d characters",
				     kind, label, OFS_NAMING_MAX);
	return 0;
}

int ofs_naming_agent(const char *what, const char *name, struct ofs_error *err, char **ret)
{
	OFS_FREE char *rest = ofs_strdup(name), *path = ofs_strdup("");
	char *next = rest;

	for (const char *part; (part = strsep(&next, "/"));) {
		char *longer;

		if (!ofs_category_is_name(part))
			return ofs_error_set(
				err, EINVAL,
				"%s '%s' names no agent: give a name like worker-1, or "
				"a/b for agent b of agent a",
				what, name);
		longer = ofs_format("%s%s" NAMING_AGENTS "%s", path, *path ? "/" : "", part);
		free(path);
		path = longer;
	}
	*ret = ofs_steal(path);
	return 0;
}

char *ofs_naming_agent_name(const char *directory)
{
	char *name = ofs_strdup(directory), *to = name;

	for (const char *p = directory; *p;) {
		size_t len;

		p += strlen(NAMING_AGENTS);
		len = strcspn(p, "/");
		memmove(to, p, len);
		to += len;
		p += len;
		if (*p)
			*to++ = *p++;
	}
	*to = '\0';
	return name;
}

char *ofs_naming_agent_of(const char *path, const char **ret_rest)
{
	const char *rest = path, *end = NULL;

	while (strncmp(rest, NAMING_AGENTS, strlen(NAMING_AGENTS)) == 0) {
		const char *slash = strchr(rest + strlen(NAMING_AGENTS), '/');

		if (!slash || !slash[1])
			break;
		end = slash;
		rest = slash + 1;
	}
	if (!end)
		return NULL;
	*ret_rest = rest;
	return ofs_strndup(path, (size_t)(end - path));
}

int ofs_naming_check_file(const char *name, struct ofs_error *err)
{
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return ofs_error_set(err, EINVAL, "'%s' is not a name for a file", name);
	if (strchr(name, '/'))
		return ofs_error_set(
			err, EINVAL,
			"name '%s' has a '/': give the last part alone; -c and -t choose the "
			"folder",
			name);
	if (strlen(name) > NAMING_FILE_MAX)
		return ofs_error_set(err, EINVAL, "the name is too long: at most %d bytes",
				     NAMING_FILE_MAX);
	return 0;
}

char *ofs_naming_auto(const char *category, int64_t seconds, const char *sha256, const char *ext)
{
	OFS_FREE char *ending = ofs_naming_auto_ending(sha256, ext);

	return ofs_format("%s_%" PRId64 "%s", category, seconds, ending);
}

char *ofs_naming_auto_ending(const char *sha256, const char *ext)
{
	return ofs_format("_%.*s.%s", OFS_NAMING_HASH, sha256, ext);
}

bool ofs_naming_is_auto(const char *name, const char *category, const char *sha256, const char *ext,
			int64_t *ret_seconds)
{
	size_t prefix = strlen(category), digits;
	OFS_FREE char *whole = NULL;
	int64_t seconds;

	if (strncmp(name, category, prefix) != 0 || name[prefix] != '_')
		return false;
	digits = strspn(name + prefix + 1, "0123456789");
	if (!digits || digits > NAMING_DIGITS_MAX)
		return false;
	/* This alone rules out nearly all names in a folder. */
	if (strncmp(name + prefix + 1 + digits + 1, sha256, OFS_NAMING_HASH) != 0)
		return false;
	seconds = strtoll(name + prefix + 1, NULL, 10);
	whole = ofs_naming_auto(category, seconds, sha256, ext);
	if (strcmp(name, whole) != 0)
		return false;
	*ret_seconds = seconds;
	return true;
}

char *ofs_naming_label(const char *text, size_t len, const char *fallback)
{
	char label[OFS_NAMING_MAX + 1];
	size_t n = 0;

	while (len && *text == '.') {
		text++;
		len--;
	}
	for (; len && n < OFS_NAMING_MAX; len--, text++)
		label[n++] = isalnum((unsigned char)*text) || (*text && strchr("._-", *text))
				     ? *text
				     : '-';
	label[n] = '\0';
	return ofs_strdup(n ? label : fallback);
}

const char *ofs_naming_session(void)
{
	/* Set by Claude Code and Codex for commands, by Gemini CLI for hooks. */
	static const char *const variables[] = { "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID",
						 "GEMINI_SESSION_ID" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(variables); i++) {
		const char *id = getenv(variables[i]);

		if (id && *id)
			return id;
	}
	return NULL;
}

int ofs_naming_task(const char *session, struct ofs_error *err, char **ret)
{
	const char *given = getenv("OFFLOAD_TASK");
	struct ofs_error why;

	*ret = NULL;
	if (given && !*given)
		return 0;
	if (session && *session)
		*ret = ofs_naming_label(session, strlen(session), NAMING_SESSION);
	if (*ret || !given)
		return 0;
	if (ofs_naming_check("task", given, &why) < 0)
		return ofs_error_set(err, EINVAL, "OFFLOAD_TASK names no task: %s", why.text);
	*ret = ofs_strdup(given);
	return 0;
}
