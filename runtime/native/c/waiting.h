/* Time and waiting: the clock, sleeping until a word changes, waking those who do. */

#ifndef WAITING_H
#define WAITING_H

#include "grids.h"

#define MONOTONIC 1
#define FUTEX (IS_ARM ? (int64_t)98 : (int64_t)202)
#define WAIT_PRIVATE 128
#define WAKE_PRIVATE 129

/* The time in nanoseconds. */
APART int64_t now(const struct Engine *engine) {
  int64_t time[2];
  engine->clock_gettime(MONOTONIC, time);
  return time[0] * 1000000000 + time[1];
}

/* Sleep while the word is this value, for so many nanoseconds at most; for ever if that is 0. */
APART void sleep_while(const struct Engine *engine, void *word, int32_t value, uint64_t limit) {
  int64_t time[2] = {limit / 1000000000, limit % 1000000000};
  engine->syscall(FUTEX, word, WAIT_PRIVATE, value, limit ? time : NULL, NULL, 0);
}

/* Wake at most so many threads that sleep by the word. */
APART void wake(const struct Engine *engine, void *word, int32_t count) {
  engine->syscall(FUTEX, word, WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* The instruction of that name, which clang has for no other machine: make-native.py defines it. */
extern void arm_yield(void);

/* Leave the processor's other thread some time. */
INLINED void relax(void) {
  if (IS_ARM)
    arm_yield();
  else
    __builtin_ia32_pause();
}

#endif
