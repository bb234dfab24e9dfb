/* Workers: threads that help with whatever launch is open, and sleep while none is. */

#ifndef WORKERS_H
#define WORKERS_H

#include "dealing.h"

/* A worker that runs out of work looks for more for so long before it sleeps: about as long as it takes to wake. */
#define SPIN_NS 50000
/* So often it looks between two looks at the clock. */
#define SPINS 32
#define SETMASK 2

/* The signals that a thread does not get; volatile, as the code must not call memset. */
struct Mask {
  volatile uint64_t words[16];
};

/* Block all signals of this thread but the engine's own, which threads that it starts inherit. */
APART void shut(const struct Engine *engine, struct Mask *all, struct Mask *old) {
  const int64_t signal = engine->signal;
  for (int64_t i = 0; i < 16; i++) all->words[i] = UINT64_MAX;
  all->words[0] = signal ? ~(UINT64_C(1) << ((signal - 1) & 63)) : UINT64_MAX;
  engine->pthread_sigmask(SETMASK, all, old);
}

/* Start a thread that nobody waits for; return whether there is one. */
INLINED bool is_started(const struct Engine *engine, void *(*life)(void *), void *of) {
  uint64_t thread;
  if (engine->pthread_create(&thread, NULL, life, of)) return false;
  engine->pthread_detach(thread);
  return true;
}

/* Be counted out of a launch; its caller may wait for that. */
APART void leave(const struct Engine *engine, struct Slot *slot) {
  if (SUBTRACT(slot->working, 1) == 1 && LOAD(slot->waiting)) wake(engine, &slot->working, 1);
}

/* Help with a launch, if it is open and wants another; return whether it did. */
INLINED bool is_helped(struct Engine *engine, struct Slot *slot, struct Runner *self) {
  if (!LOAD(slot->open)) return false;
  /* Counted first, looked at then: as long as it is counted, what it finds open stays. */
  const int32_t before = ADD(slot->working, 1), open = LOAD(slot->open);
  const bool joins = before < slot->parts - 1 && open;
  if (joins) {
    const int64_t signal = LOAD(engine->signal);
    if (self->signal != signal) {
      struct Mask all, old;
      shut(engine, &all, &old);
      self->signal = signal;
    }
    STORE(self->slot, slot);
    work(engine, slot, (uint32_t)self->number, self, NULL);
    STORE(self->slot, NULL);
  }
  leave(engine, slot);
  return joins;
}

INLINED bool has_helped(struct Engine *engine, struct Pool *pool, struct Runner *self) {
  for (int64_t i = 0; i < SLOTS; i++)
    if (is_helped(engine, &pool->slot[i], self)) return true;
  return false;
}

/* Look for news for a while; return whether there are any. */
INLINED bool is_called(const struct Engine *engine, const struct Pool *pool, int32_t seen) {
  const int64_t begun = now(engine);
  do
    for (int32_t n = 0; n < SPINS; n++) {
      relax();
      if (LOAD(pool->sequence) != seen) return true;
    }
  while (now(engine) - begun <= SPIN_NS);
  return false;
}

/* The life of a worker. */
APART void *worker(void *of) {
  struct Runner *self = of;
  struct Engine *engine = self->engine;
  struct Pool *pool = engine->pool;
  self->thread = engine->pthread_self();
  engine->pthread_setname_np(self->thread, engine->name);
  for (;;) {
    const int32_t seen = LOAD(pool->sequence);
    if (has_helped(engine, pool, self) || is_called(engine, pool, seen)) continue;
    ADD(pool->sleeping, 1);
    sleep_while(engine, &pool->sequence, seen, 0);
    SUBTRACT(pool->sleeping, 1);
  }
}

/* Have so many workers, or as many as the system allows. Signals are left to Python's threads. */
APART void start(struct Engine *engine, struct Pool *pool, int32_t wanted) {
  const int32_t most = wanted < WORKERS ? wanted : WORKERS;
  int32_t nobody = 0;
  if (LOAD(pool->size) >= most) return;
  if (!__atomic_compare_exchange_n(&pool->starting, &nobody, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  struct Mask all, old;
  shut(engine, &all, &old);
  for (int32_t i = LOAD(pool->size); i < most; i++) {
    struct Runner *one = &pool->worker[i];
    one->engine = engine;
    one->number = i + 1;
    if (!is_started(engine, worker, one)) break;
    STORE(pool->size, i + 1);
  }
  engine->pthread_sigmask(SETMASK, &old, NULL);
  STORE(pool->starting, 0);
}

#endif
