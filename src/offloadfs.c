/* SPDX-License-Identifier: MIT */
/* offloadfs, the daemon. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/util.h"
#include "fuse/background.h"
#include "fuse/mountpoint.h"
#include "fuse/options.h"
#include "fuse/session.h"
#include "io/exposure.h"
#include "io/redact_file.h"

enum {
	EXIT_USAGE = 2
};

/*
 * Opens those of the three standard files that are missing, so that no file of the store gets their
 * numbers: it would be written to as a log, and be replaced when the terminal is let go.
 */
static int fill_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int serve(struct ofs_session *session, struct ofs_options *o, struct ofs_error *err)
{
	struct ofs_background background = OFS_BACKGROUND_INIT;
	int r;

	r = ofs_device_check(err);
	if (r == 0)
		r = ofs_mountpoint_prepare(o->mountpoint, o->store, err);
	if (r < 0)
		return r;
	ofs_log_set_verbose(o->debug);
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	if (!o->foreground && !o->debug)
		r = ofs_background_enter(o->supervise ? o->mountpoint : NULL, &background);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot go to the background: %s", strerror(-r));
	r = ofs_session_mount(session, o, background.replaces, err);
	if (r > 0)
		ofs_log(LOG_NOTICE, "asked to stop before '%s' was mounted", o->mountpoint);
	if (r != 0)
		return r;
	r = ofs_background_ready(&background);
	if (r == 0)
		r = ofs_session_serve(session);
	return r < 0 ? ofs_error_set(err, -r, "serving '%s' failed: %s", o->mountpoint,
				     strerror(-r))
		     : 0;
}

/* Takes the clocks that a test provides (docs/TESTING.md). */
static int take_clock(struct ofs_error *err)
{
	const char *path = secure_getenv("OFFLOADFS_CLOCK");
	int r = path && *path ? ofs_clock_control_from_file(path) : 0;

	return r < 0 ? ofs_error_set(err, -r,
				     "OFFLOADFS_CLOCK: '%s' cannot be used: %s; a file of three "
				     "64-bit numbers is expected",
				     path, strerror(-r))
		     : 0;
}

static int run(struct ofs_options *o, struct ofs_error *err)
{
	struct ofs_session *session;
	int r, closed;

	if (o->help) {
		ofs_options_print_usage(stdout);
		return EXIT_SUCCESS;
	}
	if (o->version) {
#ifdef FUSE_CAP_OVER_IO_URING
		printf("offloadfs %s (libfuse %s)\n", OFS_VERSION, fuse_pkgversion());
#else
		printf("offloadfs %s (libfuse %s, without io_uring)\n", OFS_VERSION,
		       fuse_pkgversion());
#endif
		return EXIT_SUCCESS;
	}
	if (ofs_options_configure(o, err) < 0)
		return EXIT_FAILURE;
	ofs_redact_set_enabled(ofs_config_get(o->config, "redact") == 0);
	if (ofs_redact_file_load(err) < 0)
		return EXIT_FAILURE;
	if (ofs_session_create(o, err, &session) < 0)
		return EXIT_USAGE;
	r = serve(session, o, err);
	closed = ofs_session_destroy(session);
	if (r >= 0 && closed < 0)
		r = ofs_error_set(err, -closed, "the store '%s' could not be written completely",
				  o->store);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	OFS_CLEANUP(ofs_options_finish) struct ofs_options options = { 0 };
	struct ofs_error err = { "" };
	int status;

	ofs_exposure_end();
	signal(SIGXFSZ, SIG_IGN); /* with `ulimit -f` a write fails instead */
	if (fill_standard_files() < 0)
		return EXIT_FAILURE;
	if (take_clock(&err) < 0 || ofs_options_parse(argc, argv, &options, &err) < 0)
		status = EXIT_USAGE;
	else
		status = run(&options, &err);
	if (status != EXIT_SUCCESS)
		ofs_log(LOG_ERR, "%s", err.text);
	return status;
}
