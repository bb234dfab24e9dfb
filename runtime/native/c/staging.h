/* Launches of host arrays. launch_staged is given a table and its parameters, where each array still has its address on
 * the host. It copies the arrays through a room, launches, waits, and copies back what was written: two copies of the
 * driver's at most, however many arrays there are. It returns 0, a code of the driver's, or one of those of
 * layout/staging_records.py; until the launch is made, nothing has changed.
 *
 * What a directed argument holds is kept meanwhile, as others may put something else in its place: the reader leaves
 * the array in the first word of its parameters. */

#ifndef STAGING_H
#define STAGING_H

#include "records.h"

struct Staging {
  struct Rooms *rooms;
  int64_t count, read, written;
  int64_t offset0, offset1, offset2, offset3, offset4, offset5, offset6, offset7;
};

struct Room {
  int64_t taken;
  char *here, *there;
};

struct Rooms {
  int32_t (*copy_in)(char *, char *, int64_t, Stream *);
  int32_t (*copy_out)(char *, char *, int64_t, Stream *);
  int32_t (*synchronize)(Stream *);
  int32_t (*capturing)(Stream *, int32_t *);
  void *(*move)(void *, const void *, int64_t);
  int64_t bytes, count;
  struct Room rooms[MAX_ROOMS];
};

/* The arrays of one launch: how many bytes each has, where on the host it is, and the object that is kept. */
struct Arrays {
  int64_t sizes[MAX_ARRAYS];
  char *hosts[MAX_ARRAYS];
  Object *held[MAX_ARRAYS];
};

/* The parameters of an array: an object to keep, nothing, items, bytes of an item, address. */
struct Parameters {
  Object *held;
  int64_t nothing, items, itemsize;
  char *data;
};

INLINED struct Parameters *parameters_of(const struct Staging *plan, char *buffer, int64_t number) {
  return (struct Parameters *)(buffer + (&plan->offset0)[number]);
}

INLINED int64_t padded(int64_t bytes) { return (bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT; }

/* Find out what there is to be copied; return whether it fits in a room, and no array shares bytes with another. */
INLINED bool measured(const struct Staging *plan, char *buffer, struct Arrays *arrays) {
  const uint64_t room = plan->rooms->bytes;
  int64_t total = 0, m = 0;
  do {
    struct Parameters *out = parameters_of(plan, buffer, m);
    arrays->held[m] = out->held;
    out->held = NULL;
    char *begin = arrays->hosts[m] = out->data;
    int64_t bytes = arrays->sizes[m] = out->items * out->itemsize;
    if ((uint64_t)bytes > room) return false;
    total += padded(bytes);
    for (int64_t o = 0; o < m; o++)
      if (arrays->hosts[o] < begin + bytes && begin < arrays->hosts[o] + arrays->sizes[o]) return false;
    if ((uint64_t)total > room) return false;
  } while (++m < plan->count);
  return true;
}

INLINED struct Room *taken_room(struct Rooms *rooms) {
  for (int64_t r = 0; r < rooms->count; r++) {
    int64_t free = 0;
    if (__atomic_compare_exchange_n(&rooms->rooms[r].taken, &free, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return &rooms->rooms[r];
  }
  return NULL;
}

/* Launch in a room, which is given back once the device is done with it; if that is unknown, never. */
INLINED int32_t launch_in(const struct Table *table, char *buffer, const struct Arrays *arrays, struct Room *room) {
  const struct Staging *plan = table->staging;
  const struct Rooms *rooms = plan->rooms;
  int64_t at = 0, read_end = 0, written = 0, p = 0;
  struct Packed extra;
  do { /* Where each array lies on the device, and what is read of them, side by side in the room. */
    parameters_of(plan, buffer, p)->data = room->there + at;
    int64_t end = at + padded(arrays->sizes[p]);
    if (p < plan->written) written = end;
    if (p < plan->read) {
      rooms->move(room->here + at, arrays->hosts[p], arrays->sizes[p]);
      read_end = end;
    }
    at = end;
  } while (++p < plan->count);
  if ((read_end && rooms->copy_in(room->there, room->here, read_end, table->stream)) ||
      ((Launch *)table->launch)(table->handle, table->gx, table->gy, table->gz, table->bx, table->by, table->bz,
                                table->shared, table->stream, NULL, packed(&extra, buffer, table->size))) {
    if (!rooms->synchronize(table->stream)) __atomic_store_n(&room->taken, 0, __ATOMIC_RELEASE);
    return BY_PYTHON;
  }
  int32_t code = at == written ? 0 : rooms->copy_out(room->here + written, room->there + written, at - written,
                                                     table->stream);
  if (!code) code = rooms->synchronize(table->stream);
  if (code) return code + AFTER;
  for (int64_t b = plan->written; b < plan->count; b++) {
    rooms->move(arrays->hosts[b], room->here + written, arrays->sizes[b]);
    written += padded(arrays->sizes[b]);
  }
  __atomic_store_n(&room->taken, 0, __ATOMIC_RELEASE);
  return 0;
}

APART int32_t launch_staged(const struct Environment *env, const struct Table *table, char *buffer) {
  const struct Staging *plan = table->staging;
  struct Arrays arrays;
  int32_t status, answer = BY_PYTHON;
  if (!measured(plan, buffer, &arrays)) return BY_PYTHON;
  int64_t h = 0, g = 0;
  do
    if (arrays.held[h]) env->Py_IncRef(arrays.held[h]);
  while (++h < plan->count);
  void *state = env->PyEval_SaveThread();
  /* What the stream is given while it is captured would be repeated, and not done now. */
  if (!plan->rooms->capturing(table->stream, &status) && !status) {
    struct Room *room = taken_room(plan->rooms);
    answer = room ? launch_in(table, buffer, &arrays, room) : NO_ROOM;
  }
  env->PyEval_RestoreThread(state);
  do
    if (arrays.held[g]) env->Py_DecRef(arrays.held[g]);
  while (++g < plan->count);
  return answer;
}

#endif
