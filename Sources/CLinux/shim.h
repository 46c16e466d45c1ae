// The declarations of Linux and the C library that Kernel uses. Swift's Glibc module lacks some of them: epoll,
// eventfd, signalfd. _GNU_SOURCE stays undefined, as in that module: it changes definitions (fd_set, sockaddr
// arguments), and a program that loads both would not compile. This header declares the functions it would add.
#ifndef CHIRRUP_CLINUX_H
#define CHIRRUP_CLINUX_H
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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
extern int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *limit);
extern const char *strerrorname_np(int number);
extern const char *strerrordesc_np(int number);
// Macros and globals that Swift does not import.
extern char **environ;
static inline char **chirrup_environment(void) { return environ; }
static inline int chirrup_close_on_exec(unsigned int first) { return close_range(first, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */); }
// fcntl and open have a variable number of arguments, which Swift cannot call.
static inline int chirrup_open_to_read(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }
static inline int chirrup_open_file(const char *path, int flags) { return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600); }
static inline int chirrup_is_open(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }
static inline int chirrup_duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 3); }
static inline int chirrup_set_flags(int descriptor) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == -1) return -1;
  return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}
static inline int chirrup_errno(void) { return errno; }
static inline void chirrup_ignore_signal(int number) { signal(number, SIG_IGN); }
// Gives up root for good. Only the right to bind ports below 1024 stays, in this thread; a container may lack it.
static inline int chirrup_become(const char *name, uid_t user, gid_t group) {
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2] = {{1u << CAP_NET_BIND_SERVICE, 1u << CAP_NET_BIND_SERVICE, 0}, {0, 0, 0}};
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || initgroups(name, group) || setgid(group) || setuid(user)) return -1;
  if (syscall(SYS_capset, &head, sets) == 0) return 0;
  sets[0].effective = sets[0].permitted = 0;
  return (int)syscall(SYS_capset, &head, sets);
}
#endif
