/* Watching: the ticker, a thread that sends the main thread the engine's signal while a launch lasts. */

#ifndef WATCHING_H
#define WATCHING_H

#include "signals.h"
#include "workers.h"

#define TICK_NS 100000000
/* Ticks without a launch before the ticker sleeps until the next one. */
#define IDLE_TICKS 3

/* Send the main thread the engine's signal. What has not arrived since the last tick is taken to be blocked. */
INLINED void send(struct Engine *engine, struct Pool *pool, struct Runner *runner) {
  const uint64_t bit = (uint64_t)LOAD(runner->unheard) << ((engine->signal - 1) & 63);
  const int64_t blocked = GLANCE(pool->blocked) | bit;
  const int32_t signal = settle(engine, blocked);
  NOTE(pool->blocked, signal ? blocked : 0);
  STORE(runner->unheard, 1);
  engine->pthread_sigqueue(engine->main, signal, runner); /* 0 is sent to nobody. */
}

/* Sleep until a launch. One that begins from here on finds the ticker parked; one that began before is seen. */
INLINED void park(const struct Engine *engine, struct Pool *pool) {
  STORE(pool->parked, 1);
  if (!LOAD(pool->runner)) sleep_while(engine, &pool->parked, 1, 0);
  STORE(pool->parked, 0);
}

/* The life of the ticker: while the main thread stays in one launch, it is sent the signal with each tick. */
APART void *ticker(void *of) {
  struct Engine *engine = of;
  struct Pool *pool = engine->pool;
  engine->pthread_setname_np(engine->pthread_self(), engine->name);
  int64_t last = -1;
  int32_t idle = 0;
  for (;;) {
    sleep_while(engine, &pool->rest, 0, TICK_NS);
    STORE(pool->settled, 0);
    const int64_t launches = LOAD(pool->launches);
    struct Runner *runner = LOAD(pool->runner);
    if (runner) {
      if (LOAD(runner->inside) == INSIDE && last == launches) send(engine, pool, runner);
      idle = 0;
    } else {
      idle = last == launches ? idle + 1 : 1;
      if (idle > IDLE_TICKS) {
        park(engine, pool);
        last = -1;
        idle = 0;
        continue;
      }
    }
    last = launches;
  }
}

/* Have a ticker that is awake. */
INLINED void rouse(struct Engine *engine, struct Pool *pool) {
  if (!pool->ticking) {
    struct Mask all, old;
    pool->ticking = 1;
    shut(engine, &all, &old);
    is_started(engine, ticker, engine);
    engine->pthread_sigmask(SETMASK, &old, NULL);
  } else if (LOAD(pool->parked)) {
    STORE(pool->parked, 0);
    wake(engine, &pool->parked, 1);
  }
}

/* Have the ticker watch this launch of the main thread; return the record that it goes by, or null if it cannot. */
APART struct Runner *watch(struct Engine *engine, struct Pool *pool, struct Caller *caller, struct Kernel *kernel) {
  /* Asked with each tick, as it takes a system call, and for a kernel whose blocks may take any time. */
  if (!GLANCE(pool->settled) || !GLANCE(kernel->cost)) settle_here(engine);
  const int32_t depth = pool->depth++;
  if (!engine->signal || depth >= DEPTH) return NULL;
  struct Runner *runner = &pool->main[depth];
  runner->caller = caller;
  runner->engine = engine;
  NOTE(pool->launches, pool->launches + 1);
  STORE(pool->runner, runner);
  rouse(engine, pool);
  return runner;
}

/* The launch is over: the one around it, if there is one, is watched again. */
APART void unwatch(struct Pool *pool, struct Runner *runner) {
  const int32_t depth = --pool->depth;
  if (runner) STORE(pool->runner, depth ? runner - 1 : NULL);
}

#endif
