/* SPDX-License-Identifier: MIT */
/* Checks of `offload doctor` on the machine: kernel, rights, programs, agents. */
#include "cli/checks.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "agent/settings_file.h"
#include "base/buf.h"
#include "base/util.h"
#include "cli/daemon.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/process.h"
#include "io/wakeup.h"

#define DEVICE "/dev/fuse"
#define CONTAINER "start the container with --device " DEVICE " --cap-add SYS_ADMIN"
#define URING "/sys/module/fuse/parameters/enable_uring"
#define SLOWER ": requests go through " DEVICE ", which is slower"
#define FUSE_CONF "/etc/fuse.conf"
#define TEXT_MAX (1 << 20)
#define VERSION_MAX ((size_t)511)

/* Returns allocated text, or NULL if it cannot be read. */
static char *read_text(const char *path)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_io_read_file(AT_FDCWD, path, TEXT_MAX, &text) < 0)
		return NULL;
	return ofs_buf_steal_str(&text);
}

static void check_kernel(void)
{
	OFS_FREE char *filesystems = read_text("/proc/filesystems");
	struct utsname name;

	if (uname(&name) < 0)
		snprintf(name.release, sizeof(name.release), "of unknown version");
	if (!filesystems || strstr(filesystems, "\tfuse\n"))
		ofs_found(OFS_FINE, "kernel", "Linux %s with FUSE", name.release);
	else
		ofs_found(OFS_NOTE, "kernel",
			  "Linux %s without the FUSE module loaded\n-> sudo modprobe fuse",
			  name.release);
}

static void check_device(enum ofs_state bad)
{
	OFS_CLOSE int fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	int code = errno;

	if (fd >= 0)
		ofs_found(OFS_FINE, "device", DEVICE " can be opened");
	else if (code == ENOENT || code == ENXIO || code == ENODEV)
		ofs_found(bad, "device",
			  DEVICE " is missing: nothing can be mounted\n"
				 "-> sudo modprobe fuse; or " CONTAINER);
	else
		ofs_found(bad, "device",
			  DEVICE " cannot be opened: %s: nothing can be mounted\n"
				 "-> sudo chmod 666 " DEVICE "; or " CONTAINER,
			  strerror(code));
}

/* Returns a number in /proc/self/status, or `otherwise` if it is not there. */
static uint64_t read_status(const char *field, int base, uint64_t otherwise)
{
	OFS_FREE char *status = read_text("/proc/self/status");
	const char *at = status ? strstr(status, field) : NULL;

	return at ? strtoull(at + strlen(field), NULL, base) : otherwise;
}

/* Mounting needs CAP_SYS_ADMIN, our own or that of a setuid fusermount3. */
static void check_rights(bool root, enum ofs_state bad)
{
	uint64_t rights = read_status(root ? "\nCapEff:" : "\nCapBnd:", 16, UINT64_MAX);

	if (!(rights & UINT64_C(1) << CAP_SYS_ADMIN))
		ofs_found(bad, "rights",
			  "no process here may mount (CAP_SYS_ADMIN)\n"
			  "-> " CONTAINER ", or mount outside of it");
	else if (!root && read_status("\nNoNewPrivs:", 10, 0))
		ofs_found(bad, "rights",
			  "no_new_privs is set: fusermount3 gets no rights to mount\n"
			  "-> offload up, from outside of this sandbox");
	else
		ofs_found(OFS_FINE, "rights", "%s",
			  root ? "root: mounts by itself" : "mounts through fusermount3");
}

static int ask_version(const void *arg, char *text)
{
	const char *const argv[] = { arg, "--version", NULL };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	int r = ofs_process_run_helper(argv, NULL, OFS_PROCESS_OUT | OFS_PROCESS_QUIET, &said);

	if (r < 0)
		return -r;
	if (said.len)
		memcpy(text, said.data, OFS_MIN(said.len, VERSION_MAX));
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Sets *ret_version to the daemon's answer to --version. */
static void check_daemon(enum ofs_state bad, char **ret_version)
{
	static const char ours[] = "offloadfs " OFS_VERSION " ";
	OFS_FREE char *program = ofs_daemon_program();
	int r = ofs_probe_run(ask_version, program, OFS_MOUNT_WAIT_NS, ret_version);
	const char *version = *ret_version ? *ret_version : "";

	if (r == 0 && strncmp(version, ours, strlen(ours)) == 0) {
		ofs_found(OFS_FINE, "daemon", "%s: %s", program, version);
		return;
	}
	if (r == 0 && strncmp(version, ours, strcspn(ours, " ") + 1) == 0) {
		ofs_found(OFS_WARNING, "daemon",
			  "%s: %s, not the version of this tool\n"
			  "-> install offload and offloadfs " OFS_VERSION
			  " from the same build, or name the daemon in OFFLOADFS",
			  program, version);
		return;
	}
	ofs_found(bad, "daemon",
		  "'%s' %s%s\n"
		  "-> install offloadfs beside offload or in PATH, or name it in OFFLOADFS",
		  program,
		  r == 0	    ? "is some other program"
		  : r == ENOENT	    ? "is not found"
		  : r == -ETIMEDOUT ? "does not answer"
				    : "cannot be run: ",
		  r == 0 || r == ENOENT || r == -ETIMEDOUT ? "" : strerror(abs(r)));
}

static void check_uring(const char *version)
{
	OFS_FREE char *offered = read_text(URING);

	if (!offered && access("/sys/module/fuse", F_OK) < 0)
		ofs_found(OFS_NOTE, "io_uring",
			  "not known before the FUSE module is loaded\n-> sudo modprobe fuse");
	else if (!offered)
		ofs_found(OFS_NOTE, "io_uring",
			  "the kernel has no FUSE over io_uring" SLOWER
			  "\n-> use Linux 6.14 or newer, built with CONFIG_FUSE_IO_URING");
	else if (strstr(version, "without io_uring"))
		ofs_found(OFS_NOTE, "io_uring",
			  "the daemon was built without it" SLOWER
			  "\n-> build offloadfs with libfuse 3.18 or newer");
	else if (offered[0] != 'Y')
		ofs_found(OFS_NOTE, "io_uring",
			  "not enabled in the kernel" SLOWER "\n-> echo Y | sudo tee " URING
			  "; then mount again with offload down and offload up");
	else
		ofs_found(OFS_FINE, "io_uring", "enabled in the kernel");
}

static void check_wakeups(void)
{
	const char *obstacle = ofs_wakeup_obstacle();
	struct ofs_wakeup w;
	int r = ofs_wakeup_measure(&w);

	if (r == -ENOTSUP)
		ofs_found(OFS_FINE, "wake-ups", "there is one processor, which wakes no other");
	else if (r < 0)
		ofs_found(OFS_NOTE, "wake-ups",
			  "cannot be measured: %s\n-> mount with -o awake=off if requests are slow",
			  strerror(-r));
	else
		ofs_found(OFS_FINE, "wake-ups",
			  "two processors wake each other in %.1f us, kept awake in %.1f us; %s%s",
			  (double)w.halted / 1000, (double)w.awake / 1000,
			  obstacle ? "they may halt between requests: "
				   : "awake while requests keep coming over io_uring",
			  obstacle ? obstacle : "");
}

static void check_fusermount(bool root, enum ofs_state bad)
{
	OFS_FREE char *file = ofs_program_find("fusermount3");
	struct statvfs fs;
	struct stat st;

	if (!file)
		ofs_found(root ? OFS_NOTE : bad, "fusermount3",
			  "not in PATH%s\n-> sudo apt install fuse3",
			  root ? ": root mounts without it" : ": only root can mount");
	else if (!root && (stat(file, &st) < 0 || !(st.st_mode & S_ISUID) || st.st_uid != 0))
		ofs_found(bad, "fusermount3",
			  "'%s' is not setuid root: only root can mount\n"
			  "-> sudo chown root '%s' && sudo chmod u+s '%s'",
			  file, file, file);
	else if (!root && statvfs(file, &fs) == 0 && fs.f_flag & ST_NOSUID)
		ofs_found(bad, "fusermount3",
			  "'%s' lies on a filesystem mounted nosuid: only root can mount\n"
			  "-> install fuse3 on a filesystem that is not mounted nosuid",
			  file);
	else
		ofs_found(OFS_FINE, "fusermount3", "%s", file);
}

static void check_allow_other(bool root)
{
	static const char word[] = "user_allow_other";
	OFS_FREE char *conf = read_text(FUSE_CONF);
	char *save = NULL, *line;
	bool set = false;

	for (line = conf ? strtok_r(conf, "\n", &save) : NULL; line && !set;
	     line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		set = strcspn(line, " \t\r#") == strlen(word) &&
		      strncmp(line, word, strlen(word)) == 0;
	}
	ofs_found(OFS_FINE, "allow_other", "%s",
		  root	? "allowed to root"
		  : set ? "allowed: user_allow_other is set in " FUSE_CONF
			: "for root only: user_allow_other is not set in " FUSE_CONF);
}

void ofs_check_machine(bool mounted)
{
	enum ofs_state bad = mounted ? OFS_WARNING : OFS_PROBLEM;
	bool root = geteuid() == 0;
	OFS_FREE char *version = NULL;

	check_kernel();
	check_device(bad);
	check_rights(root, bad);
	check_fusermount(root, bad);
	check_daemon(bad, &version);
	check_uring(version ? version : "");
	check_wakeups();
	check_allow_other(root);
}

static void check_tool(const char *name, const char *program, const char *without)
{
	OFS_FREE char *file = ofs_program_find(program);

	if (file)
		ofs_found(OFS_FINE, name, "%s", file);
	else
		ofs_found(OFS_NOTE, name, "not in PATH: %s\n-> sudo apt install %s", without, name);
}

/* Returns true if the agent's settings of that place run our hook. */
static bool has_hook(const struct ofs_agent *agent, enum ofs_agent_place place)
{
	OFS_CLEANUP(ofs_settings_file_finish) struct ofs_settings_file s = { 0 };
	OFS_FREE char *path = NULL, *command = ofs_format("hook %s", agent->name);
	struct ofs_error err;

	return ofs_agent_settings_path(agent, place, &err, &path) == 0 &&
	       ofs_settings_file_load(path, &err, &s) == 0 && s.text.len &&
	       memmem(s.text.data, s.text.len, command, strlen(command)) != NULL;
}

static void check_agent(const struct ofs_agent *agent)
{
	OFS_FREE char *program = agent->program ? ofs_program_find(agent->program) : NULL;

	if (!program)
		return;
	if (has_hook(agent, OFS_AGENT_PROJECT) || has_hook(agent, OFS_AGENT_LOCAL) ||
	    has_hook(agent, OFS_AGENT_USER))
		ofs_found(OFS_FINE, agent->name, "%s is installed, and has our hook", agent->title);
	else
		ofs_found(OFS_NOTE, agent->name,
			  "%s is installed, but without our hook\n-> offload hook install %s",
			  agent->title, agent->name);
}

void ofs_check_tools(void)
{
	for (size_t i = 0; ofs_agent_number(i); i++)
		check_agent(ofs_agent_number(i));
	check_tool("git", "git", "repositories are recognised only by their folder .git");
	check_tool("ripgrep", "rg", "grep -r finds the same, more slowly");
}
