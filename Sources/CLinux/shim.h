// What Kernel takes from Linux and the C library. Swift's Glibc module leaves some of it out: epoll, eventfd,
// signalfd, accept4.
#ifndef CHIRRUP_CLINUX_H
#define CHIRRUP_CLINUX_H
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
// Macros and globals that Swift does not import.
extern char **environ;
static inline char **chirrup_environment(void) { return environ; }
static inline int chirrup_errno(void) { return errno; }
static inline void chirrup_ignore_signal(int number) { signal(number, SIG_IGN); }
#endif
