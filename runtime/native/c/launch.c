/* The native launch function. One function serves all kernels; everything it knows is in the table.
 *
 * self holds the address of a CellRecord, CELL bytes from its start: it is called as a vectorcall function of an object
 * that is launched, and as a builtin function whose self is bytes. For each table from the first: every argument is
 * checked and its parameters written into a buffer on the stack; the first table that fits is launched: by the driver,
 * or on the host by the function that runs grids. If none fits, or keywords were given, Python is called with the same
 * arguments. */

#include "readers.h"
#include "staging.h"

struct Call {
  struct Cell *cell;
  struct Environment *env;
  Object *const *args;
  int64_t nargs;
};

/* A launch on the host: the kernel, its shape as the table has it, the parameters, whether the GIL is held, status. */
typedef int32_t LaunchGrid(void *, const uint32_t *, char *, int32_t, char *);

/* Call Python with the arguments, after a first one of its own (whose reference it takes) if that is not null. */
APART Object *call_python(const struct Environment *env, Object *callable, Object *first, Object *const *args,
                          int64_t nargs) {
  int64_t shift = first != NULL;
  Object *tuple = env->PyTuple_New(nargs + shift);
  if (!tuple) {
    if (first) env->Py_DecRef(first);
    return NULL;
  }
  if (first) env->PyTuple_SetItem(tuple, 0, first);
  for (int64_t i = 0; i < nargs; i++) {
    env->Py_IncRef(args[i]);
    env->PyTuple_SetItem(tuple, i + shift, args[i]);
  }
  Object *result = env->PyObject_Call(callable, tuple, NULL);
  env->Py_DecRef(tuple);
  return result;
}

/* What a launch would be given, without a launch: the object whose address the table has as its handle, and bytes. */
APART Object *describe(const struct Environment *env, const struct Table *table, const char *buffer) {
  Object *bytes = env->PyBytes_FromStringAndSize(buffer, table->size);
  if (!bytes) return NULL;
  Object *both = env->PyTuple_New(2);
  if (!both) {
    env->Py_DecRef(bytes);
    return NULL;
  }
  env->Py_IncRef(table->handle);
  env->PyTuple_SetItem(both, 0, table->handle);
  env->PyTuple_SetItem(both, 1, bytes);
  return both;
}

/* Whether a table may be launched by, for so many arguments, but for their values. */
INLINED bool is_valid(const struct Table *table, const struct Call *call) {
  if (table->nargs != call->nargs) return false;
  if (table->guard && *table->guard != table->guarded) return false;
  if (table->ask) {
    int64_t context = 0;
    if (table->ask(NULL, &context) || context != table->context) return false;
  }
  if (table->follow && table->follow() != table->followed) {
    call->env->PyErr_Clear();
    return false;
  }
  return true;
}

INLINED bool read_argument(const struct Environment *env, const struct Operation *op, Object *argument, char *out) {
  switch (op->read) {
#define READ(name) \
  case READS_##name: return read_##name(env, op, argument, out);
    EACH_OF_READS(READ)
  }
  return false;
}

/* Write the parameters of a table's arguments; return whether each is as the table wants it. */
INLINED bool read_all(const struct Table *table, const struct Call *call, char *buffer) {
  if (table->flags & PADDED) {
    int64_t i = 0;
    do *(volatile int64_t *)(buffer + i) = 0;
    while ((i += 8) < table->size);
  }
  for (int64_t i = 0; i < call->nargs; i++) {
    const struct Operation *op = &table->operation[i];
    if (type_of(call->args[i]) != op->type) return false;
    if (!read_argument(call->env, op, call->args[i], buffer + (uint32_t)op->offset)) return false;
  }
  return true;
}

/* Tell Python the driver's code, or that keywords were given. */
INLINED Object *report(const struct Call *call, int32_t code) {
  Object *number = call->env->PyLong_FromLong(code);
  return call_python(call->env, call->cell->failed, number, call->args, call->nargs);
}

INLINED Object *succeed(const struct Call *call, struct Table *table) {
  table->last = ++call->env->launches;
  Object *none = call->env->Py_None;
  if (COUNTS_NONE) ++FIELD(int64_t, none, REFERENCES);
  return none;
}

/* The grid's, the block's and the shared sizes are in the table as kernels on the host read them. */
INLINED Object *launch_host(const struct Call *call, struct Table *table, char *buffer) {
  _Alignas(8) char failure[REPORT_BYTES];
  int32_t code =
      ((LaunchGrid *)table->launch)(table->handle, &table->gx, buffer, table->flags & HOLD_GIL, failure);
  if (!code) return succeed(call, table);
  if (code == INTERRUPTED) return NULL;
  STORE(void *, failure + REPORT_HANDLE, table->handle);
  Object *bytes = call->env->PyBytes_FromStringAndSize(failure, REPORT_BYTES);
  return bytes ? call_python(call->env, call->cell->failed, bytes, call->args, call->nargs) : NULL;
}

INLINED int32_t launch_device(const struct Environment *env, const struct Table *table, char *buffer) {
  struct Packed extra;
  void **words = packed(&extra, buffer, table->size);
  if (!table->size) words = NULL;
  Launch *launch = (Launch *)table->launch;
  void *handle = table->handle;
  Stream *stream = table->stream;
  uint32_t gx = table->gx, gy = table->gy, gz = table->gz, bx = table->bx, by = table->by, bz = table->bz;
  uint32_t shared = table->shared;
  if (table->flags & HOLD_GIL) return launch(handle, gx, gy, gz, bx, by, bz, shared, stream, NULL, words);
  void *state = env->PyEval_SaveThread();
  int32_t code = launch(handle, gx, gy, gz, bx, by, bz, shared, stream, NULL, words);
  env->PyEval_RestoreThread(state);
  return code;
}

INLINED Object *launch_table(const struct Call *call, struct Table *table, char *buffer) {
  int32_t code;
  switch (table->flags & (HOST | STAGED | DESCRIBED)) {
  case 0: code = launch_device(call->env, table, buffer); break;
  case STAGED: code = launch_staged(call->env, table, buffer); break;
  case DESCRIBED: return describe(call->env, table, buffer);
  default: return launch_host(call, table, buffer);
  }
  return code ? report(call, code) : succeed(call, table);
}

Object *launch(Object *self, Object *const *args, uint64_t nargs, Object *keywords) {
  struct Cell *cell = FIELD(struct Cell *, self, CELL);
  struct Call call = {cell, cell->environment, args, nargs & INT64_MAX};
  _Alignas(16) char buffer[MAX_BUFFER];
  if (keywords) return report(&call, KEYWORDS_GIVEN);
  for (struct Table *table = __atomic_load_n(&cell->table, __ATOMIC_ACQUIRE); table; table = table->next)
    if (is_valid(table, &call) && read_all(table, &call, buffer)) return launch_table(&call, table, buffer);
  return call_python(call.env, cell->slow, NULL, args, call.nargs);
}
