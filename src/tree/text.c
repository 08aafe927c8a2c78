/* SPDX-License-Identifier: MIT */
/* Text for people and programs. */
#include <jansson.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "tree/internal.h"

#define TEXT_MAX 8192 /* bytes; an attribute holds 64 KiB, and JSON writes a byte as up to six */

char *ofs_text_readable(const char *text)
{
	json_t *whole = json_string(text);
	struct ofs_buf out = OFS_BUF_INIT;
	const unsigned char *p;

	if (whole && strlen(text) <= TEXT_MAX) {
		json_decref(whole);
		return ofs_strdup(text);
	}
	json_decref(whole);
	for (p = (const unsigned char *)text; *p && out.len < TEXT_MAX; p++)
		if (ofs_buf_printf(&out, *p < 0x80 ? "%c" : "\\x%02x", *p) < 0)
			break;
	if (*p)
		ofs_buf_append_str(&out, "...");
	if (ofs_buf_append(&out, "", 1) < 0) {
		ofs_buf_finish(&out);
		return ofs_strdup("?");
	}
	return (char *)out.data;
}

int ofs_text_time(int64_t ns, struct ofs_buf *out)
{
	time_t seconds = (time_t)(ns / OFS_NS_PER_S) - (ns % OFS_NS_PER_S < 0);
	char text[40];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -ERANGE;
	return ofs_buf_append_str(out, text);
}

int ofs_text_duration(int64_t ns, struct ofs_buf *out)
{
	static const struct {
		int64_t seconds;
		char unit;
	} units[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	int64_t seconds = ns / OFS_NS_PER_S;
	size_t i = 0;
	int r;

	while (i + 1 < OFS_ARRAY_SIZE(units) && seconds < units[i].seconds)
		i++;
	r = ofs_buf_printf(out, "%lld%c", (long long)(seconds / units[i].seconds), units[i].unit);
	seconds %= units[i].seconds;
	if (r < 0 || i + 1 == OFS_ARRAY_SIZE(units) || seconds < units[i + 1].seconds)
		return r;
	return ofs_buf_printf(out, " %lld%c", (long long)(seconds / units[i + 1].seconds),
			      units[i + 1].unit);
}
