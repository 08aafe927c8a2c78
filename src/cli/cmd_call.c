/* SPDX-License-Identifier: MIT */
/* offload call: makes a call of the service, for programs. */
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "io/file.h"
#include "service/code.h"
#include "service/http/bearer.h"
#include "service/service.h"

struct request {
	const struct ofs_call *call;
	const json_t *args; /* NULL: none */
};

static const char *task; /* task of what is stored; NULL: none */

/* Reports the reason, with --json also in the answer. Returns an exit code. */
static int call_refuse(int r, const char *reason)
{
	if (ofs_command_json)
		ofs_print_json(json_pack("{s:{s:s, s:o}}", "error", "code", ofs_service_code(r),
					 "message", ofs_json_string(reason)),
			       "");
	if (r == -EINVAL)
		return ofs_report_usage("%s", reason);
	return ofs_report("%s", reason);
}

static int call_work(const void *arg)
{
	const struct request *request = arg;
	const struct ofs_service_options options = {
		.target = ofs_command_target,
		.task = task,
	};
	const struct ofs_caller by = { .way = "call" };
	struct ofs_service *service;
	struct ofs_error err;
	json_t *answer;
	int r = ofs_service_create(&options, &err, &service);

	if (r < 0)
		return call_refuse(r, err.text);
	r = ofs_service_call(service, &by, request->call, request->args, &err, &answer);
	ofs_service_destroy(service);
	if (r < 0)
		return call_refuse(r, err.text);
	return ofs_print_json(answer, request->call->name);
}

/* Reads an object from standard input. *ret is NULL if it is empty or a terminal. */
static int call_read(struct ofs_error *err, json_t **ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf in = OFS_BUF_INIT;
	json_error_t where;
	int r = isatty(STDIN_FILENO) ? 0 : ofs_io_read_fd(STDIN_FILENO, SIZE_MAX, &in);

	if (r < 0)
		return ofs_error_set(err, -r, "cannot read standard input: %s", strerror(-r));
	*ret = NULL;
	if (!in.len)
		return 0;
	*ret = ofs_json_load((const char *)in.data, in.len, JSON_ALLOW_NUL, &where);
	if (!*ret)
		return ofs_error_set(err, EINVAL,
				     "the arguments must be a JSON object: line %d: %s", where.line,
				     where.text);
	return 0;
}

/* Returns the socket at which `offload serve` serves the tree, allocated; NULL: none is known. */
static char *find_socket(void)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	struct ofs_target_options options = ofs_command_target;
	OFS_FREE char *path = NULL;
	struct stat st;

	options.whole = true;
	if (ofs_target_find(&options, NULL, NULL, &target) < 0)
		return NULL;
	path = ofs_bearer_file(&target, "sock");
	if (!path || lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	return ofs_steal(path);
}

static int call_list(void)
{
	json_t *all = ofs_command_json ? json_array() : NULL;
	OFS_FREE char *socket = NULL;
	int code = OFS_EXIT_OK;

	for (const struct ofs_call *const *call = ofs_calls; *call; call++) {
		json_t *about = json_pack("{s:s}", "name", (*call)->name);

		json_object_update(about, (json_t *)ofs_call_describe(*call));
		code |= ofs_print_item(all, about, "{name}  {title}\n");
	}
	if (!all)
		return code;
	socket = find_socket();
	return ofs_print_json(
		json_pack("{s:o, s:o}", "calls", all, "socket", ofs_json_string(socket)), "");
}

static int call_run(const struct ofs_command *self, int argc, char **argv)
{
	struct request request = { .call = argc ? ofs_call_find(argv[0]) : NULL };
	OFS_FREE char *reason = NULL;
	struct ofs_error err;
	json_t *args = NULL;
	int r;

	if (!argc)
		return call_list();
	if (!request.call) {
		reason = ofs_format("there is no call '%s': 'offload call' lists them", argv[0]);
		return call_refuse(-EINVAL, reason);
	}
	r = ofs_command_default_task(&task, false);
	if (r >= 0)
		return r;
	r = call_read(&err, &args);
	if (r < 0)
		return call_refuse(r, err.text);
	request.args = args;
	r = ofs_guard_work(call_work, &request, INT64_MAX);
	json_decref(args);
	return r < 0 ? call_refuse(r, ofs_guard_reason(r)) : r;
}

const struct ofs_command ofs_cmd_call = {
	.name = "call",
	.synopsis = "[CALL [--json] < ARGUMENTS]",
	.summary = "For programs: makes one call of the server, with arguments in JSON",
	.help = "Reads a JSON object from standard input and prints the answer, also an object.\n"
		"Without CALL it lists the calls; with --json also their schemas, and the socket\n"
		"of the tree's server, if there is one.\n",
	.json = "answer a failure, too: {\"error\": {\"code\", \"message\"}}",
	.operands = 1,
	.run = call_run,
};
