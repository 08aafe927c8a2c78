/* SPDX-License-Identifier: MIT */
#include "cli/progress_line.h"

#include <stdio.h>
#include <sys/ioctl.h>

#include "base/clock.h"

#define PROGRESS_WIDTH 80 /* of a terminal that does not report it */
#define PROGRESS_BAR_MAX 40
#define PROGRESS_RATE_AFTER (OFS_NS_PER_S / 4) /* an earlier rate would be a guess */

/* Writes "  120.3 MB/s  ETA 1:02" or "  3500 files/s  ETA 0:01", or "" if it is not known yet. */
static void progress_rate(const struct ofs_progress *p, uint64_t done, uint64_t total, char *ret,
			  size_t size)
{
	double elapsed = (double)(ofs_clock_monotonic() - p->start), left;
	double rate = (double)done * (double)OFS_NS_PER_S / elapsed;
	unsigned int s;
	int n;

	ret[0] = '\0';
	if (!done || elapsed < (double)PROGRESS_RATE_AFTER)
		return;
	left = (double)(total - done) / rate + 0.9;
	s = (unsigned int)OFS_MIN(left, 359999.0);
	if (p->unit)
		n = snprintf(ret, size, "  %.0f %s/s  ETA ", rate, p->unit);
	else
		n = snprintf(ret, size, "  %.1f MB/s  ETA ", rate / 1e6);
	if (s < 3600)
		snprintf(ret + n, size - (size_t)n, "%u:%02u", s / 60, s % 60);
	else
		snprintf(ret + n, size - (size_t)n, "%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
}

void ofs_progress_begin(struct ofs_progress *p, const char *doing, const char *unit)
{
	*p = (struct ofs_progress){ doing, unit, ofs_clock_monotonic(), false };
}

/* Draws one line, over the last one. */
void ofs_progress_draw(struct ofs_progress *p, uint64_t done, uint64_t total)
{
	unsigned int percent;
	char bar[PROGRESS_BAR_MAX + 1] = "", rate[64], line[256];
	size_t width, used, cells;
	struct winsize size;

	if (!isatty(STDERR_FILENO))
		return;
	done = OFS_MIN(done, total);
	percent = total ? (unsigned int)((double)done / (double)total * 100) : 0;
	progress_rate(p, done, total, rate, sizeof(rate));
	/* The last column stays free: some terminals wrap once it is written. */
	width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
									    : PROGRESS_WIDTH;
	width = OFS_MIN(width, sizeof(line)) - 1;
	used = strlen(p->doing) + strlen("  100%  []") + strlen(rate);
	cells = width > used ? OFS_MIN(width - used, PROGRESS_BAR_MAX) : 0;
	memset(bar, ' ', cells);
	memset(bar, '#', cells * percent / 100);
	snprintf(line, sizeof(line), cells ? "%s  %3u%%  [%s]%s" : "%s  %3u%%%s%s", p->doing,
		 percent, bar, rate);
	fprintf(stderr, "\r%.*s\033[K", (int)width, line);
	fflush(stderr);
	p->drawn = true;
}

void ofs_progress_clear(struct ofs_progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
