/* SPDX-License-Identifier: MIT */
/* offload verify: has the tree verify its store, and reports what it finds. */
#include "base/text.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/report.h"

/* Exit codes of this command. */
enum {
	VERIFY_SOUND = 0,
	VERIFY_PROBLEMS = 1,
	VERIFY_FAILED = 2,
};

static bool repair;

static const struct ofs_option options[] = {
	OFS_FLAG(0, "repair", &repair,
		 "put what is damaged aside, into STORE/quarantine, and\n"
		 "rebuild what can be rebuilt; names and the index only\n"
		 "while it is not mounted"),
	OFS_OPTIONS_END,
};

struct verify {
	struct ofs_access access;
	struct ofs_job job;
};

static const struct ofs_job_kind verification = {
	.name = "verify",
	.doing = "Verifying",
	.verb = "verify",
	.noun = "verification",
	.count = "problems",
};

static int verify_tell(void *arg, json_t *problem)
{
	ofs_text_form(stdout, problem, "{path|store}: {what}[{?repaired} (repaired)]\n");
	return 0;
}

static void verify_print_summary(const struct verify *v)
{
	const json_t *status = v->job.status;

	ofs_job_print_untold(&v->job, "problem", stdout);
	ofs_text_form(stdout, status,
		      "offload: {files:file}, {chunks:chunk}, {frames:frame}, {bytes:size}");
	fputs(ofs_job_is(&v->job, "done") ? " verified: " : " verified until it was stopped: ",
	      stdout);
	ofs_text_form(stdout, status,
		      ofs_job_number(&v->job, "problems")
			      ? "{problems:problem}[, {+hurt:file} hurt][, {+repaired} repaired]\n"
			      : "no problems\n");
}

static void verify_print_json(const struct verify *v)
{
	static const char *const counts[] = { "files",	  "chunks", "frames",  "bytes",
					      "problems", "hurt",   "repaired" };
	json_t *json = json_pack("{s:O, s:b}", "state", json_object_get(v->job.status, "state"),
				 "repair", repair);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(counts); i++)
		json_object_set_new(json, counts[i],
				    json_integer((json_int_t)ofs_job_number(&v->job, counts[i])));
	json_object_set(json, "found", v->job.items);
	ofs_print_json(json, "");
}

/* Tells what can be done about the remaining problems. */
static void verify_advise(const struct verify *v)
{
	const char *place = v->access.place;
	/* The words that lead another `offload verify` here, each after a blank. */
	OFS_FREE char *word = ofs_text_command((const char *const[]){ place, NULL });
	OFS_FREE char *hint = place ? ofs_format(" %s", word) : ofs_strdup(v->access.target.hint);

	if (!repair)
		ofs_report("'offload verify --repair%s' puts aside what is damaged and rebuilds "
			   "what can be rebuilt",
			   hint);
	else if (v->access.target.mounted)
		ofs_report("more may be repaired while it is not mounted: unmount it, then "
			   "'offload verify --repair%s'",
			   hint);
}

static int verify_tree(struct verify *v)
{
	struct ofs_error err;
	int r;

	v->access.read_only = !repair;
	if (ofs_access_open(&v->access, false, &err) < 0) {
		ofs_report("%s", err.text);
		return VERIFY_FAILED;
	}
	v->job = (struct ofs_job){
		.kind = &verification,
		.access = &v->access,
		.item = verify_tell,
		.items = ofs_command_json ? json_array() : NULL,
	};
	r = ofs_job_run(&v->job, repair ? "repair" : "start", &err);
	if (r == 0 || r == -EINTR || r == -ECANCELED) {
		if (ofs_command_json)
			verify_print_json(v);
		else
			verify_print_summary(v);
		if (fflush(stdout) != 0 && errno != EPIPE) /* main() reports that */
			return VERIFY_FAILED;
	}
	if (r == -EINTR)
		return ofs_job_exit_code();
	if (r < 0) {
		ofs_report("%s", err.text);
		return VERIFY_FAILED;
	}
	if (ofs_job_number(&v->job, "repaired") >= ofs_job_number(&v->job, "problems"))
		return VERIFY_SOUND;
	verify_advise(v);
	return VERIFY_PROBLEMS;
}

static int verify_run(const struct ofs_command *self, int argc, char **argv)
{
	struct verify v = { 0 };
	int code = ofs_command_check_place(argc, argv);

	ofs_command_target.whole = true; /* damage concerns the whole store */
	ofs_access_init(&v.access, &ofs_command_target);
	v.access.place = argc ? argv[0] : NULL;
	if (code < 0)
		code = verify_tree(&v);
	ofs_job_finish(&v.job);
	ofs_access_finish(&v.access);
	return code;
}

const struct ofs_command ofs_cmd_verify = {
	.name = "verify",
	.synopsis = "[--repair] [--json] [STORE|PATH]",
	.summary = "Reads everything that is stored, and names damaged files",
	.help = "STORE is a store; PATH is a workspace, or lies in a mounted tree. Works on a\n"
		"mount in use and on a store that is not mounted.\n",
	.notes = "Exits with 0 when there are no problems (left), with 1 when there are, with\n"
		 "2 when it could not verify.\n",
	.options = options,
	.json = "print a JSON object",
	.operands = 1,
	.run = verify_run,
};
