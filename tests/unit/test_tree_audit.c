/* SPDX-License-Identifier: MIT */
/* The audit log: segments, what a crash leaves, a full disk, and who may see which lines. */
#include "test_tree_fixture.h"

#include <dirent.h>
#include <fcntl.h>

#include "base/buf.h"
#include "io/failpoint.h"
#include "tree/core/audit_disk.h"

#define MAX (UINT64_C(64) << 10)

/* The library's failpoints: the log finds the disk full while this holds. */
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

static struct ofs_audit_disk disk;
static char log_dir[SCRATCH_SIZE + 8];

static void setup_disk(void)
{
	scratch_dir(dir);
	snprintf(log_dir, sizeof(log_dir), "%s/log", dir);
	cr_assert_eq(ofs_audit_disk_open(&disk, dir, MAX), 0);
}

static void teardown_disk(void)
{
	ofs_audit_disk_close(&disk);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void open_again(void)
{
	ofs_audit_disk_close(&disk);
	cr_assert_eq(ofs_audit_disk_open(&disk, dir, MAX), 0);
}

TestSuite(tree_audit_disk, .init = setup_disk, .fini = teardown_disk, .timeout = 60);

static void append(const char *text)
{
	cr_assert_eq(ofs_audit_disk_append(&disk, text, strlen(text)), 0);
}

/* A line that names a number, of a length that differs, and does not compress to nothing. */
static size_t line_of(int i, char ret[256])
{
	uint64_t seed = (uint64_t)i * 0x9e3779b97f4a7c15;

	return (size_t)sprintf(ret, "{\"n\":%d,\"path\":\"%0*llx%llx\"}\n", i, 16 + i % 40,
			       (unsigned long long)seed,
			       (unsigned long long)(seed * 0xbf58476d1ce4e5b9));
}

static char *all(uint64_t from, uint64_t to)
{
	struct ofs_buf raw = OFS_BUF_INIT, text = OFS_BUF_INIT;

	cr_assert_eq(ofs_audit_disk_read(disk.store, from, to, &raw), 0);
	ofs_audit_filter((const char *)raw.data, raw.len, "", &text);
	ofs_buf_finish(&raw);
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

	cr_assert_eq(ofs_audit_disk_bounds(disk.store, &start, ret_end), 0);
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

Test(tree_audit_disk, segments_are_compressed_and_the_oldest_go)
{
	uint64_t start = 0, end = 0, written = 0;
	char line[256];
	int i, plain, first = -1;

	for (i = 0; i < 8000; i++) {
		written += line_of(i, line);
		append(line);
		if (i % 1000 == 0)
			open_again();
	}
	start = bounds(&end);
	cr_assert_eq(end, written);
	cr_assert_gt(start, 0, "some were removed");
	cr_assert_lt(size_on_disk(&plain), MAX + MAX / 4);
	cr_assert_gt(size_on_disk(&plain), MAX / 2);
	cr_assert_eq(plain, 1);
	/* What is left is all of the newest, in order; and parts of it make up the whole. */
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
	open_again();
	bounds(&end);
	cr_assert_eq(end, 16);
	append("{\"n\":4}\n");
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n");
	spoil(zeros, sizeof(zeros));
	spoil("\n{\"n\":\n", 7);
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":4}\n");
	open_again();
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
	open_again();
	cr_assert_lt(access(temp, F_OK), 0);
	append("{\"n\":3}\n");
	expect("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
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

Test(tree_audit_disk, a_directory_is_shown_as_a_tree_of_its_own)
{
	static const char text[] =
		"{\"event\":\"remove\",\"path\":\"agents/a/cache/x\"}\n"
		"{\"event\":\"remove\",\"path\":\"agents/ab/cache/x\"}\n"
		"no line\n"
		"{\"event\":\"promote\",\"from\":\"agents/a/cache/x\",\"path\":\"persistent/x\"}\n"
		"{\"event\":\"remove\",\"path\":\"agents/a\"}\n"
		"{\"event\":\"lost\",\"lines\":3}\n"
		"{\"event\":\"remove\",\"path\":\"agents/a/y\"";
	struct ofs_buf out = OFS_BUF_INIT;

	ofs_audit_filter(text, strlen(text), "agents/a", &out);
	cr_assert_str_eq(ofs_buf_str(&out), "{\"event\":\"remove\",\"path\":\"cache/x\"}\n"
					    "{\"event\":\"promote\",\"from\":\"cache/x\"}\n");
	ofs_buf_finish(&out);
}

/* ---- of a tree */

TestSuite(tree_audit, .init = setup, .fini = teardown, .timeout = 60);

static char *log_text(void)
{
	ofs_node node = hold(".offload/log");
	char *text = ofs_alloc(1 << 20);

	cr_assert_geq(ofs_tree_read(t, node, text, (1 << 20) - 1, 0), 0);
	ofs_tree_forget(t, node, 1);
	return text;
}

static bool tells(const char *what)
{
	OFS_FREE char *text = log_text();

	return strstr(text, what);
}

Test(tree_audit, what_a_tree_without_a_thread_does_is_written_when_it_is_closed)
{
	make_dir("cache/web");
	make("cache/web/a");
	make("cache/web/b");
	move("cache/web/a", "persistent/a");
	drop("cache/web/b");
	reopen();
	cr_assert(tells("\"event\":\"promote\""));
	cr_assert(tells("\"from\":\"cache/web/a\",\"path\":\"persistent/a\""));
	cr_assert(tells("\"event\":\"remove\""));
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
	drop(name);
	cr_assert(tells("\"path\":\"cache/[redacted: github-token]\""));
	cr_assert(tells("\"title\":\"the token [redacted: github-token]\""));
	cr_assert(!tells(secret));
}

Test(tree_audit, a_name_that_is_no_text_is_made_one)
{
	make("cache/\xff\"\n");
	drop("cache/\xff\"\n");
	cr_assert(tells("\"path\":\"cache/\\\\xff\\\"\\n\""));
}

Test(tree_audit, nothing_is_written_where_it_is_off_or_only_read)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	OFS_FREE char *log = ofs_format("%s/log", path);

	make("cache/a");
	drop("cache/a");
	ofs_tree_close(t);
	opts.background = false;
	opts.log_max = 0;
	cr_assert_eq(ofs_tree_open(path, &opts, NULL, &t), 0);
	make("cache/b");
	drop("cache/b");
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

	make("cache/a");
	drop("cache/a");
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

/* What is waiting is written as soon as there is room. */
Test(tree_audit, a_full_disk_holds_nothing_up)
{
	make("cache/a");
	make("cache/b");
	is_full = true;
	drop("cache/a");
	cr_assert(!tells("cache/a"));
	cr_assert_gt(refused, 0);
	is_full = false;
	drop("cache/b");
	cr_assert(tells("cache/a"));
	cr_assert(tells("cache/b"));
	cr_assert(!tells("\"event\":\"lost\""));
}

Test(tree_audit, lines_that_are_lost_are_counted)
{
	unsigned long lost = 0, found = 0;
	const char *line;
	int i;

	for (i = 0; i < 12; i++) {
		make("cache/a");
		drop("cache/a");
	}
	is_full = true;
	for (i = 0; i < 20000; i++) {
		make("cache/some file with a name of some length, so that there are fewer");
		drop("cache/some file with a name of some length, so that there are fewer");
	}
	is_full = false;
	make("cache/b");
	drop("cache/b");
	{
		OFS_FREE char *text = log_text();

		for (line = text; (line = strstr(line, "\"event\":\"remove\"")); line++)
			found++;
		line = strstr(text, "\"event\":\"lost\",\"lines\":");
		cr_assert_not_null(line);
		cr_assert_eq(sscanf(line, "\"event\":\"lost\",\"lines\":%lu}", &lost), 1);
		cr_assert_null(strstr(line + 1, "\"event\":\"lost\""));
	}
	cr_assert_gt(lost, 1000);
	cr_assert_eq(found + lost, 12 + 20000 + 1);
}
