// The lower bound: the cost of the kernel alone. One epoll loop without HTTP, WebSocket or timers.
//
//   bare-peer [--coalesce] PORT BYTES
//
// PORT      echo: one recv, one send of the same bytes.
// PORT + 1  subscribers: they receive the published messages.
// PORT + 2  publishers: each BYTES bytes are a message. Every subscriber gets it with a separate
//           send, or, with --coalesce, together with all bytes received in the same iteration.
//
// Bytes that a socket does not accept are queued, and reading from it pauses. A subscriber with a
// backlog of more than BACKLOG_MAX is closed.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 1024, BUFFER_BYTES = 512 * 1024, BACKLOG_MAX = 64 * 1024 * 1024 };
enum role { ECHO, SUBSCRIBER, PUBLISHER, ROLES };

struct peer {
  int descriptor;
  enum role role;
  bool listens;
  size_t position;  // the index of a subscriber in `subscribers`
  char *backlog;    // of a publisher: the start of an incomplete message
  size_t begin, end, capacity;
  struct peer *next_closed;
};

static int epoll;
static size_t message_bytes;
static bool coalesces;
static char buffer[BUFFER_BYTES];
static struct peer **subscribers;
static size_t subscriber_count, subscriber_capacity;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void *grown(void *memory, size_t bytes) {
  void *result = realloc(memory, bytes);
  if (result == NULL) fail("realloc");
  return result;
}

static void watch(struct peer *peer, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.ptr = peer};
  if (epoll_ctl(epoll, operation, peer->descriptor, &event) != 0) fail("epoll_ctl");
}

// Pending events of this iteration may still refer to a closed peer, so it is freed afterwards.
static struct peer *closed;

static void end(struct peer *peer) {
  if (peer->descriptor < 0) return;
  close(peer->descriptor);
  peer->descriptor = -1;
  if (peer->role == SUBSCRIBER) {
    struct peer *last = subscribers[--subscriber_count];
    subscribers[peer->position] = last;
    last->position = peer->position;
  }
  peer->next_closed = closed;
  closed = peer;
}

static void keep(struct peer *peer, const char *bytes, size_t count) {
  size_t kept = peer->end - peer->begin;
  if (kept + count > BACKLOG_MAX) {
    fprintf(stderr, "bare-peer: a connection fell behind and is closed\n");
    end(peer);
    return;
  }
  if (peer->end + count > peer->capacity) {
    if (kept > 0) memmove(peer->backlog, peer->backlog + peer->begin, kept);
    peer->begin = 0;
    peer->end = kept;
    if (kept + count > peer->capacity) {
      peer->capacity = 2 * (kept + count);
      peer->backlog = grown(peer->backlog, peer->capacity);
    }
  }
  memcpy(peer->backlog + peer->end, bytes, count);
  peer->end += count;
}

static void deliver(struct peer *peer, const char *bytes, size_t count) {
  bool waits = peer->end > peer->begin;
  size_t sent = 0;
  if (!waits) {
    ssize_t result = send(peer->descriptor, bytes, count, MSG_NOSIGNAL);
    if (result < 0 && errno != EAGAIN) {
      end(peer);
      return;
    }
    if (result > 0) sent = (size_t)result;
    if (sent == count) return;
    watch(peer, EPOLL_CTL_MOD, EPOLLOUT);
  }
  keep(peer, bytes + sent, count - sent);
}

static void flush(struct peer *peer) {
  ssize_t result =
      send(peer->descriptor, peer->backlog + peer->begin, peer->end - peer->begin, MSG_NOSIGNAL);
  if (result < 0 && errno != EAGAIN) {
    end(peer);
    return;
  }
  if (result > 0) peer->begin += (size_t)result;
  if (peer->begin < peer->end) return;
  free(peer->backlog);
  peer->backlog = NULL;
  peer->begin = peer->end = peer->capacity = 0;
  watch(peer, EPOLL_CTL_MOD, EPOLLIN);
}

static void publish(const char *bytes, size_t count) {
  size_t step = coalesces ? count : message_bytes;
  for (size_t offset = 0; offset < count; offset += step) {
    // In reverse: the last subscriber, already served, moves to the index of a closed one.
    for (size_t index = subscriber_count; index > 0; index--)
      deliver(subscribers[index - 1], bytes + offset, step);
  }
}

static void published(struct peer *peer, size_t count) {
  const char *bytes = buffer;
  size_t available = count;
  if (peer->end > peer->begin) {
    keep(peer, buffer, count);
    bytes = peer->backlog + peer->begin;
    available = peer->end - peer->begin;
  }
  size_t whole = available / message_bytes * message_bytes;
  if (whole > 0) publish(bytes, whole);
  if (bytes == buffer) {
    if (available > whole) keep(peer, buffer + whole, available - whole);
  } else {
    peer->begin += whole;
  }
}

static void readable(struct peer *peer) {
  ssize_t count = recv(peer->descriptor, buffer, sizeof buffer, 0);
  if (count <= 0) {
    if (count == 0 || errno != EAGAIN) end(peer);
    return;
  }
  if (peer->role == ECHO) deliver(peer, buffer, (size_t)count);
  if (peer->role == PUBLISHER) published(peer, (size_t)count);
}

static void accept_all(const struct peer *listener) {
  for (;;) {
    int descriptor = accept4(listener->descriptor, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) fail("calloc");
    peer->descriptor = descriptor;
    peer->role = listener->role;
    if (peer->role == SUBSCRIBER) {
      if (subscriber_count == subscriber_capacity) {
        subscriber_capacity = subscriber_capacity == 0 ? 1024 : 2 * subscriber_capacity;
        subscribers = grown(subscribers, subscriber_capacity * sizeof *subscribers);
      }
      peer->position = subscriber_count;
      subscribers[subscriber_count++] = peer;
    }
    watch(peer, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void listen_on(int port, enum role role) {
  static struct peer listeners[ROLES];
  struct peer *listener = &listeners[role];
  int on = 1;
  listener->role = role;
  listener->listens = true;
  listener->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener->descriptor < 0) fail("socket");
  setsockopt(listener->descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (bind(listener->descriptor, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
  if (listen(listener->descriptor, 4096) != 0) fail("listen");
  watch(listener, EPOLL_CTL_ADD, EPOLLIN);
}

int main(int count, char **arguments) {
  int next = 1;
  if (next < count && strcmp(arguments[next], "--coalesce") == 0) {
    coalesces = true;
    next++;
  }
  long port = count == next + 2 ? strtol(arguments[next], NULL, 10) : 0;
  long bytes = count == next + 2 ? strtol(arguments[next + 1], NULL, 10) : 0;
  if (port < 1 || port > 65535 - 2 || bytes < 1 || bytes > BUFFER_BYTES) {
    fprintf(stderr, "usage: bare-peer [--coalesce] PORT BYTES\n");
    return 2;
  }
  message_bytes = (size_t)bytes;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  signal(SIGPIPE, SIG_IGN);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) fail("epoll_create1");
  for (enum role role = ECHO; role < ROLES; role++) listen_on((int)port + (int)role, role);
  static struct epoll_event events[EVENTS_MAX];
  for (;;) {
    int ready = epoll_wait(epoll, events, EVENTS_MAX, -1);
    for (int index = 0; index < ready; index++) {
      struct peer *peer = events[index].data.ptr;
      if (peer->listens) {
        accept_all(peer);
      } else if (peer->descriptor >= 0) {
        if (events[index].events & EPOLLOUT) {
          flush(peer);
        } else {
          readable(peer);
        }
      }
    }
    while (closed != NULL) {
      struct peer *peer = closed;
      closed = peer->next_closed;
      free(peer->backlog);
      free(peer);
    }
  }
}
