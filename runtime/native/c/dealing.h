/* Dealing: a shared grid's parts are run in chunks, one's own part first, then what is left of others'. */

#ifndef DEALING_H
#define DEALING_H

#include "interrupts.h"

/* A chunk that takes less, in nanoseconds, is lengthened. */
#define BRIEF_NS 2000

/* setjmp at an address, of which C cannot say that it returns twice: make-native.py defines it. */
extern int32_t set_jump(int32_t (*function)(void *), void *buffer) __attribute__((returns_twice));

/* Run blocks of a kernel; return its code. A thread with a runner may be made to leave, and then returns STOPPED. */
APART int32_t run(struct Runner *runner, const struct Kernel *kernel, const struct Launch *launch, void *params,
                  int64_t first, int64_t last, void *status) {
  if (!runner) return kernel->entry(params, launch, first, last, status);
  runner->low = kernel->low;
  runner->high = kernel->high;
  if (set_jump(runner->engine->_setjmp, runner)) return STOPPED;
  *(volatile int32_t *)&runner->inside = INSIDE;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  int32_t code = kernel->entry(params, launch, first, last, status);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  *(volatile int32_t *)&runner->inside = OUTSIDE;
  return code;
}

/* Note what so many blocks took: a block is believed to have become cheaper at once, and more expensive by halves. */
APART void learn(struct Kernel *kernel, int64_t time, int64_t blocks) {
  uint64_t old = GLANCE(kernel->cost), cost = (uint64_t)(time * 1000) / (uint64_t)blocks | 1;
  uint64_t moved = cost < old ? cost + ((old - cost) >> 3) : (cost + old) >> 1;
  NOTE(kernel->cost, old ? moved : cost);
}

/* Deal twice as many blocks at a time if these took too little time to be dealt by themselves, but never so many that
 * uneven blocks could not balance. */
APART void lengthen(struct Slot *slot, int64_t chunk, int64_t took, uint64_t left) {
  if (took < BRIEF_NS && (uint64_t)chunk << 1 <= left / CHUNKS) NOTE(slot->chunk, chunk << 1);
}

INLINED void copy_status(volatile void *to, const void *from) {
  for (int64_t i = 0; i < STATUS_BYTES / 4; i++) ((volatile int32_t *)to)[i] = ((const int32_t *)from)[i];
}

/* Note how a shared grid's blocks failed, if none did before; status: of a block of this code. */
INLINED void fail(struct Slot *slot, int32_t code, const void *status) {
  int32_t none = 0;
  if (code != STOPPED &&
      __atomic_compare_exchange_n(&slot->failed, &none, code, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    copy_status(slot->status, status);
}

/* Run chunks of a part until there are none; return whether other parts may have some. since: when that began. */
INLINED bool is_run(struct Engine *engine, struct Slot *slot, struct Part *part, struct Runner *runner,
                    struct Caller *caller, int64_t *since) {
  int32_t status[8];
  const int64_t end = part->end;
  while (!GLANCE(slot->stopped)) {
    const int64_t chunk = GLANCE(slot->chunk);
    const int64_t first = __atomic_fetch_add(&part->next, chunk, __ATOMIC_RELAXED);
    if (first >= end) return true;
    const int64_t last = first + chunk < end ? first + chunk : end;
    int32_t code = run(runner, slot->kernel, slot->launch, slot->params, first, last, status);
    if (code) {
      fail(slot, code, status);
      break;
    }
    if (!caller) continue;
    int64_t time = now(engine), took = time - *since;
    learn(slot->kernel, took, last - first);
    lengthen(slot, chunk, took, end - last);
    if (look(caller, time)) break;
    *since = time;
  }
  STORE(slot->stopped, 1);
  return false;
}

/* Run chunks of a shared grid until there are none, beginning with the part of this index. Its caller, if this is it,
 * takes the time, and looks for signals. */
APART void work(struct Engine *engine, struct Slot *slot, uint32_t index, struct Runner *runner,
                struct Caller *caller) {
  const uint32_t parts = slot->parts;
  int64_t since = now(engine);
  for (uint32_t turn = 0; turn < parts; turn++)
    if (!is_run(engine, slot, &slot->part[(index + turn) % parts], runner, caller, &since)) break;
  STORE(slot->open, 0);
}

#endif
