/* SPDX-License-Identifier: MIT */
/* The audit log: segments, what a crash leaves, a full disk, and who may see which lines. */
#include "test_tree_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>

#include "base/buf.h"
#include "io/failpoint.h"
#include "tree/core/audit_disk.h"

#define MAX (UINT64_C(64) << 10)
#define LARGE (UINT64_C(64) << 20)

/* Replaces the library's failpoints: while this is set, the log finds the disk full. */
static _Atomic bool is_full;
static _Atomic unsigned int refused;
int ofs_failpoint_armed = 1;

int ofs_failpoint_hit(const char *name)
{
	if (!is_full || strcmp(name, "io.pwrite") != 0)
		return 0;
	refused++;
	return -ENOSPC;
}

void ofs_failpoint_kill(void)
{
	abort();
}

static int store = -1; /* the directory of the store */
static uint64_t most = MAX; /* limit on the bytes of a log */
static char log_dir[SCRATCH_SIZE + 8];

static void setup_disk(void)
{
	scratch_dir(dir);
	snprintf(log_dir, sizeof(log_dir), "%s/log", dir);
	store = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(store, 0);
}

static void teardown_disk(void)
{
	close(store);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tree_audit_disk, .init = setup_disk, .fini = teardown_disk);

static void append(const char *text)
{
	for (size_t len = strlen(text); len;) {
		ssize_t n = ofs_audit_disk_append(store, 0, most, text, len);

		cr_assert(n > 0 && text[n - 1] == '\n');
		text += n;
		len -= (size_t)n;
	}
}

/* Writes line `i`. Lines differ in length and are hard to compress. */
static size_t line_of(int i, char ret[256])
{
	uint64_t seed = (uint64_t)i * 0x9e3779b97f4a7c15;

	return (size_t)sprintf(ret, "{\"n\":%d,\"path\":\"%0*llx%llx\"}\n", i, 16 + i % 40,
			       (unsigned long long)seed,
			       (unsigned long long)(seed * 0xbf58476d1ce4e5b9));
}

static char *all(uint64_t from, uint64_t to)
{
	struct ofs_buf text = OFS_BUF_INIT;

	cr_assert_eq(ofs_audit_disk_read(store, 0, from, to, &text), 0);
	return ofs_buf_steal_str(&text);
}

static void expect(const char *want)
{
	OFS_FREE char *text = all(0, UINT64_MAX);

	cr_assert_str_eq(text, want);
}

static uint64_t bounds(uint64_t *ret_end)
{
	uint64_t start;

	cr_assert_eq(ofs_audit_disk_bounds(store, 0, &start, ret_end), 0);
	return start;
}

static uint64_t size_on_disk(int *ret_plain)
{
	DIR *d = opendir(log_dir);
	uint64_t sum = 0;

	*ret_plain = 0;
	for (const struct dirent *e; (e = readdir(d));) {
		char name[512];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", log_dir, e->d_name);
		cr_assert_eq(stat(name, &st), 0);
		if (!S_ISREG(st.st_mode))
			continue;
		cr_assert_eq(st.st_mode & 0777, 0600);
		sum += (uint64_t)st.st_size;
		*ret_plain += strlen(name) > 6 && strcmp(name + strlen(name) - 6, ".jsonl") == 0;
	}
	closedir(d);
	return sum;
}

/* Appends lines `at_once` at a time. */
static void expect_bounded(int at_once)
{
	struct ofs_buf lines = OFS_BUF_INIT;
	uint64_t start = 0, end = 0, written = 0;
	char line[256];
	int i, plain, first = -1;

	for (i = 0; i < 8000; i++) {
		written += line_of(i, line);
		ofs_buf_append_str(&lines, line);
		if (i % at_once < at_once - 1)
			continue;
		append(ofs_buf_str(&lines));
		lines.len = 0;
	}
	ofs_buf_finish(&lines);
	start = bounds(&end);
	cr_assert_eq(end, written);
	cr_assert_gt(start, 0, "some were removed");
	cr_assert_lt(size_on_disk(&plain), MAX + MAX / 4);
	cr_assert_gt(size_on_disk(&plain), MAX / 2);
	cr_assert_eq(plain, 1);
	/* The newest lines are left, complete and in order, also if read in parts. */
	{
		OFS_FREE char *text = all(0, end);
		struct ofs_buf parts = OFS_BUF_INIT;
		const char *p = text;

		cr_assert_eq(sscanf(text, "{\"n\":%d,", &first), 1);
		for (i = first; i < 8000; i++) {
			size_t len = line_of(i, line);

			cr_assert_eq(strncmp(p, line, len), 0, "%d", i);
			p += len;
		}
		cr_assert_eq(*p, 0);
		for (uint64_t at = start; at < end; at += 977) {
			OFS_FREE char *part = all(at, OFS_MIN(at + 977, end));

			ofs_buf_append_str(&parts, part);
		}
		cr_assert_str_eq(ofs_buf_str(&parts), text);
		ofs_buf_finish(&parts);
	}
}

Test(tree_audit_disk, segments_are_compressed_and_the_oldest_go)
{
	expect_bounded(1);
}

Test(tree_audit_disk, many_lines_at_once_fill_segments_one_after_the_other)
{
	expect_bounded(4000);
}

static void spoil(const void *data, size_t size)
{
	OFS_FREE char *name = ofs_format("%s/0000000000000000.jsonl", log_dir);
	FILE *f = fopen(name, "a");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(data, 1, size, f), size);
	fclose(f);
}

Test(tree_audit_disk, what_a_crash_leaves_of_a_line_is_cut_off)
{
	static const char zeros[200000];
	uint64_t end;

	append("{\"n\":1}\n{\"n\":2}\n");
	spoil("{\"n\":3", 6);
	expect("{\"n\":1}\n{\"n\":2}\n");
	bounds(&end);
	cr_assert_eq(end, 16);
	append("{\"n\":4}\n");
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n");
	spoil(zeros, sizeof(zeros));
	spoil("\n{\"n\":\n", 7);
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n");
	append("{\"n\":5}\n");
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n{\"n\":5}\n");
	bounds(&end);
	cr_assert_eq(end, 32);
}

Test(tree_audit_disk, a_crash_while_compressing_costs_nothing)
{
	OFS_FREE char *plain = ofs_format("%s/0000000000000008.jsonl", log_dir);
	OFS_FREE char *temp = ofs_format("%s/0000000000000000.jsonl.zst.tmp", log_dir);
	FILE *f;

	append("{\"n\":1}\n");
	f = fopen(plain, "w");
	fputs("{\"n\":2}\n", f);
	fclose(f);
	fclose(fopen(temp, "w"));
	expect("{\"n\":1}\n{\"n\":2}\n");
	append("{\"n\":3}\n");
	cr_assert_lt(access(temp, F_OK), 0);
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
}

/* Appends `n` lines from *i on to the log and to `lines`. */
static void append_lines_of(int n, int *i, struct ofs_buf *lines)
{
	char line[256];

	for (int end = *i + n; *i < end; ++*i) {
		line_of(*i, line);
		append(line);
		ofs_buf_append_str(lines, line);
	}
}

Test(tree_audit_disk, lines_at_rest_are_compressed_and_joined)
{
	OFS_FREE char *first = ofs_format("%s/0000000000000000.jsonl", log_dir);
	OFS_FREE char *packed = ofs_format("%s.zst", first);
	struct ofs_buf lines = OFS_BUF_INIT;
	uint64_t end, middle;
	int i = 0, plain;
	FILE *f;

	most = LARGE;
	cr_assert_eq(ofs_audit_disk_rest(store, 0, LARGE), 0, "there is no log");
	append_lines_of(1, &i, &lines);
	cr_assert_eq(ofs_audit_disk_rest(store, 0, LARGE), 0);
	cr_assert_lt(access(packed, F_OK), 0, "one line is left as it is");
	for (int round = 0; round < 3; round++) {
		append_lines_of(600, &i, &lines);
		middle = round ? middle : lines.len;
		cr_assert_eq(ofs_audit_disk_rest(store, 0, LARGE), 0);
		cr_assert_lt(size_on_disk(&plain), lines.len * 3 / 4);
		cr_assert_eq(plain, 1);
		cr_assert_eq(access(packed, F_OK), 0);
		cr_assert_lt(access(first, F_OK), 0);
		expect(ofs_buf_str(&lines));
		bounds(&end);
		cr_assert_eq(end, lines.len);
	}
	/* As after a crash between joining a segment to the one before and removing it. */
	free(first);
	first = ofs_format("%s/%016lu.jsonl", log_dir, middle);
	f = fopen(first, "w");
	cr_assert_eq(fwrite(lines.data + middle, 1, lines.len - middle, f), lines.len - middle);
	fclose(f);
	expect(ofs_buf_str(&lines));
	append_lines_of(600, &i, &lines);
	cr_assert_eq(ofs_audit_disk_rest(store, 0, LARGE), 0);
	cr_assert_eq(ofs_audit_disk_rest(store, 0, LARGE), 0);
	expect(ofs_buf_str(&lines));
	ofs_buf_finish(&lines);
}

Test(tree_audit_disk, a_part_that_is_damaged_costs_its_own_lines)
{
	OFS_FREE char *packed = ofs_format("%s/0000000000000000.jsonl.zst", log_dir);
	char line[256];
	int fd, n;

	for (int i = 0; i < 300; i++) {
		line_of(i, line);
		append(line);
	}
	fd = open(packed, O_WRONLY);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pwrite(fd, "xxxxxxxx", 8, 100), 8);
	close(fd);
	{
		OFS_FREE char *text = all(0, UINT64_MAX);

		cr_assert_eq(sscanf(text, "{\"n\":%d,", &n), 1);
		cr_assert(n > 50 && n < 300, "%d", n);
		cr_assert_not_null(strstr(text, "{\"n\":299,"));
	}
}

/* ---- the log of a tree */

TestSuite(tree_audit, .init = setup, .fini = teardown);

/* Returns the log of the tree in a directory such as "agents/a/", or "" for the root's. */
static char *log_of(const char *tree)
{
	OFS_FREE char *name = ofs_format("%s.offload/log", tree);
	ofs_node node = hold(name);
	char *text = ofs_alloc(1 << 20);

	cr_assert_geq(ofs_tree_read(t, node, text, (1 << 20) - 1, 0), 0);
	ofs_tree_forget(t, node, 1);
	return text;
}

static bool tells(const char *what)
{
	OFS_FREE char *text = log_of("");

	return strstr(text, what);
}

/* Moves a new file from cache/ to persistent/, which adds a line. */
static void promote_in(const char *tree, const char *name)
{
	OFS_FREE char *from = ofs_format("%scache/%s", tree, name);
	OFS_FREE char *to = ofs_format("%spersistent/%s", tree, name);

	make(from);
	move(from, to);
}

static void promote(const char *name)
{
	promote_in("", name);
}

Test(tree_audit, what_a_tree_without_a_thread_does_is_written_when_it_is_closed)
{
	make_dir("cache/web");
	make("cache/web/a");
	make("cache/web/b");
	move("cache/web/a", "persistent/a");
	drop("cache/web/b");
	make_dir("tasks/T");
	cr_assert_eq(ofs_tree_setxattr(t, walk("tasks/T"), "user.offload.state", "done", 4, 0), 0);
	reopen();
	cr_assert(tells("\"event\":\"promote\""));
	cr_assert(tells("\"from\":\"cache/web/a\",\"path\":\"persistent/a\""));
	cr_assert(!tells("cache/web/b"));
	cr_assert(tells("\"event\":\"task-end\",\"path\":\"tasks/T\",\"task\":\"T\""));
	cr_assert(tells("\"event\":\"offload\""), "it was sealed when the tree was closed");
	cr_assert(!tells("\"event\":\"rewrite\""));
	cr_assert_eq(ofs_tree_write(t, hold("persistent/a"), "zz", 2, 1), 2);
	reopen();
	cr_assert(tells("\"event\":\"rewrite\""));
}

Test(tree_audit, secrets_are_redacted)
{
	static const char secret[] = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5";
	OFS_FREE char *title = ofs_format("the token %s", secret);
	OFS_FREE char *name = ofs_format("cache/%s", secret);
	ofs_node node = make(name);

	cr_assert_eq(ofs_tree_setxattr(t, node, "user.offload.title", title, strlen(title), 0), 0);
	move(name, "persistent/x");
	cr_assert(tells("\"from\":\"cache/[redacted: github-token]\""));
	cr_assert(tells("\"title\":\"the token [redacted: github-token]\""));
	cr_assert(!tells(secret));
}

Test(tree_audit, a_name_that_is_no_text_is_made_one)
{
	promote("\xff\"\n");
	cr_assert(tells("\"path\":\"persistent/\\\\xff\\\"\\n\""));
}

Test(tree_audit, nothing_is_written_where_it_is_off_or_only_read)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	OFS_FREE char *log = ofs_format("%s/log", path);

	promote("a");
	ofs_tree_close(t);
	opts.background = false;
	opts.log_max = 0;
	cr_assert_eq(ofs_tree_open(path, &opts, NULL, &t), 0);
	promote("b");
	cr_assert(tells("cache/a"), "what was written stays");
	cr_assert(!tells("cache/b"));
	ofs_tree_close(t);
	opts.read_only = true;
	opts.log_max = 1 << 20;
	cr_assert_eq(ofs_tree_open(path, &opts, NULL, &t), 0);
	cr_assert(tells("cache/a"));
	cr_assert_eq(access(log, F_OK), 0);
}

Test(tree_audit, parts_are_named_by_their_positions)
{
	char text[1024] = "";
	uint64_t start, end;
	ssize_t n;

	promote("a");
	n = ofs_tree_getxattr(t, OFS_NODE_ROOT, "user.offload.log", text, sizeof(text) - 1);
	cr_assert_gt(n, 0);
	cr_assert_eq(sscanf(text, "%lu %lu", &start, &end), 2);
	cr_assert(start == 0 && end > 0);
	snprintf(text, sizeof(text), ".offload/log.0-%lu", end);
	n = ofs_tree_read(t, hold(text), text, sizeof(text), 0);
	cr_assert_eq((uint64_t)n, end);
	snprintf(text, sizeof(text), ".offload/log.%lu-%lu", end, end + 100);
	cr_assert_eq(ofs_tree_read(t, hold(text), text, sizeof(text), 0), 0);
	cr_assert_eq(try_walk(".offload/log.01-2"), -ENOENT);
	cr_assert_eq(try_walk(".offload/log.1"), -ENOENT);
	cr_assert_eq(try_walk(".offload/log.-1-2"), -ENOENT);
	cr_assert_eq(try_walk(".offload/log.1-2 "), -ENOENT);
}

/* Waiting lines are written as soon as there is room. */
Test(tree_audit, a_full_disk_holds_nothing_up)
{
	make("cache/a");
	make("cache/b");
	is_full = true;
	move("cache/a", "persistent/a");
	cr_assert(!tells("cache/a"));
	cr_assert_gt(refused, 0);
	is_full = false;
	move("cache/b", "persistent/b");
	cr_assert(tells("cache/a"));
	cr_assert(tells("cache/b"));
	cr_assert(!tells("\"event\":\"lost\""));
}

Test(tree_audit, lines_that_are_lost_are_counted)
{
	static const char name[] = "some file with a name of some length, so that there are fewer";
	OFS_FREE char *from = ofs_format("cache/%s", name), *to = ofs_format("persistent/%s", name);
	unsigned long lost = 0, found = 0;
	const char *line;
	int i;

	for (i = 0; i < 12; i++)
		promote("a");
	make(from);
	is_full = true;
	for (i = 0; i < 10000; i++) {
		move(from, to);
		move(to, from);
	}
	is_full = false;
	promote("b");
	{
		OFS_FREE char *text = log_of("");

		for (line = text; (line = strstr(line, "mote\"")); line++)
			found++;
		line = strstr(text, "\"event\":\"lost\",\"lines\":");
		cr_assert_not_null(line);
		cr_assert_eq(sscanf(line, "\"event\":\"lost\",\"lines\":%lu}", &lost), 1);
		cr_assert_null(strstr(line + 1, "\"event\":\"lost\""));
	}
	cr_assert_gt(lost, 1000);
	cr_assert_eq(found + lost, 12 + 20000 + 1);
}

/* ---- the logs of agents */

/* Compares each line as "EVENT FROM PATH TASK CATEGORY CAUSE", with "-" for absent members. */
static void expect_log(const char *tree, const char *want)
{
	static const char *const keys[] = { "event", "from", "path", "task", "category", "cause" };
	OFS_FREE char *text = log_of(tree);
	struct ofs_buf out = OFS_BUF_INIT;
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n")) && *line;) {
		json_t *json = json_loads(line, 0, NULL);

		cr_assert_not_null(json, "%s", line);
		for (size_t i = 0; i < OFS_ARRAY_SIZE(keys); i++) {
			const char *value = json_string_value(json_object_get(json, keys[i]));

			ofs_buf_printf(&out, "%s%s", i ? " " : "", value ? value : "-");
		}
		ofs_buf_append_str(&out, "\n");
		cr_assert(!*tree || !json_object_get(json, "stored"), "what it has in common");
		json_decref(json);
	}
	cr_assert_str_eq(ofs_buf_str(&out), want, "%s", ofs_buf_str(&out));
	ofs_buf_finish(&out);
}

static uint64_t starts_and_ends(const char *tree, uint64_t *ret_end)
{
	char text[64] = "";
	uint64_t start;

	cr_assert_gt(ofs_tree_getxattr(t, walk(tree), "user.offload.log", text, sizeof(text) - 1),
		     0);
	cr_assert_eq(sscanf(text, "%lu %lu", &start, ret_end), 2);
	return start;
}

static uint64_t ends(const char *tree)
{
	uint64_t end;

	cr_assert_eq(starts_and_ends(tree, &end), 0);
	return end;
}

Test(tree_audit, an_agent_sees_what_happens_in_its_tree)
{
	uint64_t end;

	make_dir("agents/a");
	make_dir("agents/b");
	make_dir("agents/a/agents/c");
	cr_assert_eq(ends("agents/a"), 0);
	promote("x");
	promote_in("agents/b/", "y");
	cr_assert_eq(ends("agents/a"), 0);
	promote_in("agents/a/", "z");
	end = ends("agents/a");
	cr_assert_gt(end, 0);
	promote_in("agents/b/", "w");
	cr_assert_eq(ends("agents/a"), end);
	cr_assert_eq(ends("agents/b"), end * 2);
	promote_in("agents/a/agents/c/", "v");
	expect_log("agents/a/", "promote cache/z persistent/z - general -\n"
				"promote agents/c/cache/v agents/c/persistent/v - general -\n");
	expect_log("agents/a/agents/c/", "promote cache/v persistent/v - general -\n");
	expect_log(
		"",
		"promote cache/x persistent/x - general -\n"
		"promote agents/b/cache/y agents/b/persistent/y - general -\n"
		"promote agents/a/cache/z agents/a/persistent/z - general -\n"
		"promote agents/b/cache/w agents/b/persistent/w - general -\n"
		"promote agents/a/agents/c/cache/v agents/a/agents/c/persistent/v - general -\n");
	cr_assert_eq(try_walk("agents/a/.offload/log.0-100"), 0);
}

Test(tree_audit, a_move_between_trees_is_told_in_each_as_what_it_is_there)
{
	make_dir("agents/a");
	make_dir("agents/b");
	make_dir("agents/a/tasks/T");
	make_dir("persistent/reports");
	make("agents/a/tasks/T/x");
	move("agents/a/tasks/T/x", "persistent/reports/x");
	move("persistent/reports/x", "agents/b/persistent/x");
	expect_log("", "promote agents/a/tasks/T/x persistent/reports/x - reports -\n"
		       "move persistent/reports/x agents/b/persistent/x - general -\n");
	expect_log("agents/a/", "promote tasks/T/x - T - -\n");
	expect_log("agents/b/", "move - persistent/x - general -\n");
}

Test(tree_audit, the_log_of_an_agent_goes_with_it)
{
	OFS_FREE char *logs = ofs_format("%s/log/agents", path);
	OFS_FREE char *stray = ofs_format("%s/999999", logs);

	make_dir("agents/a");
	promote_in("agents/a/", "x");
	drop("agents/a/persistent/x");
	ends("agents/a");
	cr_assert_lt(rmdir(logs), 0, "there is one");
	cr_assert_eq(ofs_tree_rmdir(t, walk("agents"), "a"), 0);
	expect_log("", "promote agents/a/cache/x agents/a/persistent/x - general -\n"
		       "agent-remove - agents/a - - -\n");
	cr_assert_eq(mkdir(stray, 0700), 0);
	reopen();
	cr_assert_eq(rmdir(logs), 0, "nothing is left");
	make_dir("agents/a");
	expect_log("agents/a/", "");
}

Test(tree_audit, the_log_of_an_agent_is_bounded)
{
	uint64_t start = 0, end, all;

	ofs_tree_close(t);
	tree_options.log_max = 1 << 20;
	open_tree();
	make_dir("agents/a");
	make("agents/a/cache/x");
	for (uint64_t i = 1; i < 3000; i++) {
		OFS_FREE char *name = ofs_format("agents/a/persistent/%lx%lx",
						 i * 0x9e3779b97f4a7c15, i * 0xbf58476d1ce4e5b9);

		move("agents/a/cache/x", name);
		move(name, "agents/a/cache/x");
		if (i % 16 == 0)
			start = starts_and_ends("agents/a", &end);
	}
	cr_assert_gt(start, 0);
	cr_assert_eq(starts_and_ends("", &all), 0);
	cr_assert_gt(all, end);
}
