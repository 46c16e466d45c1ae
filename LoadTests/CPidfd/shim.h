// pidfd_open(2), which the C library declares since 2.36 only, and which Swift's Glibc module leaves out.
#ifndef CHIRRUP_PIDFD_H
#define CHIRRUP_PIDFD_H
#include <sys/syscall.h>
#include <unistd.h>
static inline int chirrup_pidfd_open(int process) { return (int)syscall(SYS_pidfd_open, process, 0); }
#endif
