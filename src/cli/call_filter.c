/* SPDX-License-Identifier: MIT */
#include "cli/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/util.h"

#define FILTER_MAX 128
#define X32_BIT 0x40000000U
#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* The numbers of the system calls, for each kind of program that this machine runs. */
static const struct machine {
	uint32_t arch, ioctl, kill;
} machines[] = {
#if defined(__x86_64__)
	{ AUDIT_ARCH_X86_64, SYS_ioctl, SYS_kill },
	{ AUDIT_ARCH_I386, 54, 37 },
#elif defined(__i386__)
	{ AUDIT_ARCH_I386, SYS_ioctl, SYS_kill },
#elif defined(__aarch64__)
	{ AUDIT_ARCH_AARCH64, SYS_ioctl, SYS_kill },
	{ AUDIT_ARCH_ARM, 54, 37 },
#elif defined(__arm__)
	{ AUDIT_ARCH_ARM, SYS_ioctl, SYS_kill },
#elif defined(__riscv) && __riscv_xlen == 64
	{ AUDIT_ARCH_RISCV64, SYS_ioctl, SYS_kill },
#endif
	{ 0, 0, 0 },
};

static const uint32_t denied_ioctls[] = { TIOCSTI, TIOCLINUX };
static const uint32_t job_signals[] = { 0, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH };

struct program {
	struct sock_filter code[FILTER_MAX];
	unsigned short len;
};

/* All known machines are little-endian: the low half of an argument comes first. */
#define FIELD(name) ((uint32_t)offsetof(struct seccomp_data, name))
#define ARGUMENT(i) (FIELD(args) + 8 * (i))
#define ALLOW SECCOMP_RET_ALLOW
#define DENY (SECCOMP_RET_ERRNO | EPERM)

static void put(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->code[p->len++] = (struct sock_filter){ code, yes, no, k };
}

static void load(struct program *p, uint32_t field)
{
	put(p, BPF_LD | BPF_W | BPF_ABS, field, 0, 0);
}

static void answer(struct program *p, uint32_t what)
{
	put(p, BPF_RET | BPF_K, what, 0, 0);
}

/* Adds an answer of `what` if the loaded word is `value`. */
static void answer_if(struct program *p, uint32_t value, uint32_t what)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	answer(p, what);
}

/* Skips the code up to end_block(), which takes the result, unless the loaded word is `value`. */
static unsigned short begin_block(struct program *p, uint32_t value)
{
	put(p, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
	return p->len;
}

static void end_block(struct program *p, unsigned short begin)
{
	p->code[begin - 1].jf = (uint8_t)(p->len - begin);
}

static void add_machine(struct program *p, const struct machine *m, bool group)
{
	unsigned short all, call;

	load(p, FIELD(arch));
	all = begin_block(p, m->arch);
	load(p, FIELD(nr));
	if (m->arch == AUDIT_ARCH_X86_64) { /* x32 has numbers of its own */
		put(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
		answer(p, DENY);
	}
	call = begin_block(p, m->ioctl);
	load(p, ARGUMENT(1));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(denied_ioctls); i++)
		answer_if(p, denied_ioctls[i], DENY);
	answer(p, ALLOW);
	end_block(p, call);
	if (group) {
		call = begin_block(p, m->kill);
		load(p, ARGUMENT(0));
		put(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
		answer(p, ALLOW);
		load(p, ARGUMENT(1));
		for (size_t i = 0; i < OFS_ARRAY_SIZE(job_signals); i++)
			answer_if(p, job_signals[i], ALLOW);
		answer(p, DENY);
		end_block(p, call);
	}
	answer(p, ALLOW);
	end_block(p, all);
}

int ofs_call_filter_set(bool group)
{
	struct program p = { .len = 0 };
	struct sock_fprog filter = { .filter = p.code };

	if (!machines[0].arch)
		return -ENOSYS;
	for (const struct machine *m = machines; m->arch; m++)
		add_machine(&p, m, group);
	answer(&p, DENY); /* programs of an unknown kind */
	filter.len = p.len;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0 ? -errno : 0;
}
