"""Constructs: parts of Python that kernels do not have."""

# mypy: ignore-errors
# ruff: noqa

from gridjit import cuda
from tests.end_to_end.mistakes.mistake import FLOATS, mistake


G_NONE = None


@cuda.jit(device=True)
def gen(n):
    for i in range(n):
        yield i


@cuda.jit(device=True)
def badlist(a):
    return [x for x in a]


@cuda.jit(device=True)
def tried(a):
    try:
        return a[0]
    except Exception:
        return 0


@cuda.jit(device=True)
def mid(a):
    return tried(a)


@mistake(FLOATS)
def returned_value(out):
    i = cuda.grid(1)
    out[i] = 1
    return out[i]


@mistake(FLOATS)
def generator(out):
    for i in range(3):
        yield i


@mistake(FLOATS)
def dev_generator(out):
    for x in gen(3):
        out[0] += x


@mistake(FLOATS)
def list_comp(out):
    xs = [i * 2 for i in range(3)]
    out[0] = xs[0]


@mistake(FLOATS)
def dev_list(out):
    out[0] = badlist(out)


@mistake(FLOATS)
def a_dict(out):
    d = {"x": 1}
    out[0] = d["x"]


@mistake(FLOATS)
def dict_int(out):
    d = {}
    d[1] = 2.0
    out[0] = d[1]


@mistake(FLOATS)
def a_set(out):
    s = {1, 2}
    out[0] = len(s)


@mistake(FLOATS)
def fstring(out):
    i = cuda.grid(1)
    print(f"thread {i}")


@mistake(FLOATS)
def try_except(out):
    try:
        out[0] = 1 / out[1]
    except ZeroDivisionError:
        out[0] = 0


@mistake(FLOATS)
def try_finally(out):
    try:
        out[0] = 1
    finally:
        out[1] = 2


@mistake(FLOATS)
def dev_try_deep(out):
    out[0] = mid(out)


@mistake(FLOATS)
def with_block(out):
    with open("x") as f:
        out[0] = 1


@mistake(FLOATS)
def inner_class(out):
    class A:
        pass

    out[0] = 1


@mistake(FLOATS)
def an_import(out):
    import math

    out[0] = math.sqrt(2)


@mistake(FLOATS)
def global_assign(out):
    global G_NONE
    G_NONE = 3


@mistake(FLOATS)
def del_item(out):
    del out[0]


@mistake(FLOATS)
def raise_str(out):
    raise "oops"


@mistake(FLOATS)
def raise_dynamic(out):
    raise ValueError(out[0])


@mistake(FLOATS)
def star_unpack(out):
    a, *b = out[0], out[1], out[2]
    out[0] = a


@mistake(FLOATS)
def filter_gen(out):
    out[0] = sum(x for x in out)


@mistake(FLOATS)
def list_append(out):
    l = []
    l.append(1)
    out[0] = l[0]


@mistake(FLOATS)
def list_literal_empty(out):
    l = []
    out[0] = len(l)


@mistake(FLOATS)
def list_mul(out):
    l = [0] * 10
    out[0] = l[0]


@mistake(FLOATS)
def str_method(out):
    s = "abc"
    print(s.upper())


@mistake(FLOATS)
def str_format(out):
    print("{}".format(out[0]))


@mistake(FLOATS)
def str_of(out):
    print(str(out[0]))


@mistake(FLOATS)
def matching(out):
    match out[0]:
        case 1:
            out[0] = 2
        case {"x": 3}:
            out[0] = 2


@mistake(FLOATS)
def bound_in_condition(out):
    if (n := len(out)) > 10:
        out[0] = n


@mistake(FLOATS)
def recursive_inside(out):
    def down(v):
        return down(v - 1) if v > 0 else 1

    out[0] = down(5)
