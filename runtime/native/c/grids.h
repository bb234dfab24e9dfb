/* The records that the machine code which runs grids reads and writes, as C has them: grids/records.py says what each
 * field is, and scripts/make-native.py checks that it is at the same place here. */

#ifndef GRIDS_H
#define GRIDS_H

#include <stddef.h>
#include <stdint.h>

#define APART static __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))

/* Whether the machine is an ARM of 64 bits, else an x86: known when a process makes machine code of this. */
extern const int64_t IS_ARM;

#define LOAD(place) __atomic_load_n(&(place), __ATOMIC_SEQ_CST)
#define STORE(place, value) __atomic_store_n(&(place), value, __ATOMIC_SEQ_CST)
#define ADD(place, value) __atomic_fetch_add(&(place), value, __ATOMIC_SEQ_CST)
#define SUBTRACT(place, value) __atomic_fetch_sub(&(place), value, __ATOMIC_SEQ_CST)
/* Without an order among other words. */
#define GLANCE(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)
#define NOTE(place, value) __atomic_store_n(&(place), value, __ATOMIC_RELAXED)

/* A launch as launch tables have it. */
struct Shape {
  uint32_t gx, gy, gz, bx, by, bz, shared;
};

/* A launch as kernels read it. */
struct Launch {
  struct Shape shape;
  int64_t patience;
};

static_assert(sizeof(struct Shape) == SHAPE_BYTES);
static_assert(offsetof(struct Launch, patience) == PATIENCE && sizeof(struct Launch) == LAUNCH_BYTES);

struct Engine {
  int64_t (*syscall)(int64_t, ...);
  int32_t (*clock_gettime)(int32_t, int64_t *);
  int32_t (*pthread_create)(uint64_t *, const void *, void *(*)(void *), void *);
  int32_t (*pthread_detach)(uint64_t);
  uint64_t (*pthread_self)(void);
  int32_t (*pthread_setname_np)(uint64_t, const char *);
  int32_t (*pthread_sigmask)(int32_t, const void *, void *);
  int32_t (*pthread_sigqueue)(uint64_t, int32_t, void *);
  int32_t (*sigaction)(int32_t, const void *, void *);
  int32_t (*_setjmp)(void *);
  void (*longjmp)(void *, int32_t);
  void *(*PyEval_SaveThread)(void);
  void (*PyEval_RestoreThread)(void *);
  int32_t (*PyErr_CheckSignals)(void);
  struct Pool *pool;
  uint64_t main;
  int64_t handler, signal, settle;
  char name[16];
};

struct Kernel {
  int32_t (*entry)(void *, const struct Launch *, int64_t, int64_t, void *);
  struct Engine *engine;
  uint64_t low, high;
  int64_t cost, ended, brief;
  int32_t threads, resident;
  int64_t patience, piece, chunks;
};

struct Piece {
  int64_t start, end, left;
  void *event;
  int32_t state, padding;
};

struct Transfer {
  int32_t (*set_context)(void *);
  void *context;
  int32_t (*copy)(int64_t, char *, int64_t, void *);
  int32_t (*query)(void *);
  void *(*move)(char *, char *, int64_t);
  void *stream;
  char *here, *block;
  int64_t there, size, chunk, outward, next;
  struct Piece piece[PIECES];
};

struct Step {
  struct Kernel *kernel;
  const struct Shape *shape;
  void *params;
};

struct Caller {
  void *state;
  int64_t checked;
  struct Runner *runner;
  struct Engine *engine;
  int32_t held, watched, interrupted, padding;
};

struct Runner {
  char jump[512];
  uint64_t low, high;
  struct Caller *caller;
  struct Slot *slot;
  struct Engine *engine;
  uint64_t thread;
  int32_t inside, freeze;
  int64_t number, signal, unheard;
};

struct Part {
  int64_t next, end, padding[6];
};

struct Slot {
  int32_t taken, open, working, waiting, stopped, failed, interrupted, parts;
  struct Kernel *kernel;
  const struct Launch *launch;
  void *params;
  int64_t chunk;
  char status[STATUS_BYTES], padding[36];
  struct Part part[PARTS];
};

struct Pool {
  int32_t sequence, sleeping, size, starting, ticking, parked, depth, settled;
  int64_t launches;
  struct Runner *runner;
  int64_t ticker, rest, blocked;
  struct Slot slot[SLOTS];
  struct Runner worker[WORKERS];
  struct Runner main[DEPTH];
};

#endif
