/* The engine's signal: which one it is, so that it takes none that the program uses, and none is held back.
 *
 * A program may begin to handle a signal, or to block it in its main thread, at any time. So code that is about to rely
 * on the engine's signal checks that it is still free, and otherwise moves to another one. The ticker, which cannot see
 * what the main thread blocks, also moves on from a signal that does not arrive. */

#ifndef SIGNALS_H
#define SIGNALS_H

#include "grids.h"

/* Debuggers pass SIGURG on, and programs that do not know it ignore it; then come real-time signals, from the last
 * down. */
#define FIRST_SIGNAL 23
#define LAST_REAL_TIME 60
#define CANDIDATES 11
/* SA_SIGINFO, SA_RESTART, SA_NODEFER */
#define ACTION_FLAGS (0x4 | 0x10000000 | 0x40000000)

/* The C library's own struct sigaction; volatile, as the code must not call memset. */
struct Action {
  volatile int64_t handler, mask[16];
  volatile int32_t flags, padding;
  volatile int64_t restorer;
};

/* Whether the engine handles a signal, which nobody else handled. */
INLINED bool is_handled(const struct Engine *engine, int32_t signal) {
  struct Action action;
  if (engine->sigaction(signal, NULL, &action)) return false;
  if (action.handler == engine->handler) return true;
  if (action.handler) return false;
  for (size_t i = 0; i < sizeof(action) / 8; i++) ((volatile int64_t *)&action)[i] = 0;
  action.handler = engine->handler;
  action.flags = ACTION_FLAGS;
  return !engine->sigaction(signal, &action, NULL);
}

/* Keep the engine's signal if it is handled by this code and not blocked; else take one that nobody handles or blocks.
 * Return it, or 0 if there is none. */
APART int32_t settle(struct Engine *engine, uint64_t blocked) {
  const int64_t present = engine->signal;
  for (int64_t turn = -1; turn < CANDIDATES; turn++) {
    int64_t signal = turn < 0 ? present : turn ? LAST_REAL_TIME + 1 - turn : FIRST_SIGNAL;
    if (!signal || blocked >> (signal - 1) & 1 || !is_handled(engine, signal)) continue;
    STORE(engine->signal, signal);
    return signal;
  }
  STORE(engine->signal, 0);
  return 0;
}

/* Settle on a signal that this thread does not block; the main thread does so at times. */
APART int32_t settle_here(struct Engine *engine) {
  volatile int64_t mask[16];
  struct Pool *pool = engine->pool;
  mask[0] = 0;
  engine->pthread_sigmask(0, NULL, (void *)mask);
  pool->blocked = mask[0];
  int32_t signal = settle(engine, pool->blocked);
  STORE(pool->settled, signal != 0); /* Where there is none, every launch looks again. */
  return signal;
}

#endif
