/* Sharing: a launch takes a slot, calls workers to it, does part of the work, and waits for them. */

#ifndef SHARING_H
#define SHARING_H

#include "watching.h"

/* A chunk of a shared grid takes so long, in picoseconds, at least and at most. */
#define LEAST_PS UINT64_C(3000000)
#define MOST_PS UINT64_C(5000000000)
/* For a launch that takes longer, in picoseconds, it is always asked whether the engine's signal is still free. */
#define SETTLE_PS UINT64_C(100000000)

/* How many blocks to deal at a time. */
INLINED int64_t chunk_of(uint64_t left, uint64_t parts, const struct Kernel *kernel, uint64_t cost) {
  const uint64_t piece = kernel->piece;
  const int64_t each = left / parts;
  const int64_t least = LEAST_PS / (cost | 1), most = (piece > MOST_PS ? piece : MOST_PS) / (cost | 1);
  int64_t chunk = (uint64_t)each / (uint64_t)kernel->chunks;
  if (chunk < least) chunk = least;
  if (chunk > most) chunk = most;
  if (chunk > each) chunk = each;
  return chunk < 1 ? 1 : chunk;
}

/* Wait until no worker is in the launch any more: they use its caller's memory. If it was interrupted, those that stay
 * in a block are made to leave it. */
APART void await(struct Engine *engine, struct Caller *caller, struct Slot *slot) {
  const int64_t begun = now(engine);
  while (LOAD(slot->working)) {
    relax();
    const int64_t time = now(engine);
    int64_t limit = LOOK_NS;
    if (look(caller, time)) {
      STORE(slot->stopped, 1);
      STORE(slot->interrupted, 1);
      expel(engine, slot);
      limit = LOOK_NS / 10;
    } else if (time - begun <= SPIN_NS)
      continue;
    STORE(slot->waiting, 1);
    const int32_t still = LOAD(slot->working);
    if (!still) break;
    sleep_while(engine, &slot->working, still, limit);
  }
  STORE(slot->waiting, 0);
}

INLINED struct Slot *taken_slot(struct Pool *pool) {
  for (int64_t i = 0; i < SLOTS; i++) {
    int32_t free = 0;
    if (__atomic_compare_exchange_n(&pool->slot[i].taken, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return &pool->slot[i];
  }
  return NULL;
}

/* Divide the blocks from first on into parts, in place of a slot's. */
INLINED void divide(struct Slot *slot, int64_t first, int64_t blocks, int64_t parts) {
  const int64_t each = (uint64_t)(blocks - first) / (uint64_t)parts;
  int64_t p = 0;
  do {
    slot->part[p].next = first;
    first = p + 1 < parts ? first + each : blocks;
    slot->part[p].end = first;
  } while (++p < parts);
}

/* Run the blocks from first on, together with workers; return the first code that is not 0, or NO_SLOT: it cannot be. */
APART int32_t share(struct Engine *engine, struct Caller *caller, struct Kernel *kernel, const struct Launch *launch,
                    void *params, int64_t first, int64_t blocks, void *status) {
  struct Pool *pool = engine->pool;
  struct Slot *slot = taken_slot(pool);
  if (!slot) return NO_SLOT;
  const uint64_t left = blocks - first, cost = kernel->cost;
  /* It takes two system calls: for a launch that takes a moment, with each tick. Workers go by the signal that they find
   * when they come. */
  if (caller->runner && !(GLANCE(pool->settled) && left < SETTLE_PS / cost)) settle_here(engine);
  const int64_t threads = (uint32_t)kernel->threads;
  start(engine, pool, (int32_t)threads - 1);
  int64_t parts = threads < PARTS ? threads : PARTS;
  if ((int64_t)left < parts) parts = left;
  slot->kernel = kernel;
  slot->launch = launch;
  slot->params = params;
  slot->chunk = chunk_of(left, parts, kernel, cost);
  slot->parts = parts;
  slot->interrupted = 0;
  STORE(slot->stopped, 0);
  STORE(slot->failed, 0);
  divide(slot, first, blocks, parts);
  STORE(slot->open, 1);
  ADD(pool->sequence, 1);
  if (LOAD(pool->sleeping)) wake(engine, &pool->sequence, parts - 1);
  work(engine, slot, 0, caller->runner, caller);
  await(engine, caller, slot);
  const int32_t code = LOAD(slot->failed);
  if (code) copy_status(status, slot->status);
  STORE(slot->taken, 0);
  return code;
}

#endif
