// What Swift's Glibc module leaves out: epoll, eventfd, signalfd, timerfd and accept4.
#ifndef CHIRRUP_CLINUX_H
#define CHIRRUP_CLINUX_H
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
#endif
