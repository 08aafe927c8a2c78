/* SPDX-License-Identifier: MIT */
#include "cli/settings_change.h"

#include "cli/daemon.h"
#include "cli/report.h"
#include "io/path.h"

#define PROGRAM "offload"

char *ofs_settings_program(void)
{
	OFS_FREE char *self = realpath("/proc/self/exe", NULL);
	OFS_FREE char *first = ofs_program_find(PROGRAM);
	OFS_FREE char *named = first ? realpath(first, NULL) : NULL;

	if (!self || (named && strcmp(named, self) == 0))
		return ofs_strdup(PROGRAM);
	return ofs_steal(self);
}

int ofs_settings_check_place(const char *path, const char *workspace, struct ofs_error *err)
{
	OFS_FREE char *real = ofs_path_real(path);

	if (!workspace || (real && ofs_path_below(workspace, real)))
		return 0;
	return ofs_error_set(err, EXDEV, "'%s' is a link out of the workspace, to '%s': remove it",
			     path, real ? real : "");
}

/* Returns -1 to go on, or an exit code. */
static int ask(void)
{
	char line[16];

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ofs_report_usage("nothing was written: there is no terminal to ask on; use "
					"--yes to write without asking");
	fputs("Write it? [y/N] ", stderr);
	if (!fgets(line, sizeof(line), stdin) || (line[0] != 'y' && line[0] != 'Y'))
		return ofs_report("nothing was written");
	return -1;
}

int ofs_settings_change(const struct ofs_settings_file *s, enum ofs_settings_change change,
			bool yes)
{
	bool gone = change != OFS_SETTINGS_WRITE;
	int r = yes ? -1 : ask();

	if (r >= 0)
		return r;
	r = gone ? ofs_settings_file_delete(s, change == OFS_SETTINGS_REMOVE_ALL)
		 : ofs_settings_file_write(s);
	if (r == -ESTALE)
		return ofs_report("'%s' was changed meanwhile; nothing was written, try again",
				  s->path);
	if (r < 0)
		return ofs_report("cannot write '%s': %s", s->path, strerror(-r));
	ofs_report_line(stdout, "%s %s", gone ? "removed" : "wrote", s->path);
	return OFS_EXIT_OK;
}
