// What a process gives up before it reads the bytes of strangers (setrlimit(2), seccomp(2)), and files in memory
// (memfd_create(2)). Only the target Confinement uses it.
#ifndef CHIRRUP_CCONFINEMENT_H
#define CHIRRUP_CCONFINEMENT_H
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CHIRRUP_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CHIRRUP_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

static inline int chirrup_limit(int resource, uint64_t value) {
  struct rlimit limit = {value, value};
  return setrlimit(resource, &limit);
}

/// From now on the kernel ends the process at any system call but those of memory, of reading and writing open
/// descriptors, and of its exit (seccomp(2)). To open a file fails. Returns 0 on success.
static inline int chirrup_confine(void) {
#ifdef CHIRRUP_ARCHITECTURE
#define CHIRRUP_ALLOW(name) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CHIRRUP_ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      CHIRRUP_ALLOW(read),
      CHIRRUP_ALLOW(write),
      CHIRRUP_ALLOW(mmap),
      CHIRRUP_ALLOW(munmap),
      CHIRRUP_ALLOW(mremap),
      CHIRRUP_ALLOW(mprotect),
      CHIRRUP_ALLOW(madvise),
      CHIRRUP_ALLOW(brk),
      CHIRRUP_ALLOW(futex),
      CHIRRUP_ALLOW(getrandom),
      CHIRRUP_ALLOW(clock_gettime),
      CHIRRUP_ALLOW(rt_sigreturn),
      CHIRRUP_ALLOW(exit),
      CHIRRUP_ALLOW(exit_group),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
#else
  return -1;
#endif
}

static inline int chirrup_confinement_error(void) { return errno; }

/// A file without a name, which is gone with its last descriptor; -1 on failure. The C library declares the call for
/// _GNU_SOURCE only, see CLinux.
static inline int chirrup_memory_file(void) { return (int)syscall(SYS_memfd_create, "chirrup", MFD_CLOEXEC); }
#endif
