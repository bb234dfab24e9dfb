/* The function that runs a grid on the host. One function serves all kernels. The grid is run by the caller alone until
 * what is left, at the cost of a block as it is known, is worth the help of others. Blocks that wait for each other are
 * run by the caller, all in one call. */

#ifndef LAUNCHING_H
#define LAUNCHING_H

#include "sharing.h"

/* What is left must take so long, in picoseconds, to be shared: where a worker is awake, and where one has to be
 * woken. */
#define WORTH_PS UINT64_C(3000000)
#define WORTH_WAKING_PS UINT64_C(25000000)
/* So many launches that were worth sharing but not waking anybody, each so few nanoseconds after the one before, do wake
 * workers: these stay awake for the next ones. */
#define MANY_BRIEF 16
#define SOON_NS 20000
/* Of so many blocks, it is worth asking which of them do nothing. */
#define MANY_BLOCKS 4096

typedef int64_t __attribute__((aligned(4))) Half;

INLINED int64_t blocks_of(const struct Launch *launch) {
  return (int64_t)launch->shape.gx * launch->shape.gy * launch->shape.gz;
}

/* Store in place of a status from which to before which block a kernel's blocks do anything. */
APART void narrow(const struct Kernel *kernel, const struct Launch *launch, void *params, int64_t all, Half *status) {
  status[0] = 0;
  status[1] = all;
  kernel->entry(params, launch, all, 0, status);
}

/* Begin a launch: the GIL is released, unless it is to be held, and the main thread is watched. Return the time. */
INLINED int64_t enter(struct Caller *caller, struct Engine *engine, struct Kernel *kernel, int32_t held) {
  void *state = held ? NULL : engine->PyEval_SaveThread();
  const int64_t begun = now(engine);
  const bool is_main = engine->pthread_self() == engine->main;
  struct Runner *runner = is_main ? watch(engine, engine->pool, caller, kernel) : NULL;
  caller->state = state;
  caller->checked = begun;
  caller->runner = runner;
  caller->engine = engine;
  caller->held = held;
  caller->watched = is_main;
  caller->interrupted = 0;
  return begun;
}

/* End a launch; return whether it was interrupted. */
INLINED bool is_left_interrupted(struct Caller *caller) {
  if (caller->watched) unwatch(caller->engine->pool, caller->runner);
  if (!caller->held) caller->engine->PyEval_RestoreThread(caller->state);
  return caller->interrupted;
}

/* Whether launches come so fast that workers are to be kept awake for them. */
INLINED bool are_many_brief(struct Kernel *kernel, int64_t begun) {
  const bool soon = (uint64_t)(begun - GLANCE(kernel->ended)) < SOON_NS;
  const uint64_t brief = GLANCE(kernel->brief) + 1;
  NOTE(kernel->brief, soon && brief < MANY_BRIEF ? brief : 0);
  return soon && brief >= MANY_BRIEF;
}

/* Whether so many blocks that are left are worth sharing. */
INLINED bool is_worth_sharing(struct Kernel *kernel, const struct Pool *pool, uint64_t left, uint64_t cost,
                              int64_t begun) {
  if (left > (GLANCE(pool->size) > GLANCE(pool->sleeping) ? WORTH_PS : WORTH_WAKING_PS) / cost) return true;
  return left > WORTH_PS / cost && are_many_brief(kernel, begun);
}

/* How many blocks a caller that is alone runs before it looks up. */
INLINED int64_t piece_of(const struct Kernel *kernel, int64_t left, uint64_t cost) {
  int64_t piece = cost ? (uint64_t)kernel->piece / cost : 1;
  if (!piece) piece = 1;
  return piece < left && !kernel->resident ? piece : left;
}

/* Run the blocks from first to before the last; return the code. */
INLINED int32_t run_blocks(struct Caller *caller, struct Kernel *kernel, const struct Launch *launch, void *params,
                           int64_t first, int64_t blocks, int64_t begun, void *status) {
  struct Engine *engine = caller->engine;
  bool shares = kernel->threads > 1;
  for (int64_t since = begun;;) {
    const int64_t left = blocks - first;
    const uint64_t cost = GLANCE(kernel->cost);
    if (shares && left > 1 && cost && is_worth_sharing(kernel, engine->pool, left, cost, begun)) {
      int32_t shared = share(engine, caller, kernel, launch, params, first, blocks, status);
      if (shared != NO_SLOT) return shared;
      shares = false;
      continue;
    }
    const int64_t count = piece_of(kernel, left, cost);
    int32_t code = run(caller->runner, kernel, launch, params, first, first + count, status);
    const int64_t time = now(engine);
    learn(kernel, time - since, count);
    NOTE(kernel->ended, time);
    first += count;
    if (code || first >= blocks || look(caller, time)) return code;
    since = time;
  }
}

/* Run a grid. shape: a launch's dimensions and dynamic shared memory. params and status are what a kernel's entry takes
 * (compiler/targets/host/blocks/entry.py says what). held: whether the GIL is held meanwhile; else it is released. It
 * returns 0, the code of the first block that failed, or INTERRUPTED if a Python signal handler raised, whose error is
 * set then. */
APART int32_t launch_grid(struct Kernel *kernel, const struct Shape *shape, void *params, int32_t held, void *status) {
  const struct Launch launch = {*shape, kernel->patience};
  struct Caller caller;
  int32_t code = 0;
  const int64_t begun = enter(&caller, kernel->engine, kernel, held);
  int64_t first = 0, blocks = blocks_of(&launch);
  if (blocks >= MANY_BLOCKS && !kernel->resident) {
    narrow(kernel, &launch, params, blocks, status);
    first = ((Half *)status)[0];
    blocks = ((Half *)status)[1];
  }
  if (first < blocks) code = run_blocks(&caller, kernel, &launch, params, first, blocks, begun, status);
  return is_left_interrupted(&caller) ? INTERRUPTED : code;
}

#endif
