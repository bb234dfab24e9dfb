/* The native indexing function: `kernel[grid, block]` again, without Python.
 *
 * The kernel's slot `_hot` holds a tuple: bytes with the address of the environment, then pairs of a configured kernel
 * and the index that it was made for. A configured kernel is returned again if the index is the same, and nobody still
 * holds it or has looked for its callbacks: then it cannot be distinguished from a new one. Anything else asks Python.
 *
 * Indexes are the same if they are tuples of as many items, and those are the same objects, equal ints, or tuples of
 * such. */

#include "records.h"

/* Of a kernel's slot `_hot`; of a configured kernel's slot `_callbacks` and weak references. */
extern const int64_t HOT, CALLBACKS, WEAK;

INLINED bool are_equal_ints(const Object *one, const Object *other) {
  return FIELD(int64_t, one, INT_SIZE) == INT_SINGLE && FIELD(int64_t, other, INT_SIZE) == INT_SINGLE &&
         FIELD(int32_t, one, INT_DIGIT) == FIELD(int32_t, other, INT_DIGIT);
}

/* Whether two tuples have the same items; depth: how deep tuples may be nested in them. */
APART bool have_same_items(const struct Environment *env, const Object *some, const Object *others, int64_t depth) {
  const int64_t count = FIELD(int64_t, some, TUPLE_SIZE);
  if (count != FIELD(int64_t, others, TUPLE_SIZE)) return false;
  const Object *const *items = &FIELD(const Object *, some, TUPLE_ITEMS);
  const Object *const *other_items = &FIELD(const Object *, others, TUPLE_ITEMS);
  for (int64_t i = 0; i < count; i++) {
    const Object *item = items[i], *other = other_items[i];
    if (item == other) continue;
    const Object *type = type_of(item);
    if (type != type_of(other)) return false;
    if (type == env->PyLong_Type) {
      if (!are_equal_ints(item, other)) return false;
    } else if (type != type_of(others) || depth <= 0 || !have_same_items(env, item, other, depth - 1))
      return false;
  }
  return true;
}

/* Whether nobody else holds a configured kernel, or has looked for its callbacks. */
INLINED bool is_as_new(const Object *configured) {
  return FIELD(int32_t, configured, REFERENCES) == 1 && !FIELD(Object *, configured, CALLBACKS) &&
         !FIELD(Object *, configured, WEAK);
}

Object *index_kernel(Object *kernel, Object *key) {
  Object *hot = FIELD(Object *, kernel, HOT);
  if (!hot) return NULL;
  Object **items = &FIELD(Object *, hot, TUPLE_ITEMS);
  const struct Environment *env = FIELD(struct Environment *, items[0], BYTES_DATA);
  if (type_of(key) == type_of(hot)) {
    const int64_t count = FIELD(int64_t, hot, TUPLE_SIZE);
    for (int64_t i = 1; i < count; i += 2) {
      Object *configured = items[i];
      if (!have_same_items(env, key, items[i + 1], 1) || !is_as_new(configured)) continue;
      FIELD(int32_t, configured, REFERENCES) = 2;
      return configured;
    }
  }
  return env->PyObject_CallFunctionObjArgs(env->index, kernel, key, NULL);
}
