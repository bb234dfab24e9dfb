/* Interrupts: signal handlers of Python's that came due during a launch are run, and may end it.
 *
 * The main thread looks between chunks, and while it waits. In a block that does not end, a signal makes it look: the
 * ticker sends it one now and then while a launch lasts. Kernels' code holds no lock and owns nothing, so a thread that
 * a signal meets there may do anything, take the GIL too, and it may go on behind the block. The signal does nothing
 * anywhere else. */

#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include "waiting.h"

/* How often a launch looks for signals. */
#define LOOK_NS 50000000
/* SI_QUEUE, and where siginfo_t has its si_code and its value. */
#define QUEUED (-1)
#define INFO_CODE 8
#define INFO_VALUE 24
/* Where a signal's context has the program counter. */
#define COUNTER (IS_ARM ? 440 : 168)

enum { OUTSIDE, INSIDE, FROZEN };

/* Whether the launch is to end: Python's signal handlers are run if it is time, on the thread that they belong to. */
APART bool look(struct Caller *caller, int64_t time) {
  if (caller->interrupted) return true;
  if (time - caller->checked < LOOK_NS || !caller->watched) return false;
  const struct Engine *engine = caller->engine;
  const bool held = caller->held;
  if (!held) engine->PyEval_RestoreThread(caller->state);
  int32_t raised = engine->PyErr_CheckSignals();
  if (!held) caller->state = engine->PyEval_SaveThread();
  caller->checked = now(engine);
  if (raised) caller->interrupted = 1;
  return raised;
}

/* Whether a thread that a signal met in a kernel's code is to leave the block. */
INLINED bool is_to_leave(struct Runner *runner) {
  if (!runner->caller) return runner->slot && LOAD(runner->slot->interrupted);
  /* Handlers may launch, and be met by the next signal: they are not in this block. */
  *(volatile int32_t *)&runner->inside = OUTSIDE;
  if (look(runner->caller, now(runner->engine))) return true;
  *(volatile int32_t *)&runner->inside = INSIDE;
  return false;
}

/* What the engine's signal does: nothing, unless it meets a thread inside a kernel's own code. */
APART void on_signal(int32_t number, char *info, char *context) {
  if (*(int32_t *)(info + INFO_CODE) != QUEUED) return;
  struct Runner *runner = *(struct Runner **)(info + INFO_VALUE);
  if (!runner) return;
  STORE(runner->unheard, 0);
  if (*(volatile int32_t *)&runner->inside != INSIDE) return;
  const uint64_t counter = *(uint64_t *)(context + COUNTER);
  if (counter < runner->low || counter >= runner->high) return;
  const struct Engine *engine = runner->engine;
  if (runner->freeze) {
    *(volatile int32_t *)&runner->inside = FROZEN;
    for (;;) sleep_while(engine, &runner->inside, FROZEN, 0);
  }
  if (!is_to_leave(runner)) return;
  *(volatile int32_t *)&runner->inside = OUTSIDE;
  engine->longjmp(runner, 1);
  __builtin_unreachable();
}

/* Make those workers leave their blocks that are in a launch which was interrupted. */
APART void expel(struct Engine *engine, struct Slot *slot) {
  struct Pool *pool = engine->pool;
  const int32_t size = LOAD(pool->size);
  for (int32_t i = 0; i < size; i++) {
    struct Runner *runner = &pool->worker[i];
    struct Slot *in = LOAD(runner->slot);
    if (LOAD(runner->inside) == INSIDE && in == slot)
      engine->pthread_sigqueue(runner->thread, (int32_t)runner->signal, runner);
  }
}

#endif
