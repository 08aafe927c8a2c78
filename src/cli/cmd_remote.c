/* SPDX-License-Identifier: MIT */
/* offload remote: manages the object storage that a store is replicated to. */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/report.h"
#include "client/access.h"
#include "io/path.h"
#include "replica/detach.h"
#include "replica/lineage.h"
#include "replica/remote_verify.h"
#include "tree/config.h"

#define ATTRIBUTE "remote"
#define POLL_NS 50000000L
#define PATIENCE (60 * OFS_NS_PER_S) /* with a remote that cannot be reached */

static const char status_form[] =
	"remote      {location}\n"
	"state       {state}[: {error}]\n"
	"[complete    the remote has everything before {complete_until}\n]"
	"[pending     {+pending_bytes:size} of the log\n]"
	"[checkpoint  {checkpoint}\n]"
	"[epoch       {+epoch}\n]"
	"[requests    {writes} writes, {reads} reads since it was mounted\n]"
	"[local       {local_bytes:size} of sealed content, at most {+local_max:size}\n]";

struct remote {
	struct ofs_access access;
	struct ofs_config *config; /* of the store */
	const char *location; /* from the configuration; NULL: not configured */
};

static void remote_finish(struct remote *rm)
{
	ofs_config_destroy(rm->config);
	ofs_access_finish(&rm->access);
}

/* Finds the store and loads its configuration. */
static int find(struct remote *rm, struct ofs_error *err)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	int r = ofs_access_find(&rm->access, err);

	if (r < 0)
		return r;
	rm->config = ofs_config_create();
	r = ofs_config_load_store(rm->config, rm->access.target.store, err);
	ofs_config_apply(rm->config, &opts);
	rm->location = opts.remote && *opts.remote ? opts.remote : NULL;
	return r;
}

/* Sets *ret to the access to a remote: its location, and the rest from the configuration. */
static int take_access(const struct remote *rm, const char *location, struct ofs_error *err,
		       struct ofs_remote_access *ret)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;

	ofs_config_apply(rm->config, &opts);
	return ofs_remote_access_parse(location, opts.replicate_key, err, ret);
}

/* ---- add */

static int check_remote(const struct remote *rm, const char *url, char **ret_location,
			struct ofs_error *err)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access a = { 0 };
	int r = take_access(rm, url, err, &a);

	if (r == 0)
		r = ofs_lineage_look(&a, true, err);
	if (r > 0)
		return ofs_error_set(err, EEXIST,
				     "another store is already replicated there: 'offload restore' "
				     "brings it here; for this one, use another prefix");
	if (r == 0)
		*ret_location = ofs_location_text(&a.location);
	return r;
}

static int remote_add(struct remote *rm, int argc, char **argv)
{
	OFS_FREE char *location = NULL;
	const char *store = rm->access.target.store;
	struct ofs_error err;
	int r;

	if (rm->location)
		return ofs_report("the store is already replicated to %s: 'offload remote remove' "
				  "ends that",
				  rm->location);
	r = check_remote(rm, argv[0], &location, &err);
	if (r == 0) {
		r = ofs_path_make(store, 0700);
		if (r < 0)
			ofs_error_set(&err, -r, "cannot make the store '%s': %s", store,
				      strerror(-r));
	}
	if (r == 0)
		r = ofs_config_store_set(store, "remote", location, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	ofs_report_line(stdout, "The store %s is replicated to %s %s", store, location,
			rm->access.target.mounted ? "once it is mounted again (offload down, "
						    "offload up)"
						  : "from its next mount on");
	return OFS_EXIT_OK;
}

/* ---- status and push */

/* Asks the tree for its status. -ENODATA: it has no remote. */
static int ask(struct remote *rm, json_t **ret)
{
	OFS_FREE char *text = NULL;
	int r = ofs_backend_attribute(rm->access.backend, "", ATTRIBUTE, &text);

	*ret = r < 0 ? NULL : json_loads(text, 0, NULL);
	return r < 0 ? r : *ret ? 0 : -EPROTO;
}

static int open_mounted(struct remote *rm, struct ofs_error *err)
{
	if (!rm->access.target.mounted)
		return ofs_error_set(err, ENOTCONN,
				     "the store '%s' is not mounted: 'offload up' mounts it",
				     rm->access.target.store);
	return ofs_access_open(&rm->access, false, err);
}

static int no_remote(struct remote *rm)
{
	if (rm->location)
		return ofs_report("it was mounted before it had a remote: mount it again (offload "
				  "down, offload up)");
	return ofs_report("the store has no remote: 'offload remote add URL' gives it one");
}

static int remote_status(struct remote *rm, int argc, char **argv)
{
	struct ofs_error err;
	json_t *json;
	int r;

	if (!rm->access.target.mounted && rm->location) {
		json = json_pack("{s:s, s:s}", "location", rm->location, "state", "not mounted");
	} else if (!rm->access.target.mounted) {
		return no_remote(rm);
	} else {
		if (open_mounted(rm, &err) < 0)
			return ofs_report("%s", err.text);
		r = ask(rm, &json);
		if (r == -ENODATA)
			return no_remote(rm);
		if (r < 0)
			return ofs_report("cannot ask the tree: %s", ofs_backend_strerror(-r));
	}
	if (ofs_command_json)
		return ofs_print_json(json, "");
	ofs_text_form(stdout, json, status_form);
	json_decref(json);
	return OFS_EXIT_OK;
}

static uint64_t number(const json_t *json, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(json, key));
}

/* Returns an exit code if the push is done or cannot succeed, or -1. */
static int judge(const json_t *json, uint64_t pushes, bool patient)
{
	const char *state = json_string_value(json_object_get(json, "state"));
	const char *error = json_string_value(json_object_get(json, "error"));

	if (number(json, "pushes") >= pushes)
		return OFS_EXIT_OK;
	if (strcmp(state, "deposed") == 0 || strcmp(state, "refused") == 0 || (error && !patient))
		return ofs_report("%s", error ? error : state);
	return -1;
}

static int wait_pushed(struct remote *rm, uint64_t pushes)
{
	const struct timespec pause = { 0, POLL_NS };
	int64_t until = ofs_clock_monotonic() + PATIENCE;
	struct ofs_progress progress;
	uint64_t most = 0;
	int code = -1;

	ofs_progress_begin(&progress, "Sending", NULL);
	while (code < 0) {
		json_auto_t *json = NULL;
		uint64_t pending;
		int r = ask(rm, &json);

		if (r < 0) {
			ofs_progress_clear(&progress);
			return ofs_report("cannot ask the tree: %s", ofs_backend_strerror(-r));
		}
		pending = number(json, "pending_bytes");
		most = OFS_MAX(most, pending);
		ofs_progress_draw(&progress, most - pending, most);
		code = judge(json, pushes, ofs_clock_monotonic() < until);
		if (code < 0)
			nanosleep(&pause, NULL);
	}
	ofs_progress_clear(&progress);
	return code;
}

static int remote_push(struct remote *rm, int argc, char **argv)
{
	json_auto_t *before = NULL, *after = NULL;
	struct ofs_error err;
	int r, code;

	if (open_mounted(rm, &err) < 0)
		return ofs_report("%s", err.text);
	r = ask(rm, &before);
	if (r == 0)
		r = ofs_backend_set_attribute(rm->access.backend, "", ATTRIBUTE, "push");
	if (r == 0)
		r = ask(rm, &after);
	if (r == -ENODATA)
		return no_remote(rm);
	if (r < 0)
		return ofs_report("cannot ask the tree: %s", ofs_backend_strerror(-r));
	/* Those of others that were under way come first. An older daemon does not count them. */
	code = wait_pushed(rm, OFS_MAX(number(before, "pushes") + 1, number(after, "pushes_due")));
	if (code == OFS_EXIT_OK)
		puts("The remote has everything.");
	return code;
}

/* ---- verify */

struct verify {
	struct ofs_progress progress;
	json_t *found; /* with --json: collects what is printed otherwise */
	uint64_t problems;
	char *last; /* the object with the last problem */
};

static void verify_progress(void *arg, uint64_t done, uint64_t total)
{
	ofs_progress_draw(&((struct verify *)arg)->progress, done, total);
}

/* Reports the first problem of each object. */
static void verify_problem(void *arg, const char *key, const char *what)
{
	struct verify *v = arg;

	if (v->last && strcmp(v->last, key) == 0)
		return;
	free(v->last);
	v->last = ofs_strdup(key);
	v->problems++;
	ofs_progress_clear(&v->progress);
	ofs_print_item(v->found, json_pack("{s:s, s:s}", "object", key, "what", what),
		       "{object}: {what}\n");
}

static int remote_verify(struct remote *rm, int argc, char **argv)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access a = { 0 };
	struct verify v = { .found = ofs_command_json ? json_array() : NULL };
	struct ofs_remote_verify job = {
		.remote = &a, .progress = verify_progress, .problem = verify_problem, .arg = &v
	};
	json_auto_t *sum = NULL;
	struct ofs_error err;
	int r;

	if (!rm->location)
		return no_remote(rm);
	ofs_progress_begin(&v.progress, "Reading", NULL);
	r = take_access(rm, rm->location, &err, &a);
	if (r == 0)
		r = ofs_remote_verify(&job, &err);
	ofs_progress_clear(&v.progress);
	free(v.last);
	if (r < 0) {
		json_decref(v.found);
		return ofs_report("%s", err.text);
	}
	if (ofs_command_json)
		return ofs_print_json(json_pack("{s:I, s:I, s:o}", "files", (json_int_t)job.files,
						"bytes", (json_int_t)job.bytes, "found", v.found),
				      "") ||
		       v.problems;
	sum = json_pack("{s:I, s:I, s:I}", "files", (json_int_t)job.files, "bytes",
			(json_int_t)job.bytes, "problems", (json_int_t)v.problems);
	ofs_text_form(stdout, sum,
		      "offload: {files:file}, {bytes:size} read back: {problems:problem}\n");
	return v.problems ? OFS_EXIT_FAILURE : OFS_EXIT_OK;
}

/* ---- remove */

static void draw(void *arg, uint64_t done, uint64_t total)
{
	ofs_progress_draw(arg, done, total);
}

static int remote_remove(struct remote *rm, int argc, char **argv)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access a = { 0 };
	const char *store = rm->access.target.store;
	/* The configuration may have changed since the store was last replicated. */
	OFS_FREE char *last = ofs_detach_location(store);
	const char *location = last ? last : rm->location;
	struct ofs_progress progress;
	struct ofs_error err;
	int r;

	if (!location)
		return no_remote(rm);
	if (rm->access.target.mounted)
		return ofs_report("'%s' is mounted: end that first, with 'offload down'",
				  rm->access.target.mountpoint);
	ofs_progress_begin(&progress, "Fetching", NULL);
	r = take_access(rm, location, &err, &a);
	if (r == 0)
		r = ofs_detach(store, &a, draw, &progress, &err);
	ofs_progress_clear(&progress);
	if (r == 0)
		r = ofs_config_store_set(store, "remote", NULL, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	ofs_report_line(stdout,
			"The store %s is no longer replicated; the objects in %s stay until you "
			"remove them",
			store, location);
	return OFS_EXIT_OK;
}

/* ---- the command */

static const struct verb {
	const char *word;
	int operands;
	int (*run)(struct remote *rm, int argc, char **argv);
} verbs[] = {
	{ "status", 0, remote_status }, { "add", 1, remote_add },	{ "push", 0, remote_push },
	{ "verify", 0, remote_verify }, { "remove", 0, remote_remove },
};

static int remote_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(remote_finish) struct remote rm = { 0 };
	const struct verb *verb = argc ? NULL : &verbs[0];
	struct ofs_error err;

	for (size_t i = 0; !verb && i < OFS_ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].word, argv[0]) == 0)
			verb = &verbs[i];
	if (!verb)
		return ofs_report_usage(
			"unknown action '%s': there are status, add, push, verify and remove",
			argv[0]);
	if (argc - 1 > verb->operands)
		return ofs_report_usage("unexpected argument '%s'", argv[1 + verb->operands]);
	if (argc && argc - 1 < verb->operands)
		return ofs_report_usage("%s needs a URL, s3://BUCKET/PREFIX", verb->word);
	ofs_command_target.whole = true;
	ofs_access_init(&rm.access, &ofs_command_target);
	if (find(&rm, &err) < 0)
		return ofs_report("%s", err.text);
	return verb->run(&rm, argc - 1, argv + 1);
}

const struct ofs_command ofs_cmd_remote = {
	.name = "remote",
	.synopsis = "[status] [--json] | add URL | push | verify [--json] | remove",
	.summary = "Replicates the store to S3-compatible object storage",
	.help = "  status   the state, and up to when the remote has everything (the default)\n"
		"  add URL  replicate to s3://BUCKET/PREFIX[?endpoint=URL&region=R], which\n"
		"           must have no store yet; checks that it can be used\n"
		"  push     send everything that is new, with a checkpoint, and wait for it\n"
		"  verify   read everything in the remote back, and name what is damaged\n"
		"  remove   fetch what is only in the remote, and stop replicating; the\n"
		"           objects stay\n",
	.notes = "Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from the\n"
		 "command in OFFLOAD_REMOTE_CREDENTIALS, or from\n"
		 "~/.aws/credentials. 'offload restore URL STORE' brings a store back.\n",
	.json = "print a JSON object",
	.operands = OFS_OPERANDS_ANY,
	.run = remote_run,
};
