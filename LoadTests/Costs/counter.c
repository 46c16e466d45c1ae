// Counts the calls of the allocator and of Swift's reference counting by thread, in a file that
// another process maps and reads: `LD_PRELOAD=counter.so COUNTER_FILE=… program`.
//
// Its functions take precedence over those of glibc and the Swift runtime, and forward to them. On
// request it stores the backtrace of each call.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALLOCATION, LIBPQ, FREE, OBJECT, RETAIN, RELEASE, KINDS };
enum { THREADS = 64, TRACES = 4096, FRAMES = 24 };

struct thread {
  char name[16];
  _Atomic uint64_t counts[KINDS];
};

struct trace {
  _Atomic uint64_t hash;
  _Atomic uint64_t count;
  uint64_t kind, depth, frames[FRAMES];
};

// The layout of the file, also defined in counter.py.
struct board {
  char magic[8];
  _Atomic uint64_t threadCount;
  _Atomic uint64_t traced;  // a bit per kind whose backtraces are stored
  _Atomic uint64_t lostTraces;
  struct thread threads[THREADS];
  struct trace traces[TRACES];
};

static struct board *board;
static __thread struct thread *mine __attribute__((tls_model("initial-exec")));
static __thread int busy __attribute__((tls_model("initial-exec")));

static void enter(void) {
  uint64_t index = atomic_fetch_add(&board->threadCount, 1);
  // Threads beyond the limit share the last entry.
  mine = &board->threads[index < THREADS ? index : THREADS - 1];
  pthread_getname_np(pthread_self(), mine->name, sizeof mine->name);
}

static void keep(int kind) {
  void *frames[FRAMES + 2];
  int depth = backtrace(frames, FRAMES + 2) - 2;
  if (depth < 0) depth = 0;
  uint64_t hash = 14695981039346656037u ^ (uint64_t)kind;
  for (int i = 0; i < depth; i++) hash = (hash ^ (uint64_t)frames[i + 2]) * 1099511628211u;
  hash |= 1;
  for (uint64_t step = 0; step < TRACES; step++) {
    struct trace *trace = &board->traces[(hash + step) % TRACES];
    uint64_t found = 0;
    if (atomic_compare_exchange_strong(&trace->hash, &found, hash)) {
      trace->kind = (uint64_t)kind;
      trace->depth = (uint64_t)depth;
      for (int i = 0; i < depth; i++) trace->frames[i] = (uint64_t)frames[i + 2];
      found = hash;
    }
    if (found == hash) {
      atomic_fetch_add_explicit(&trace->count, 1, memory_order_relaxed);
      return;
    }
  }
  atomic_fetch_add(&board->lostTraces, 1);
}

static inline void count(int kind) {
  if (!board || busy) return;
  busy = 1;
  if (!mine) enter();
  atomic_fetch_add_explicit(&mine->counts[kind], 1, memory_order_relaxed);
  if (atomic_load_explicit(&board->traced, memory_order_relaxed) >> kind & 1) keep(kind);
  busy = 0;
}

// libpq's allocations for a response are counted separately, by the caller's address.
static uintptr_t libpqBegin, libpqEnd;

static int findLibpq(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  if (!strstr(info->dlpi_name, "/libpq.so")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
    libpqBegin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    libpqEnd = libpqBegin + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

static inline void countAllocation(void *caller) {
  uintptr_t address = (uintptr_t)caller;
  count(address >= libpqBegin && address < libpqEnd ? LIBPQ : ALLOCATION);
}

// glibc's internal names of its allocator need no lookup before the first call.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

void *malloc(size_t size) {
  countAllocation(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t many, size_t size) {
  countAllocation(__builtin_return_address(0));
  return __libc_calloc(many, size);
}

void *realloc(void *old, size_t size) {
  countAllocation(__builtin_return_address(0));
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  countAllocation(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment % sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
  void *memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

void free(void *memory) {
  if (memory) count(FREE);
  __libc_free(memory);
}

// These precede the Swift runtime's functions. The runtime's own hooks are no alternative: in 6.3 they
// also get small strings instead of objects. Calls within the standard library are not counted here;
// allocations of its generic code are counted above.
static void *next(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) _exit(119);
  return found;
}

#define FORWARD(kind, result, name, parameters, arguments)        \
  result name parameters {                                        \
    static result(*real) parameters;                              \
    if (!real) {                                                  \
      void *found = next(#name);                                  \
      memcpy(&real, &found, sizeof found);                        \
    }                                                             \
    if ((kind) == OBJECT || (intptr_t)object > 0) count(kind);    \
    return real arguments;                                        \
  }

// Null references and small values stored in a reference have no count.
FORWARD(RETAIN, void *, swift_retain, (void *object), (object))
FORWARD(RETAIN, void *, swift_retain_n, (void *object, uint32_t n), (object, n))
FORWARD(RETAIN, void *, swift_tryRetain, (void *object), (object))
FORWARD(RETAIN, void *, swift_bridgeObjectRetain, (void *object), (object))
FORWARD(RETAIN, void *, swift_bridgeObjectRetain_n, (void *object, int n), (object, n))
FORWARD(RELEASE, void, swift_release, (void *object), (object))
FORWARD(RELEASE, void, swift_release_n, (void *object, uint32_t n), (object, n))
FORWARD(RELEASE, void, swift_bridgeObjectRelease, (void *object), (object))
FORWARD(RELEASE, void, swift_bridgeObjectRelease_n, (void *object, int n), (object, n))
FORWARD(OBJECT, void *, swift_allocObject, (const void *object, size_t size, size_t mask),
        (object, size, mask))

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("COUNTER_FILE");
  if (!path) return;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ftruncate(file, sizeof(struct board))) _exit(119);
  void *map = mmap(0, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) _exit(119);
  // Child processes are not counted.
  unsetenv("LD_PRELOAD");
  unsetenv("COUNTER_FILE");
  void *first[1];
  backtrace(first, 1);  // The first call loads a library and allocates.
  dl_iterate_phdr(findLibpq, 0);
  board = map;
  memcpy(board->magic, "counter1", 8);
}
