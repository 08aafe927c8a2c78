/* SPDX-License-Identifier: MIT */
#include "fuse/options.h"

#include <limits.h>
#include <stdio.h>

#include "base/util.h"
#include "io/path.h"

const char ofs_options_usage[] =
	"usage: offloadfs [options] STORE MOUNTPOINT\n"
	"\n"
	"Mounts the store in the directory STORE (made when it is missing) at MOUNTPOINT, an empty directory,\n"
	"and goes to the background. 'fusermount3 -u MOUNTPOINT' ends it.\n"
	"\n"
	"    -f                     stay in the foreground\n"
	"    -d                     debug output of libfuse (implies -f)\n"
	"    -h, --help             this text\n"
	"    -V, --version          the version\n"
	"    -o OPTION[,OPTION...]\n"
	"        seal_delay=MS      seal a file when it was not written for so long (default 1000)\n"
	"        journal_max=MIB    writers wait when so much waits to be sealed (default 512)\n"
	"        scrub=MS           read a portion back each MS when idle, 0: never (default 1000)\n"
	"        slice_max_lines=N  lines in one slice, 0: no limit (default 2000)\n"
	"        slice_max_bytes=N  bytes in one slice, 0: no limit (default 65536)\n"
	"        io_uring           use FUSE over io_uring (default: when the kernel offers it)\n"
	"        no_io_uring        do not use it\n"
	"        allow_other, ro, noexec, ... as in mount.fuse3(8)\n";

#define OPTION(text, member, value)                               \
	{                                                         \
		text, offsetof(struct ofs_options, member), value \
	}

/* Options with a number; the value of KEY_NUMBER is added to their place here. */
static const struct {
	const char *name;
	size_t offset;
	unsigned int max;
} numbers[] = {
	{ "seal_delay=", offsetof(struct ofs_options, seal_delay), 3600000 },
	{ "journal_max=", offsetof(struct ofs_options, journal_max), 1 << 20 },
	{ "scrub=", offsetof(struct ofs_options, scrub), 3600000 },
	{ "slice_max_lines=", offsetof(struct ofs_options, slice_max_lines), INT_MAX },
	{ "slice_max_bytes=", offsetof(struct ofs_options, slice_max_bytes), INT_MAX },
};

enum {
	KEY_NUMBER = 1
};

static const struct fuse_opt specs[] = {
	OPTION("-f", foreground, 1),
	OPTION("-d", debug, 1),
	OPTION("debug", debug, 1),
	OPTION("-h", help, 1),
	OPTION("--help", help, 1),
	OPTION("-V", version, 1),
	OPTION("--version", version, 1),
	FUSE_OPT_KEY("seal_delay=", KEY_NUMBER + 0),
	FUSE_OPT_KEY("journal_max=", KEY_NUMBER + 1),
	FUSE_OPT_KEY("scrub=", KEY_NUMBER + 2),
	FUSE_OPT_KEY("slice_max_lines=", KEY_NUMBER + 3),
	FUSE_OPT_KEY("slice_max_bytes=", KEY_NUMBER + 4),
	OPTION("io_uring", uring, OFS_URING_ON),
	OPTION("no_io_uring", uring, OFS_URING_OFF),
	FUSE_OPT_END,
};

struct parsing {
	struct ofs_options options; /* first: the offsets above count from here */
	struct ofs_error *err;
};

/* A relative path means something else once the daemon has gone to "/". */
static int take_path(struct parsing *p, const char *arg, char **ret)
{
	*ret = ofs_path_real(arg);
	if (!*ret)
		ofs_error_set(p->err, EINVAL,
			      "the current directory is gone: name '%s' by an absolute path", arg);
	return *ret ? 0 : -1;
}

static int take_number(struct parsing *p, const char *arg, size_t which)
{
	const char *text = arg + strlen(numbers[which].name);
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n > numbers[which].max) {
		ofs_error_set(p->err, EINVAL,
			      "option '%s': the value must be a number from 0 to %u", arg,
			      numbers[which].max);
		return -1;
	}
	*(unsigned int *)((char *)&p->options + numbers[which].offset) = (unsigned int)n;
	return 0;
}

/* libfuse's own complaint about a command line becomes part of our one line. */
static _Thread_local struct ofs_error *complaint;

static void take_complaint(enum fuse_log_level level, const char *fmt, va_list ap)
{
	size_t len;

	(void)level;
	if (!complaint)
		return;
	if (strncmp(fmt, "fuse: ", 6) == 0)
		fmt += 6;
	len = strlen(complaint->text);
	vsnprintf(complaint->text + len, sizeof(complaint->text) - len, fmt, ap);
	complaint->text[strcspn(complaint->text, "\n")] = 0;
}

void ofs_options_listen(struct ofs_error *err)
{
	complaint = err;
	fuse_set_log_func(err ? take_complaint : NULL);
	if (err)
		err->text[0] = 0;
}

static int process(void *data, const char *arg, int key, struct fuse_args *out)
{
	struct parsing *p = data;

	(void)out;
	if (key == FUSE_OPT_KEY_NONOPT) {
		if (!p->options.store)
			return take_path(p, arg, &p->options.store);
		if (!p->options.mountpoint)
			return take_path(p, arg, &p->options.mountpoint);
		ofs_error_set(p->err, EINVAL,
			      "too many arguments at '%s': give STORE and MOUNTPOINT", arg);
		return -1;
	}
	if (key >= KEY_NUMBER)
		return take_number(p, arg, (size_t)(key - KEY_NUMBER));
	if (arg[0] == '-') {
		ofs_error_set(p->err, EINVAL, "unknown option '%s': see 'offloadfs --help'", arg);
		return -1;
	}
	return 1;
}

int ofs_options_parse(int argc, char **argv, struct ofs_options *ret, struct ofs_error *err)
{
	const struct ofs_tree_options defaults = OFS_TREE_OPTIONS_INIT;
	struct parsing p = {
		.options = {
			.seal_delay = defaults.seal_delay_ms,
			.scrub = defaults.scrub_ms,
			.slice_max_lines = defaults.slice_max_lines,
			.slice_max_bytes = defaults.slice_max_bytes,
			.mount = FUSE_ARGS_INIT(argc, argv),
		},
		.err = err,
	};
	int r;

	ofs_options_listen(err);
	r = fuse_opt_parse(&p.options.mount, &p, specs, process);
	ofs_options_listen(NULL);
	*ret = p.options;
	if (r < 0)
		return -EINVAL;
	if (ret->help || ret->version)
		return 0;
	if (!ret->store || !ret->mountpoint)
		return ofs_error_set(err, EINVAL,
				     "%s is missing: usage: offloadfs [options] STORE MOUNTPOINT",
				     ret->store ? "MOUNTPOINT" : "STORE");
	return 0;
}

void ofs_options_finish(struct ofs_options *o)
{
	free(o->store);
	free(o->mountpoint);
	fuse_opt_free_args(&o->mount);
}
