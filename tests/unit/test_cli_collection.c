/* SPDX-License-Identifier: MIT */
/* Collections run as a job, on a tree with canned answers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/job.h"

#define STATUS(state, more)                                                                  \
	"{\"state\":\"" state "\",\"error\":null,\"dry_run\":false,\"looked\":9,\"done\":1," \
	"\"total\":9," more "}"
#define DONE                                                                                      \
	STATUS("done", "\"removed\":2,\"removed_bytes\":4296,\"freed_bytes\":1500,"               \
		       "\"probation\":1,\"open\":0,\"kept\":3,\"next\":\"2026-11-22T12:00:00Z\"," \
		       "\"items\":3")
#define NOTHING                                                               \
	STATUS("done", "\"removed\":0,\"removed_bytes\":0,\"freed_bytes\":0," \
		       "\"probation\":0,\"open\":0,\"kept\":0,\"next\":null,\"items\":0")
#define RUNNING STATUS("running", "\"items\":0")
#define STOPPED STATUS("stopped", "\"removed\":1,\"removed_bytes\":96,\"items\":0")

static const char *const items[] = {
	"{\"path\":\"cache/shell/x\",\"ref\":\"k3f9x2\",\"size\":4200,\"action\":\"remove\","
	"\"why\":\"unused for 41m, its lifetime is 30m\",\"at\":null}",
	"{\"path\":\"cache/shell/y\",\"ref\":\"k3f9x3\",\"size\":96,\"action\":\"remove\","
	"\"why\":\"unused for 41m, its lifetime is 30m\",\"at\":null}",
	"{\"path\":\"cache/shell/z\",\"ref\":\"k3f9x4\",\"size\":5,\"action\":\"probation\","
	"\"why\":\"goes if it is not used\",\"at\":\"2026-11-22T12:00:00Z\"}",
};

static const char *answers[8]; /* to successive reads of the state; the last one is repeated */
static size_t asked;
static char commands[256];
static int busy; /* number of times that setting the attribute fails with EBUSY */
static bool raises; /* raises SIGTERM once, while the attribute is set */
static int refuses; /* errno of every attempt to set the attribute, or 0 */

static int fake_setxattr(struct ofs_backend *b, const char *path, const char *name,
			 const void *value, size_t size)
{
	(void)b;
	cr_assert_str_eq(path, "");
	cr_assert_str_eq(name, "user.offload.gc");
	if (refuses)
		return -refuses;
	if (busy && busy--)
		return -EBUSY;
	if (raises)
		raise(SIGTERM);
	raises = false;
	snprintf(commands + strlen(commands), sizeof(commands) - strlen(commands), "%.*s;",
		 (int)size, (const char *)value);
	return 0;
}

static ssize_t fake_getxattr(struct ofs_backend *b, const char *path, const char *name, void *buf,
			     size_t size)
{
	const char *text = answers[asked];
	unsigned int k;

	(void)b;
	(void)path;
	if (sscanf(name, "user.offload.gc.%u", &k) == 1) {
		if (k >= OFS_ARRAY_SIZE(items))
			return -ENODATA;
		text = items[k];
	} else if (size && answers[asked + 1]) {
		asked++;
	}
	if (!text)
		return -ENODATA;
	if (size)
		memcpy(buf, text, OFS_MIN(strlen(text), size));
	return size && size < strlen(text) ? -ERANGE : (ssize_t)strlen(text);
}

static const struct ofs_backend_ops fake_ops = { .setxattr = fake_setxattr,
						 .getxattr = fake_getxattr };
static struct ofs_backend fake = { .ops = &fake_ops };
static char place[] = "/s";
static struct ofs_access access_ = { .target.store = place, .backend = &fake };
static struct ofs_job job;
static struct ofs_error err;
static json_t *got;
static char *text;

static int take(void *arg, json_t *item)
{
	cr_assert_eq(arg, &got);
	return json_array_append(got, item);
}

static void begin(void)
{
	got = json_array();
	job = (struct ofs_job){ .access = &access_, .item = take, .arg = &got };
}

static void finish(void)
{
	ofs_job_finish(&job);
	json_decref(got);
	free(text);
}

TestSuite(cli_collection, .init = begin, .fini = finish);

static const char *summary(bool dry_run)
{
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	ofs_collection_print_summary(&job, dry_run, out);
	fclose(out);
	return text;
}

static const char *line(size_t i, bool dry_run)
{
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	ofs_collection_print_item(json_array_get(got, i), dry_run, out);
	fclose(out);
	return text;
}

Test(cli_collection, a_run)
{
	answers[0] = RUNNING;
	answers[1] = RUNNING;
	answers[2] = DONE;
	cr_assert_eq(ofs_collection_run(&job, false, NULL, &err), 0, "%s", err.text);
	cr_expect_str_eq(commands, "run;");
	cr_assert_eq(json_array_size(got), 3);
	cr_expect_str_eq(line(0, false),
			 "removed cache/shell/x (4.2 KB): unused for 41m, its lifetime is 30m\n");
	cr_expect_str_eq(line(2, false),
			 "on probation cache/shell/z (5 bytes): goes if it is not used; goes "
			 "after 2026-11-22T12:00:00Z unless it is used\n");
	cr_expect_str_eq(summary(false), "offload: 2 files removed, 4.3 KB, 1.5 KB of disk freed; "
					 "1 on probation, 3 kept; the next file can go at "
					 "2026-11-22T12:00:00Z\n");
	cr_expect_eq(ofs_job_number(&job, "removed"), 2);
}

Test(cli_collection, a_dry_run)
{
	answers[0] = DONE;
	cr_assert_eq(ofs_collection_run(&job, true, NULL, &err), 0);
	cr_expect_str_eq(commands, "dry-run;");
	cr_expect_str_eq(line(1, true),
			 "would remove cache/shell/y (96 bytes): unused for 41m, its "
			 "lifetime is 30m\n");
	cr_expect_str_eq(line(2, true),
			 "on probation cache/shell/z (5 bytes): goes if it is not used; goes "
			 "after 2026-11-22T12:00:00Z unless it is used\n");
	cr_expect(strstr(summary(true), "2 files would be removed, 4.3 KB; 1 on probation"));
}

Test(cli_collection, a_task_ends_only_in_a_dry_run)
{
	answers[0] = NOTHING;
	cr_assert_eq(ofs_collection_run(&job, true, "my task", &err), 0);
	cr_expect_str_eq(commands, "dry-run task my task;");
	cr_expect_str_eq(summary(true), "offload: nothing to remove\n");
	commands[0] = '\0';
	cr_assert_eq(ofs_collection_run(&job, false, "my task", &err), 0);
	cr_expect_str_eq(commands, "run;");
}

Test(cli_collection, waits_for_another_one)
{
	busy = 3;
	answers[0] = RUNNING;
	answers[1] = NOTHING;
	cr_assert_eq(ofs_collection_run(&job, false, NULL, &err), 0, "%s", err.text);
	cr_expect_str_eq(commands, "run;");
}

Test(cli_collection, a_signal_stops_it)
{
	answers[0] = RUNNING;
	answers[1] = RUNNING;
	answers[2] = STOPPED;
	raises = true;
	cr_assert_eq(ofs_collection_run(&job, false, NULL, &err), -EINTR);
	cr_expect_str_eq(commands, "run;stop;");
	cr_expect(job.stopping);
	cr_expect_eq(ofs_job_exit_code(), 128 + SIGTERM);
	cr_expect_str_eq(summary(false), "offload: stopped: 1 file removed, 96 bytes\n");
}

static void expect_failure(int code, const char *words)
{
	cr_expect_eq(ofs_collection_run(&job, false, NULL, &err), -code);
	cr_expect(strstr(err.text, words), "no '%s' in: %s", words, err.text);
}

Test(cli_collection, failures_are_told)
{
	answers[0] = STATUS("none", "\"items\":0");
	expect_failure(ECONNABORTED, "mounted again");
	answers[0] = STOPPED;
	expect_failure(ECANCELED, "somebody else");
	answers[0] = "{\"state\":\"failed\",\"error\":\"No space left\",\"items\":0}";
	expect_failure(EIO, "No space left");
	answers[0] = "[]";
	expect_failure(EPROTO, "cannot make sense");
	answers[0] = "{\"state\":\"done\"}";
	expect_failure(EPROTO, "cannot make sense");
	answers[0] = NULL;
	expect_failure(ENODATA, "unmounted meanwhile");
	refuses = EOPNOTSUPP;
	expect_failure(EOPNOTSUPP, "older than this tool");
	refuses = EACCES;
	expect_failure(EACCES, "only the owner");
}

Test(cli_collection, what_is_not_remembered_is_counted)
{
	answers[0] = STATUS("done", "\"removed\":10,\"removed_bytes\":10,\"items\":10");
	cr_assert_eq(ofs_collection_run(&job, false, NULL, &err), 0);
	cr_expect_eq(json_array_size(got), 3);
	cr_expect_str_eq(summary(false), "offload: 7 more files not listed\n"
					 "offload: 10 files removed, 10 bytes\n");
}

Test(cli_collection, odd_names_stay_on_their_line)
{
	json_array_append_new(got, json_pack("{s:s, s:i, s:s, s:s}", "path", "cache/a\nb\x1b[31m",
					     "size", 1, "action", "remove", "why", "x\ny"));
	cr_expect_str_eq(line(0, false), "removed cache/a^Jb (1 byte): x^Jy\n");
}
