/* Launches one after another: a graph's on the host. A grid that is known to take so little time that nobody could help
 * with it is run at once; the GIL is released, and the launch watched, for all of these together, and the time is taken
 * of some of them. Any other is launch_grid's. */

#ifndef REPLAY_H
#define REPLAY_H

#include "launching.h"

/* A grid of so much work, in picoseconds, is not shared. */
#define ALONE_PS UINT64_C(8000000)
/* One grid in so many is timed, a power of two; which, the clock says, so that each has its turn. */
#define TIMED 8

/* Whether a grid is to be launched by itself. */
INLINED bool is_big(const struct Kernel *kernel, const struct Launch *launch) {
  const uint64_t cost = GLANCE(kernel->cost);
  return !cost || (uint64_t)blocks_of(launch) > ALONE_PS / cost;
}

/* Run the grids from number *at on until one is big, fails or is interrupted, or to the last; *at is its number then.
 * Return the code, and whether it is big. begun: the time now. */
INLINED int32_t run_small(const struct Step *steps, int64_t count, struct Caller *caller, int64_t begun, int64_t *at,
                          bool *big, void *report) {
  int64_t time = begun;
  for (;;) {
    const struct Step *step = &steps[*at];
    struct Kernel *kernel = step->kernel;
    const struct Launch launch = {*step->shape, kernel->patience};
    if ((*big = is_big(kernel, &launch))) return 0;
    const bool timed = (((uint64_t)begun >> 5) + *at) % TIMED == 0;
    const int64_t since = timed ? now(caller->engine) : 0, blocks = blocks_of(&launch);
    int32_t code = run(caller->runner, kernel, &launch, step->params, 0, blocks, report);
    if (timed) {
      time = now(caller->engine);
      learn(kernel, time - since, blocks);
    }
    if (code || look(caller, time) || *at + 1 >= count) return code;
    ++*at;
  }
}

/* Make launches, of which there is at least one. It returns 0, or what launch_grid returns for the first launch that
 * failed: its status is in the report then, and its number where reports have a handle. The launches after it are not
 * made. */
APART int32_t replay(const struct Step *steps, int64_t count, char *report) {
  struct Engine *engine = steps->kernel->engine;
  int64_t at = 0;
  int32_t code;
  for (;; at++) {
    struct Caller caller;
    bool big;
    int64_t begun = enter(&caller, engine, steps->kernel, 0);
    code = run_small(steps, count, &caller, begun, &at, &big, report);
    if (is_left_interrupted(&caller)) return INTERRUPTED;
    if (!big) break;
    code = launch_grid(steps[at].kernel, steps[at].shape, steps[at].params, 0, report);
    if (code || at + 1 >= count) break;
  }
  *(int64_t *)(report + REPORT_HANDLE) = at;
  return code;
}

#endif
