/* The ways to read an argument, one function for each of READS: it writes the argument's parameters to out and returns
 * true, or returns false for an argument that is not as expected. The type of the object has been compared already. */

#ifndef READERS_H
#define READERS_H

#include "records.h"

#define READER(name)                                                                                              \
  INLINED bool read_##name(const struct Environment *env, const struct Operation *op, Object *object, char *out)

#define STORE(type, place, value) (*(type *)(place) = (type)(value))

/* Values that the object holds in nearly the form in which they are passed. */

READER(copy) {
  const char *source = &FIELD(char, object, op->at0);
  if (op->mask && (FIELD(Loose64, object, op->at1) & op->mask) != (uint64_t)op->tag) return false;
  switch (op->size) {
  case 1: STORE(uint8_t, out, *(uint8_t *)source); return true;
  case 2: STORE(uint16_t, out, *(Loose16 *)source); return true;
  case 4: STORE(uint32_t, out, *(Loose32 *)source); return true;
  case 8: STORE(Half64, out, *(Loose64 *)source); return true;
  case 16:
    STORE(uint64_t, out, *(Loose64 *)source);
    STORE(uint64_t, out + 8, *(Loose64 *)(source + 8));
    return true;
  }
  return false;
}

READER(doubles_to_floats) {
  const double *source = &FIELD(double, object, op->at0);
  int64_t count = (uint64_t)op->size >> 2, i = 0;
  do ((float *)out)[i] = (float)source[i];
  while (++i < count);
  return true;
}

READER(ignored) { return true; }

READER(itself) {
  STORE(int64_t, out, 0);
  return object == (Object *)op->tag;
}

/* gridjit's own arrays: a slot of theirs holds the parameters. */
READER(slot) {
  if (FIELD(Object *, object, op->at1) != (Object *)op->tag) return false;
  Object *held = FIELD(Object *, object, op->at0);
  if (!held || type_of(held) != env->PyBytes_Type || FIELD(int64_t, held, BYTES_SIZE) != op->size) return false;
  const char *source = &FIELD(char, held, BYTES_DATA);
  int64_t i = 0;
  do STORE(int64_t, out + i, *(int64_t *)(source + i));
  while ((i += 8) < op->size);
  return true;
}

/* Python's ints, and its two bools. */

READER(int) {
  int32_t overflow;
  int64_t value = env->PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow || value < op->tag || value > op->limit) return false;
  switch (op->size) {
  case 8: STORE(int64_t, out, value); return true;
  case 4: STORE(int32_t, out, value); return true;
  case 2: STORE(int16_t, out, value); return true;
  case 1: STORE(int8_t, out, value); return true;
  }
  return false;
}

READER(unsigned) {
  int32_t overflow;
  int64_t value = env->PyLong_AsLongLongAndOverflow(object, &overflow);
  if (!overflow) {
    if (!op->limit) return false;
    STORE(int64_t, out, value);
    return true;
  }
  if (overflow < 0) return false;
  STORE(uint64_t, out, env->PyLong_AsUnsignedLongLong(object));
  if (!env->PyErr_Occurred()) return true;
  env->PyErr_Clear();
  return false;
}

READER(int_to_double) {
  int32_t overflow;
  STORE(double, out, env->PyLong_AsLongLongAndOverflow(object, &overflow));
  return !overflow;
}

READER(int_to_float) {
  int32_t overflow;
  STORE(float, out, (double)env->PyLong_AsLongLongAndOverflow(object, &overflow));
  return !overflow;
}

READER(bool) {
  STORE(uint8_t, out, object == env->Py_True);
  return true;
}

/* Arrays. */

/* Write an array's parameters; strides are multiplied by scale. Returns the number of items. */
INLINED int64_t write_array(char *out, const void *data, int64_t itemsize, int64_t ndim, const int64_t *shape,
                            const int64_t *strides, int64_t scale) {
  int64_t *words = (int64_t *)out, items = 1;
  words[0] = words[1] = 0;
  words[3] = itemsize;
  words[4] = (int64_t)data;
  for (int64_t i = 0; i < ndim; i++) {
    words[5 + i] = shape[i];
    words[5 + ndim + i] = strides[i] * scale;
    items *= shape[i];
  }
  words[2] = items;
  return items;
}

/* Whether strides in elements are those of a dense array, the last dimension fastest (or the first). */
APART bool is_dense(const int64_t *shape, const int64_t *strides, int64_t ndim, bool last_fastest) {
  int64_t expected = 1;
  for (int64_t i = 0; i < ndim; i++) {
    int64_t axis = last_fastest ? ndim - i - 1 : i;
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

/* Whether each of the pairs, up to a null, is an address and the word that is there. */
INLINED bool all_hold(const int64_t *pair) {
  for (; pair[0]; pair += 2)
    if (*(int64_t *)pair[0] != pair[1]) return false;
  return true;
}

/* Arrays that point to their shape and strides: NumPy's, CuPy's. Offsets at: 0 data, 1 a word of flags (the word & mask
 * must be limit), 2 dtype object (it must be tag), 3 ndim (or, if layout is not 0, the pointer to the end of the shape),
 * 4 shape pointer, 5 strides pointer, 6 offset of the pointer within what at[0] points to (or -1: it is in the object),
 * 7 offset of a 32-bit device number there. call: the device number that must be there, in the lower half; in the
 * upper, the bits that neither pointer nor strides may have. If the pointer is in the object: the address of pairs, an
 * address and the word that must be there, up to a null; or 0. */
READER(strided) {
  if (FIELD(Object *, object, op->at2) != (Object *)op->tag) return false;
  if ((FIELD(Loose64, object, op->at1) & op->mask) != (uint64_t)op->limit) return false;
  const int64_t ndim = op->ndim;
  const int64_t *shape = FIELD(int64_t *, object, op->at4), *strides = FIELD(int64_t *, object, op->at5);
  const int64_t found =
      op->layout ? (FIELD(int64_t, object, op->at3) - (int64_t)shape) >> 3 : FIELD(int32_t, object, op->at3);
  if (found != ndim) return false;
  char *data = FIELD(char *, object, op->at0);
  if (op->at6 >= 0) {
    if (FIELD(int32_t, data, op->at7) != (int32_t)op->call) return false;
    data = FIELD(char *, data, op->at6);
    int64_t bits = (int64_t)data;
    for (int64_t i = 0; i < ndim; i++) bits |= strides[i];
    if (bits & ((uint64_t)op->call >> 32)) return false;
  } else if (op->call && !all_hold((int64_t *)op->call))
    return false;
  write_array(out, data, op->itemsize, ndim, shape, strides, 1);
  return true;
}

/* NumPy arrays that an In, Out or InOut holds: those that a launch waits for. As for "strided", and offsets at: 7 the
 * slot of the array, 8 the slot that says whether nobody waits, 9 the id of the type that the array must have. The array
 * is left in the first word: whoever launches keeps it. */
READER(directed) {
  Object *array = FIELD(Object *, object, op->at7);
  if (FIELD(Object *, object, op->at8) != env->Py_False || !array || type_of(array) != (Object *)op->at9) return false;
  bool read = read_strided(env, op, array, out);
  STORE(Object *, out, array);
  return read;
}

/* A DLTensor: strides are in elements, or null. */
struct Tensor {
  char *data;
  int64_t device;
  int32_t ndim;
  uint32_t dtype;
  int64_t *shape, *strides, byte_offset;
};

enum { LAYOUT_C, LAYOUT_F, LAYOUT_OTHER, LAYOUT_ANY };

/* What exports itself by DLPack's C functions: torch's tensors. tag: the device as one word. mask: the dtype's four
 * bytes. limit: bits that must not be set in the word at object -> at[0] -> at[1] (a tensor whose values are not what
 * its memory holds). */
READER(dlpack) {
  struct Tensor tensor;
  int64_t dense[32];
  if (op->limit && FIELD(int64_t, FIELD(char *, object, op->at0), op->at1) & op->limit) return false;
  if (((int32_t (*)(Object *, struct Tensor *))op->call)(object, &tensor)) {
    env->PyErr_Clear();
    return false;
  }
  if (tensor.device != op->tag || tensor.dtype != (uint64_t)op->mask || tensor.ndim != op->ndim) return false;
  const int64_t ndim = op->ndim;
  const int64_t *strides = tensor.strides;
  if (!strides) {
    for (int64_t i = ndim - 1, stride = 1; i >= 0; stride *= tensor.shape[i--]) dense[i] = stride;
    strides = dense;
  }
  int64_t items =
      write_array(out, tensor.data + tensor.byte_offset, op->itemsize, ndim, tensor.shape, strides, op->itemsize);
  if (op->layout == LAYOUT_ANY) return true;
  bool is_c = is_dense(tensor.shape, strides, ndim, true) || !items;
  if (is_c || op->layout == LAYOUT_C) return is_c && op->layout == LAYOUT_C;
  return op->layout == (is_dense(tensor.shape, strides, ndim, false) ? LAYOUT_F : LAYOUT_OTHER);
}

#endif
