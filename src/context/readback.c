/* SPDX-License-Identifier: MIT */
#include "context/readback.h"

#include <ctype.h>

#include "client/workspace.h"

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || (unsigned char)c >= 0x80;
}

/* The text has `name` as a path, or as the start of one. */
static bool names_path(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p++) {
		bool begins = p == text || (!is_name_byte(p[-1]) && p[-1] != '.');

		if (begins && !is_name_byte(p[len]) && p[len] != '.')
			return true;
	}
	return false;
}

/* The text has a command of the tool that prints stored content or a pointer. */
static bool names_tool(const char *text)
{
	static const char *const commands[] = { "slice", "show", "search", "run", "put" };
	static const char program[] = "offload";

	for (const char *p = text; (p = strstr(p, program)); p++) {
		const char *word = p + strlen(program);
		size_t blanks = strspn(word, " \t'\"");

		if (!blanks || (p > text && is_name_byte(p[-1])))
			continue;
		word += blanks;
		for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
			size_t len = strlen(commands[i]);

			if (strncmp(word, commands[i], len) == 0 && !is_name_byte(word[len]))
				return true;
		}
	}
	return false;
}

bool ofs_readback_names(const char *text, const struct ofs_access *access)
{
	const char *mount = access->mount && strcmp(access->mount, ".") != 0 ? access->mount : NULL;
	const char *const names[] = { OFS_WORKSPACE_MOUNT, "$OFFLOAD_DIR", "${OFFLOAD_DIR}",
				      access->target.mountpoint, mount };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		if (names[i] && names_path(text, names[i]))
			return true;
	return names_tool(text);
}
