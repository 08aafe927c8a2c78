/* SPDX-License-Identifier: MIT */
/*
 * offload verify: asks the tree to verify its store, by attributes of the root, and tells what it
 * finds. Mounted or not, the tree does it in a thread of its own meanwhile.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/job.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/target.h"

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

struct verify {
	struct ofs_backend *backend;
	const struct ofs_target *target;
	const struct verify_options *options;
	struct ofs_job job;
	json_t *found; /* with --json */
};

/* The tree, in messages. */
static const char *verify_name(const struct verify *v)
{
	return v->target->mounted ? v->target->mountpoint : v->target->store;
}

static void verify_finish(struct verify *v)
{
	ofs_job_finish(&v->job);
	ofs_backend_close(v->backend);
	json_decref(v->found);
}

/* ---- what it tells */

static int verify_tell(void *arg, json_t *problem)
{
	struct verify *v = arg;
	const char *what;
	json_t *path;
	int repaired;

	if (json_unpack(problem, "{s:o, s:s, s:b}", "path", &path, "what", &what, "repaired",
			&repaired) < 0)
		return -EPROTO;
	if (v->found)
		return json_array_append(v->found, problem) < 0 ? -ENOMEM : 0;
	ofs_progress_clear(&v->job.progress);
	ofs_text_line(stdout, json_is_string(path) ? json_string_value(path) : "store");
	fputs(": ", stdout);
	ofs_text_line(stdout, what);
	puts(repaired ? " (repaired)" : "");
	return 0;
}

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

/* ---- its result */

static uint64_t verify_number(const struct verify *v, const char *key)
{
	return ofs_job_number(&v->job, key);
}

static void verify_print_summary(const struct verify *v)
{
	uint64_t problems = verify_number(v, "problems"), hurt = verify_number(v, "hurt");
	uint64_t repaired = verify_number(v, "repaired");

	if (v->job.told < problems) {
		fputs("offload: ", stdout);
		ofs_text_count(stdout, problems - v->job.told, "more problem");
		puts(" not listed");
	}
	fputs("offload: ", stdout);
	ofs_text_count(stdout, verify_number(v, "files"), "file");
	fputs(", ", stdout);
	ofs_text_count(stdout, verify_number(v, "chunks"), "chunk");
	fputs(", ", stdout);
	ofs_text_count(stdout, verify_number(v, "frames"), "frame");
	fputs(", ", stdout);
	ofs_text_size(stdout, verify_number(v, "bytes"));
	fputs(ofs_job_is(&v->job, "done") ? " verified: " : " verified until it was stopped: ",
	      stdout);
	if (!problems) {
		puts("no problems");
		return;
	}
	ofs_text_count(stdout, problems, "problem");
	if (hurt) {
		fputs(", ", stdout);
		ofs_text_count(stdout, hurt, "file");
		fputs(" hurt", stdout);
	}
	if (repaired) {
		fputs(", ", stdout);
		ofs_text_number(stdout, repaired);
		fputs(" repaired", stdout);
	}
	putchar('\n');
}

static int verify_print_json(struct verify *v)
{
	static const char *const counts[] = { "files",	  "chunks", "frames",  "bytes",
					      "problems", "hurt",   "repaired" };
	json_t *json = json_pack("{s:s, s:b}", "state", v->job.state, "repair", v->options->repair);
	int r;

	for (size_t i = 0; json && i < OFS_ARRAY_SIZE(counts); i++)
		json_object_set_new(json, counts[i],
				    json_integer((json_int_t)verify_number(v, counts[i])));
	r = json_object_set(json, "found", v->found);
	if (r == 0)
		r = json_dumpf(json, stdout, JSON_INDENT(2));
	json_decref(json);
	if (r < 0)
		return -EIO;
	putchar('\n');
	return 0;
}

/* Allocated: the words that lead another `offload verify` here, each with a blank before it. */
static char *verify_hint(const struct verify *v)
{
	struct ofs_text_stream s;

	if (!v->options->operand)
		return ofs_strdup(v->target->hint);
	putc(' ', ofs_text_open(&s));
	ofs_text_shell_word(s.out, v->options->operand);
	return ofs_text_close(&s);
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
	bool left = verify_number(v, "repaired") < verify_number(v, "problems");

	if (ofs_job_is(&v->job, "none"))
		return verify_fail("'%s' was unmounted and mounted again meanwhile",
				   verify_name(v));
	if (ofs_job_is(&v->job, "failed"))
		return verify_fail("the verification of '%s' failed: %s", verify_name(v),
				   v->job.error ? v->job.error : "no reason given");
	if (!v->found)
		verify_print_summary(v);
	else if (verify_print_json(v) < 0)
		return verify_fail("cannot print the result");
	if (fflush(stdout) != 0 && errno != EPIPE) /* main() says so */
		return VERIFY_FAILED;
	if (ofs_job_is(&v->job, "stopped")) {
		if (v->job.stopping)
			return VERIFY_SIGNAL + ofs_job_signal();
		return verify_fail("somebody else stopped the verification");
	}
	if (left)
		verify_advise(v);
	return left ? VERIFY_PROBLEMS : VERIFY_SOUND;
}

static int verify_tree(struct ofs_target *target, const struct verify_options *options)
{
	OFS_CLEANUP(verify_finish)
	struct verify v = {
		.target = target,
		.options = options,
		.job = { .name = "verify",
			 .doing = "Verifying",
			 .count = "problems",
			 .item = verify_tell,
			 .arg = &v },
	};
	struct ofs_error err;
	int r;

	if (ofs_target_open(target, false, &err, &v.backend) < 0)
		return verify_fail("%s", err.text);
	v.job.backend = v.backend;
	if (options->json)
		v.found = json_array();
	ofs_job_catch_signals();
	r = ofs_job_command(&v.job, options->repair ? "repair" : "start");
	if (r < 0)
		return verify_cannot_start(&v, -r);
	r = ofs_job_watch(&v.job);
	return r < 0 ? verify_lost(&v, -r) : verify_result(&v);
}

static int verify_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	struct verify_options o = { 0 };
	const struct ofs_option options[] = {
		OFS_FLAG(0, "repair", &o.repair,
			 "put what is damaged aside, into STORE/quarantine, and\n"
			 "rebuild what can be rebuilt; names and the index only\n"
			 "while it is not mounted"),
		OFS_FLAG(0, "json", &o.json, "print a JSON object"),
		OFS_COMMON(&o.target),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	o.operand = argc ? argv[0] : NULL;
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
		"in use as on a store that is not mounted.\n",
	.notes = "Exits with 0 when there are no problems (left), with 1 when there are, with 2\n"
		 "when it could not verify.\n",
	.operands = 1,
	.run = verify_run,
};
