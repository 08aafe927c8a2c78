/* SPDX-License-Identifier: MIT */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#define WIDTH 80 /* of a terminal that does not tell */
#define BAR_MAX 40
#define RATE_AFTER (OFS_NS_PER_S / 4) /* before that it is anybody's guess */

static size_t progress_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : WIDTH;
}

/* "  120.3 MB/s  ETA 1:02", "  3500 files/s  ETA 0:01"; "" when it cannot be told yet. */
static void progress_rate(const struct ofs_progress *p, uint64_t done, uint64_t total, char *ret,
			  size_t size)
{
	double elapsed = (double)(ofs_clock_monotonic() - p->began), left;
	unsigned long long s;
	int n;

	ret[0] = '\0';
	if (!done || elapsed < (double)RATE_AFTER)
		return;
	left = elapsed / (double)done * (double)(total - done) / (double)OFS_NS_PER_S;
	s = (unsigned long long)OFS_MIN(left + 0.9, 359999.0);
	if (p->unit)
		n = snprintf(ret, size, "  %.0f %s/s  ETA ",
			     (double)done * (double)OFS_NS_PER_S / elapsed, p->unit);
	else
		n = snprintf(ret, size, "  %.1f MB/s  ETA ", (double)done * 1e3 / elapsed);
	if (s < 3600)
		snprintf(ret + n, size - (size_t)n, "%llu:%02llu", s / 60, s % 60);
	else
		snprintf(ret + n, size - (size_t)n, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60,
			 s % 60);
}

void ofs_progress_begin(struct ofs_progress *p, const char *what, const char *unit)
{
	*p = (struct ofs_progress){
		.what = what,
		.unit = unit,
		.terminal = isatty(STDERR_FILENO),
		.began = ofs_clock_monotonic(),
	};
	ofs_progress_update(p, 0, 0);
}

void ofs_progress_update(struct ofs_progress *p, uint64_t done, uint64_t total)
{
	char bar[BAR_MAX + 1] = "", rate[64], line[256];
	unsigned int percent;
	size_t width, used, cells;

	if (!p->terminal)
		return;
	done = OFS_MIN(done, total);
	percent = total ? (unsigned int)((double)done / (double)total * 100) : 0;
	progress_rate(p, done, total, rate, sizeof(rate));
	/* The last column stays free: some terminals wrap once it is written. */
	width = progress_width();
	width = OFS_MIN(width, sizeof(line)) - 1;
	used = strlen(p->what) + strlen("  100%  []") + strlen(rate);
	cells = width > used ? OFS_MIN(width - used, BAR_MAX) : 0;
	memset(bar, ' ', cells);
	memset(bar, '#', cells * percent / 100);
	snprintf(line, sizeof(line), cells ? "%s  %3u%%  [%s]%s" : "%s  %3u%%%s%s", p->what,
		 percent, bar, rate);
	fprintf(stderr, "\r%.*s\033[K", (int)width, line);
	fflush(stderr);
	p->drawn = true;
}

void ofs_progress_clear(struct ofs_progress *p)
{
	if (!p->drawn)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	p->drawn = false;
}
