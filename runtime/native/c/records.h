/* The records that the native functions read, as C has them, and CPython's objects. The ctypes classes in
 * native/layout have the same fields at the same places: scripts/make-native.py adds checks of each, and defines the
 * numbers of those modules. */

#ifndef RECORDS_H
#define RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define APART static __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))

/* Where an interpreter keeps the parts of its objects: known when a process makes machine code of this. */
extern const int64_t TYPE, REFERENCES, COUNTS_NONE, BYTES_DATA, BYTES_SIZE;
extern const int64_t TUPLE_ITEMS, TUPLE_SIZE, INT_DIGIT, INT_SIZE, INT_SINGLE;

/* The field of this type at an offset from an address. */
#define FIELD(type, base, offset) (*(type *)((char *)(base) + (offset)))

/* Words that may lie at any address, and double words that need not be aligned as such. */
typedef uint16_t __attribute__((aligned(1))) Loose16;
typedef uint32_t __attribute__((aligned(1))) Loose32;
typedef uint64_t __attribute__((aligned(1))) Loose64;
typedef uint64_t __attribute__((aligned(4))) Half64;

typedef struct Object Object;
typedef struct Context Context;
typedef struct Stream Stream;

struct Environment {
  int64_t launches;
  int64_t (*PyLong_AsLongLongAndOverflow)(Object *, int32_t *);
  uint64_t (*PyLong_AsUnsignedLongLong)(Object *);
  Object *(*PyLong_FromLong)(int64_t);
  Object *(*PyErr_Occurred)(void);
  void (*PyErr_Clear)(void);
  Object *(*PyTuple_New)(int64_t);
  int32_t (*PyTuple_SetItem)(Object *, int64_t, Object *);
  Object *(*PyObject_Call)(Object *, Object *, Object *);
  Object *(*PyObject_CallFunctionObjArgs)(Object *, ...);
  void (*Py_IncRef)(Object *);
  void (*Py_DecRef)(Object *);
  void *(*PyEval_SaveThread)(void);
  void (*PyEval_RestoreThread)(void *);
  Object *(*PyBytes_FromStringAndSize)(const char *, int64_t);
  Object *Py_None, *Py_True, *Py_False, *PyBytes_Type, *PyLong_Type, *index;
};

struct Operation {
  int32_t read, offset;
  Object *type;
  int64_t size, tag, mask, limit, itemsize;
  int32_t ndim, layout;
  int64_t call, at0, at1, at2, at3, at4, at5, at6, at7, at8, at9;
};

struct Table {
  struct Table *next;
  int32_t nargs, flags;
  int64_t size;
  void *launch, *handle;
  Stream *stream;
  Object **guard, *guarded;
  int32_t (*ask)(Context *, int64_t *);
  int64_t context;
  int64_t (*follow)(void);
  int64_t followed, last;
  struct Staging *staging;
  uint32_t gx, gy, gz, bx, by, bz, shared, padding;
  struct Operation operation[];
};

struct Cell {
  struct Table *table;
  Object *slow, *failed;
  struct Environment *environment;
};

/* Like cuLaunchKernel. */
typedef int32_t Launch(void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, Stream *, void **,
                       void **);

/* What cuLaunchKernel is told by: the parameters as one buffer. */
struct Packed {
  void *words[5];
  int64_t size;
};

INLINED void **packed(struct Packed *extra, char *buffer, int64_t size) {
  extra->size = size;
  extra->words[0] = (void *)1;
  extra->words[1] = buffer;
  extra->words[2] = (void *)2;
  extra->words[3] = &extra->size;
  extra->words[4] = NULL;
  return extra->words;
}

INLINED Object *type_of(const Object *object) { return FIELD(Object *, object, TYPE); }

#endif
