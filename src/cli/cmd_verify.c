/* SPDX-License-Identifier: MIT */
/*
 * offload verify: asks the tree to verify its store, by attributes of the root, and tells what it
 * finds. Mounted or not, the tree does it in a thread of its own meanwhile.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/target.h"
#include "cli/text.h"

#define VERIFY_ATTRIBUTE "user.offload.verify"
#define VERIFY_POLL_NS_MIN 5000000L
#define VERIFY_POLL_NS_MAX 100000000L

/* Exit codes of this command. */
enum {
	VERIFY_SOUND = 0,
	VERIFY_PROBLEMS = 1,
	VERIFY_FAILED = 2,
	VERIFY_SIGNAL = 128 /* and the signal's number */
};

#define verify_fail(...) (ofs_report(__VA_ARGS__), VERIFY_FAILED)

struct verify_options {
	struct ofs_target_options target;
	const char *operand; /* NULL: none */
	bool repair;
	bool json;
};

/* The tree's last answer. */
struct verify_status {
	char state[16];
	char *error; /* NULL: none */
	uint64_t done, total;
	uint64_t frames, chunks, files, bytes;
	uint64_t problems, repaired, hurt;
};

struct verify {
	struct ofs_backend *backend;
	const struct ofs_target *target;
	const struct verify_options *options;
	struct ofs_progress progress;
	struct verify_status status;
	uint64_t told; /* problems that were printed or put into `found` */
	bool told_all; /* the tree remembers no more of them */
	bool stopping; /* it was asked to stop */
	json_t *found; /* with --json */
};

/* The tree, in messages. */
static const char *verify_name(const struct verify *v)
{
	return v->target->mounted ? v->target->mountpoint : v->target->store;
}

static void verify_finish(struct verify *v)
{
	ofs_progress_clear(&v->progress);
	ofs_backend_close(v->backend);
	free(v->status.error);
	json_decref(v->found);
}

/* ---- signals */

static volatile sig_atomic_t verify_signal;

static void verify_on_signal(int number)
{
	verify_signal = number;
}

/* The first signal stops the verification; the second one ends the tool as ever. */
static void verify_catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = verify_on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(caught); i++) {
		if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(caught[i], &action, NULL);
	}
}

/* ---- asking the tree */

static int verify_command(struct verify *v, const char *value)
{
	return v->backend->ops->setxattr(v->backend, "", VERIFY_ATTRIBUTE, value, strlen(value));
}

/* The JSON object in the attribute; `suffix` is "" or ".K". -EPROTO: it is none. */
static int verify_ask(struct verify *v, const char *suffix, json_t **ret)
{
	OFS_FREE char *text = NULL;
	char name[48];
	int r;

	snprintf(name, sizeof(name), "verify%s", suffix);
	r = ofs_backend_attribute(v->backend, "", name, &text);
	if (r < 0)
		return r;
	*ret = json_loads(text, 0, NULL);
	return *ret ? 0 : -EPROTO;
}

static int verify_ask_status(struct verify *v)
{
	json_int_t done, total, frames, chunks, files, bytes, problems, repaired, hurt;
	const char *state;
	json_t *json, *error;
	int r;

	r = verify_ask(v, "", &json);
	if (r < 0)
		return r;
	r = json_unpack(json, "{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "state",
			&state, "error", &error, "done", &done, "total", &total, "frames", &frames,
			"chunks", &chunks, "files", &files, "bytes", &bytes, "problems", &problems,
			"repaired", &repaired, "hurt", &hurt);
	if (r == 0) {
		free(v->status.error);
		v->status = (struct verify_status){
			.error = json_is_string(error) ? ofs_strdup(json_string_value(error))
						       : NULL,
			.done = (uint64_t)done,
			.total = (uint64_t)total,
			.frames = (uint64_t)frames,
			.chunks = (uint64_t)chunks,
			.files = (uint64_t)files,
			.bytes = (uint64_t)bytes,
			.problems = (uint64_t)problems,
			.repaired = (uint64_t)repaired,
			.hurt = (uint64_t)hurt,
		};
		snprintf(v->status.state, sizeof(v->status.state), "%s", state);
	}
	json_decref(json);
	return r < 0 ? -EPROTO : 0;
}

static bool verify_is(const struct verify *v, const char *state)
{
	return strcmp(v->status.state, state) == 0;
}

static void verify_print_word(const char *text)
{
	size_t used;

	ofs_text_printable(stdout, text, strlen(text), false, SIZE_MAX, &used);
}

static int verify_tell_one(struct verify *v, json_t *problem)
{
	const char *what;
	json_t *path;
	int repaired;

	if (json_unpack(problem, "{s:o, s:s, s:b}", "path", &path, "what", &what, "repaired",
			&repaired) < 0)
		return -EPROTO;
	if (v->found)
		return json_array_append(v->found, problem) < 0 ? -ENOMEM : 0;
	ofs_progress_clear(&v->progress);
	verify_print_word(json_is_string(path) ? json_string_value(path) : "store");
	fputs(": ", stdout);
	verify_print_word(what);
	puts(repaired ? " (repaired)" : "");
	return 0;
}

/* Tells what was found since it was last called. */
static int verify_tell(struct verify *v)
{
	while (!v->told_all && v->told < v->status.problems) {
		char suffix[24];
		json_t *problem;
		int r;

		snprintf(suffix, sizeof(suffix), ".%" PRIu64, v->told);
		r = verify_ask(v, suffix, &problem);
		if (r == -ENODATA) {
			v->told_all = true;
			break;
		}
		if (r < 0)
			return r;
		r = verify_tell_one(v, problem);
		json_decref(problem);
		if (r < 0)
			return r;
		v->told++;
	}
	fflush(stdout);
	return 0;
}

/* ---- its course */

static int verify_cannot_start(const struct verify *v, int code)
{
	switch (code) {
	case EBUSY:
		return verify_fail("a verification of '%s' is running already", verify_name(v));
	case EOPNOTSUPP:
	case EINVAL:
	case ENODATA:
		return verify_fail(
			"the daemon of '%s' is older than this tool and cannot verify: mount "
			"it again, with 'offload down' and 'offload up'",
			verify_name(v));
	case EACCES:
	case EPERM:
		return verify_fail("only the owner of '%s' can verify it", verify_name(v));
	default:
		return verify_fail("cannot verify '%s': %s", verify_name(v),
				   ofs_report_errno(code));
	}
}

static int verify_lost(const struct verify *v, int code)
{
	switch (code) {
	case ENODATA:
	case ENOENT:
	case EOPNOTSUPP:
		return verify_fail("'%s' was unmounted meanwhile", verify_name(v));
	case EPROTO:
		return verify_fail("cannot make sense of what the tree of '%s' says",
				   verify_name(v));
	default:
		return verify_fail("cannot tell how the verification of '%s' goes: %s",
				   verify_name(v), ofs_report_errno(code));
	}
}

/* Waits for the verification to end. 0; -errno: the tree does not answer (any more). */
static int verify_watch(struct verify *v)
{
	struct timespec pause = { 0, VERIFY_POLL_NS_MIN };
	int r;

	for (;;) {
		r = verify_ask_status(v);
		if (r == 0)
			r = verify_tell(v);
		if (r < 0 || !verify_is(v, "running"))
			return r;
		ofs_progress_update(&v->progress, v->status.done, v->status.total);
		if (verify_signal && !v->stopping) {
			v->stopping = true;
			r = verify_command(v, "stop");
			if (r < 0)
				return r;
		}
		if (v->stopping)
			pause.tv_nsec = VERIFY_POLL_NS_MIN;
		nanosleep(&pause, NULL);
		pause.tv_nsec = OFS_MIN(pause.tv_nsec * 2, VERIFY_POLL_NS_MAX);
	}
}

/* ---- its result */

static void verify_print_size(uint64_t bytes)
{
	double mb = (double)bytes / 1e6;

	if (mb < 1000)
		printf("%.1f MB", mb);
	else
		printf("%.1f GB", mb / 1000);
}

static void verify_print_summary(const struct verify *v)
{
	const struct verify_status *s = &v->status;

	if (v->told < s->problems) {
		fputs("offload: ", stdout);
		ofs_text_count(stdout, s->problems - v->told, "more problem");
		puts(" not listed");
	}
	fputs("offload: ", stdout);
	ofs_text_count(stdout, s->files, "file");
	fputs(", ", stdout);
	ofs_text_count(stdout, s->chunks, "chunk");
	fputs(", ", stdout);
	ofs_text_count(stdout, s->frames, "frame");
	fputs(", ", stdout);
	verify_print_size(s->bytes);
	fputs(verify_is(v, "done") ? " verified: " : " verified until it was stopped: ", stdout);
	if (!s->problems) {
		puts("no problems");
		return;
	}
	ofs_text_count(stdout, s->problems, "problem");
	if (s->hurt) {
		fputs(", ", stdout);
		ofs_text_count(stdout, s->hurt, "file");
		fputs(" hurt", stdout);
	}
	if (s->repaired) {
		fputs(", ", stdout);
		ofs_text_number(stdout, s->repaired);
		fputs(" repaired", stdout);
	}
	putchar('\n');
}

static int verify_print_json(struct verify *v)
{
	const struct verify_status *s = &v->status;
	json_t *json = json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "state",
				 s->state, "repair", v->options->repair, "files",
				 (json_int_t)s->files, "chunks", (json_int_t)s->chunks, "frames",
				 (json_int_t)s->frames, "bytes", (json_int_t)s->bytes, "problems",
				 (json_int_t)s->problems, "hurt", (json_int_t)s->hurt, "repaired",
				 (json_int_t)s->repaired, "found", v->found);
	int r = json ? json_dumpf(json, stdout, JSON_INDENT(2)) : -1;

	json_decref(json);
	if (r < 0)
		return -EIO;
	putchar('\n');
	return 0;
}

/* Allocated: the words that lead another `offload verify` here, each with a blank before it. */
static char *verify_hint(const struct verify *v)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;

	if (!v->options->operand)
		return ofs_strdup(v->target->hint);
	out = open_memstream(&text, &len);
	if (!out)
		return ofs_strdup("");
	putc(' ', out);
	ofs_text_shell_word(out, v->options->operand);
	return fclose(out) == 0 ? text : ofs_strdup("");
}

/* What can be done about the problems that are left. */
static void verify_advise(const struct verify *v)
{
	OFS_FREE char *hint = verify_hint(v);

	if (!v->options->repair)
		ofs_report("'offload verify --repair%s' puts aside what is damaged and rebuilds "
			   "what can be rebuilt",
			   hint);
	else if (v->target->mounted)
		ofs_report("more may be repaired while it is not mounted: unmount it, then "
			   "'offload verify --repair%s'",
			   hint);
}

static int verify_result(struct verify *v)
{
	const struct verify_status *s = &v->status;
	bool left = s->repaired < s->problems;

	if (verify_is(v, "none"))
		return verify_fail("'%s' was unmounted and mounted again meanwhile",
				   verify_name(v));
	if (verify_is(v, "failed"))
		return verify_fail("the verification of '%s' failed: %s", verify_name(v),
				   s->error ? s->error : "no reason given");
	if (!v->found)
		verify_print_summary(v);
	else if (verify_print_json(v) < 0)
		return verify_fail("cannot print the result");
	if (fflush(stdout) != 0 && errno != EPIPE) /* main() says so */
		return VERIFY_FAILED;
	if (verify_is(v, "stopped")) {
		if (v->stopping)
			return VERIFY_SIGNAL + verify_signal;
		return verify_fail("somebody else stopped the verification");
	}
	if (left)
		verify_advise(v);
	return left ? VERIFY_PROBLEMS : VERIFY_SOUND;
}

static int verify_tree(struct ofs_target *target, const struct verify_options *options)
{
	OFS_CLEANUP(verify_finish) struct verify v = { .target = target, .options = options };
	struct ofs_error err;
	int r;

	if (ofs_target_open(target, false, &err, &v.backend) < 0)
		return verify_fail("%s", err.text);
	if (options->json)
		v.found = json_array();
	verify_catch_signals();
	r = verify_command(&v, options->repair ? "repair" : "start");
	if (r < 0)
		return verify_cannot_start(&v, -r);
	ofs_progress_begin(&v.progress, "Verifying");
	r = verify_watch(&v);
	ofs_progress_clear(&v.progress);
	return r < 0 ? verify_lost(&v, -r) : verify_result(&v);
}

static int verify_run(const struct ofs_command *self, int argc, char **argv)
{
	static const struct option options[] = {
		OFS_TARGET_LONG,
		{ "repair", no_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	struct verify_options o = { 0 };
	struct ofs_error err;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":" OFS_TARGET_SHORT, options, NULL)) != -1) {
		if (ofs_target_take_option(&o.target, c, optarg))
			continue;
		switch (c) {
		case 'r':
			o.repair = true;
			break;
		case 'j':
			o.json = true;
			break;
		case 'h':
			ofs_command_print_help(self, stdout);
			return OFS_EXIT_OK;
		default:
			return ofs_report_option(c, argv);
		}
	}
	o.operand = optind < argc ? argv[optind++] : NULL;
	if (optind < argc)
		return ofs_report_usage("unexpected argument '%s'", argv[optind]);
	if (o.operand && (o.target.dir || o.target.store))
		return ofs_report_usage("name the tree once: '%s', or an option", o.operand);
	if (ofs_target_find_operand(&o.target, o.operand, &err, &target) < 0)
		return verify_fail("%s", err.text);
	return verify_tree(&target, &o);
}

const struct ofs_command ofs_cmd_verify = {
	.name = "verify",
	.synopsis = "[--repair] [--json] [STORE|PATH]",
	.summary = "Reads everything that is stored, and names the files that are damaged",
	.help = "STORE is a store; PATH is a workspace, or lies in a mounted tree. Works on a mount\n"
		"in use as on a store that is not mounted.\n"
		"\n"
		"      --repair            put what is damaged aside, into STORE/quarantine, and\n"
		"                          rebuild what can be rebuilt; names and the index only\n"
		"                          while it is not mounted\n"
		"      --json              print a JSON object\n" OFS_TARGET_HELP "\n"
		"Exits with 0 when there are no problems (left), with 1 when there are, with 2\n"
		"when it could not verify.\n",
	.run = verify_run,
};
