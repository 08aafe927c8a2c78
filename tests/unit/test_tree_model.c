/* SPDX-License-Identifier: MIT */
/* Random operations compared with a model in memory, through sealing, restarts and kills. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <offloadfs/tree.h>

#include "base/alloc.h"
#include "base/util.h"
#include "scratch.h"

#define NODES 24
#define NAMES 5
#define SIZE_LIMIT ((uint64_t)600 << 10)

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_tree *t; /* NULL: operations change only the model */
static const struct ofs_cred cred = { 1000, 1000 };

struct node {
	bool used;
	bool is_dir;
	bool held; /* a reference keeps it even without a name */
	int nlink;
	int parent; /* of a directory */
	ofs_node number; /* 0: not known yet */
	uint8_t *bytes;
	uint64_t size;
	int names[NAMES]; /* of a directory: the node's index, 0: none */
};

static struct node nodes[NODES]; /* node 0 is cache/ */
static uint64_t seed, state;
static int step;
static bool in_child;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static void fail(const char *what)
{
	if (in_child) {
		fprintf(stderr, "seed %" PRIu64 " step %d: %s\n", seed, step, what);
		_exit(3);
	}
	cr_assert_fail("seed %" PRIu64 " step %d: %s", seed, step, what);
}

static void expect(const char *what, int64_t got, int64_t want)
{
	char text[200];

	snprintf(text, sizeof(text), "%s gave %" PRId64 ", not %" PRId64, what, got, want);
	if (got != want)
		fail(text);
}

static void open_tree(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };

	opts.seal_delay_ms = seed % 2 ? 3600000 : 1;
	if (ofs_tree_open(path, &opts, &err, &t) < 0)
		fail(err.text);
}

static void close_tree(void)
{
	ofs_tree_close(t);
	t = NULL;
}

static void model_reset(uint64_t with)
{
	for (int i = 0; i < NODES; i++)
		free(nodes[i].bytes);
	memset(nodes, 0, sizeof(nodes));
	nodes[0] = (struct node){ .used = true, .is_dir = true, .nlink = 2 };
	seed = with;
	state = with * UINT64_C(0x9e3779b97f4a7c15);
	step = 0;
}

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void remove_store(void)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void teardown(void)
{
	close_tree();
	model_reset(1);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tree_model, .init = setup, .fini = teardown);

static const char *name_of(int n)
{
	static const char *const names[NAMES] = { "a", "b.txt", "c c", "\xff", "e" };

	return names[n];
}

/* Returns a random directory, or 0 (cache/). */
static int any_dir(void)
{
	int i = (int)rnd(NODES);

	return nodes[i].used && nodes[i].is_dir ? i : 0;
}

/* Returns a random file that has a name or a holder, or 0. */
static int any_file(void)
{
	int first = (int)rnd(NODES);

	for (int n = 0; n < NODES; n++) {
		int i = (first + n) % NODES;

		if (nodes[i].used && !nodes[i].is_dir)
			return i;
	}
	return 0;
}

static int free_node(void)
{
	for (int i = 1; i < NODES; i++)
		if (!nodes[i].used)
			return i;
	return 0;
}

static void node_release(int i)
{
	if (nodes[i].nlink || nodes[i].held)
		return;
	free(nodes[i].bytes);
	memset(&nodes[i], 0, sizeof(nodes[i]));
}

static void do_create(void)
{
	int d = any_dir(), name = (int)rnd(NAMES), i = free_node();
	int want = nodes[d].names[name] ? -EEXIST : 0, r;
	bool is_dir = rnd(4) == 0;
	struct ofs_entry e = { 0 };

	if (!i)
		return;
	if (t) {
		r = is_dir ? ofs_tree_mkdir(t, nodes[d].number, name_of(name), 0755, &cred, &e)
			   : ofs_tree_mknod(t, nodes[d].number, name_of(name), S_IFREG | 0644, 0,
					    &cred, &e);
		expect("create", r, want);
		if (r == 0)
			ofs_tree_forget(t, e.node, 1);
	}
	if (want)
		return;
	nodes[i] = (struct node){ .used = true,
				  .is_dir = is_dir,
				  .nlink = is_dir ? 2 : 1,
				  .parent = d,
				  .number = e.node };
	nodes[d].names[name] = i;
	if (is_dir)
		nodes[d].nlink++;
	else
		nodes[i].bytes = ofs_alloc(SIZE_LIMIT);
}

static bool is_empty(int d)
{
	for (int n = 0; n < NAMES; n++)
		if (nodes[d].names[n])
			return false;
	return true;
}

static void lose_name(int d, int i)
{
	if (nodes[i].is_dir) {
		nodes[i].nlink = 0;
		nodes[d].nlink--;
	} else {
		nodes[i].nlink--;
	}
	node_release(i);
}

static void do_remove(void)
{
	int d = any_dir(), name = (int)rnd(NAMES), i = nodes[d].names[name], want = 0;
	bool directory = rnd(3) == 0, hold = rnd(3) == 0;
	struct ofs_entry e;

	if (!i)
		want = -ENOENT;
	else if (directory != nodes[i].is_dir)
		want = directory ? -ENOTDIR : -EISDIR;
	else if (directory && !is_empty(i))
		want = -ENOTEMPTY;
	if (!want && !directory && hold && !nodes[i].held) {
		nodes[i].held = true;
		if (t)
			expect("lookup", ofs_tree_lookup(t, nodes[d].number, name_of(name), &e), 0);
	}
	if (t)
		expect("remove",
		       directory ? ofs_tree_rmdir(t, nodes[d].number, name_of(name))
				 : ofs_tree_unlink(t, nodes[d].number, name_of(name)),
		       want);
	if (want)
		return;
	nodes[d].names[name] = 0;
	lose_name(d, i);
}

static bool is_below(int d, int top)
{
	while (d && d != top)
		d = nodes[d].parent;
	return d == top;
}

static int rename_result(int from, int i, int to, int other, unsigned int flags)
{
	if (!i)
		return -ENOENT;
	if (nodes[i].is_dir && is_below(to, i))
		return -EINVAL;
	if (other && flags == RENAME_NOREPLACE)
		return -EEXIST;
	if (i == other)
		return 0;
	if (flags == RENAME_EXCHANGE)
		return !other					      ? -ENOENT
		       : nodes[other].is_dir && is_below(from, other) ? -EINVAL
								      : 0;
	if (!other)
		return 0;
	if (nodes[i].is_dir != nodes[other].is_dir)
		return nodes[i].is_dir ? -ENOTDIR : -EISDIR;
	return nodes[other].is_dir && !is_empty(other) ? -ENOTEMPTY : 0;
}

static void move_to(int i, int from, int to)
{
	if (!i || !nodes[i].is_dir)
		return;
	nodes[i].parent = to;
	nodes[from].nlink--;
	nodes[to].nlink++;
}

static void do_rename(void)
{
	static const unsigned int all[] = { 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE };
	int from = any_dir(), to = rnd(2) ? from : any_dir(), a = (int)rnd(NAMES),
	    b = (int)rnd(NAMES);
	int i = nodes[from].names[a], other = nodes[to].names[b];
	unsigned int flags = all[rnd(4)];
	int want = rename_result(from, i, to, other, flags);

	if (t)
		expect("rename",
		       ofs_tree_rename(t, nodes[from].number, name_of(a), nodes[to].number,
				       name_of(b), flags),
		       want);
	if (want || i == other)
		return;
	nodes[from].names[a] = flags == RENAME_EXCHANGE ? other : 0;
	nodes[to].names[b] = i;
	if (flags == RENAME_EXCHANGE)
		move_to(other, to, from);
	else if (other)
		lose_name(to, other);
	move_to(i, from, to);
}

static void do_link(void)
{
	int i = any_file(), d = any_dir(), name = (int)rnd(NAMES), want = 0;
	struct ofs_entry e;

	if (!i)
		return;
	if (!nodes[i].nlink)
		want = -ENOENT;
	else if (nodes[d].names[name])
		want = -EEXIST;
	if (t) {
		expect("link",
		       ofs_tree_link(t, nodes[i].number, nodes[d].number, name_of(name), &e), want);
		if (!want)
			ofs_tree_forget(t, e.node, 1);
	}
	if (want)
		return;
	nodes[d].names[name] = i;
	nodes[i].nlink++;
}

/* Draws from a few kinds of content, so that much of it is equal. */
static void fill(uint8_t *p, uint64_t len)
{
	uint64_t kind = rnd(6), x = kind + 1;

	for (uint64_t i = 0; i < len; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		p[i] = kind < 2 ? (uint8_t)(x >> 56) : kind == 2 ? 0 : (uint8_t)('a' + (x >> 62));
	}
}

static void do_write(void)
{
	int i = any_file();
	uint64_t len = 1 + rnd(rnd(4) ? 5000 : 300000), off = rnd(3) ? rnd(SIZE_LIMIT)
							      : i    ? nodes[i].size
								     : 0;

	if (rnd(4) == 0)
		off = off / 262144 * 262144;
	if (!i || off >= SIZE_LIMIT)
		return;
	len = OFS_MIN(len, SIZE_LIMIT - off);
	fill(nodes[i].bytes + off, len);
	nodes[i].size = OFS_MAX(nodes[i].size, off + len);
	if (t)
		expect("write", ofs_tree_write(t, nodes[i].number, nodes[i].bytes + off, len, off),
		       (int64_t)len);
}

static void do_resize(void)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE,
				   .size = rnd(4) ? rnd(SIZE_LIMIT) : rnd(3) * 262144 };
	int i = any_file();
	struct stat st;

	if (!i)
		return;
	if (set.size < nodes[i].size)
		memset(nodes[i].bytes + set.size, 0, nodes[i].size - set.size);
	nodes[i].size = set.size;
	if (t)
		expect("resize", ofs_tree_setattr(t, nodes[i].number, &set, &st), 0);
}

static void do_read(void)
{
	static uint8_t buf[SIZE_LIMIT];
	uint64_t off = rnd(SIZE_LIMIT), len = rnd(SIZE_LIMIT), want;
	int i = any_file();

	if (!i || !t)
		return;
	want = off < nodes[i].size ? OFS_MIN(len, nodes[i].size - off) : 0;
	expect("read", ofs_tree_read(t, nodes[i].number, buf, len, off), (int64_t)want);
	if (memcmp(buf, nodes[i].bytes + off, want) != 0)
		fail("read gave other bytes");
}

static void do_forget(void)
{
	int i = any_file();

	if (!i || !nodes[i].held)
		return;
	if (t)
		ofs_tree_forget(t, nodes[i].number, 1);
	nodes[i].held = false;
	node_release(i);
}

static void act(void)
{
	static void (*const all[])(void) = { do_create, do_create, do_create, do_remove, do_rename,
					     do_rename, do_link,   do_write,  do_write,	 do_write,
					     do_write,	do_resize, do_read,   do_forget, do_write };

	step++;
	if (rnd(25))
		all[rnd(OFS_ARRAY_SIZE(all))]();
	else if (t)
		expect("seal", ofs_tree_seal(t), 0);
}

static const char *differ(const char *what, int i)
{
	static char text[100];

	snprintf(text, sizeof(text), "node %d differs: %s", i, what);
	return text;
}

static const char *file_difference(int i)
{
	OFS_FREE uint8_t *buf = ofs_alloc(SIZE_LIMIT + 1);

	if (ofs_tree_read(t, nodes[i].number, buf, SIZE_LIMIT + 1, 0) != (ssize_t)nodes[i].size)
		return differ("length", i);
	return memcmp(buf, nodes[i].bytes, nodes[i].size) == 0 ? NULL : differ("bytes", i);
}

static int count_entry(void *arg, const char *name, const struct ofs_entry *e, uint64_t next)
{
	++*(int *)arg;
	return 0;
}

/* Compares a directory with the model, and notes node numbers. Returns NULL if they are equal. */
static const char *dir_difference(int d)
{
	const char *found = NULL;
	int listed = -2;

	ofs_tree_readdir(t, nodes[d].number, 0, false, count_entry, &listed);
	for (int n = 0; n < NAMES && !found; n++) {
		int i = nodes[d].names[n];
		struct ofs_entry e;

		if (ofs_tree_lookup(t, nodes[d].number, name_of(n), &e) < 0) {
			if (i)
				return differ("it is missing", i);
			continue;
		}
		ofs_tree_forget(t, e.node, 1);
		listed--;
		if (!i)
			return differ("a name too many", d);
		if (nodes[i].number && nodes[i].number != e.node)
			return differ("its number changed", i);
		nodes[i].number = e.node;
		if (S_ISDIR(e.attr.st_mode) != nodes[i].is_dir ||
		    (int)e.attr.st_nlink != nodes[i].nlink)
			return differ("type or links", i);
		found = nodes[i].is_dir ? dir_difference(i) : file_difference(i);
	}
	return found || !listed ? found : differ("what it lists", d);
}

/* Drops all references, as a restart does. */
static void forget_held(void)
{
	for (int i = 1; i < NODES; i++) {
		nodes[i].held = false;
		if (nodes[i].used)
			node_release(i);
	}
}

static const char *difference(void)
{
	struct ofs_entry e;

	if (ofs_tree_walk(t, "cache", &e) < 0)
		return "there is no cache";
	ofs_tree_forget(t, e.node, 1);
	nodes[0].number = e.node;
	return dir_difference(0);
}

static void expect_same(void)
{
	const char *found = difference();

	if (found)
		fail(found);
}

static void start(void)
{
	open_tree();
	expect_same();
}

/* Runs a child that works on the store and dies without closing it. */
static void work_and_die(int count)
{
	pid_t pid = fork();
	int status;

	cr_assert_neq(pid, -1);
	if (pid == 0) {
		in_child = true;
		start();
		while (count--)
			act();
		if (seed % 3 == 0)
			_exit(0);
		raise(SIGKILL);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0,
		  "seed %" PRIu64 ": the child failed with status %x", seed, status);
	while (count--)
		act();
}

static void run(uint64_t with)
{
	model_reset(with);
	start();
	for (int round = 0; round < 8; round++) {
		for (uint64_t n = rnd(80); n; n--)
			act();
		expect_same();
		close_tree();
		forget_held();
		if (rnd(2)) {
			work_and_die((int)rnd(80));
			forget_held();
		}
		start();
	}
	close_tree();
	remove_store();
}

Test(tree_model, random_operations_survive_restarts_and_deaths)
{
	for (uint64_t with = 1; with <= 5; with++)
		run(with);
}

/* Number of operations that the child has finished, in shared memory. */
static _Atomic int *done;

static void share_counter(void)
{
	done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)done, MAP_FAILED);
	atomic_store(done, 0);
}

#define OPERATIONS 120

/* Works to the end or until it is killed, in a child. */
static void child_works(void)
{
	in_child = true;
	start();
	for (int i = 1; i <= OPERATIONS; i++) {
		act();
		atomic_store(done, i);
	}
	close_tree();
	_exit(0);
}

/*
 * All finished operations are there, and the one under way entirely or not at all. Runs in a child,
 * because failpoints are read once per process, and so the parent must not use the store.
 */
static void child_checks(void)
{
	const char *found = NULL;

	in_child = true;
	open_tree();
	for (int i = 0; i < atomic_load(done); i++) {
		struct ofs_tree *live = t;

		t = NULL;
		act();
		t = live;
	}
	for (int more = 0; more < 2; more++) {
		struct ofs_tree *live = t;

		for (int i = 0; i < NODES; i++)
			nodes[i].number = 0;
		found = difference();
		if (!found)
			break;
		t = NULL;
		act();
		t = live;
	}
	if (found)
		fail(found);
	close_tree();
	_exit(0);
}

static int status_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_after_death(uint64_t with, const char *fault)
{
	pid_t pid;
	int status;

	model_reset(with);
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0)
		child_checks();
	status = status_of(pid);
	cr_assert_eq(status, 0, "seed %" PRIu64 ", killed by '%s' after %d operations: status %x",
		     with, fault, atomic_load(done), status);
	remove_store();
}

static bool dies_of(uint64_t with, const char *fault)
{
	pid_t pid;
	int status;

	remove_store();
	model_reset(with);
	atomic_store(done, 0);
	pid = fork();
	cr_assert_neq(pid, -1);
	if (pid == 0) {
		setenv("OFS_FAILPOINT", fault, 1);
		child_works();
	}
	status = status_of(pid);
	cr_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL),
		  "seed %" PRIu64 ", '%s': %x", with, fault, status);
	return status != 0;
}

Test(tree_model, a_death_at_any_call_loses_nothing_that_was_finished)
{
	static const char *const points[] = { "io.pwrite", "io.pwritev",  "io.datasync",
					      "io.sync",   "io.truncate", "io.punch",
					      "io.open",   "index.commit" };
	static const char *const actions[] = { "kill", "kill-after", "short" };
	uint64_t with = 100;
	char fault[64];

	share_counter();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(points); i++) {
		int died = 0;

		for (int at = 1; at < 64; at = at * 2 + 1) {
			snprintf(fault, sizeof(fault), "%s=%s@%d", points[i], actions[with % 3],
				 at);
			if (!dies_of(++with, fault))
				break;
			died++;
			check_after_death(with, fault);
		}
		cr_assert_gt(died, 0, "%s was not reached", points[i]);
	}
}

Test(tree_model, a_death_at_any_moment_loses_nothing_that_was_finished)
{
	share_counter();
	for (uint64_t with = 200; with < 215; with++) {
		pid_t pid;
		int last = (int)(with * 7 % OPERATIONS);

		model_reset(with);
		atomic_store(done, 0);
		pid = fork();
		cr_assert_neq(pid, -1);
		if (pid == 0)
			child_works();
		for (int i = 0; i < 5000 && atomic_load(done) < last; i++)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		nanosleep(&(struct timespec){ .tv_nsec = (long)(with * 7919 % 3000) * 1000 }, NULL);
		kill(pid, SIGKILL);
		cr_assert_neq(WEXITSTATUS(status_of(pid)), 3);
		check_after_death(with, "SIGKILL");
	}
}
