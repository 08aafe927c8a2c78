/* SPDX-License-Identifier: MIT */
#include "fuse/session.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/util.h"
#include "context/steps/recap.h"
#include "fuse/adapter.h"
#include "fuse/adapter_change.h"
#include "fuse/mountpoint.h"
#include "fuse/notify.h"
#include "fuse/relist.h"
#include "fuse/signals.h"

struct ofs_session {
	struct ofs_serving serving;
	struct fuse_session *fuse;
	struct ofs_signals *signals;
	bool mounted;
	atomic_bool serves;
};

static void on_attr_changed(void *arg, ofs_node node)
{
	struct ofs_session *s = arg;

	ofs_notify_attr(s->serving.notify, node);
}

static void on_release(void *arg, ofs_node node, ofs_node parent, const char *name)
{
	struct ofs_session *s = arg;

	ofs_notify_release(s->serving.notify, node, parent, name);
}

static void on_content_changed(void *arg, ofs_node node)
{
	struct ofs_session *s = arg;

	ofs_notify_content(s->serving.notify, node);
}

/* Stops the notifications that wait for requests before the loop that serves requests ends. */
static void on_signal(void *arg)
{
	struct ofs_session *s = arg;

	ofs_notify_stop(s->serving.notify);
	fuse_session_exit(s->fuse);
	if (s->serves)
		ofs_tree_interrupt(s->serving.tree);
}

static void log_fuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];
	size_t len;

	vsnprintf(line, sizeof(line), fmt, ap);
	len = strlen(line);
	while (len && line[len - 1] == '\n')
		line[--len] = 0;
	if (len)
		ofs_log(level <= FUSE_LOG_ERR	  ? LOG_ERR
			: level == FUSE_LOG_DEBUG ? LOG_DEBUG
						  : LOG_WARNING,
			"%s", strncmp(line, "fuse: ", 6) == 0 ? line + 6 : line);
}

#ifdef FUSE_CAP_OVER_IO_URING
static bool kernel_offers_uring(void)
{
	OFS_CLOSE int fd = open("/sys/module/fuse/parameters/enable_uring", O_RDONLY | O_CLOEXEC);
	char value = 'N';

	return fd >= 0 && read(fd, &value, 1) == 1 && value == 'Y';
}

static int add_uring(struct ofs_options *o)
{
	uint64_t uring = ofs_config_get(o->config, "io_uring");

	if (uring == OFS_URING_OFF)
		return 0;
	if (kernel_offers_uring())
		return fuse_opt_add_arg(&o->mount, "-oio_uring");
	if (uring == OFS_URING_ON)
		ofs_log(LOG_WARNING,
			"the kernel does not offer FUSE over io_uring; going on without it "
			"(echo Y > /sys/module/fuse/parameters/enable_uring)");
	return 0;
}
#else
static int add_uring(struct ofs_options *o)
{
	if (ofs_config_get(o->config, "io_uring") == OFS_URING_ON)
		ofs_log(LOG_WARNING, "built without FUSE over io_uring (libfuse 3.18 or newer); "
				     "going on without it");
	return 0;
}
#endif

/* Adds the options that every mount gets, and the names that the mount table shows. */
static int add_mount_options(struct ofs_options *o)
{
	OFS_FREE char *opts = NULL;
	OFS_FREE char *name = ofs_format("fsname=%s", o->store);
	int r;

	r = fuse_opt_add_opt_escaped(&opts, name);
	if (r == 0)
		r = fuse_opt_add_opt(&opts, "subtype=offloadfs,default_permissions");
	if (r == 0)
		r = fuse_opt_add_arg(&o->mount, "-o");
	if (r == 0)
		r = fuse_opt_add_arg(&o->mount, opts);
	if (r == 0 && (o->read_only || o->follow))
		r = fuse_opt_add_arg(&o->mount, "-oro");
	if (r == 0 && o->debug)
		r = fuse_opt_add_arg(&o->mount, "-d");
	return r == 0 ? add_uring(o) : -ENOMEM;
}

static int open_tree(struct ofs_session *s, const struct ofs_options *o, struct ofs_error *err)
{
	struct ofs_tree_options tree = OFS_TREE_OPTIONS_INIT;
	OFS_FREE char *config = ofs_config_format(o->config);

	tree.config = config;
	tree.mountpoint = o->mountpoint;
	ofs_config_apply(o->config, &tree);
	tree.read_only = o->read_only;
	tree.follow = o->follow;
	tree.shared = o->allow_other;
	tree.background = !o->read_only;
	tree.create = !o->read_only && !o->follow;
	tree.recap = ofs_recap_for_tree(&o->context);
	tree.events = (struct ofs_tree_events){
		.attr_changed = on_attr_changed,
		.release = on_release,
		.content_changed = on_content_changed,
		.arg = s,
	};
	return ofs_tree_open(o->store, &tree, err, &s->serving.tree);
}

int ofs_session_create(struct ofs_options *o, struct ofs_error *err, struct ofs_session **ret)
{
	struct ofs_session *s = ofs_alloc(sizeof(*s));
	struct fuse_lowlevel_ops ops;

	if (add_mount_options(o) < 0) {
		free(s);
		return ofs_error_set(err, ENOMEM, "out of memory");
	}
	ofs_adapter_fill(&ops);
	ofs_options_listen(err);
	s->fuse = fuse_session_new(&o->mount, &ops, sizeof(ops), &s->serving);
	ofs_options_listen(NULL);
	if (!s->fuse) {
		free(s);
		return -EINVAL;
	}
	s->serving.syncs = ofs_worker_create(ofs_adapter_sync, 1);
	s->serving.writes = ofs_worker_create(ofs_serving_all, 1);
	s->serving.searches = ofs_worker_create(ofs_serving_all, 1);
	s->serving.fetches = ofs_worker_create(ofs_serving_all, OFS_WORKER_THREADS_MAX);
	s->serving.awake =
		ofs_awake_create((enum ofs_awake_mode)ofs_config_get(o->config, "awake"));
	s->serving.notify = ofs_notify_create();
	s->serving.listings = ofs_relist_create();
	if (!s->serving.syncs || !s->serving.writes || !s->serving.searches ||
	    !s->serving.fetches) {
		ofs_session_destroy(s);
		return ofs_error_set(err, ENOMEM, "out of memory");
	}
	*ret = s;
	return 0;
}

/*
 * Passes the lines in `file` on to standard error. If mounting failed, the last line of fusermount3
 * is the reason, which goes to `ret` instead.
 */
static void take_reason(int file, bool failed, char *ret, size_t size)
{
	static const char program[] = "fusermount3: ";
	char said[4096], *line, *rest = said;
	ssize_t n = pread(file, said, sizeof(said) - 1, 0);

	said[n > 0 ? n : 0] = 0;
	*ret = 0;
	while ((line = strsep(&rest, "\n"))) {
		if (!failed || strncmp(line, program, strlen(program)) != 0) {
			fprintf(stderr, "%s%s", line, *line ? "\n" : "");
			continue;
		}
		if (*ret)
			fprintf(stderr, "%s%s\n", program, ret);
		snprintf(ret, size, "%s", line + strlen(program));
	}
}

/* fusermount3 gives its reason on standard error. We capture it for our one-line error. */
static int mount_fuse(struct fuse_session *fuse, const char *mountpoint, struct ofs_error *err)
{
	OFS_CLOSE int terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	OFS_CLOSE int file = memfd_create("stderr", MFD_CLOEXEC);
	char reason[512];
	int r;

	if (terminal < 0 || file < 0)
		return ofs_error_set(err, errno, "cannot mount at '%s': %s", mountpoint,
				     strerror(errno));
	dup2(file, STDERR_FILENO);
	r = fuse_session_mount(fuse, mountpoint);
	dup2(terminal, STDERR_FILENO);
	take_reason(file, r < 0, reason, sizeof(reason));
	if (r == 0)
		return 0;
	return ofs_error_set(err, EIO, "cannot mount at '%s': %s", mountpoint,
			     *reason ? reason : "is fusermount3 (package fuse3) installed?");
}

int ofs_session_mount(struct ofs_session *s, const struct ofs_options *o, bool replaces,
		      struct ofs_error *err)
{
	int r;

	fuse_set_log_func(log_fuse);
	r = ofs_signals_create(on_signal, s, &s->signals);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot wait for signals: %s", strerror(-r));
	r = open_tree(s, o, err);
	if (r < 0)
		return r;
	/* As late as possible: a dead mount shows others that there is something to end. */
	if (ofs_signals_caught(s->signals) || (replaces && !ofs_mountpoint_clear(o->mountpoint)))
		return 1;
	r = mount_fuse(s->fuse, o->mountpoint, err);
	if (r < 0)
		return r;
	s->mounted = true;
	r = ofs_notify_start(s->serving.notify, s->fuse, s->serving.tree);
	return r < 0 ? ofs_error_set(err, -r, "cannot serve '%s': %s", o->mountpoint, strerror(-r))
		     : 0;
}

int ofs_session_serve(struct ofs_session *s)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int r;

	if (!config)
		return -ENOMEM;
	s->serves = true;
	ofs_signals_enter(s->signals);
	r = fuse_session_loop_mt(s->fuse, config);
	ofs_signals_leave(s->signals);
	fuse_loop_cfg_destroy(config);
	return r < 0 ? r : 0;
}

int ofs_session_destroy(struct ofs_session *s)
{
	int r;

	if (!s)
		return 0;
	ofs_signals_destroy(s->signals);
	ofs_notify_stop(s->serving.notify);
	ofs_notify_finish(s->serving.notify);
	if (s->mounted)
		fuse_session_unmount(s->fuse);
	r = ofs_tree_close(s->serving.tree);
	/*
	 * The workers are idle, because the threads that served requests have ended. Their pthread
	 * keys must outlive all threads of the tree. OpenSSL would reuse the number of a deleted
	 * key. When a thread ends, glibc clears keys in the order of their numbers, and OpenSSL's
	 * data for the thread leaks if it is cleared before the key whose destructor frees it.
	 */
	ofs_worker_destroy(s->serving.syncs);
	ofs_worker_destroy(s->serving.writes);
	ofs_worker_destroy(s->serving.searches);
	ofs_worker_destroy(s->serving.fetches);
	ofs_awake_destroy(s->serving.awake);
	ofs_notify_destroy(s->serving.notify);
	ofs_relist_destroy(s->serving.listings);
	fuse_session_destroy(s->fuse);
	free(s);
	return r;
}
