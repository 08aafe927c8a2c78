/* SPDX-License-Identifier: MIT */
#include "client/hits.h"

#include <ctype.h>
#include <stdlib.h>

#include <offloadfs/tree.h>

#include "base/buf.h"
#include "base/text_form.h"

#define HITS_SLASH "%2F" /* a slash of the query in the name */

/* True if a name that ends before name[len] has a part of a character or slash at its end. */
static bool splits(const char *name, size_t len)
{
	return ((unsigned char)name[len] & 0xc0) == 0x80 ||
	       strncmp(name + len - 1, HITS_SLASH, strlen(HITS_SLASH)) == 0 ||
	       strncmp(name + len - 2, HITS_SLASH, strlen(HITS_SLASH)) == 0;
}

/* Cuts a name that is too long at a blank after its first `keep` bytes. Returns true if it did. */
static bool cut(char *name, size_t keep)
{
	size_t len = OFS_NAME_MAX;

	if (strlen(name) <= len)
		return false;
	while (len > keep && name[len] != ' ')
		len--;
	if (len == keep) /* a single long word */
		for (len = OFS_NAME_MAX; splits(name, len);)
			len--;
	name[len] = '\0';
	return true;
}

bool ofs_hits_path(const char *query, bool why, char **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf name = OFS_BUF_INIT;
	size_t keep;
	bool is_cut;

	ofs_buf_append_str(&name, why ? "why:yes " : "");
	keep = name.len;
	for (const char *p = query + strspn(query, " \t\n\v\f\r"); *p; p++)
		ofs_buf_append(&name, *p == '/' ? HITS_SLASH : p,
			       *p == '/' ? strlen(HITS_SLASH) : 1);
	is_cut = cut(ofs_buf_str(&name), keep);
	*ret = ofs_format("search/%s", ofs_buf_str(&name));
	return is_cut;
}

/* Removes ":12" or ":10-20" from the end of `path`. Both results are 0 if there is none. */
static void take_lines(char *path, uint64_t *ret_from, uint64_t *ret_to)
{
	char *colon = strrchr(path, ':'), *end;

	*ret_from = *ret_to = 0;
	if (!colon || !isdigit((unsigned char)colon[1]))
		return;
	*ret_from = *ret_to = strtoull(colon + 1, &end, 10);
	if (end[0] == '-' && isdigit((unsigned char)end[1]))
		*ret_to = strtoull(end + 1, &end, 10);
	if (*end)
		*ret_from = *ret_to = 0;
	else
		*colon = '\0';
}

static json_t *number(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

/* The first ": " ends the path: none is in the paths of an answer. */
json_t *ofs_hit_parse(char *line)
{
	char *snippet = strstr(line, ": ");
	uint64_t from, to;

	if (snippet) {
		*snippet = '\0';
		snippet += strlen(": ");
	}
	take_lines(line, &from, &to);
	return json_pack("{s:o, s:o, s:o, s:o}", "path", ofs_json_string(line), "from",
			 number(from), "to", number(to), "snippet", ofs_json_string(snippet));
}
