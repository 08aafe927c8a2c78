/* SPDX-License-Identifier: MIT */
#include "cli/checks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "cli/daemon.h"
#include "cli/probe.h"
#include "io/process.h"
#include "io/file.h"
#include "io/path.h"

#define DEVICE "/dev/fuse"
#define URING "/sys/module/fuse/parameters/enable_uring"
#define FUSE_CONF "/etc/fuse.conf"
#define WITHOUT_URING "without io_uring"
#define TEXT_MAX (1 << 20)

/* Allocated; NULL when it cannot be read. */
static char *machine_read(const char *path)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_io_read_file(AT_FDCWD, path, TEXT_MAX, &text) < 0)
		return NULL;
	ofs_buf_append(&text, "", 1);
	return (char *)ofs_steal(text.data);
}

/* Where PATH has the program, allocated, or NULL. */
static char *machine_find(const char *program)
{
	const char *path = getenv("PATH");
	OFS_FREE char *folders = ofs_strdup(path ? path : "/usr/bin:/bin");
	char *save = NULL, *folder;

	for (folder = strtok_r(folders, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, program);
		struct stat st;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return ofs_steal(file);
	}
	return NULL;
}

static void check_kernel(struct ofs_findings *f)
{
	OFS_FREE char *filesystems = machine_read("/proc/filesystems");
	struct utsname name;

	if (uname(&name) < 0)
		snprintf(name.release, sizeof(name.release), "of unknown version");
	if (!filesystems || strstr(filesystems, "\tfuse\n")) {
		ofs_findings_add(f, OFS_STATE_OK, "kernel", "Linux %s with FUSE", name.release);
		return;
	}
	ofs_findings_add(f, OFS_STATE_NOTE, "kernel", "Linux %s without the FUSE module loaded",
			 name.release);
	ofs_findings_advise(f, "sudo modprobe fuse");
}

static void check_device(struct ofs_findings *f, enum ofs_state bad)
{
	OFS_CLOSE int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	int code = errno;

	if (fd >= 0) {
		ofs_findings_add(f, OFS_STATE_OK, "device", DEVICE " can be opened");
	} else if (code == ENOENT || code == ENXIO || code == ENODEV) {
		ofs_findings_add(f, bad, "device", DEVICE " is missing: nothing can be mounted");
		ofs_findings_advise(f, "sudo modprobe fuse; or start the container with "
				       "--device " DEVICE " --cap-add SYS_ADMIN");
	} else {
		ofs_findings_add(f, bad, "device",
				 DEVICE " cannot be opened: %s: nothing can be mounted",
				 strerror(code));
		ofs_findings_advise(f, "sudo chmod 666 " DEVICE "; or start the container with "
				       "--device " DEVICE " --cap-add SYS_ADMIN");
	}
}

/* A number in /proc/self/status; `otherwise` when it is not there. */
static uint64_t machine_status(const char *field, int base, uint64_t otherwise)
{
	OFS_FREE char *status = machine_read("/proc/self/status");
	const char *at = status ? strstr(status, field) : NULL;

	return at ? strtoull(at + strlen(field), NULL, base) : otherwise;
}

/* Mounting needs CAP_SYS_ADMIN, one's own or that of a setuid fusermount3. */
static void check_rights(struct ofs_findings *f, enum ofs_state bad)
{
	bool root = geteuid() == 0;
	uint64_t rights = machine_status(root ? "\nCapEff:" : "\nCapBnd:", 16, UINT64_MAX);

	if (!(rights & UINT64_C(1) << CAP_SYS_ADMIN)) {
		ofs_findings_add(f, bad, "rights", "no process here may mount (CAP_SYS_ADMIN)");
		ofs_findings_advise(f, "start the container with --device " DEVICE
				       " --cap-add SYS_ADMIN, or mount outside of it");
	} else if (!root && machine_status("\nNoNewPrivs:", 10, 0)) {
		ofs_findings_add(f, bad, "rights",
				 "no_new_privs is set: fusermount3 gets no rights to mount");
		ofs_findings_advise(f, "offload up, from outside of this sandbox");
	} else {
		ofs_findings_add(f, OFS_STATE_OK, "rights", "%s",
				 root ? "root: mounts by itself" : "mounts through fusermount3");
	}
}

/* Returns what the daemon says of its version, allocated, or NULL. */
static char *check_daemon(struct ofs_findings *f, enum ofs_state bad)
{
	OFS_FREE char *program = ofs_daemon_program(), *version = NULL;
	int r = ofs_daemon_version(program, &version);

	if (r == 0 && strncmp(version, "offloadfs ", 10) == 0) {
		bool same = strncmp(version + 10, OFS_VERSION " ", strlen(OFS_VERSION) + 1) == 0;

		ofs_findings_add(f, same ? OFS_STATE_OK : OFS_STATE_WARNING, "daemon", "%s: %s%s",
				 program, version, same ? "" : ", not the version of this tool");
		if (!same)
			ofs_findings_advise(f, "install offload and offloadfs " OFS_VERSION
					       " from the same build, or name the daemon in "
					       "OFFLOADFS");
		return ofs_steal(version);
	}
	ofs_findings_add(f, bad, "daemon", "'%s' %s%s", program,
			 r == -ENOENT	   ? "is not found"
			 : r == -ETIMEDOUT ? "does not answer"
			 : r < 0	   ? "cannot be run: "
					   : "is some other program",
			 r < 0 && r != -ENOENT && r != -ETIMEDOUT ? strerror(-r) : "");
	ofs_findings_advise(f, "install offloadfs beside offload or in PATH, or name it in "
			       "OFFLOADFS");
	return NULL;
}

/* `version`: of the daemon; NULL: not known. */
static void check_uring(struct ofs_findings *f, const char *version)
{
	OFS_FREE char *offered = machine_read(URING);

	if (!offered && access("/sys/module/fuse", F_OK) < 0) {
		ofs_findings_add(f, OFS_STATE_NOTE, "io_uring",
				 "not known before the FUSE module is loaded");
		ofs_findings_advise(f, "sudo modprobe fuse");
	} else if (!offered) {
		ofs_findings_add(f, OFS_STATE_NOTE, "io_uring",
				 "the kernel has no FUSE over io_uring: requests go through " DEVICE
				 ", which is slower");
		ofs_findings_advise(f, "use Linux 6.14 or newer, built with CONFIG_FUSE_IO_URING");
	} else if (version && strstr(version, WITHOUT_URING)) {
		ofs_findings_add(f, OFS_STATE_NOTE, "io_uring",
				 "the daemon was built without it: requests go through " DEVICE
				 ", which is slower");
		ofs_findings_advise(f, "build offloadfs with libfuse 3.18 or newer");
	} else if (offered[0] != 'Y') {
		ofs_findings_add(f, OFS_STATE_NOTE, "io_uring",
				 "not enabled in the kernel: requests go through " DEVICE
				 ", which is slower");
		ofs_findings_advise(f, "echo Y | sudo tee " URING
				       "; then mount again with offload down and offload up");
	} else {
		ofs_findings_add(f, OFS_STATE_OK, "io_uring", "enabled in the kernel");
	}
}

static void check_fusermount(struct ofs_findings *f, enum ofs_state bad)
{
	OFS_FREE char *file = machine_find("fusermount3");
	struct statvfs fs;
	struct stat st;
	bool root = geteuid() == 0;

	if (!file) {
		ofs_findings_add(f, root ? OFS_STATE_NOTE : bad, "fusermount3", "not in PATH%s",
				 root ? ": root mounts without it" : ": only root can mount");
		ofs_findings_advise(f, "sudo apt install fuse3");
		return;
	}
	if (!root && (stat(file, &st) < 0 || !(st.st_mode & S_ISUID) || st.st_uid != 0)) {
		ofs_findings_add(f, bad, "fusermount3",
				 "'%s' is not setuid root: only root can mount", file);
		ofs_findings_advise(f, "sudo chown root '%s' && sudo chmod u+s '%s'", file, file);
	} else if (!root && statvfs(file, &fs) == 0 && fs.f_flag & ST_NOSUID) {
		ofs_findings_add(f, bad, "fusermount3",
				 "'%s' lies on a filesystem mounted nosuid: only root can mount",
				 file);
		ofs_findings_advise(f, "install fuse3 on a filesystem that is not mounted nosuid");
	} else {
		ofs_findings_add(f, OFS_STATE_OK, "fusermount3", "%s", file);
	}
}

/* Whether a line of fuse.conf is that word alone. */
static bool machine_allows_other(void)
{
	OFS_FREE char *conf = machine_read(FUSE_CONF);
	char *save = NULL, *line;

	for (line = conf ? strtok_r(conf, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (strcspn(line, " \t\r#") == strlen("user_allow_other") &&
		    strncmp(line, "user_allow_other", strlen("user_allow_other")) == 0)
			return true;
	}
	return false;
}

static void check_allow_other(struct ofs_findings *f)
{
	bool root = geteuid() == 0;

	ofs_findings_add(f, OFS_STATE_OK, "allow_other", "%s",
			 root			  ? "allowed to root"
			 : machine_allows_other() ? "allowed: user_allow_other is set in " FUSE_CONF
						  : "for root only: user_allow_other is not set "
						    "in " FUSE_CONF);
}

void ofs_check_machine(struct ofs_findings *f, bool mounted)
{
	enum ofs_state bad = mounted ? OFS_STATE_WARNING : OFS_STATE_PROBLEM;
	OFS_FREE char *version = NULL;

	check_kernel(f);
	check_device(f, bad);
	check_rights(f, bad);
	check_fusermount(f, bad);
	version = check_daemon(f, bad);
	check_uring(f, version);
	check_allow_other(f);
}

static void check_tool(struct ofs_findings *f, const char *name, const char *program,
		       const char *without, const char *package)
{
	OFS_FREE char *file = machine_find(program);

	if (file) {
		ofs_findings_add(f, OFS_STATE_OK, name, "%s", file);
		return;
	}
	ofs_findings_add(f, OFS_STATE_NOTE, name, "not in PATH: %s", without);
	ofs_findings_advise(f, "sudo apt install %s", package);
}

void ofs_check_tools(struct ofs_findings *f)
{
	check_tool(f, "git", "git", "repositories are known by their folder .git alone", "git");
	check_tool(f, "ripgrep", "rg", "grep -r finds the same, more slowly", "ripgrep");
}
