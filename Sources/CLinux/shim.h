// What Kernel takes from Linux and the C library. Swift's Glibc module leaves some of it out: epoll, eventfd,
// signalfd. _GNU_SOURCE stays undefined, as in that module: it changes definitions (fd_set, sockaddr
// arguments), and a program that loads both would not compile. What it would declare is declared here.
#ifndef CHIRRUP_CLINUX_H
#define CHIRRUP_CLINUX_H
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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
extern int close_range(unsigned int first, unsigned int last, int flags);
extern int pipe2(int descriptors[2], int flags);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern const char *strerrorname_np(int number);
extern const char *strerrordesc_np(int number);
// Macros and globals that Swift does not import.
extern char **environ;
static inline char **chirrup_environment(void) { return environ; }
static inline int chirrup_close_on_exec(unsigned int first) { return close_range(first, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */); }
static inline int chirrup_errno(void) { return errno; }
static inline void chirrup_ignore_signal(int number) { signal(number, SIG_IGN); }
#endif
