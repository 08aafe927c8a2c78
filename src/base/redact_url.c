/* SPDX-License-Identifier: MIT */
/* Finds passwords in URLs, and in the similar names of databases. */
#include "base/redact_rules.h"
#include "base/util.h"

#define PART_MAX 256
#define PASSWORD_MIN 3

/* A password may contain "@", so it extends to the last "@" before the path. */
bool redact_url_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	size_t i = at + 3, start, end = 0, limit = OFS_MIN(s->len, i + PART_MAX);
	const char *text = s->text;

	if (at == s->at || !redact_is(text[at - 1], REDACT_ALNUM))
		return false;
	while (i < limit && text[i] != ':' && !redact_among(text[i], "/@?#<>") &&
	       !redact_is(text[i], REDACT_SPACE | REDACT_QUOTE | REDACT_STOP))
		i++;
	if (i == limit || text[i] != ':')
		return false;
	start = ++i;
	limit = OFS_MIN(s->len, start + PART_MAX);
	for (; i < limit && !redact_among(text[i], "/?#\\[") && (unsigned char)text[i] > ' ' &&
	       !redact_is(text[i], REDACT_QUOTE);
	     i++)
		if (text[i] == '@')
			end = i;
	/* If a mark follows, this was not a password before the mark was inserted. */
	if (redact_has(text, s->len, i, REDACT_MARK, false))
		return false;
	if (end < start + PASSWORD_MIN || redact_is_password_stand_in(text + start, end - start))
		return false;
	*ret = (struct ofs_secret){ start, end - start, "url-password" };
	return true;
}

bool redact_dsn_password(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	size_t stop = OFS_MAX(s->at, at > PART_MAX ? at - PART_MAX : 0), start = at;
	const char *text = s->text, *colon;

	if (!redact_has(text, s->len, at, "@tcp(", false) &&
	    !redact_has(text, s->len, at, "@unix(", false))
		return false;
	while (start > stop && (unsigned char)text[start - 1] > ' ' &&
	       !redact_is(text[start - 1], REDACT_QUOTE))
		start--;
	colon = memchr(text + start, ':', at - start);
	start = colon ? (size_t)(colon - text) + 1 : at;
	if (start + PASSWORD_MIN > at || redact_is_password_stand_in(text + start, at - start))
		return false;
	*ret = (struct ofs_secret){ start, at - start, "url-password" };
	return true;
}
