/* SPDX-License-Identifier: MIT */
/* offload: the companion tool of offloadfs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/report.h"

/* A file that is opened must never get the number of a standard descriptor. */
static int main_fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int main_finish_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	if (errno == EPIPE) /* whoever read had enough */
		return code;
	ofs_report("cannot write the output: %s", strerror(errno));
	return code ? code : OFS_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	const struct ofs_command *command;
	const char *name = argc > 1 ? argv[1] : NULL;

	ofs_log_set_program("offload");
	if (main_fill_standard_descriptors() < 0)
		return OFS_EXIT_FAILURE;
	/* A caller may have left it ignored, and how a child of ours has ended could not be known. */
	signal(SIGCHLD, SIG_DFL);
	if (!name)
		return ofs_report_usage("no command given");
	if (strcmp(name, "--version") == 0) {
		puts("offload " OFS_VERSION);
		return main_finish_output(OFS_EXIT_OK);
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	command = ofs_commands_find(name);
	if (!command)
		return ofs_report_usage(
			name[0] == '-' ? "unknown option '%s'" : "unknown command '%s'", name);
	ofs_report_set_command(command->name);
	return main_finish_output(command->run(command, argc - 1, argv + 1));
}
